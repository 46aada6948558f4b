package state

// Tier says on whose word the store holds a result. A result that another store made is a claim: that this code, from
// these inputs, produced these outputs, and that these bytes are that value. Nothing but an execution can prove it.
type Tier string

const (
	// TierOwn: an engine of this store executed the code.
	TierOwn Tier = ""
	// TierTrusted: it came from another store, and the user trusts its author, by name or by a key.
	TierTrusted Tier = "trusted"
	// TierForeign: it came from another store. It serves only the session that it came with, and forks of that.
	TierForeign Tier = "foreign"
)

// String returns the tier as people read it.
func (t Tier) String() string {
	if t == TierOwn {
		return "own"
	}
	return string(t)
}

// Trust is a tier with its ground.
type Trust struct {
	Tier   Tier   `cbor:"tier,omitempty" json:"tier,omitempty"`
	Signer string `cbor:"signer,omitempty" json:"signer,omitempty"` // the id of the key that signed it; "": none did
	// Here says of a result of another store that the machine it was made on is like this one, as far as it depends on
	// that.
	Here bool `cbor:"here,omitempty" json:"-"`
}

// SessionTrust says on whose word the store has the steps of a session.
type SessionTrust struct {
	Trust
	// Area numbers the results that came with a session of TierForeign; 0: there are none. Its forks have the same.
	Area uint64 `cbor:"area,omitempty"`
	// Here says that the session runs in the folder that holds the store: it came with a foreign archive that names a
	// workspace elsewhere. Its forks are created there.
	Here bool `cbor:"here,omitempty"`
}

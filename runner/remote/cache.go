package remote

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/state"
)

// maxKeys is how many Keys a weak fingerprint leads to. Most nodes always read the same keys.
const maxKeys = 8

// MaxNext is how many results a Result names in Next.
const MaxNext = 64

// askAtOnce is how many records are asked for at once.
const askAtOnce = 2048

// Options configure a Cache.
type Options struct {
	Store   Store
	Address string       // of the store, for people
	Local   *state.Store // where blobs come from and go to
	// Key signs what is uploaded; nil: nothing is. Records by its public half are trusted.
	Key     ed25519.PrivateKey
	Trusted []ed25519.PublicKey
	// Answer bounds the time of one answer, without the content of a blob; 0 means half a second. A blob may take as
	// much again for each megabyte.
	Answer time.Duration
	Now    func() time.Time // nil means time.Now
}

// Cache is a way to the results of others, and theirs to those of this machine. It is safe for concurrent use.
type Cache struct {
	o       Options
	trusted map[string]ed25519.PublicKey
	signer  *signer // nil: nothing is uploaded
	health  *health
	uploads uploads

	signers []string // the ids of trusted keys, sorted

	mu      sync.Mutex
	slots   map[entry]*slots         // by weak fingerprint
	results map[entry]*Found[Result] // by strong fingerprint
	listed  bool                     // the list of signers was read
	counts  Counts
	unknown map[string]bool // ids of keys that have signed results and are not trusted
}

// Upload is a result or a value to upload. The cache finds out the sizes of its blobs.
type Upload struct {
	// Of a result: its fingerprints.
	Weak, Strong state.Digest
	Keys         *Keys
	Result       *Result
	// Value is set in place of a result.
	Value *state.Value

	Blobs []state.Digest
	Done  func() // called when it is in the store; may be nil
	// Withheld reports whether a content must not leave the machine; nil: any may.
	Withheld func(io.Reader) (bool, error)
}

// uploads are what waits to be uploaded.
type uploads struct {
	mu      sync.Mutex
	waiting []*Upload
	running chan struct{} // closed when nothing waits; nil: nothing is uploaded
	ended   bool          // the store takes no more
	full    error         // why
	sizes   map[state.Digest]int64

	enlisted bool // the signer is in the list of the cache
}

// why returns why the store takes no more; nil if it does.
func (u *uploads) why() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.full
}

// Found is a record with the id of the key that signed it.
type Found[R any] struct {
	Record R
	Signer string
}

// entries are those of some fingerprints for all trusted signers.
func (c *Cache) entries(names []state.Digest) (all []entry) {
	for _, name := range names {
		for _, signer := range c.signers {
			all = append(all, entry{name, signer})
		}
	}
	return all
}

// slots are the Keys of a weak fingerprint by one signer that are known.
type slots struct {
	keys  []*Keys // by number; nil: a record that is damaged. More may be taken, unless ended
	ended bool    // the number after is free, or there is none
	stale bool    // others may have taken more since
}

// Counts say what a cache has done since it was opened.
type Counts struct {
	Answers   int      // requests: what was asked for at once counts once
	Damaged   int      // records and blobs that were missing or not what they should be
	Unknown   []string // ids of keys that have signed results and are not trusted, sorted
	LeftAlone bool     // see health
	Full      error    // why it takes no uploads; nil: it does
	Failure   error    // the store's last
}

// New returns the cache that a store holds.
func New(o Options) *Cache {
	if o.Answer == 0 {
		o.Answer = 500 * time.Millisecond
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Cache{o: o, trusted: trustedKeys(o.Key, o.Trusted), slots: map[entry]*slots{},
		results: map[entry]*Found[Result]{}, unknown: map[string]bool{}}
	c.signers = slices.Sorted(maps.Keys(c.trusted))
	c.health = newHealth(o.Now, o.Local, o.Address)
	c.uploads.sizes = map[state.Digest]int64{}
	if o.Key != nil {
		c.signer = newSigner(o.Key)
	}
	return c
}

// Address returns the address of the store.
func (c *Cache) Address() string { return c.o.Address }

// Counts returns what the cache has done.
func (c *Cache) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.counts
	n.Full = c.uploads.why()
	n.Unknown, n.LeftAlone, n.Failure = slices.Sorted(maps.Keys(c.unknown)), c.health.isLeftAlone(), c.health.failure()
	return n
}

// Renew has the cache ask again for what it did not find. A run begins with it.
func (c *Cache) Renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.results, func(_ entry, r *Found[Result]) bool { return r == nil })
	for _, s := range c.slots {
		s.stale = true
	}
}

// RenewFor has the cache ask again for the results of one weak fingerprint: others have made one meanwhile.
func (c *Cache) RenewFor(weak state.Digest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.results, func(_ entry, r *Found[Result]) bool { return r == nil })
	for _, at := range c.entries([]state.Digest{weak}) {
		if s := c.slots[at]; s != nil {
			s.stale = true
		}
	}
}

// Keys returns the Keys of each weak fingerprint that the store knows and a trusted key has signed. It does
// not ask twice, until Renew. A store that does not answer knows nothing.
func (c *Cache) Keys(ctx context.Context, weak []state.Digest) map[state.Digest][]*Keys {
	c.readSigners(ctx)
	all := c.entries(weak)
	c.askKeys(ctx, all, 0, 2)
	var more []entry
	c.mu.Lock()
	for _, at := range all {
		if s := c.slots[at]; s != nil && !s.ended && len(s.keys) == 2 {
			more = append(more, at)
		}
	}
	c.mu.Unlock()
	c.askKeys(ctx, more, 2, maxKeys)
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[state.Digest][]*Keys{}
	for _, at := range all {
		if s := c.slots[at]; s != nil {
			for _, k := range s.keys {
				if k != nil {
					found[at.name] = append(found[at.name], k)
				}
			}
		}
	}
	return found
}

// askKeys asks for the numbers from first to below end of entries, unless they are known.
func (c *Cache) askKeys(ctx context.Context, all []entry, first, end int) {
	var names []state.Digest
	var of []entry
	c.mu.Lock()
	for _, at := range all {
		s := c.slots[at]
		if unknown := s == nil || s.stale; unknown && first == 0 || !unknown && len(s.keys) == first && !s.ended {
			for i := first; i < end; i++ {
				names, of = append(names, keysName(at, i)), append(of, at)
			}
		}
	}
	c.mu.Unlock()
	for begin := 0; begin < len(names); begin += askAtOnce {
		last := min(begin+askAtOnce, len(names))
		records, err := c.records(ctx, names[begin:last])
		if err != nil {
			return
		}
		c.mu.Lock()
		for i, sealed := range records {
			c.noteKeys(of[begin+i], names[begin+i], sealed)
		}
		c.mu.Unlock()
	}
}

// noteKeys notes the next number of an entry. The caller holds c.mu.
func (c *Cache) noteKeys(at entry, name state.Digest, sealed []byte) {
	s := c.slots[at]
	if s == nil || s.stale {
		s = &slots{}
		c.slots[at] = s
	}
	if sealed == nil || s.ended {
		s.ended = true
		return
	}
	k := &Keys{}
	if !c.open(kindKeys, name, at.signer, sealed, k) {
		k = nil
	}
	s.keys = append(s.keys, k)
	s.ended = len(s.keys) == maxKeys
}

// Results returns the results of strong fingerprints, in their order; nil for one that no trusted key has signed. It
// also asks for the results that followed those that it found.
func (c *Cache) Results(ctx context.Context, strong []state.Digest) []*Found[Result] {
	c.ask(ctx, c.entries(strong))
	found := make([]*Found[Result], len(strong))
	c.mu.Lock()
	var next []entry
	for i, name := range strong {
		for _, at := range c.entries([]state.Digest{name}) {
			if r := c.results[at]; r != nil && found[i] == nil {
				found[i] = r
				next = append(next, c.following(r)...)
			}
		}
	}
	c.mu.Unlock()
	c.ask(ctx, next)
	return found
}

// following are the entries of what followed a result in the run that made it, unless they were asked for: then those
// after them were, too, with a result before. The caller holds c.mu.
func (c *Cache) following(r *Found[Result]) []entry {
	next := c.entries(r.Record.Next[:min(len(r.Record.Next), MaxNext)])
	if len(next) > 0 {
		if _, asked := c.results[next[0]]; asked {
			return nil
		}
	}
	return next
}

// ask asks for the results that were not asked for before.
func (c *Cache) ask(ctx context.Context, all []entry) {
	var names []state.Digest
	c.mu.Lock()
	all = slices.DeleteFunc(slices.Clone(all), func(at entry) bool {
		_, asked := c.results[at]
		return asked
	})
	c.mu.Unlock()
	for _, at := range all {
		names = append(names, resultName(at))
	}
	if len(names) == 0 {
		return
	}
	records, err := c.records(ctx, names)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, sealed := range records {
		r := &Found[Result]{Signer: all[i].signer}
		if sealed == nil || !c.open(kindResult, names[i], r.Signer, sealed, &r.Record) {
			r = nil
		}
		c.results[all[i]] = r
	}
}

// Value returns the value of a group, if a trusted key has signed it.
func (c *Cache) Value(ctx context.Context, group state.Digest) *Found[Value] {
	all := c.entries([]state.Digest{group})
	var names []state.Digest
	for _, at := range all {
		names = append(names, valueName(at))
	}
	records, err := c.records(ctx, names)
	if err != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, sealed := range records {
		v := &Found[Value]{Signer: all[i].signer}
		if sealed != nil && c.open(kindValue, names[i], v.Signer, sealed, &v.Record) && v.Record.Value.Group == group {
			return v
		}
	}
	return nil
}

// readSigners reads once which keys have signed results in the cache. Those that are not trusted are named to the user.
func (c *Cache) readSigners(ctx context.Context) {
	c.mu.Lock()
	listed := c.listed
	c.listed = true
	c.mu.Unlock()
	if listed {
		return
	}
	records, err := c.records(ctx, signerNames())
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, sealed := range records {
		if _, id, _ := verify(c.trusted, kindSigner, signerNames()[i], sealed); id != "" && c.trusted[id] == nil {
			c.unknown[id] = true
		}
	}
}

// LookForSigners reads again which keys have signed results in the cache.
func (c *Cache) LookForSigners(ctx context.Context) {
	c.mu.Lock()
	c.listed = false
	c.mu.Unlock()
	c.readSigners(ctx)
}

// Fetch brings blobs into the local store. It reports false unless that has all of them then.
func (c *Cache) Fetch(ctx context.Context, refs []state.BlobRef) bool {
	for _, ref := range refs {
		if !ref.Digest.IsContent() || ref.Size < 0 {
			return false
		}
		if !c.o.Local.HasBlob(ref.Digest) && !c.fetch(ctx, ref) {
			return false
		}
	}
	return true
}

// fetch brings one blob into the local store, which verifies its content.
func (c *Cache) fetch(ctx context.Context, ref state.BlobRef) bool {
	there, err := call(ctx, c.health, c.blobTime(ref.Size), func(ctx context.Context) (bool, error) {
		r, w := io.Pipe()
		failed := make(chan error, 1)
		go func() {
			ok, err := c.o.Store.Blob(ctx, ref, w)
			if failed <- err; err == nil && !ok {
				err = errMissing
			}
			w.CloseWithError(err)
		}()
		there, err := c.o.Local.PutBlobFrom(ref.Digest, ref.Size, r)
		r.CloseWithError(io.ErrClosedPipe)
		if err := <-failed; err != nil && !errors.Is(err, io.ErrClosedPipe) {
			return false, err // the store's
		}
		return there && err == nil, nil
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Answers++
	if !there && err == nil {
		c.counts.Damaged++
	}
	return there
}

// blobTime bounds the time for the content of a blob.
func (c *Cache) blobTime(size int64) time.Duration { return c.o.Answer * time.Duration(1+size>>20) }

// records asks the store for records.
func (c *Cache) records(ctx context.Context, names []state.Digest) (records [][]byte, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	answer := c.o.Answer + time.Duration(len(names))*time.Millisecond
	records, err = call(ctx, c.health, answer, func(ctx context.Context) ([][]byte, error) {
		records, err := c.o.Store.Records(ctx, names)
		if err == nil && len(records) != len(names) {
			err = errors.New("the store gave another number of records than was asked for")
		}
		return records, err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Answers++
	return records, err
}

// open reads a sealed record of a signer. It reports false if that is damaged, or by another. The caller holds c.mu.
func (c *Cache) open(k kind, name state.Digest, signer string, sealed []byte, record any) bool {
	content, id, ok := verify(c.trusted, k, name, sealed)
	if ok && id == signer && state.Decode(content, record) == nil {
		return true
	}
	c.counts.Damaged++
	return false
}

package remote

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/xstate-engine/xstate/state"
)

// Codes of errors about sessions that travel.
const (
	CodeDiverged    state.Code = "remote-diverged"    // the cache and the store have different histories
	CodeNoRef       state.Code = "remote-no-session"  // no trusted key has pushed the session
	CodeUnavailable state.Code = "remote-unavailable" // the cache cannot be opened, or does not answer
	CodeReadOnly    state.Code = "remote-readonly"    // the cache takes nothing from this user
	CodeDamaged     state.Code = "remote-damaged"     // the archive is lost, or is not what was pushed
)

// Ref says how far a session was when it was pushed, and which blob holds the archive of it.
type Ref struct {
	Session string           `cbor:"session"`
	Head    state.StepNumber `cbor:"head"`
	Hash    state.Digest     `cbor:"hash"` // of that step
	Archive state.BlobRef    `cbor:"archive"`
	Values  bool             `cbor:"values,omitempty"` // the archive has values and the content of files
	Time    int64            `cbor:"time"`             // when it was pushed, in seconds since 1970
}

// Last is what a store has of a session.
type Last struct {
	Ref     *Found[Ref] // that with the highest number of those by trusted keys; nil: there is none
	Number  int         // of Ref
	Taken   int         // the highest number that has a record
	Unknown []string    // ids of keys that are not trusted, and have signed records
}

const (
	firstRefs = 64      // how many numbers are asked for at first
	maxRefs   = 1 << 16 // the highest number: a store that has a record for every name must have an end
)

// A person waits for these calls, so they may take longer than those of a run. A link of two megabits per second takes
// four seconds for a megabyte.
const (
	longestAnswer = 30 * time.Second
	perMegabyte   = 4 * time.Second
)

// Refs are the refs of sessions in a store.
type Refs struct {
	store   Store
	address string // for people
	trusted map[string]ed25519.PublicKey
	signer  *signer // nil: nothing is pushed
}

// OpenRefs opens the store that settings name.
func OpenRefs(s Settings) (*Refs, error) {
	key, err := s.key()
	if err != nil {
		return nil, err
	}
	others, err := s.trusted()
	if err != nil {
		return nil, err
	}
	r := newRefs(nil, s.Address, key, others)
	if r.store, err = openStore(&s); err != nil {
		return nil, r.unavailable(err)
	}
	return r, nil
}

func newRefs(store Store, address string, key ed25519.PrivateKey, others []ed25519.PublicKey) *Refs {
	r := &Refs{store: store, address: address, trusted: trustedKeys(key, others)}
	if key != nil {
		r.signer = newSigner(key)
	}
	return r
}

// Address returns the address of the store.
func (r *Refs) Address() string { return r.address }

// Close ends the connection to the store.
func (r *Refs) Close() error { return r.store.Close() }

// Last looks for the last ref of a session. It asks for all of them: a store that frees what was not used for long then
// keeps all of them, or none.
func (r *Refs) Last(ctx context.Context, session string) (*Last, error) {
	last := &Last{}
	for first, n := 1, firstRefs; first <= maxRefs; first, n = first+n, min(2*n, askAtOnce) {
		names := make([]state.Digest, n)
		for i := range names {
			names[i] = refName(session, first+i)
		}
		records, err := r.records(ctx, names)
		if err != nil {
			return nil, err
		}
		before := last.Taken
		for i, sealed := range records {
			if sealed != nil {
				r.note(last, first+i, names[i], sealed)
			}
		}
		if last.Taken == before {
			return last, nil
		}
	}
	return nil, r.unavailable(fmt.Errorf("it has more than %d records of the session", maxRefs))
}

// note adds the record at a number to what is known.
func (r *Refs) note(last *Last, number int, name state.Digest, sealed []byte) {
	last.Taken = number
	found := &Found[Ref]{}
	content, id, ok := verify(r.trusted, kindRef, name, sealed)
	switch {
	case ok && state.Decode(content, &found.Record) == nil && found.Record.Archive.Digest.IsContent():
		found.Signer = id
		last.Ref, last.Number = found, number
	case id != "" && r.trusted[id] == nil && !slices.Contains(last.Unknown, id):
		last.Unknown = append(last.Unknown, id)
	}
}

// records asks the store for records.
func (r *Refs) records(ctx context.Context, names []state.Digest) ([][]byte, error) {
	records, err := within(ctx, 0, func(ctx context.Context) ([][]byte, error) { return r.store.Records(ctx, names) })
	if err == nil && len(records) != len(names) {
		err = errors.New("it gave another number of records than was asked for")
	}
	return records, r.failed(ctx, err)
}

// Follows reports whether the history that is to be pushed has the step of a ref, with the same hash.
type Follows func(*Ref) (bool, error)

// Check looks for the last ref of a session, and fails unless a push may follow it.
func (r *Refs) Check(ctx context.Context, session string, follows Follows) (*Last, error) {
	if r.signer == nil {
		return nil, r.readOnly(nil)
	}
	last, err := r.Last(ctx, session)
	if err != nil || last.Ref == nil {
		return last, err
	}
	ok, err := follows(&last.Ref.Record)
	if err == nil && !ok {
		err = diverged(last)
	}
	return last, err
}

// Push stores an archive, and a ref to it at the first number that is free, which it returns. If another
// push took that number at the same time, that is the last one now, and Push begins again.
func (r *Refs) Push(ctx context.Context, ref *Ref, archive io.ReadSeeker, follows Follows) (number int, err error) {
	if _, err := r.Check(ctx, ref.Session, follows); err != nil {
		return 0, err
	}
	if err := r.send(ctx, ref.Archive, archive); err != nil {
		return 0, err
	}
	for {
		last, err := r.Check(ctx, ref.Session, follows)
		if err != nil {
			return 0, err
		}
		taken, err := r.take(ctx, last.Taken+1, ref)
		if taken || err != nil {
			return last.Taken + 1, err
		}
	}
}

// take puts a ref at a number, and reports whether it is there then.
func (r *Refs) take(ctx context.Context, number int, ref *Ref) (bool, error) {
	name := refName(ref.Session, number)
	sealed, err := r.signer.seal(kindRef, name, ref)
	if err != nil {
		return false, err
	}
	// Without its blob, so that a store may free the archives of former pushes, and keeps the records.
	_, err = within(ctx, 0, func(ctx context.Context) (bool, error) {
		return true, r.store.PutRecord(ctx, name, sealed, nil)
	})
	if err != nil {
		return false, r.failed(ctx, err)
	}
	records, err := r.records(ctx, []state.Digest{name})
	if err == nil && records[0] == nil {
		err = r.unavailable(errors.New("it does not keep the record that it took"))
	}
	return err == nil && bytes.Equal(records[0], sealed), err
}

// Has reports whether the store has an archive.
func (r *Refs) Has(ctx context.Context, archive state.BlobRef) (bool, error) {
	missing, err := within(ctx, 0, func(ctx context.Context) ([]state.BlobRef, error) {
		return r.store.Missing(ctx, []state.BlobRef{archive})
	})
	return len(missing) == 0, r.failed(ctx, err)
}

// send stores an archive, unless the store has it.
func (r *Refs) send(ctx context.Context, ref state.BlobRef, archive io.ReadSeeker) error {
	if has, err := r.Has(ctx, ref); has || err != nil {
		return err
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read the archive: %w", err)
	}
	_, err := within(ctx, ref.Size, func(ctx context.Context) (bool, error) {
		return true, r.store.PutBlob(ctx, ref, archive)
	})
	return r.failed(ctx, err)
}

// Fetch writes the archive of a ref to w. It fails unless that is whole then.
func (r *Refs) Fetch(ctx context.Context, ref *Ref, w io.Writer) error {
	into := newExact(ref.Archive, w)
	found, err := within(ctx, ref.Archive.Size, func(ctx context.Context) (bool, error) {
		return r.store.Blob(ctx, ref.Archive, into)
	})
	switch {
	case into.failed != nil:
		return fmt.Errorf("write the archive: %w", into.failed)
	case into.long || err == nil && found && !into.whole():
		return r.lost(ref, "is damaged")
	case err == nil && !found:
		return r.lost(ref, "is gone")
	}
	return r.failed(ctx, err)
}

// within bounds the time of a request that moves some bytes.
func within[T any](ctx context.Context, size int64, request func(context.Context) (T, error)) (T, error) {
	bounded, cancel := context.WithTimeout(ctx, longestAnswer+perMegabyte*time.Duration(size>>20))
	defer cancel()
	return request(bounded)
}

// failed returns the error for people of a request that the store failed.
func (r *Refs) failed(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() != nil:
		return ctx.Err() // the caller's: it has ended the request
	case errors.Is(err, ErrReadOnly):
		return r.readOnly(err)
	}
	return r.unavailable(err)
}

func (r *Refs) unavailable(err error) error {
	return &state.Error{
		Code:    CodeUnavailable,
		Message: fmt.Sprintf("the cache %s cannot be used", r.address),
		Hint:    "check the table [remote] of your settings; a file serves, too: `xstate export --out FILE.zip`",
		Err:     err,
	}
}

func (r *Refs) readOnly(err error) error {
	return &state.Error{
		Code:    CodeReadOnly,
		Message: fmt.Sprintf("the cache %s takes nothing from you", r.address),
		Hint:    "check `remote.read_only` in your settings, and your rights there",
		Err:     err,
	}
}

func (r *Refs) lost(ref *Ref, how string) error {
	return &state.Error{
		Code:    CodeDamaged,
		Message: fmt.Sprintf("the archive of session %q %s in the cache %s", ref.Session, how, r.address),
		Hint:    "push the session again from a store that has it, after one more step; nothing was imported",
	}
}

// diverged says that a push does not follow the last one.
func diverged(last *Last) error {
	ref := &last.Ref.Record
	return &state.Error{
		Code: CodeDiverged,
		Message: fmt.Sprintf("the cache has a step %d of session %q that this store does not have", ref.Head,
			ref.Session),
		Hint: "`xstate pull` gets it; if that is refused, `xstate fork` gives your steps another name",
	}
}

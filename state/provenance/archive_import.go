package provenance

import (
	"archive/zip"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/keys"
)

// Imported is the outcome of an import.
type Imported struct {
	ArchiveInfo
	Steps   int // that are new to the store
	Skipped int // traces, values, blobs and calls that were damaged: they are computed, and called, again
	// Trust is that of the session now. A session of the store's own, to which nothing was added, stays its own.
	Trust state.Trust
}

// ImportOptions say whom to trust. The zero value trusts no one: results serve only the session that they came with.
type ImportOptions struct {
	// Trust believes the archive: the user knows who made it, and that it is unchanged.
	Trust bool
	// Key believes the archive if this key has signed it, and refuses it otherwise; nil: no signature is looked for.
	Key ed25519.PublicKey
	// Signer is the id of a key that has signed the digest of the whole archive elsewhere, if Trust is set for that.
	Signer string
}

// ArchiveFile is an open archive. Nothing of its description is verified yet.
type ArchiveFile struct {
	ArchiveInfo
	parts *parts
}

// OpenArchive opens an archive and reads its description.
func OpenArchive(r io.ReaderAt, size int64) (*ArchiveFile, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, notArchive(err)
	}
	f := &ArchiveFile{parts: &parts{entries: map[string]*zip.File{}, size: size}}
	for _, e := range z.File {
		f.parts.entries[e.Name] = e
	}
	if err := checkRecords(f.parts.entries, size); err != nil {
		return nil, err
	}
	if err := f.parts.readSums(); err != nil {
		return nil, notArchive(err)
	}
	data, err := f.parts.read(archiveIndex)
	if err != nil {
		return nil, notArchive(err)
	}
	if err := json.Unmarshal(data, &f.ArchiveInfo); err != nil || f.Format != archiveFormat || len(f.Sessions) == 0 {
		return nil, notArchive(err)
	}
	if f.Version > archiveVersion {
		return nil, &state.Error{
			Code:    state.CodeNewer,
			Message: fmt.Sprintf("the archive is of format %d; this version reads %d", f.Version, archiveVersion),
			Hint:    "use a later version of xstate",
		}
	}
	if own := f.Sessions[len(f.Sessions)-1]; own.Name != f.Session || own.Last != f.Head || own.Hash != f.Hash {
		return nil, notArchive(nil)
	}
	return f, nil
}

// Import puts the session of an archive into the store, with its whole history or not at all. It verifies every hash
// and digest, and all that Check verifies. It keeps what the store has. It fails if the store has a session of that
// name with another history.
func Import(ctx context.Context, store *state.Store, f *ArchiveFile, o ImportOptions) (*Imported, error) {
	trust, err := f.trust(o)
	if err == nil {
		err = checkNames(f.Sessions, trust)
	}
	if err == nil && trust.Tier == state.TierForeign {
		err = checkContents(f.parts.entries, f.parts.size)
	}
	if err != nil {
		return nil, err
	}
	records, err := f.parts.records(len(f.Sessions) - 1)
	if err != nil {
		return nil, err
	}
	harmless(records, trust)
	found := &Imported{ArchiveInfo: f.ArchiveInfo}
	found.Steps, err = store.ImportSessions(
		ctx,
		state.SessionImport{Sessions: f.Sessions, Steps: f.parts.steps, Records: records, Trust: trust,
			Source: func(d state.Digest) ([]byte, error) { return f.parts.read("sources/" + string(d)) }},
	)
	if err != nil {
		return nil, err
	}
	meta, err := store.Session(ctx, f.Session)
	if err != nil {
		return found, err
	}
	found.Trust = meta.Trust.Trust
	if trust.Tier == state.TierForeign && meta.Trust.Tier != state.TierForeign {
		return found, nil // the store has all of its steps, and own results
	}
	in := &importer{store: store.For(meta.Trust), trust: trust, parts: f.parts}
	if found.Skipped, err = in.results(ctx); err != nil {
		return found, err
	}
	skipped, err := in.calls(ctx, f.Session)
	found.Skipped += skipped
	return found, err
}

// trust returns how far an import believes the archive.
func (f *ArchiveFile) trust(o ImportOptions) (state.Trust, error) {
	switch {
	case o.Key != nil:
		return state.Trust{Tier: state.TierTrusted, Signer: keys.ID(o.Key)}, f.verifySignature(o.Key)
	case o.Trust:
		return state.Trust{Tier: state.TierTrusted, Signer: o.Signer}, nil
	}
	return state.Trust{Tier: state.TierForeign}, nil
}

// verifySignature fails unless the key has signed the sums of the archive.
func (f *ArchiveFile) verifySignature(key ed25519.PublicKey) error {
	e := f.parts.entries[archiveSignature]
	if e == nil {
		return &state.Error{
			Code:    CodeSignature,
			Message: "the archive is not signed",
			Hint: "who made it signs it with: `xstate export --out FILE.zip --key KEY`; `--trust` imports it " +
				"as it is",
		}
	}
	r, err := e.Open()
	if err != nil {
		return f.parts.damaged(archiveSignature, err)
	}
	defer r.Close()
	data, err := readBounded(r, limitOf(archiveSignature, f.parts.entries))
	if err != nil {
		return f.parts.damaged(archiveSignature, err)
	}
	return verifySums(data, f.parts.signed, key)
}

func notArchive(err error) error {
	return &state.Error{
		Code:    state.CodeArchiveDamaged,
		Message: "the file is no archive of a session, or a damaged one",
		Hint:    "`xstate export --out FILE.zip` makes one",
		Err:     err,
	}
}

// parts are the entries of an archive.
type parts struct {
	entries map[string]*zip.File
	sums    map[string]string // digest of each entry
	signed  state.Digest      // the digest of SHA256SUMS, which a signature covers
	size    int64             // the archive's, in bytes
}

// readSums reads what the digests of the entries are to be.
func (in *parts) readSums() error {
	f := in.entries[archiveSums]
	if f == nil {
		return errors.New("it has no " + archiveSums)
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	data, err := readBounded(r, limitOf(archiveSums, in.entries))
	if err != nil {
		return err
	}
	in.sums, in.signed = map[string]string{}, state.DigestOf(data)
	for line := range strings.Lines(string(data)) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		in.sums[name] = sum
	}
	return nil
}

// verified withholds io.EOF until the digest of the content is verified, so that no reader takes a damaged entry for a
// complete one.
type verified struct {
	io.ReadCloser
	hash hash.Hash
	want string
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	v.hash.Write(p[:n])
	if err == io.EOF && fmt.Sprintf("%x", v.hash.Sum(nil)) != v.want {
		err = errors.New("it does not have the digest that " + archiveSums + " says")
	}
	return n, err
}

// read returns an entry.
func (in *parts) read(name string) ([]byte, error) {
	r, err := in.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := readBounded(r, limitOf(name, in.entries))
	if err != nil {
		return nil, in.damaged(name, err)
	}
	return data, nil
}

func (in *parts) open(name string) (io.ReadCloser, error) {
	f := in.entries[name]
	if f == nil {
		return nil, in.damaged(name, errors.New("it is missing"))
	}
	r, err := f.Open()
	if err != nil {
		return nil, in.damaged(name, err)
	}
	return &verified{r, sha256.New(), in.sums[name]}, nil
}

func (in *parts) damaged(name string, err error) error {
	return &state.Error{
		Code:    state.CodeArchiveDamaged,
		Message: fmt.Sprintf("%s of the archive cannot be read", name),
		Hint:    "the archive is damaged; nothing was imported",
		Err:     err,
	}
}

func (in *parts) steps(i int) iter.Seq2[state.RawStep, error] {
	name := fmt.Sprintf("history/%d/steps", i)
	return func(yield func(state.RawStep, error) bool) {
		r, err := in.open(name)
		if err != nil {
			yield(state.RawStep{}, err)
			return
		}
		defer r.Close()
		for {
			header, err := part(r)
			if err == io.EOF {
				return
			}
			var body []byte
			if err == nil {
				body, err = part(r)
			}
			if err != nil {
				yield(state.RawStep{}, in.damaged(name, err))
				return
			}
			if !yield(state.RawStep{Header: header, Body: body}, nil) {
				return
			}
		}
	}
}

// part reads a length and as many bytes. io.EOF marks the end between two parts.
func part(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxStepPart {
		return nil, fmt.Errorf("a part of %s", bytesText(uint64(n)))
	}
	data, err := io.ReadAll(io.LimitReader(r, int64(n))) // it grows with what is there, not with what n claims
	if err == nil && len(data) < int(n) {
		err = io.ErrUnexpectedEOF
	}
	return data, err
}

func (in *parts) records(i int) (map[string][]byte, error) {
	prefix := fmt.Sprintf("history/%d/records/", i)
	records := map[string][]byte{}
	for name := range in.entries {
		key, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		data, err := in.read(name)
		if err != nil {
			return nil, err
		}
		records[key] = data
	}
	return records, nil
}

type importer struct {
	store *state.Store // as the session sees it
	trust state.Trust  // for its results
	*parts
}

// results stores traces, values and blobs. History needs none of them, so a damaged one is left out and counted.
func (in *importer) results(ctx context.Context) (skipped int, err error) {
	for _, name := range slices.Sorted(maps.Keys(in.entries)) {
		if err := ctx.Err(); err != nil {
			return skipped, err
		}
		ok := true
		switch digest := state.Digest(path.Base(name)); path.Dir(name) {
		case "blobs":
			ok, err = in.blob(name, digest)
		case "bases":
			ok, err = in.base(name, digest)
		case "traces":
			ok, err = in.trace(name, digest)
		case "values":
			ok, err = in.value(name, digest)
		}
		if err != nil {
			return skipped, err
		}
		if !ok {
			skipped++
		}
	}
	return skipped, nil
}

func (in *importer) blob(name string, d state.Digest) (bool, error) {
	r, err := in.open(name)
	if err != nil {
		return false, nil
	}
	defer r.Close()
	ok, err := in.store.PutBlobFrom(d, int64(in.entries[name].UncompressedSize64), r)
	if state.CodeOf(err) == state.CodeDiskFull {
		return false, err
	}
	return ok && err == nil, nil
}

// base keeps a base, which the store takes from a file.
func (in *importer) base(name string, d state.Digest) (bool, error) {
	r, err := in.open(name)
	if err != nil {
		return false, nil
	}
	defer r.Close()
	f, err := os.CreateTemp("", "xstate-*")
	if err != nil {
		return false, fmt.Errorf("import a file: %w", err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err = io.Copy(f, io.LimitReader(r, int64(in.entries[name].UncompressedSize64)+1)); err != nil {
		return false, nil
	}
	if _, err = f.Seek(0, io.SeekStart); err != nil {
		return false, fmt.Errorf("import a file: %w", err)
	}
	ref, err := in.store.PutBase(f)
	return ref.Digest == d, err
}

func (in *importer) trace(name string, d state.Digest) (bool, error) {
	data, err := in.read(name)
	if err != nil {
		return false, nil
	}
	t, err := state.DecodeTrace(data)
	if err != nil || t.Identity() != d || in.trust.Tier == state.TierForeign && !t.StaysInside() {
		return false, nil
	}
	if have, known, err := in.store.Trace(d); known && have.Tier != state.TierForeign || err != nil {
		return true, err
	}
	t.Trust = in.trust
	_, err = in.store.PutTrace(t)
	return true, err
}

func (in *importer) value(name string, d state.Digest) (bool, error) {
	data, err := in.read(name)
	if err != nil {
		return false, nil
	}
	v, err := state.DecodeValue(data)
	if err != nil || v.Group != d {
		return false, nil
	}
	have, known, err := in.store.Value(d)
	if known && have.Tier != state.TierForeign && in.store.HasBlobs(have) || err != nil {
		return true, err
	}
	v.Trust = in.trust
	return true, in.store.PutValue(v)
}

// calls stores the calls of an archive, in their order. A call whose place the store has is the store's. Numbers of
// calls are those of a store, so references between them are changed. A damaged one is left out and counted.
func (in *importer) calls(ctx context.Context, session string) (skipped int, err error) {
	lineage, err := in.store.Lineage(ctx, session)
	if err != nil {
		return 0, err
	}
	var all []state.CallID // a record that is decoded takes far more memory, so only one is at a time
	for name := range in.entries {
		if path.Dir(name) != "calls" {
			continue
		}
		if id, err := strconv.ParseUint(path.Base(name), 10, 64); err == nil && name == callEntry(state.CallID(id)) {
			all = append(all, state.CallID(id))
		} else {
			skipped++
		}
	}
	slices.Sort(all)
	here := map[state.CallID]state.CallID{0: 0}
	undone := map[state.CallID]state.CallID{} // call of this store → the archive's that took it back
	for _, was := range all {
		c, ok := in.call(was)
		if !ok {
			skipped++
			continue
		}
		if c.ID, c.Parent = 0, here[c.Parent]; c.Within != 0 {
			c.Within = lineage
		}
		is, known := here[c.Same]
		if in.trust.Tier == state.TierForeign {
			in.store.ForeignCall(&c)
		}
		if c.Same = is; in.trust.Tier == state.TierForeign || !known {
			c.Undecide()
		}
		err := in.store.PutCall(ctx, &c)
		if errors.Is(err, state.ErrCallExists) {
			known, err := in.store.CallAt(ctx, c.Key, c.Within, c.Number) // in the same place, believed or foreign
			if err != nil {
				return skipped, err
			}
			here[was] = known.ID
			continue
		}
		if err != nil {
			return skipped, err
		}
		here[was] = c.ID
		if c.Undo != nil && c.Undo.Done != 0 {
			undone[c.ID] = c.Undo.Done
		}
	}
	for id, by := range undone {
		_, err := in.store.UpdateCall(ctx, id, func(c *state.Call) error { c.Undo.Done = here[by]; return nil })
		if err != nil {
			return skipped, err
		}
	}
	return skipped, nil
}

// call reads the record of a call, if the store has its contents.
func (in *importer) call(id state.CallID) (c state.Call, ok bool) {
	data, err := in.read(callEntry(id))
	if err != nil {
		return c, false
	}
	if c, err = state.DecodeCall(data); err != nil || c.ID != id || id == 0 {
		return c, false
	}
	for _, x := range c.Contents() {
		text, err := in.store.Read(x)
		if err != nil || x.Digest != "" && state.DigestOf(text) != x.Digest {
			return c, false
		}
	}
	return c, true
}

package provenance

import (
	"archive/zip"
	"context"
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
	"strings"

	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// An archive is a zip file of one session: what another store needs to hold the same history, and to answer the same
// questions about it. Equal sessions with equal results give equal bytes.
//
//	xstate.json              what it is: the sessions in it, with the number and hash of their last steps
//	history/N/steps          of session N: for each step the length of its header (4 bytes, big-endian), the header, the
//	                         length of its changes, the changes, as they are hashed
//	history/N/records/NAME   session records
//	sources/DIGEST           the text of a version of a block
//	traces/DIGEST            what an execution read and wrote (CBOR)
//	values/DIGEST            where a value is kept, and what it needs (CBOR)
//	blobs/DIGEST             outputs; with values, their content, and that of files
//	bases/DIGEST             with values: what files held before the program wrote to them
//	SHA256SUMS               the digests of all of these, as sha256sum writes and checks them

const (
	archiveFormat  = "xstate-session"
	archiveVersion = 1
	archiveIndex   = "xstate.json"
	archiveSums    = "SHA256SUMS"
)

// ArchiveInfo is what an archive says of itself.
type ArchiveInfo struct {
	Format   string                 `json:"format"`
	Version  int                    `json:"version"`
	Session  string                 `json:"session"`
	Head     state.StepNumber       `json:"head"`
	Hash     state.Digest           `json:"hash"` // of the last step
	Values   bool                   `json:"values"`
	Sessions []state.SessionArchive `json:"sessions"` // those it was forked from, the oldest first, and itself
}

// Archived says what goes into an archive, beside history and outputs. The zero value is nothing.
type ArchiveOptions struct {
	Values bool // values, and the content of files
}

// Archive writes the session as one self-contained file.
func Archive(ctx context.Context, h *query.History, w io.Writer, o ArchiveOptions) (*ArchiveInfo, error) {
	pasts, err := h.Store().SessionArchives(ctx, h.Name())
	if err != nil {
		return nil, err
	}
	own := pasts[len(pasts)-1]
	a := &archiver{
		store:    h.Store(),
		zip:      zip.NewWriter(w),
		versions: map[state.Digest]bool{},
		traces:   map[state.Digest]bool{},
		blobs:    map[state.Digest]bool{},
		bases:    map[state.Digest]bool{},
		values:   map[state.Digest]state.Value{},
	}
	info := &ArchiveInfo{
		Format:   archiveFormat,
		Version:  archiveVersion,
		Session:  h.Name(),
		Head:     own.Last,
		Hash:     own.Hash,
		Values:   o.Values,
		Sessions: pasts,
	}
	if err := a.index(info); err != nil {
		return nil, err
	}
	for i, p := range pasts {
		if err := a.steps(ctx, i, p); err != nil {
			return nil, err
		}
	}
	records, err := h.Store().SessionRecords(ctx, h.Name())
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(records)) {
		if name != query.RecordPython { // a path of this machine
			if err := a.put(fmt.Sprintf("history/%d/records/%s", len(pasts)-1, name), records[name]); err != nil {
				return nil, err
			}
		}
	}
	if o.Values {
		if err := a.collect(ctx, h); err != nil {
			return nil, err
		}
	}
	if err := a.results(ctx, o); err != nil {
		return nil, err
	}
	if err := a.put(archiveSums, []byte(a.sums.String())); err != nil {
		return nil, err
	}
	return info, a.zip.Close()
}

type archiver struct {
	store    *state.Store
	zip      *zip.Writer
	versions map[state.Digest]bool
	traces   map[state.Digest]bool
	values   map[state.Digest]state.Value
	blobs    map[state.Digest]bool
	bases    map[state.Digest]bool
	sums     strings.Builder
}

// entry writes one, from what write is given, and notes its digest.
func (a *archiver) entry(name string, write func(io.Writer) error) error {
	w, err := a.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
	if err != nil {
		return err
	}
	h := sha256.New()
	if err := write(io.MultiWriter(w, h)); err != nil {
		return err
	}
	fmt.Fprintf(&a.sums, "%x  %s\n", h.Sum(nil), name)
	return nil
}

func (a *archiver) put(name string, data []byte) error {
	return a.entry(name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

func (a *archiver) index(info *ArchiveInfo) error {
	data, err := json.MarshalIndent(info, "", " ")
	if err != nil {
		return fmt.Errorf("encode the index of an archive: %w", err)
	}
	return a.put(archiveIndex, append(data, '\n'))
}

// steps writes those of one session, and notes what they refer to.
func (a *archiver) steps(ctx context.Context, i int, p state.SessionArchive) error {
	return a.entry(fmt.Sprintf("history/%d/steps", i), func(w io.Writer) error { return a.writeSteps(ctx, w, p) })
}

func (a *archiver) writeSteps(ctx context.Context, w io.Writer, p state.SessionArchive) error {
	for raw, err := range a.store.RawSteps(ctx, p) {
		if err != nil {
			return err
		}
		for _, part := range [][]byte{raw.Header, raw.Body} {
			if _, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(part))), part...)); err != nil {
				return err
			}
		}
		checks, err := raw.Checks()
		if err != nil {
			return fmt.Errorf("read a step: %w", err)
		}
		if checks != "" {
			a.versions[checks] = true
		}
		changes, err := raw.Changes()
		if err != nil {
			return fmt.Errorf("read the changes of a step: %w", err)
		}
		for _, c := range changes {
			if c.Block == nil {
				continue
			}
			a.versions[c.Block.Version] = true
			for _, n := range c.Block.Nodes {
				if n.Trace != "" {
					a.traces[n.Trace] = true
				}
			}
		}
	}
	return nil
}

// collect notes the values of the program as it is, and what files held before it.
func (a *archiver) collect(ctx context.Context, s *query.History) error {
	blocks, _, err := s.Program(ctx)
	if err != nil {
		return err
	}
	err = runner.StoredValues(a.store, blocks, func(v state.Value) error {
		a.values[v.Group] = v
		for _, d := range append([]state.Digest{v.Blob}, v.Parts...) {
			a.blobs[d] = true
		}
		return nil
	})
	files, err2 := s.Files(ctx)
	for _, f := range files {
		a.bases[f.Base] = true
	}
	return errors.Join(err, err2)
}

// results writes what was noted, sorted: what is lost is left out.
func (a *archiver) results(ctx context.Context, o ArchiveOptions) error {
	for _, d := range slices.Sorted(maps.Keys(a.versions)) {
		text, err := a.store.Source(ctx, d)
		if err != nil {
			return err
		}
		if err := a.put("sources/"+string(d), text); err != nil {
			return err
		}
	}
	for _, d := range slices.Sorted(maps.Keys(a.traces)) {
		t, ok, err := a.store.Trace(d)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		a.blobs[t.Outputs] = true
		for _, w := range slices.Concat(t.Reads, t.Writes) { // what a file, a directory or a variable of the environment held
			if space := w.Key.Space(); o.Values && (space == "file" || space == "dir" || space == "env") {
				a.blobs[w.Digest] = true
			}
		}
		if err := a.put("traces/"+string(d), state.EncodeTrace(t)); err != nil {
			return err
		}
	}
	for _, d := range slices.Sorted(maps.Keys(a.values)) {
		if err := a.put("values/"+string(d), state.EncodeValue(a.values[d])); err != nil {
			return err
		}
	}
	for _, d := range slices.Sorted(maps.Keys(a.bases)) {
		if err := a.blob("bases/", d); err != nil {
			return err
		}
	}
	for _, d := range slices.Sorted(maps.Keys(a.blobs)) {
		if err := a.blob("blobs/", d); err != nil {
			return err
		}
	}
	return nil
}

func (a *archiver) blob(folder string, d state.Digest) error {
	if len(d) != 64 || strings.Trim(string(d), "0123456789abcdef") != "" {
		return nil // no content: absent, a directory, a link
	}
	r, ok, err := a.store.OpenBlob(d)
	if err != nil || !ok {
		return err
	}
	defer r.Close()
	err = a.entry(folder+string(d), func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	})
	if err != nil {
		return fmt.Errorf("archive blob %s: %w", d, err)
	}
	return nil
}

// Imported is what an import came to.
type Imported struct {
	ArchiveInfo
	Steps   int // that are new to the store
	Skipped int // traces, values and blobs that were damaged: they are computed again
}

// maxRecord bounds what is read into memory of one entry of an archive.
const maxRecord = 1 << 30

// ArchiveFile is an archive that was opened: what it says of itself is not verified yet.
type ArchiveFile struct {
	ArchiveInfo
	parts *parts
}

// OpenArchive looks at an archive.
func OpenArchive(r io.ReaderAt, size int64) (*ArchiveFile, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, notArchive(err)
	}
	f := &ArchiveFile{parts: &parts{entries: map[string]*zip.File{}}}
	for _, e := range z.File {
		f.parts.entries[e.Name] = e
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

// Import puts the session of an archive into the store, all of its history or nothing: every hash and digest is
// verified, and what Check verifies. What the store has already stays; a session of that name with another history is
// an error.
func Import(ctx context.Context, store *state.Store, f *ArchiveFile) (*Imported, error) {
	records, err := f.parts.records(len(f.Sessions) - 1)
	if err != nil {
		return nil, err
	}
	found := &Imported{ArchiveInfo: f.ArchiveInfo}
	found.Steps, err = store.ImportSessions(
		ctx,
		state.SessionImport{Sessions: f.Sessions, Steps: f.parts.steps, Records: records,
			Source: func(d state.Digest) ([]byte, error) { return f.parts.read("sources/" + string(d)) }},
	)
	if err != nil {
		return nil, err
	}
	in := &importer{store: store, parts: f.parts}
	found.Skipped, err = in.results(ctx)
	return found, err
}

func notArchive(err error) error {
	return &state.Error{
		Code:    state.CodeArchiveDamaged,
		Message: "the file is no archive of a session, or a damaged one",
		Hint:    "xstate export --out FILE.zip makes one",
		Err:     err,
	}
}

// parts are the entries of an archive.
type parts struct {
	entries map[string]*zip.File
	sums    map[string]string // digest of each entry
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
	data, err := io.ReadAll(io.LimitReader(r, maxRecord))
	if err != nil {
		return err
	}
	in.sums = map[string]string{}
	for line := range strings.Lines(string(data)) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		in.sums[name] = sum
	}
	return nil
}

// verified holds back io.EOF unless what was read has the digest that it is to have.
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
	data, err := io.ReadAll(io.LimitReader(r, maxRecord))
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

// part reads a length and as many bytes; io.EOF is the end between two.
func part(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxRecord {
		return nil, fmt.Errorf("a part of %d bytes", n)
	}
	data, err := io.ReadAll(io.LimitReader(r, int64(n)))
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
	store *state.Store
	*parts
}

// results puts traces, values and blobs. None is needed: one that is not what its name says is left out.
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
	_, err = io.Copy(f, r)
	if closed := f.Close(); err != nil || closed != nil {
		return false, nil
	}
	ref, err := in.store.PutBase(f.Name())
	return ref.Digest == d, err
}

func (in *importer) trace(name string, d state.Digest) (bool, error) {
	data, err := in.read(name)
	if err != nil {
		return false, nil
	}
	t, err := state.DecodeTrace(data)
	if err != nil || t.Identity() != d {
		return false, nil
	}
	if _, known, err := in.store.Trace(d); known || err != nil {
		return true, err
	}
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
	if have, known, err := in.store.Value(d); known && in.store.HasBlobs(have) || err != nil {
		return true, err
	}
	return true, in.store.PutValue(v)
}

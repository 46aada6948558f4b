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
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// An archive is a zip file of one session: what another store needs to hold the same history, and to answer the same
// questions about it. Equal sessions with equal results give equal bytes.
//
//	xstate.json              what it is: the sessions in it, with the number and hash of their last steps
//	history/N/steps          of session N: for each step the length of its header (4 bytes, big-endian), the header,
//	                         the length of its changes, and the changes as they are hashed
//	history/N/records/NAME   session records
//	sources/DIGEST           the text of a version of a block
//	traces/DIGEST            what an execution read and wrote (CBOR)
//	values/DIGEST            where a value is kept, and what it needs (CBOR)
//	blobs/DIGEST             outputs; with values, their content, and that of files
//	calls/NUMBER             the record of a call of the session, or one that its results depend on (CBOR)
//	bases/DIGEST             large arguments and results of calls; with values: what files held before the program
//	                         wrote to them
//	SHA256SUMS               the digests of all of these, as sha256sum writes and checks them
//	SIGNATURE.json           a signature of SHA256SUMS, if the session was exported with a key

const (
	archiveFormat  = "xstate-session"
	archiveVersion = 1
	archiveIndex   = "xstate.json"
)

// ArchiveInfo is the description that an archive holds of itself.
type ArchiveInfo struct {
	Format   string                 `json:"format"`
	Version  int                    `json:"version"`
	Session  string                 `json:"session"`
	Head     state.StepNumber       `json:"head"`
	Hash     state.Digest           `json:"hash"` // the last step's
	Values   bool                   `json:"values"`
	Sessions []state.SessionArchive `json:"sessions"` // those it was forked from, the oldest first, and itself
}

// ArchiveOptions says what goes into an archive beside history and outputs. The zero value adds nothing.
type ArchiveOptions struct {
	// Key signs the archive; nil: it is not signed.
	Key ed25519.PrivateKey
	// Values calls yield for the stored values of a program. If it is set, the archive holds them and the content of
	// files. Which values those are follows from how names share objects: that is the runner's knowledge, see
	// runner.StoredValues.
	Values func(store *state.Store, program []state.ProgramBlock, yield func(state.Value) error) error
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
		called:   map[state.CallPlace]bool{},
		values:   map[state.Digest]state.Value{},
	}
	info := &ArchiveInfo{
		Format:   archiveFormat,
		Version:  archiveVersion,
		Session:  h.Name(),
		Head:     own.Last,
		Hash:     own.Hash,
		Values:   o.Values != nil,
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
	if o.Values != nil {
		if err := a.collect(ctx, h, o); err != nil {
			return nil, err
		}
	}
	if err := a.results(ctx, info, o); err != nil {
		return nil, err
	}
	sums := []byte(a.sums.String()) // without the two entries that follow
	if err := a.put(archiveSums, sums); err != nil {
		return nil, err
	}
	if o.Key != nil {
		signature, err := signSums(ctx, info, sums, o.Key)
		if err == nil {
			err = a.put(archiveSignature, signature)
		}
		if err != nil {
			return nil, err
		}
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
	called   map[state.CallPlace]bool // that a trace depends on
	sums     strings.Builder
}

// entry writes one entry with the content that write produces, and records its digest.
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

// steps writes the steps of one session, and records which sources and traces they refer to.
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

// collect records the values of the present program, what files held before it, and the standard inputs of its runs.
func (a *archiver) collect(ctx context.Context, s *query.History, o ArchiveOptions) error {
	blocks, _, err := s.Program(ctx)
	if err != nil {
		return err
	}
	err = o.Values(a.store, blocks, func(v state.Value) error {
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
	head, _, err3 := a.store.Head(ctx, s.Name())
	for step, err := range a.store.Steps(ctx, s.Name(), 1, head) {
		if err != nil {
			return err
		}
		if step.Run != nil && step.Run.Stdin != "" {
			a.bases[step.Run.Stdin] = true
		}
	}
	return errors.Join(err, err2, err3)
}

// results writes the recorded digests in sorted order, so that equal sessions give equal bytes. It leaves out lost
// results: the importer computes them again.
func (a *archiver) results(ctx context.Context, info *ArchiveInfo, o ArchiveOptions) error {
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
		query.CallsRead(&t, a.called)
		// what a file, a directory or a variable of the environment held
		for _, w := range slices.Concat(t.Reads, t.Writes) {
			if space := w.Key.Space(); o.Values != nil && (space == "file" || space == "dir" || space == "env") {
				a.blobs[w.Digest] = true
			}
		}
		t.Trust = state.Trust{} // the importer decides
		if err := a.put("traces/"+string(d), state.EncodeTrace(t)); err != nil {
			return err
		}
	}
	if err := a.calls(ctx, info); err != nil {
		return err
	}
	for _, d := range slices.Sorted(maps.Keys(a.values)) {
		v := a.values[d]
		v.Trust = state.Trust{}
		if err := a.put("values/"+string(d), state.EncodeValue(v)); err != nil {
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

// callEntry is the entry of the record of a call.
func callEntry(id state.CallID) string { return fmt.Sprintf("calls/%d", id) }

// calls writes the records of calls that the archived steps made or depend on, and notes their large contents.
func (a *archiver) calls(ctx context.Context, info *ArchiveInfo) error {
	lineage, err := a.store.Lineage(ctx, info.Session)
	if err != nil {
		return err
	}
	bad := error(nil)
	err = a.store.Calls(ctx, 1, func(c *state.Call) bool {
		place := c.Place()
		if !a.called[place] && !info.made(c) || !a.store.Serves(c, lineage) {
			return true
		}
		for _, x := range c.Contents() {
			if x.Inline == nil && x.Size > 0 {
				a.bases[x.Digest] = true
			}
		}
		if c.Foreign() {
			own := *c
			own.Within = 0
			if c.Effects() {
				own.Within = lineage
			}
			c = &own
		}
		bad = a.put(callEntry(c.ID), state.EncodeCall(*c))
		return bad == nil
	})
	return errors.Join(err, bad)
}

// made reports whether an archived step made a call. Of a session that was forked, the steps after the fork are not in
// the archive.
func (info *ArchiveInfo) made(c *state.Call) bool {
	return slices.ContainsFunc(info.Sessions, func(s state.SessionArchive) bool {
		return s.Name == c.Caller.Session && (s.Name == info.Session || c.Caller.Step < s.Last)
	})
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

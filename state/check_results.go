package state

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// results verifies results.db and the foreign results, after writing what is pending. A damaged record is reported and
// the walk continues: in these files nothing depends on it.
func (c *checker) results() error {
	foreign, _, err := c.store.areas.split(func(uint64) bool { return true })
	for _, r := range append([]*results{c.store.results}, foreign...) {
		if err == nil {
			err = c.resultsOf(r)
		}
	}
	return err
}

func (c *checker) resultsOf(r *results) error {
	r.flush()
	r.mu.Lock()
	c.database, c.of = r.db, r
	r.mu.Unlock()
	if c.database == nil {
		return nil
	}
	if err := c.database.inspect(c.ctx); errors.Is(err, ErrDamaged) {
		c.reportResult("%v", err)
	} else if err != nil {
		return err
	}
	for _, bucket := range resultsBuckets {
		err := c.each(bucket, func(k, v []byte) error {
			payload, err := unseal(bucket, k, v)
			if err == nil {
				err = c.resultRecord(string(bucket), k, payload)
			}
			if err != nil {
				c.reportResult("bucket %s, record %x: %v", bucket, k, err)
			}
			return nil
		})
		if errors.Is(err, ErrDamaged) {
			c.reportResult("%v", err)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) reportResult(format string, args ...any) {
	file, err := filepath.Rel(c.store.dir, c.of.path)
	if err != nil {
		file = c.of.path
	}
	c.add(Problem{Invariant: 10, File: filepath.ToSlash(file), Message: fmt.Sprintf(format, args...)})
}

// resultRecord checks one record of results.db against its key.
func (c *checker) resultRecord(bucket string, k, payload []byte) error {
	var key Digest
	if bucket != string(bucketFormat) {
		if err := key.UnmarshalBinary(k); err != nil {
			return err
		}
	}
	switch bucket {
	case string(bucketTraces):
		var t Trace
		if err := decode(payload, &t); err != nil {
			return err
		}
		if t.Identity() != key {
			return errors.New("the trace does not have the identity that names it")
		}
		return errors.Join(c.tier(t.Trust), t.wellFormed())
	case string(bucketByCode):
		return c.traceList(key, payload)
	case string(bucketValues):
		var v Value
		if err := decode(payload, &v); err != nil {
			return err
		}
		if v.Group != key {
			return errors.New("the value does not have the digest that names it")
		}
		return c.tier(v.Trust)
	case string(bucketInline):
		content, err := unpack(payload)
		if err != nil {
			return err
		}
		if DigestOf(content) != key {
			return errors.New("the blob does not have the digest that names it")
		}
	}
	return nil
}

// tier checks that a result lies among those of its tier (invariant 16).
func (c *checker) tier(t Trust) error {
	if foreign := c.of != c.store.results; foreign != (t.Tier == TierForeign) {
		return fmt.Errorf("a result of the tier %q lies among those that %s", t.Tier,
			map[bool]string{true: "only one session reads", false: "every session believes"}[foreign])
	}
	return nil
}

// wellFormed returns a mistake in a trace that no execution makes.
func (t *Trace) wellFormed() error {
	for _, list := range [][]Access{t.Reads, t.Writes} {
		for i := 1; i < len(list); i++ {
			if list[i-1].Key >= list[i].Key {
				return fmt.Errorf("the trace has the key %s out of order, or twice", list[i].Key)
			}
		}
	}
	return nil
}

// traceList checks the list of traces of a code (invariant 10).
func (c *checker) traceList(code Digest, payload []byte) error {
	var list []Digest
	if err := decode(payload, &list); err != nil {
		return err
	}
	if len(list) > maxTraces {
		return fmt.Errorf("it lists %d traces", len(list))
	}
	for i, id := range list {
		if slices.Contains(list[:i], id) {
			return fmt.Errorf("it lists trace %s twice", id)
		}
		var t Trace
		if err := getRecord(c.tx, bucketTraces, id.key(), &t); err != nil {
			return fmt.Errorf("trace %s: %w", id, err)
		}
		if t.Code != code {
			return fmt.Errorf("trace %s belongs to another code", id)
		}
	}
	return nil
}

// blobFiles verifies every file in blobs/ and bases/. It decompresses them all, so it takes most of the time of a
// check.
func (c *checker) blobFiles() error {
	err := c.blobsIn(c.store.blobs.dir, 11)
	if err == nil {
		err = c.blobsIn(c.store.bases.dir, 12)
	}
	return err
}

func (c *checker) blobsIn(dir string, invariant int) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fileError("check blobs", err)
		}
		if stop := c.stop(); stop != nil || e.IsDir() || strings.HasPrefix(e.Name(), "new-") {
			return stop
		}
		if err := verifyBlob(dir, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			rel, _ := filepath.Rel(c.store.dir, path)
			c.add(Problem{Invariant: invariant, File: filepath.ToSlash(rel), Message: err.Error()})
		}
		return nil
	})
}

// verifyBlob compares the content of a blob file with its name.
func verifyBlob(dir, path string) error {
	d, raw, ok := (&blobs{dir: dir}).digestOfFile(path)
	if !ok {
		return errors.New("its name is not that of a blob")
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if raw {
		_, err = io.Copy(h, f)
	} else {
		err = decompress(h, f)
	}
	if err != nil {
		return err
	}
	if sumOf(h) != d {
		return errors.New("its content does not have the digest that names it")
	}
	return nil
}

func decompress(w io.Writer, r io.Reader) error {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return err
	}
	defer z.Close()
	_, err = z.WriteTo(w)
	return err
}

// usedTraces compares the traces that the present programs use with what their steps say of them (invariant 17). It
// finds a trace of other code, and one that read a value that no node before it wrote. It cannot find a trace that is
// wrong in itself: only an execution does, xstate run --verify.
func (c *checker) usedTraces() error {
	all, err := c.store.Sessions(c.ctx)
	if err != nil {
		return damageReported(err)
	}
	for _, meta := range all {
		if err := c.stop(); err != nil {
			return err
		}
		blocks, err := c.store.ProgramAt(c.ctx, meta.Name, meta.Head)
		if err != nil {
			if err = damageReported(err); err != nil {
				return err
			}
			continue
		}
		c.tracesOf(meta, blocks)
	}
	return nil
}

// damageReported drops an error that the checks of history reported before.
func damageReported(err error) error {
	if errors.Is(err, ErrDamaged) {
		return nil
	}
	return err
}

// tracesOf checks the traces of a program.
func (c *checker) tracesOf(meta Session, blocks []Block) {
	store := c.store.For(meta.Trust)
	for i := range blocks {
		b := &blocks[i]
		if b.RanAt < b.Edited {
			continue
		}
		for _, n := range b.Nodes {
			t, ok, err := store.Trace(n.Trace)
			if !ok || err != nil {
				continue
			}
			if t.Code != n.Code {
				c.reportTrace(meta, b.RanAt, "the trace of block %q is of other code than its node", b.ID)
			}
			c.callsRead(store, meta, b, t.Reads)
		}
	}
}

// callsRead reports calls that a block read and that have no record: calls.db is gone, or another one.
func (c *checker) callsRead(store *Store, meta Session, b *Block, reads []Access) {
	for _, a := range reads {
		at, ok := CallPlaceOf(a.Key)
		if !ok || a.Digest == Absent || strings.HasPrefix(string(a.Digest), "waiting:") {
			continue
		}
		within := uint64(0)
		var err error
		if at.Effects {
			within, err = c.store.Lineage(c.ctx, meta.Name)
		}
		if err == nil {
			var found *Call
			if found, err = store.CallAt(c.ctx, at.Key, within, at.Number); err == nil && found == nil {
				err = errNoRecord
			}
		}
		if errors.Is(err, errNoRecord) {
			c.add(Problem{Invariant: 18, File: callsFile, Session: meta.Name, Step: b.RanAt,
				Message: fmt.Sprintf("the record of a call that block %q depends on is gone", b.ID)})
			return
		}
	}
}

func (c *checker) reportTrace(meta Session, at StepNumber, format string, args ...any) {
	file := resultsFile
	if meta.Trust.Area != 0 {
		file = filepath.ToSlash(filepath.Join(foreignDir, fmt.Sprintf("%d.db", meta.Trust.Area)))
	}
	c.add(Problem{Invariant: 17, File: file, Session: meta.Name, Step: at, Message: fmt.Sprintf(format, args...)})
}

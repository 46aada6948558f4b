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

// results verifies results.db, after writing what is pending. A damaged record is reported and the walk goes on: in
// this file nothing depends on it.
func (c *checker) results() error {
	r := c.store.results
	r.flush()
	r.mu.Lock()
	c.database = r.db
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
	c.add(Problem{Invariant: 10, File: resultsFile, Message: fmt.Sprintf(format, args...)})
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

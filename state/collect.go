package state

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"
)

// CollectOptions say what Collect frees. The zero value is what is of no use.
type CollectOptions struct {
	MaxBytes int64 // results beyond this size go, those worth least first; 0: no bound. History is not counted
	DryRun   bool  // tell, and do nothing
}

// Freed is what Collect frees of one kind.
type Freed struct {
	Count   int     `json:"count"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"` // to compute it again, by recorded times
}

// Collected is what Collect did, or would do.
type Collected struct {
	Before  int64 `json:"before"`  // bytes of results.db and blobs/
	After   int64 `json:"after"`   // about, of a dry run
	Useless Freed `json:"useless"` // blobs that nothing refers to, and what killed processes left
	Evicted Freed `json:"evicted"` // outputs, files and values, each with its blobs
	Traces  Freed `json:"traces"`  // evicted when nothing else is left: what nodes read and wrote
}

// leftAlone is how long a blob that nothing refers to may be about to be referred to.
const leftAlone = time.Hour

// item is something that can be freed.
type item struct {
	bucket  []byte    // of a record; nil: a file
	key     string    // of the record, or the path of the file
	digest  Digest    // of a blob
	bytes   int64     // 0 once it is chosen
	seconds float64   // to compute it again
	used    time.Time // last
	refs    []*item   // blobs that a record refers to
	users   int       // records that refer to a blob
	rate    float64   // worth of a record
}

// Collect frees results: those of no use, and with MaxBytes those that are worth least, by the time to compute them again for
// each byte and by their last use. History is never touched. Others may use the store meanwhile; what they miss they
// compute again.
func (s *Store) Collect(ctx context.Context, o CollectOptions) (Collected, error) {
	if s.options.ReadOnly && !o.DryRun {
		return Collected{}, errReadOnly
	}
	s.results.flush()
	defer s.results.take()
	c := &collector{store: s, ctx: ctx, now: s.options.Now(), options: o, blobs: make(map[Digest]*item)}
	err := c.look()
	if err == nil {
		c.choose()
		err = c.free()
	}
	return c.report, err
}

type collector struct {
	store   *Store
	ctx     context.Context
	now     time.Time
	options CollectOptions
	blobs   map[Digest]*item
	records []*item
	left    []*item // files that killed processes left
	gone    []*item
	live    int64 // bytes of records
	slack   bool  // results.db is mostly free pages
	report  Collected
}

// look finds everything there is.
func (c *collector) look() error {
	r := c.store.results
	r.mu.Lock()
	db := r.db
	r.mu.Unlock()
	if err := c.files(); err != nil {
		return err
	}
	if db != nil {
		for _, bucket := range [][]byte{bucketInline, bucketTraces, bucketValues, bucketMemo} {
			err := (&checker{store: c.store, ctx: c.ctx, database: db}).each(bucket, func(k, v []byte) error {
				c.record(bucket, k, v)
				return nil
			})
			if err != nil && !errors.Is(err, ErrDamaged) {
				return err
			}
		}
	}
	for _, i := range c.records {
		for _, b := range i.refs {
			b.users++
		}
	}
	if db != nil {
		info, err := os.Stat(db.path)
		if err != nil {
			return fileError("look at results", err)
		}
		c.report.Before, c.report.After = info.Size(), min(info.Size(), paged(c.live))
		c.slack = info.Size() > 2*paged(c.live)+growBy
	}
	files := int64(0)
	for _, i := range c.left {
		files += i.bytes
	}
	for _, b := range c.blobs {
		if b.bucket == nil {
			files += b.bytes
		}
	}
	c.report.Before += files
	c.report.After += files
	return nil
}

// paged is how large a database is that holds so many bytes of records, about.
func paged(bytes int64) int64 { return bytes*4/3 + 32*pageSize }

// record notes a record of results.db. One that is damaged is worth nothing.
func (c *collector) record(bucket, k, v []byte) {
	i := &item{bucket: bucket, key: string(k), bytes: int64(len(k) + len(v))}
	c.live += i.bytes
	if string(bucket) == string(bucketInline) {
		if i.digest.UnmarshalBinary(k) == nil {
			if file := c.blobs[i.digest]; file != nil {
				c.left = append(c.left, file) // kept twice
			}
			c.blobs[i.digest] = i
		}
		return
	}
	c.records = append(c.records, i)
	payload, err := unseal(bucket, k, v)
	if err != nil {
		return
	}
	switch string(bucket) {
	case string(bucketTraces):
		var t Trace
		if decode(payload, &t) == nil {
			i.seconds, i.used = t.Seconds, t.At
			c.refer(i, t.Outputs)
			for _, a := range slices.Concat(t.Writes, t.Reads) {
				c.refer(i, a.Digest) // of files, and what else is kept by its digest
			}
		}
	case string(bucketValues):
		var value Value
		if decode(payload, &value) == nil {
			i.seconds = value.Seconds
			c.refer(i, value.Blob)
			for _, d := range value.Parts {
				c.refer(i, d)
			}
		}
	case string(bucketMemo):
		i.seconds, i.used = memoSeconds, c.now
	}
}

func (c *collector) refer(i *item, d Digest) {
	b := c.blobs[d]
	if b == nil || slices.Contains(i.refs, b) {
		return
	}
	i.refs = append(i.refs, b)
	if b.used.After(i.used) {
		i.used = b.used
	}
}

// memoSeconds is what a memo saves, about: to hash a small file, to look at an interpreter.
const memoSeconds = 0.001

// files notes the files of blobs/ and those that are no part of the store.
func (c *collector) files() error {
	err := filepath.WalkDir(c.store.blobs.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return ignoreMissing(err)
		}
		info, err := e.Info()
		if err != nil {
			return ignoreMissing(err)
		}
		i := &item{key: path, bytes: info.Size(), used: info.ModTime()}
		i.digest = Digest(strings.TrimSuffix(e.Name(), ".zst"))
		if want, ok := c.store.blobs.path(i.digest); ok && want == path {
			c.blobs[i.digest] = i
		} else if c.now.Sub(i.used) > leftAlone {
			c.left = append(c.left, i)
		}
		return c.ctx.Err()
	})
	if err != nil {
		return fileError("look at blobs", err)
	}
	aside, err := filepath.Glob(filepath.Join(c.store.dir, resultsFile+".damaged-*"))
	for _, path := range aside {
		if info, err := os.Stat(path); err == nil {
			c.left = append(c.left, &item{key: path, bytes: info.Size()})
		}
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// choose decides what goes.
func (c *collector) choose() {
	for _, i := range c.left {
		c.drop(i, &c.report.Useless)
	}
	for _, b := range c.blobs {
		if b.users == 0 && (b.bucket != nil || c.now.Sub(b.used) > leftAlone) {
			c.drop(b, &c.report.Useless)
		}
	}
	if c.options.MaxBytes == 0 {
		return
	}
	for _, i := range c.records {
		i.rate = i.worth(c.now)
	}
	slices.SortFunc(c.records, func(a, b *item) int { return cmp.Or(cmp.Compare(a.rate, b.rate), cmp.Compare(a.key, b.key)) })
	for _, i := range c.records {
		if c.report.After > c.options.MaxBytes {
			c.evict(i)
		}
	}
	for _, i := range c.records {
		if c.report.After > c.options.MaxBytes && i.bytes > 0 {
			c.drop(i, &c.report.Traces)
		}
	}
}

// worth is what an item is kept for: seconds for each byte that it has to itself, less and less as it is not used.
func (i *item) worth(now time.Time) float64 {
	bytes := float64(i.bytes)
	for _, b := range i.refs {
		bytes += float64(b.bytes) / float64(b.users)
	}
	days := max(0, now.Sub(i.used).Hours()/24)
	return i.seconds / bytes / (1 + days)
}

// evict drops what a record is about: blobs that no other refers to, and the record. A trace stays: it is small, and
// tells what its node read.
func (c *collector) evict(i *item) {
	trace := string(i.bucket) == string(bucketTraces)
	if trace && len(i.refs) == 0 {
		return
	}
	c.report.Evicted.Seconds += i.seconds
	for _, b := range i.refs {
		if b.users--; b.users == 0 {
			c.drop(b, &c.report.Evicted)
		}
	}
	if !trace {
		c.drop(i, &c.report.Evicted)
	}
}

func (c *collector) drop(i *item, into *Freed) {
	into.Count++
	into.Bytes += i.bytes
	if i.bucket == nil {
		c.report.After -= i.bytes
	} else {
		c.report.After -= i.bytes * 4 / 3
	}
	c.gone = append(c.gone, i)
	i.bytes = 0
}

// freeBatch is how many records go in one transaction: others wait for it.
const freeBatch = 1000

// free removes what was chosen: records first, so that nothing is referred to that is not there.
func (c *collector) free() error {
	if c.options.DryRun {
		return nil
	}
	if len(c.gone) > 0 {
		c.store.renewGeneration()
	}
	r := c.store.results
	var records []*item
	for _, i := range c.gone {
		if i.bucket != nil {
			records = append(records, i)
		}
	}
	for batch := range slices.Chunk(records, freeBatch) {
		r.mu.Lock()
		db := r.db
		r.mu.Unlock()
		if db == nil {
			break
		}
		if err := db.update(c.ctx, func(tx *bbolt.Tx) error { return c.delete(tx, batch) }); err != nil {
			return err
		}
	}
	for _, i := range c.gone {
		if i.bucket == nil {
			if err := ignoreMissing(os.Remove(i.key)); err != nil {
				return fileError("free results", err)
			}
		}
	}
	return c.compact(len(records) > 0 || c.slack)
}

func (c *collector) delete(tx *bbolt.Tx, batch []*item) error {
	for _, i := range batch {
		b := tx.Bucket(i.bucket)
		if string(i.bucket) == string(bucketTraces) {
			if err := unlist(tx, []byte(i.key)); err != nil {
				return err
			}
		}
		if err := b.Delete([]byte(i.key)); err != nil {
			return err
		}
	}
	return nil
}

// unlist takes a trace from the list of its code.
func unlist(tx *bbolt.Tx, key []byte) error {
	var t Trace
	var id Digest
	var list []Digest
	if getRecord(tx, bucketTraces, key, &t) != nil || id.UnmarshalBinary(key) != nil || getRecord(tx, bucketByCode, t.Code.key(), &list) != nil {
		return nil // no record, or one that cannot be read: it is in no list that can
	}
	list = slices.DeleteFunc(list, func(d Digest) bool { return d == id })
	if len(list) == 0 {
		return tx.Bucket(bucketByCode).Delete(t.Code.key())
	}
	return putRecord(tx, bucketByCode, t.Code.key(), list)
}

// compact writes results.db anew when that makes it smaller.
func (c *collector) compact(changed bool) error {
	r := c.store.results
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.db == nil {
		return nil
	}
	if changed {
		if err := r.db.compact(c.ctx); err != nil {
			return err
		}
	}
	info, err := os.Stat(r.db.path)
	if err != nil {
		return fileError("free results", err)
	}
	c.report.After = info.Size()
	for _, b := range c.blobs {
		if b.bucket == nil {
			c.report.After += b.bytes
		}
	}
	return nil
}

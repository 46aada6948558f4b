package state

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// CollectOptions say what Collect frees. The zero value frees only what nothing refers to.
type CollectOptions struct {
	MaxBytes int64 // evict results beyond this size, lowest retention score first; 0: no bound. History is not counted
	DryRun   bool  // report what would be freed, and free nothing
}

// Freed counts what Collect freed of one kind.
type Freed struct {
	Count   int     `json:"count"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"` // to recompute it, by recorded times
}

// Collected reports what Collect freed, or would free in a dry run.
type Collected struct {
	Before  int64 `json:"before"`  // bytes of results.db and blobs/
	After   int64 `json:"after"`   // an estimate in a dry run
	Useless Freed `json:"useless"` // unreferenced blobs, and files that killed processes left
	Evicted Freed `json:"evicted"` // outputs, files and values, each with its blobs
	Traces  Freed `json:"traces"`  // evicted last: what nodes read and wrote
}

// blobGracePeriod protects a new blob that nothing refers to yet. A process stores blobs first and then the record
// that refers to them; results pending in its memory refer to blobs on disk.
const blobGracePeriod = time.Hour

// candidate is a record or file that can be freed.
type candidate struct {
	bucket  []byte       // a record's; nil for a file
	of      *results     // that have the record
	key     string       // the record's, or the path of the file
	digest  Digest       // a blob's
	bytes   int64        // 0 once it is chosen, so that it is counted once
	seconds float64      // to recompute it
	used    time.Time    // last use
	refs    []*candidate // for a record: the blobs that it refers to
	users   int          // for a blob: the number of records that refer to it
	score   float64      // a record's retention score
}

// Collect frees results: what nothing refers to and, with MaxBytes, those with the lowest retention score. It never
// touches history. Other processes may use the store meanwhile; a result that they miss they recompute.
func (s *Store) Collect(ctx context.Context, o CollectOptions) (Collected, error) {
	if s.options.ReadOnly && !o.DryRun {
		return Collected{}, errReadOnly
	}
	sessions, err := s.Sessions(ctx)
	if err != nil {
		return Collected{}, err
	}
	read := map[uint64]bool{}
	for _, x := range sessions {
		read[x.Trust.Area] = true
	}
	all, unread, err := s.areas.split(func(n uint64) bool { return read[n] })
	if err != nil {
		return Collected{}, err
	}
	all = append([]*results{s.results}, all...)
	for _, r := range all {
		r.flush()
		defer r.noteRemoval()
	}
	c := &collector{store: s, ctx: ctx, now: s.options.Now(), options: o, all: all, unread: unread,
		blobs: make(map[Digest]*candidate)}
	err = c.scan()
	if err == nil {
		c.choose()
		err = c.free()
	}
	return c.report, err
}

type collector struct {
	store       *Store
	ctx         context.Context
	now         time.Time
	options     CollectOptions
	all         []*results // the believed ones first
	unread      []string   // files of foreign results that no session reads any more
	blobs       map[Digest]*candidate
	records     []*candidate
	leftovers   []*candidate // files that killed processes left behind
	chosen      []*candidate
	recordBytes int64             // bytes of all records of the results that are scanned
	mostlyFree  map[*results]bool // their file consists mostly of free pages
	report      Collected
}

// scan lists all records and files with their references and sizes. Files come first, so that a record finds the
// blobs it refers to.
func (c *collector) scan() error {
	if err := c.files(); err != nil {
		return err
	}
	c.mostlyFree = map[*results]bool{}
	for _, r := range c.all {
		if err := c.scanResults(r); err != nil {
			return err
		}
	}
	// Users are counted once all references are known, because a shared blob is worth its size divided by them.
	for _, i := range c.records {
		for _, b := range i.refs {
			b.users++
		}
	}
	files := int64(0)
	for _, i := range c.leftovers {
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

// scanResults lists the records of a file of results.
func (c *collector) scanResults(r *results) error {
	r.mu.Lock()
	db := r.db
	r.mu.Unlock()
	if db == nil {
		return nil
	}
	c.recordBytes = 0
	for _, bucket := range [][]byte{bucketInline, bucketTraces, bucketValues, bucketMemo} {
		err := (&checker{store: c.store, ctx: c.ctx, database: db}).each(bucket, func(k, v []byte) error {
			c.record(r, bucket, k, v)
			return nil
		})
		if err != nil && !errors.Is(err, ErrDamaged) {
			return err
		}
	}
	info, err := os.Stat(db.path)
	if err != nil {
		return fileError("look at results", err)
	}
	c.report.Before, c.report.After = c.report.Before+info.Size(),
		c.report.After+min(info.Size(), fileSizeFor(c.recordBytes))
	c.mostlyFree[r] = info.Size() > 2*fileSizeFor(c.recordBytes)+growBy
	return nil
}

// fileSizeFor estimates the size of a database that holds so many bytes of records: a third more for the free space
// in pages, and 32 pages for what every database has.
func fileSizeFor(bytes int64) int64 { return bytes*4/3 + 32*pageSize }

// record adds a record of results. A damaged one keeps zero seconds, so it is evicted first.
func (c *collector) record(r *results, bucket, k, v []byte) {
	i := &candidate{of: r, bucket: bucket, key: string(k), bytes: int64(len(k) + len(v))}
	c.recordBytes += i.bytes
	if string(bucket) == string(bucketInline) {
		if i.digest.UnmarshalBinary(k) == nil {
			if file := c.blobs[i.digest]; file != nil {
				c.leftovers = append(c.leftovers, file) // stored twice: the record suffices
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
			c.addReference(i, t.Outputs)
			for _, a := range slices.Concat(t.Writes, t.Reads) {
				c.addReference(
					i,
					a.Digest,
				) // digests of files, and of other contents stored by digest; others match no blob
			}
		}
	case string(bucketValues):
		var value Value
		if decode(payload, &value) == nil {
			i.seconds = value.Seconds
			c.addReference(i, value.Blob)
			for _, d := range value.Parts {
				c.addReference(i, d)
			}
		}
	case string(bucketMemo):
		i.seconds, i.used = memoSeconds, c.now
	}
}

// addReference notes that record i refers to blob d. The record counts as used when its blob was.
func (c *collector) addReference(i *candidate, d Digest) {
	b := c.blobs[d]
	if b == nil || slices.Contains(i.refs, b) {
		return
	}
	i.refs = append(i.refs, b)
	if b.used.After(i.used) {
		i.used = b.used
	}
}

// memoSeconds is an estimate of what a memo saves: hashing a small file, or querying an interpreter.
const memoSeconds = 0.001

// files adds the files in blobs/, files there that killed processes left, and quarantined databases.
func (c *collector) files() error {
	err := filepath.WalkDir(c.store.blobs.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return ignoreMissing(err)
		}
		info, err := e.Info()
		if err != nil {
			return ignoreMissing(err)
		}
		i := &candidate{key: path, bytes: info.Size(), used: info.ModTime()}
		var ok bool
		if i.digest, _, ok = c.store.blobs.digestOfFile(path); ok {
			c.blobs[i.digest] = i
		} else if c.now.Sub(i.used) > blobGracePeriod {
			c.leftovers = append(c.leftovers, i)
		}
		return c.ctx.Err()
	})
	if err != nil {
		return fileError("look at blobs", err)
	}
	aside, err := filepath.Glob(filepath.Join(c.store.dir, resultsFile+".damaged-*"))
	for _, path := range append(aside, c.unread...) {
		if info, err := os.Stat(path); err == nil {
			c.leftovers = append(c.leftovers, &candidate{key: path, bytes: info.Size()})
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

// choose decides what to free. The order is: what nothing refers to; then what records refer to, lowest score first;
// then, if that is not enough, the traces themselves.
func (c *collector) choose() {
	for _, i := range c.leftovers {
		c.drop(i, &c.report.Useless)
	}
	for _, b := range c.blobs {
		if b.users == 0 && (b.bucket != nil || c.now.Sub(b.used) > blobGracePeriod) {
			c.drop(b, &c.report.Useless)
		}
	}
	if c.options.MaxBytes == 0 {
		return
	}
	for _, i := range c.records {
		i.score = i.retentionScore(c.now)
	}
	slices.SortFunc(
		c.records,
		func(a, b *candidate) int { return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.key, b.key)) },
	)
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

// retentionScore returns the seconds to recompute an item, per byte that it alone uses, divided by one plus the days
// since its last use. A shared blob counts in equal parts for each of its records.
func (i *candidate) retentionScore(now time.Time) float64 {
	bytes := float64(i.bytes)
	for _, b := range i.refs {
		bytes += float64(b.bytes) / float64(b.users)
	}
	days := max(0, now.Sub(i.used).Hours()/24)
	return i.seconds / bytes / (1 + days)
}

// evict frees the blobs of a record that no other record refers to, and the record. A trace stays: it is small, and
// it records what its node read.
func (c *collector) evict(i *candidate) {
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

// drop chooses an item. A record of n bytes frees about 4n/3, see fileSizeFor.
func (c *collector) drop(i *candidate, into *Freed) {
	into.Count++
	into.Bytes += i.bytes
	if i.bucket == nil {
		c.report.After -= i.bytes
	} else {
		c.report.After -= i.bytes * 4 / 3
	}
	c.chosen = append(c.chosen, i)
	i.bytes = 0
}

// freeBatch is how many records are deleted in one transaction. Other processes wait for it, so it is bounded.
const freeBatch = 1000

// free removes what was chosen: records first, so that no record refers to a removed blob.
func (c *collector) free() error {
	if c.options.DryRun {
		return nil
	}
	if len(c.chosen) > 0 {
		c.store.renewGeneration()
	}
	changed := map[*results]bool{}
	for _, r := range c.all {
		var records []*candidate
		for _, i := range c.chosen {
			if i.of == r {
				records = append(records, i)
			}
		}
		r.mu.Lock()
		db := r.db
		r.mu.Unlock()
		if db == nil {
			continue
		}
		changed[r] = len(records) > 0
		for batch := range slices.Chunk(records, freeBatch) {
			if err := db.update(c.ctx, func(tx *bbolt.Tx) error { return c.delete(tx, batch) }); err != nil {
				return err
			}
		}
	}
	for _, i := range c.chosen {
		if i.bucket == nil {
			if err := ignoreMissing(os.Remove(i.key)); err != nil {
				return fileError("free results", err)
			}
		}
	}
	c.report.After = 0
	for _, r := range c.all {
		if err := c.compact(r, changed[r] || c.mostlyFree[r]); err != nil {
			return err
		}
	}
	for _, b := range c.blobs {
		if b.bucket == nil {
			c.report.After += b.bytes
		}
	}
	return nil
}

// delete removes a batch of records.
func (c *collector) delete(tx *bbolt.Tx, batch []*candidate) error {
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

// unlist removes a trace from the list of its code. Otherwise the list would name a missing trace (invariant 10).
func unlist(tx *bbolt.Tx, key []byte) error {
	var t Trace
	var id Digest
	var list []Digest
	if getRecord(tx, bucketTraces, key, &t) != nil || id.UnmarshalBinary(key) != nil ||
		getRecord(tx, bucketByCode, t.Code.key(), &list) != nil {
		return nil // no record, or an unreadable one: no readable list names it
	}
	list = slices.DeleteFunc(list, func(d Digest) bool { return d == id })
	if len(list) == 0 {
		return tx.Bucket(bucketByCode).Delete(t.Code.key())
	}
	return putRecord(tx, bucketByCode, t.Code.key(), list)
}

// compact rewrites a file of results without its free pages if records were deleted or most pages are free.
func (c *collector) compact(r *results, changed bool) error {
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
	c.report.After += info.Size()
	return nil
}

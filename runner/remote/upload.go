package remote

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/xstate-engine/xstate/state"
)

// withheld is the size of a blob that is not uploaded.
const withheld = -1

// atOnce is how many requests of uploads run at the same time.
const atOnce = 16

// Upload uploads in the background. It leaves out what it cannot upload: the next run that has it offers it
// again.
func (c *Cache) Upload(items []*Upload) {
	if c.signer == nil || len(items) == 0 {
		return
	}
	u := &c.uploads
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting = append(u.waiting, items...)
	if u.running == nil && !u.ended {
		u.running = make(chan struct{})
		go c.uploadAll(context.Background()) // the cache bounds the time
	}
}

// Wait returns when nothing waits to be uploaded, or the context ends.
func (c *Cache) Wait(ctx context.Context) {
	c.uploads.mu.Lock()
	running := c.uploads.running
	c.uploads.mu.Unlock()
	if running == nil {
		return
	}
	select {
	case <-running:
	case <-ctx.Done():
	}
}

// Close ends uploads and the connection to the store.
func (c *Cache) Close() error {
	c.uploads.mu.Lock()
	c.uploads.ended, c.uploads.waiting = true, nil
	c.uploads.mu.Unlock()
	return c.o.Store.Close()
}

// uploadAll uploads what waits, until nothing does.
func (c *Cache) uploadAll(ctx context.Context) {
	u := &c.uploads
	for {
		u.mu.Lock()
		items := u.waiting
		u.waiting = nil
		if len(items) == 0 || u.ended {
			close(u.running)
			u.running = nil
			u.mu.Unlock()
			return
		}
		u.mu.Unlock()
		if err := c.upload(ctx, items); errors.Is(err, ErrReadOnly) {
			u.mu.Lock()
			u.ended, u.full = true, err
			u.mu.Unlock()
		}
	}
}

// upload uploads blobs first, so that no record names one that is missing, then records.
func (c *Cache) upload(ctx context.Context, items []*Upload) error {
	items = slices.DeleteFunc(slices.Clone(items), func(x *Upload) bool { return !c.prepare(x) })
	if err := c.sendBlobs(ctx, items); err != nil {
		return err
	}
	weak := []state.Digest{}
	for _, x := range items {
		if x.Result != nil {
			weak = append(weak, x.Weak)
		}
	}
	c.Keys(ctx, weak)
	if err := c.enlist(ctx); err != nil {
		return err
	}
	return inParallel(items, func(x *Upload) error {
		if err := c.sendRecords(ctx, x); err != nil {
			return err
		}
		if x.Done != nil {
			x.Done()
		}
		return nil
	})
}

// signerID is the id of the key that signs.
func (c *Cache) signerID() string { return hex.EncodeToString(c.signer.id) }

// enlist puts the signer into the list of the cache, once.
func (c *Cache) enlist(ctx context.Context) error {
	if c.uploads.enlisted {
		return nil
	}
	names := signerNames()
	records, err := c.records(ctx, names)
	if err != nil {
		return err
	}
	free := slices.IndexFunc(records, func(sealed []byte) bool { return sealed == nil })
	known := slices.ContainsFunc(records, func(sealed []byte) bool {
		return len(sealed) >= idSize && bytes.Equal(sealed[:idSize], c.signer.id)
	})
	if c.uploads.enlisted = true; known || free < 0 {
		return nil
	}
	return c.sendRecord(ctx, &Upload{}, kindSigner, names[free], struct{}{}, nil)
}

// prepare measures the blobs of an upload. It reports false where one is missing or must not leave the machine.
func (c *Cache) prepare(x *Upload) bool {
	for _, d := range x.Blobs {
		if !d.IsContent() {
			return false
		}
		size, known := c.uploads.sizes[d]
		if !known {
			size = c.measure(d, x)
			c.uploads.sizes[d] = size
		}
		if size == withheld {
			return false
		}
	}
	return true
}

// measure returns the size of a blob; withheld if it is not to be uploaded.
func (c *Cache) measure(d state.Digest, x *Upload) int64 {
	r, ok, err := c.o.Local.OpenBlob(d)
	if err != nil || !ok {
		return withheld
	}
	defer r.Close()
	counted := &counter{r: r}
	if x.withholds(counted) {
		return withheld
	}
	if _, err := io.Copy(io.Discard, counted); err != nil {
		return withheld
	}
	return counted.n
}

// withholds reports whether a content must not leave the machine, or cannot be read.
func (x *Upload) withholds(r io.Reader) bool {
	if x.Withheld == nil {
		return false
	}
	secret, err := x.Withheld(r)
	return secret || err != nil
}

// counter counts the bytes that are read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *Cache) refs(blobs []state.Digest) (refs []state.BlobRef) {
	for _, d := range blobs {
		refs = append(refs, state.BlobRef{Digest: d, Size: c.uploads.sizes[d]})
	}
	return refs
}

// sendBlobs sends the blobs that the store does not have.
func (c *Cache) sendBlobs(ctx context.Context, items []*Upload) error {
	var all []state.Digest
	for _, x := range items {
		all = append(all, x.Blobs...)
	}
	slices.Sort(all)
	refs := c.refs(slices.Compact(all))
	if len(refs) == 0 {
		return nil
	}
	return c.sendMissing(ctx, refs, func(ref state.BlobRef) (io.ReadCloser, error) {
		r, ok, err := c.o.Local.OpenBlob(ref.Digest)
		if err == nil && !ok {
			err = errMissing
		}
		return r, err
	})
}

// sendMissing sends those of some blobs that the store does not have.
func (c *Cache) sendMissing(
	ctx context.Context, refs []state.BlobRef, open func(state.BlobRef) (io.ReadCloser, error),
) error {
	missing, err := call(ctx, c.health, c.blobTime(int64(len(refs))<<10),
		func(ctx context.Context) ([]state.BlobRef, error) { return c.o.Store.Missing(ctx, refs) })
	if err != nil {
		return err
	}
	return inParallel(missing, func(ref state.BlobRef) error {
		_, err := call(ctx, c.health, c.blobTime(ref.Size), func(ctx context.Context) (bool, error) {
			r, err := open(ref)
			if err != nil {
				return false, err
			}
			defer r.Close()
			return true, c.o.Store.PutBlob(ctx, ref, r)
		})
		c.answered()
		return err
	})
}

// sendRecords sends the records of an upload.
func (c *Cache) sendRecords(ctx context.Context, x *Upload) error {
	refs := c.refs(x.Blobs)
	if x.Value != nil {
		name := valueName(entry{x.Value.Group, c.signerID()})
		return c.sendRecord(ctx, x, kindValue, name, &Value{*x.Value, refs}, refs)
	}
	if number, free := c.freeNumber(x.Weak, x.Keys); free {
		name := keysName(entry{x.Weak, c.signerID()}, number)
		if err := c.sendRecord(ctx, x, kindKeys, name, x.Keys, nil); err != nil {
			return err
		}
	}
	x.Result.Blobs = refs
	return c.sendRecord(ctx, x, kindResult, resultName(entry{x.Strong, c.signerID()}), x.Result, refs)
}

// errWithheld reports that a record or an input must not leave the machine.
var errWithheld = errors.New("a record or an input has what must not leave the machine")

func (c *Cache) sendRecord(
	ctx context.Context, x *Upload, k kind, name state.Digest, record any, refs []state.BlobRef,
) error {
	sealed, err := c.signer.seal(k, name, record)
	if err != nil {
		return err
	}
	if x.withholds(bytes.NewReader(sealed[sealedSize:])) {
		return errWithheld
	}
	_, err = call(ctx, c.health, c.blobTime(int64(len(sealed))), func(ctx context.Context) (bool, error) {
		return true, c.o.Store.PutRecord(ctx, name, sealed, refs)
	})
	c.answered()
	return err
}

// freeNumber returns the number at which Keys are to be put. free is false where the store has them, or is full of
// others.
func (c *Cache) freeNumber(weak state.Digest, keys *Keys) (number int, free bool) {
	content := state.Encode(keys)
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.slots[entry{weak, c.signerID()}]
	if s == nil || len(s.keys) == maxKeys || !s.ended {
		return 0, false
	}
	for _, known := range s.keys {
		if known != nil && bytes.Equal(content, state.Encode(known)) {
			return 0, false
		}
	}
	s.keys = append(s.keys, keys)
	return len(s.keys) - 1, true
}

// answered counts a request.
func (c *Cache) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Answers++
}

// inParallel calls send for each item, and returns the first error that says that the store takes no more, or else all.
// An item that fails does not keep the others from being sent.
func inParallel[T any](items []T, send func(T) error) error {
	errs := make([]error, len(items))
	free := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, x := range items {
		free <- struct{}{}
		all.Go(func() {
			errs[i] = send(x)
			<-free
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

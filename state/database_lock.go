package state

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
)

// How processes take turns at a database, see "Several processes" in the documentation of the package.

// leaseTime is how long a database stays locked for reading: in it, as many transactions as one likes.
const leaseTime = 3 * time.Millisecond

// pass takes the gate, which keeps others out until it is given back: a writer while it writes, a reader while it enters.
func (d *database) pass(ctx context.Context, exclusive bool) (back func(), err error) {
	if d.gate == nil {
		return func() {}, nil
	}
	ok, err := lockFile(ctx, d.gate, exclusive, d.options.wait)
	if err != nil {
		return nil, fileError("lock "+d.name, err)
	}
	if !ok {
		return nil, busy("the store "+filepath.Dir(d.path)+" is held", d.gate)
	}
	return func() { unlock(d.gate) }, nil
}

// acquire locks the file and makes d.open one that is up to date. The caller has d.mu alone and has passed the gate.
func (d *database) acquire(ctx context.Context, write bool) error {
	if d.closed {
		return errClosed
	}
	if d.open != nil && (d.open.writable || !write) {
		if now, err := os.Stat(d.path); err == nil && os.SameFile(now, d.open.info) {
			if err := d.lock(ctx, d.open.file, write); err != nil {
				return err
			}
			if m, err := readMetas(d.open.file); err == nil && m == d.open.metas {
				return nil
			}
		}
	}
	d.drop()
	for range 100 {
		f, info, err := d.openFile(write)
		if err != nil {
			return err
		}
		if err := d.lock(ctx, f, write); err != nil {
			return errors.Join(err, f.Close())
		}
		if now, err := os.Stat(d.path); err != nil || !os.SameFile(now, info) {
			f.Close() // it was set aside meanwhile
			continue
		}
		return d.openBolt(f, write)
	}
	return &Error{Code: CodeIO, Message: d.name + " is replaced all the time"}
}

func (d *database) openFile(write bool) (*os.File, os.FileInfo, error) {
	flag := os.O_RDONLY
	if write {
		flag = os.O_RDWR
	}
	f, err := os.OpenFile(d.path, flag, 0)
	if err != nil {
		return nil, nil, fileError("open "+d.name, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &Error{Code: CodeIO, Message: d.path + " is not a file"}
	}
	if err != nil {
		return nil, nil, errors.Join(fileError("open "+d.name, err), f.Close())
	}
	return f, info, nil
}

func (d *database) lock(ctx context.Context, f *os.File, exclusive bool) error {
	ok, err := lockFile(ctx, f, exclusive, d.options.wait)
	if err != nil {
		return fileError("lock "+d.name, err)
	}
	if !ok {
		return busy("the store "+filepath.Dir(d.path)+" is held", f)
	}
	return nil
}

// view runs fn in a read transaction.
func (d *database) view(ctx context.Context, fn func(*bbolt.Tx) error) error {
	d.mu.RLock()
	if d.leased {
		defer d.mu.RUnlock()
		return d.guard("read", func() error { return d.open.bolt.View(fn) })
	}
	d.mu.RUnlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.leased {
		if err := d.enter(ctx); err != nil {
			return err
		}
	}
	return d.guard("read", func() error { return d.open.bolt.View(fn) })
}

// inspect looks at the pages as they are now.
func (d *database) inspect(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.leased {
		if err := d.enter(ctx); err != nil {
			return err
		}
	}
	info, err := d.open.file.Stat()
	if err != nil {
		return fileError("read "+d.name, err)
	}
	return inspectFile(d.open.file, info)
}

// claim waits for its turn and locks the database; back ends the turn, not the lock.
func (d *database) claim(ctx context.Context, write bool) (back func(), err error) {
	if back, err = d.pass(ctx, write); err != nil {
		return nil, err
	}
	if err = d.acquire(ctx, write); err != nil {
		back()
		return nil, err
	}
	return back, nil
}

// enter locks the database for reading, for a while: a transaction a record would be mostly locking.
func (d *database) enter(ctx context.Context) error {
	back, err := d.claim(ctx, false)
	if err != nil {
		return err
	}
	defer back()
	d.leased = true
	d.lease = time.AfterFunc(leaseTime, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.leave()
	})
	return nil
}

// leave ends the lock for reading. The caller has d.mu alone.
func (d *database) leave() {
	if d.leased {
		d.leased = false
		d.lease.Stop()
		unlock(d.open.file)
	}
}

// update runs fn in a write transaction, which is on disk when update returns nil.
func (d *database) update(ctx context.Context, fn func(*bbolt.Tx) error) error {
	if e := d.broken.Load(); e != nil {
		return e
	}
	if d.options.readOnly {
		return errReadOnly
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leave()
	back, err := d.claim(ctx, true)
	if err != nil {
		return err
	}
	defer back()
	h := d.open
	defer func() {
		if d.open != nil {
			unlock(d.open.file)
		}
	}()
	err = d.guard("write", func() error { return h.bolt.Update(fn) })
	if err != nil {
		return errors.Join(fileError("write "+d.name, err), d.undo(h))
	}
	if h.metas, err = readMetas(h.file); err == nil {
		d.seen = h.metas
		if info, err := h.file.Stat(); err == nil {
			d.remember(info, h.metas)
		}
	}
	return nil
}

// undo makes a transaction that failed one that never was. When the last write was done and could not be synced, the
// new meta page is there; the one before it goes back in its place.
func (d *database) undo(h *handle) error {
	if d.broken.Load() != nil {
		d.drop()
		return nil
	}
	now, err := readMetas(h.file)
	if err == nil && now == h.metas {
		return nil
	}
	if err == nil {
		err = h.metas.write(h.file)
	}
	d.drop() // bbolt may have another idea of it
	if err != nil {
		e := &Error{Code: CodeIO, Message: d.name + " does not keep what is written to it", Hint: "look at the disk; xstate check tells what is there", Err: err}
		d.broken.CompareAndSwap(nil, e)
		return e
	}
	return nil
}

package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
)

// How processes take turns at a database, see "Several processes" in the documentation of the package.

// leaseTime is how long a database stays locked for reading, for as many transactions as fit.
const leaseTime = 3 * time.Millisecond

// passGate locks the gate until the caller releases it: a writer for the whole write, a reader only while it locks
// the file. A writer that holds the gate waits for no new readers.
func (d *database) passGate(ctx context.Context, exclusive bool) (back func(), err error) {
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

// lockCurrentFile locks the file and makes d.open a handle that is up to date. The caller has locked d.mu exclusively
// and has passed the gate. An open handle is reused if the path still names its file and the meta pages are unchanged
// under the lock.
func (d *database) lockCurrentFile(ctx context.Context, write bool) error {
	if d.closed {
		return errClosed
	}
	// Two checks under the lock make the open handle valid: the path still names the same file, and no process has
	// committed since bbolt read the meta pages.
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
	d.closeFile()
	// Between open and lock another process may rename a new file over the path. The lock is then on an unused file, so
	// the loop starts again. 100 times in a row do not happen by chance.
	for range 100 {
		f, info, err := d.openFile(write)
		if err != nil {
			return err
		}
		if err := d.lock(ctx, f, write); err != nil {
			return errors.Join(err, f.Close())
		}
		if now, err := os.Stat(d.path); err != nil || !os.SameFile(now, info) {
			f.Close() // another process has quarantined or compacted it between open and lock
			continue
		}
		return d.openBolt(f, write)
	}
	return &Error{Code: CodeIO, Message: d.name + " was replaced 100 times while it was being opened"}
}

// gone is the error of a file that there was when the store was opened.
func (d *database) gone(err error) error {
	dir := filepath.Dir(d.path)
	if _, bad := os.Stat(filepath.Join(dir, ".gitignore")); bad == nil { // what still writes may make the folder again
		dir = d.path
	}
	return &Error{
		Code:    CodeNoStore,
		Message: fmt.Sprintf("the store is gone: %s was deleted or moved while it was in use", dir),
		Hint:    "put it back, or `xstate run FILE` makes a new store",
		Err:     err,
	}
}

// openFile opens the file unlocked. It rejects directories, devices and pipes: opening or reading those may block.
func (d *database) openFile(write bool) (*os.File, os.FileInfo, error) {
	flag := os.O_RDONLY
	if write {
		flag = os.O_RDWR
	}
	f, err := os.OpenFile(d.path, flag, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, d.gone(err)
	}
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

// lock locks an open file, shared or exclusively, and waits as long as the options allow.
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

// view runs fn in a read transaction. While a lease runs, goroutines share the handle under d.mu.RLock.
func (d *database) view(ctx context.Context, fn func(*bbolt.Tx) error) error {
	// The fast path: a lease is running, so goroutines read side by side.
	d.mu.RLock()
	if d.leased {
		defer d.mu.RUnlock()
		return d.guard("read", func() error { return d.open.bolt.View(fn) })
	}
	d.mu.RUnlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.leased {
		if err := d.startLease(ctx); err != nil {
			return err
		}
	}
	return d.guard("read", func() error { return d.open.bolt.View(fn) })
}

// currentForeignWrites returns how often another process has written, up to now.
func (d *database) currentForeignWrites(ctx context.Context) (int, error) {
	d.mu.RLock()
	if d.leased {
		defer d.mu.RUnlock()
		return d.foreignWrites, nil
	}
	d.mu.RUnlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.leased {
		if err := d.startLease(ctx); err != nil {
			return 0, err
		}
	}
	return d.foreignWrites, nil
}

// inspect inspects the pages as they are now, whatever the inspection memo says.
func (d *database) inspect(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.leased {
		if err := d.startLease(ctx); err != nil {
			return err
		}
	}
	info, err := d.open.file.Stat()
	if err != nil {
		return fileError("read "+d.name, err)
	}
	return inspectFile(d.open.file, info)
}

// claim waits for the gate and locks the database. back releases the gate, not the lock.
func (d *database) claim(ctx context.Context, write bool) (back func(), err error) {
	if back, err = d.passGate(ctx, write); err != nil {
		return nil, err
	}
	if err = d.lockCurrentFile(ctx, write); err != nil {
		back()
		return nil, err
	}
	return back, nil
}

// startLease locks the database for reading for leaseTime: with a lock per transaction, most of the time would go
// into locking.
func (d *database) startLease(ctx context.Context) error {
	back, err := d.claim(ctx, false)
	if err != nil {
		return err
	}
	defer back()
	d.leased = true
	// The timer, not the last reader, ends the lease. So a stream of readers in this process cannot hold the lock for
	// longer, and a writer elsewhere gets its turn.
	d.lease = time.AfterFunc(leaseTime, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.endLease()
	})
	return nil
}

// endLease releases the lock for reading. The caller has locked d.mu exclusively.
func (d *database) endLease() {
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
	d.endLease()
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
		return errors.Join(fileError("write "+d.name, err), d.revertFailedWrite(h))
	}
	if h.metas, err = readMetas(h.file); err == nil {
		d.lastMetas = h.metas
		if info, err := h.file.Stat(); err == nil {
			d.rememberSound(info, h.metas)
		}
	}
	return nil
}

// revertFailedWrite makes sure that a failed transaction has no effect. If bbolt wrote the new meta page but could
// not sync it, the old meta pages are written back. bbolt's own view of the file is then out of date, so the file is
// closed.
func (d *database) revertFailedWrite(h *handle) error {
	if d.broken.Load() != nil {
		d.closeFile()
		return nil
	}
	// If the meta pages are as before, bbolt failed before it wrote them, and nothing is to be reverted.
	now, err := readMetas(h.file)
	if err == nil && now == h.metas {
		return nil
	}
	if err == nil {
		err = h.metas.write(h.file)
	}
	d.closeFile() // what bbolt has in memory may not be what the file holds
	if err != nil {
		e := &Error{
			Code:    CodeIO,
			Message: d.name + ": a failed write could not be reverted",
			Hint:    "check the disk; `xstate doctor --check` reports what the store holds",
			Err:     err,
		}
		d.broken.CompareAndSwap(nil, e)
		return e
	}
	return nil
}

package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"syscall"

	"github.com/xstate-engine/xstate/state"
)

// folder is a store in a folder, such as one on a shared disk:
//
//	ac/ab/abcd…   records by name
//	cas/ab/abcd…  blobs by the SHA-256 of their content
//
// Files are written under another name, and get theirs when they are complete. So readers need no lock. The folder is
// opened by the first call, which may hang on a shared disk: calls are bounded, and opening a cache is not. It is
// opened again if it was removed meanwhile.
type folder struct {
	path string

	mu   sync.Mutex
	root *os.Root // nil: it is not open
}

const (
	recordFolder = "ac"
	blobFolder   = "cas"
)

func openFolder(path string) *folder { return &folder{path: path} }

// open returns the folder, which it creates if it does not exist.
func (f *folder) open() (*os.Root, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.root != nil && !f.replaced() {
		return f.root, nil
	}
	if f.root != nil {
		_ = f.root.Close() // nothing was written that is not complete
		f.root = nil
	}
	if err := os.MkdirAll(f.path, 0o777); err != nil && !isReadOnly(err) {
		return nil, err
	}
	root, err := os.OpenRoot(f.path)
	f.root = root
	return root, err
}

// replaced reports whether another folder is at the path of the open one, or none is.
func (f *folder) replaced() bool {
	now, err := os.Stat(f.path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	opened, err := f.root.Stat(".")
	return err == nil && !os.SameFile(opened, now)
}

// isReadOnly reports whether an error says that nothing more can be written.
func isReadOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOSPC) ||
		errors.Is(err, syscall.EDQUOT)
}

func place(kind string, d state.Digest) (string, error) {
	if !d.IsContent() {
		return "", fmt.Errorf("%q is no digest of a content", d)
	}
	return path.Join(kind, string(d[:2]), string(d)), nil
}

func (f *folder) Records(ctx context.Context, names []state.Digest) ([][]byte, error) {
	root, err := f.open()
	if err != nil {
		return nil, err
	}
	found := make([][]byte, len(names))
	for i, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at, err := place(recordFolder, name)
		if err != nil {
			return nil, err
		}
		file, err := root.Open(at)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found[i], err = io.ReadAll(io.LimitReader(file, maxRecord+1))
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (f *folder) PutRecord(ctx context.Context, name state.Digest, record []byte, _ []state.BlobRef) error {
	at, err := place(recordFolder, name)
	if err != nil {
		return err
	}
	return f.write(at, func(w io.Writer) error {
		_, err := w.Write(record)
		return err
	})
}

// write makes a file with what fill writes, unless there is one.
func (f *folder) write(at string, fill func(io.Writer) error) (err error) {
	defer func() {
		if err != nil && isReadOnly(err) {
			err = fmt.Errorf("%w: %w", ErrReadOnly, err)
		}
	}()
	root, err := f.open()
	if err != nil {
		return err
	}
	if _, err := root.Stat(at); err == nil {
		return nil
	}
	if err := makeShared(root, path.Dir(at)); err != nil {
		return err
	}
	temporary := at + ".new-" + rand.Text()
	file, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer root.Remove(temporary)
	if err := errors.Join(fill(file), file.Close()); err != nil {
		return err
	}
	// A link does not replace what another writer has made meanwhile, as a rename would.
	err = root.Link(temporary, at)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil { // a file system without hard links
		return root.Rename(temporary, at)
	}
	return nil
}

// makeShared makes a folder and those above it that others may write to as to the cache, whatever the mask of
// permissions of this user.
func makeShared(root *os.Root, name string) error {
	if _, err := root.Stat(name); err == nil {
		return nil
	}
	if above := path.Dir(name); above != "." {
		if err := makeShared(root, above); err != nil {
			return err
		}
	}
	if err := root.Mkdir(name, 0o777); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	if info, err := root.Stat("."); err == nil {
		_ = root.Chmod(name, info.Mode()&(fs.ModePerm|fs.ModeSetgid|fs.ModeSticky)) // else others may not write there
	}
	return nil
}

func (f *folder) Missing(ctx context.Context, refs []state.BlobRef) (missing []state.BlobRef, err error) {
	root, err := f.open()
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at, err := place(blobFolder, ref.Digest)
		if err != nil {
			return nil, err
		}
		info, err := root.Stat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && info.Size() != ref.Size:
			missing = append(missing, ref)
		case err != nil:
			return nil, err
		}
	}
	return missing, nil
}

func (f *folder) Blob(ctx context.Context, ref state.BlobRef, w io.Writer) (bool, error) {
	at, err := place(blobFolder, ref.Digest)
	if err != nil {
		return false, err
	}
	root, err := f.open()
	if err != nil {
		return false, err
	}
	file, err := root.Open(at)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	_, err = io.Copy(w, &interruptible{ctx, file})
	return err == nil, err
}

func (f *folder) PutBlob(ctx context.Context, ref state.BlobRef, r io.Reader) error {
	at, err := place(blobFolder, ref.Digest)
	if err != nil {
		return err
	}
	root, err := f.open()
	if err != nil {
		return err
	}
	if info, err := root.Stat(at); err == nil && info.Size() != ref.Size {
		if err := root.Remove(at); err != nil { // it is damaged
			return err
		}
	}
	return f.write(at, func(w io.Writer) error {
		n, err := io.Copy(w, &interruptible{ctx, r})
		if err == nil && n != ref.Size {
			err = io.ErrUnexpectedEOF
		}
		return err
	})
}

func (f *folder) Close() error {
	if !f.mu.TryLock() {
		return nil // a call hangs, and has the folder for as long as this process lives
	}
	defer f.mu.Unlock()
	if f.root == nil {
		return nil
	}
	return f.root.Close()
}

// interruptible is a reader that ends with its context.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(p)
}

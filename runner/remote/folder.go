package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/xstate-engine/xstate/state"
)

// folder is a store in a folder, such as one on a shared disk:
//
//	ac/ab/abcd…   records by name
//	cas/ab/abcd…  blobs by the SHA-256 of their content
//
// Files are written under another name, and get theirs when they are complete. So readers need no lock.
type folder struct{ root *os.Root }

const (
	recordFolder = "ac"
	blobFolder   = "cas"
)

// openFolder opens a folder, and creates it if it does not exist.
func openFolder(path string) (Store, error) {
	err := os.MkdirAll(path, 0o777)
	if err != nil && !isReadOnly(err) {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &folder{root}, nil
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
	found := make([][]byte, len(names))
	for i, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at, err := place(recordFolder, name)
		if err != nil {
			return nil, err
		}
		file, err := f.root.Open(at)
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
	if _, err := f.root.Stat(at); err == nil {
		return nil
	}
	if err := f.root.MkdirAll(path.Dir(at), 0o777); err != nil {
		return err
	}
	temporary := at + ".new-" + randomName()
	file, err := f.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer f.root.Remove(temporary)
	if err := errors.Join(fill(file), file.Close()); err != nil {
		return err
	}
	// A link does not replace what another writer has made meanwhile, as a rename would.
	err = f.root.Link(temporary, at)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil { // a file system without hard links
		return f.root.Rename(temporary, at)
	}
	return nil
}

func (f *folder) Missing(ctx context.Context, refs []state.BlobRef) (missing []state.BlobRef, err error) {
	for _, ref := range refs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at, err := place(blobFolder, ref.Digest)
		if err != nil {
			return nil, err
		}
		info, err := f.root.Stat(at)
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
	file, err := f.root.Open(at)
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
	if info, err := f.root.Stat(at); err == nil && info.Size() != ref.Size {
		if err := f.root.Remove(at); err != nil { // it is damaged
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

func (f *folder) Close() error { return f.root.Close() }

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

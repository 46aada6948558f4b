package private

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/xstate-engine/xstate/state"
)

// copying copies a folder, and notes what it copied.
type copying struct {
	from, to string
	leads    string // where the copy will lie, for links
	store    string // is left out
	original string // whose virtual environments the copy shares

	base    *base
	shared  atomic.Bool // blocks, by the file system
	unable  atomic.Bool // the file system does not share blocks
	mu      sync.Mutex  // guards base.Shared while files are copied
	files   int
	bytes   int64
	inodes  map[uint64]string // the first path of a file with several names
	aliases [][2]string       // a further name, and the first one
	folders []listed
}

// run makes the copy. What is deleted meanwhile is left out.
func (c *copying) run() error {
	c.base = &base{Entries: map[string]baseEntry{}, Shared: map[string]bool{}}
	c.inodes = map[uint64]string{}
	all, err := list(c.from, c.store, func(path string) bool { return !isEnvironment(filepath.Join(c.from, path)) })
	if err == nil {
		err = os.Mkdir(c.to, 0o700)
	}
	var files []listed
	for i := 0; i < len(all) && err == nil; i++ {
		var isFile bool
		if isFile, err = c.place(&all[i]); isFile {
			files = append(files, all[i])
		}
	}
	if err == nil {
		err = c.copyFiles(files)
	}
	for i := 0; i < len(c.aliases) && err == nil; i++ {
		err = c.alias(c.aliases[i][0], c.aliases[i][1])
	}
	if err == nil {
		err = c.finishFolders()
	}
	if err == nil {
		pastTick()
		c.base.Taken = time.Now().UnixNano()
	}
	return err
}

// place makes what is not a regular file, and reports whether l is one that is to be copied.
func (c *copying) place(l *listed) (isFile bool, err error) {
	to := filepath.Join(c.to, l.path)
	e, err := entryOf(filepath.Join(c.from, l.path), l.info)
	if err != nil {
		return false, ignoreGone(err)
	}
	switch {
	case e.Kind == folder && isEnvironment(filepath.Join(c.from, l.path)):
		c.base.Shared[l.path] = true
		return false, os.Symlink(filepath.Join(c.original, l.path), to)
	case e.Kind == folder:
		c.folders = append(c.folders, *l)
		if l.closed {
			c.base.Shared[l.path] = true
		} else {
			c.base.Entries[l.path] = baseEntry{Is: e}
		}
		return false, os.Mkdir(to, 0o700)
	case e.Kind == link:
		e.Target = redirected(e.Target, l.path, c.from, c.leads)
		c.base.Entries[l.path] = baseEntry{Is: e}
		return false, os.Symlink(e.Target, to)
	case e.Kind != regular:
		return false, nil
	}
	if st, ok := l.info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
		if first := c.inodes[uint64(st.Ino)]; first != "" {
			c.aliases = append(c.aliases, [2]string{l.path, first})
			return false, nil
		}
		c.inodes[uint64(st.Ino)] = l.path
	}
	return true, nil
}

// copyFiles copies regular files, as many at once as there are processors.
func (c *copying) copyFiles(files []listed) error {
	made := make([]*baseEntry, len(files))
	var next atomic.Int64
	var wait sync.WaitGroup
	errs := make([]error, max(2, runtime.GOMAXPROCS(0)))
	for w := range errs {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(files) && errs[w] == nil; i = int(next.Add(1)) - 1 {
				made[i], errs[w] = c.copyFile(files[i].path)
			}
		})
	}
	wait.Wait()
	for i, e := range made {
		if e != nil {
			c.base.Entries[files[i].path] = *e
			c.files++
			c.bytes += e.View.Size
		}
	}
	return errors.Join(errs...)
}

// alias gives a copy one more name.
func (c *copying) alias(path, first string) error {
	e, ok := c.base.Entries[first]
	if !ok {
		return nil // it was deleted meanwhile
	}
	if err := os.Link(filepath.Join(c.to, first), filepath.Join(c.to, path)); err != nil {
		return err
	}
	c.base.Entries[path] = e
	for _, name := range []string{path, first} { // another name changes the signature
		info, err := os.Lstat(filepath.Join(c.to, name))
		if err != nil {
			return err
		}
		e := c.base.Entries[name]
		e.View = signatureOf(info)
		c.base.Entries[name] = e
	}
	return nil
}

// finishFolders sets permissions and times of folders, the innermost first.
func (c *copying) finishFolders() error {
	slices.Reverse(c.folders)
	root, err := os.Lstat(c.from)
	if err != nil {
		return err
	}
	for _, l := range append(c.folders, listed{info: root}) {
		path := filepath.Join(c.to, l.path)
		if err := os.Chtimes(path, time.Time{}, l.info.ModTime()); err != nil {
			return err
		}
		mode := l.info.Mode() & modeBits
		if l.closed {
			mode = 0 // whoever runs here can read neither
		}
		if err := os.Chmod(path, mode); err != nil {
			return err
		}
	}
	return nil
}

// attempts is how often a file is copied that is written meanwhile.
const attempts = 5

// copyFile copies a regular file. It returns nil where the file is gone.
func (c *copying) copyFile(path string) (*baseEntry, error) {
	from, to := filepath.Join(c.from, path), filepath.Join(c.to, path)
	for range attempts {
		src, err := os.Open(from)
		if errors.Is(err, fs.ErrPermission) {
			c.mu.Lock()
			c.base.Shared[path] = true // nobody here can read either
			c.mu.Unlock()
			return nil, os.WriteFile(to, nil, 0)
		}
		if err != nil {
			return nil, ignoreGone(err)
		}
		e, err := c.copyOpen(src, to)
		_ = src.Close()
		if e != nil || err != nil {
			return e, err
		}
	}
	return nil, &state.Error{
		Code:    state.CodeBusy,
		Message: fmt.Sprintf("%s is being written while it is copied", from),
		Hint:    "wait until the program that writes it has ended, and try again",
	}
}

// copyOpen returns nil where the file was written meanwhile.
func (c *copying) copyOpen(src *os.File, to string) (*baseEntry, error) {
	info, err := src.Stat()
	if err != nil {
		return nil, err
	}
	dst, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	digest, err := c.content(dst, src, info)
	mode := info.Mode() & modeBits
	if err == nil {
		err = dst.Chmod(mode)
	}
	if err = errors.Join(err, dst.Close()); err != nil {
		return nil, err
	}
	if err := os.Chtimes(to, time.Time{}, info.ModTime()); err != nil {
		return nil, err
	}
	after, err := src.Stat()
	if err != nil || signatureOf(after) != signatureOf(info) {
		return nil, errors.Join(err, os.Remove(to))
	}
	copied, err := os.Lstat(to)
	if err != nil {
		return nil, err
	}
	return &baseEntry{
		Is:       entry{Kind: regular, Mode: mode, Digest: digest},
		Original: signatureOf(info), View: signatureOf(copied),
	}, nil
}

// content copies the content of a file, and returns its digest.
func (c *copying) content(dst, src *os.File, info fs.FileInfo) (state.Digest, error) {
	h := sha256.New()
	if !c.unable.Load() && info.Size() > 0 {
		if clone(dst, src) {
			c.shared.Store(true)
			_, err := io.Copy(h, src)
			return state.Digest(hex.EncodeToString(h.Sum(nil))), err
		}
		c.unable.Store(true)
	}
	sparse := false
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		sparse = int64(st.Blocks)*512 < info.Size()
	}
	buffer := make([]byte, min(max(info.Size()+1, 512), 1<<18))
	at := int64(0)
	for {
		n, err := src.Read(buffer)
		h.Write(buffer[:n])
		hole := sparse && len(bytes.TrimLeft(buffer[:n], "\x00")) == 0
		if n > 0 && !hole {
			if _, err := dst.WriteAt(buffer[:n], at); err != nil {
				return "", err
			}
		}
		at += int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", err
		}
	}
	return state.Digest(hex.EncodeToString(h.Sum(nil))), dst.Truncate(at)
}

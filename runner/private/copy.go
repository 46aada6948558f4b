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
	"time"

	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/state"
)

// copying copies a folder, and notes what it copied.
type copying struct {
	from, to string
	src, dst *beneath.Folder // the same, held
	leads    string          // where the copy will lie, for links
	store    string          // is left out
	original string          // whose virtual environments the copy shares

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

// run makes the copy. Files that are deleted meanwhile are left out.
func (c *copying) run() error {
	c.base = &base{Entries: map[string]baseEntry{}, Shared: map[string]bool{}}
	c.inodes = map[uint64]string{}
	all, err := c.begin()
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

// begin makes the folder of the copy, and lists what goes there.
func (c *copying) begin() (all []listed, err error) {
	if c.src, err = beneath.Open(c.from); err != nil {
		return nil, err
	}
	all, err = list(c.src, c.store, func(path string) bool { return !isEnvironment(c.src, path) })
	if err == nil {
		err = os.Mkdir(c.to, 0o700)
	}
	if err == nil {
		c.dst, err = beneath.Open(c.to)
	}
	return all, err
}

// place makes what is not a regular file, and reports whether l is one that is to be copied.
func (c *copying) place(l *listed) (isFile bool, err error) {
	e, err := entryOf(c.src, l.path, l.info)
	if err != nil {
		return false, ignoreGone(err)
	}
	switch {
	case e.Kind == folder && isEnvironment(c.src, l.path):
		c.base.Shared[l.path] = true
		return false, c.dst.Symlink(filepath.Join(c.original, l.path), l.path)
	case e.Kind == folder:
		c.folders = append(c.folders, *l)
		if l.closed {
			c.base.Shared[l.path] = true
		} else {
			c.base.Entries[l.path] = baseEntry{Is: e}
		}
		return false, c.dst.Mkdir(l.path, 0o700)
	case e.Kind == link:
		e.Target = redirected(e.Target, l.path, c.from, c.leads)
		c.base.Entries[l.path] = baseEntry{Is: e}
		return false, c.dst.Symlink(e.Target, l.path)
	case e.Kind != regular:
		return false, nil
	}
	if l.info.Links > 1 {
		if first := c.inodes[l.info.Inode]; first != "" {
			c.aliases = append(c.aliases, [2]string{l.path, first})
			return false, nil
		}
		c.inodes[l.info.Inode] = l.path
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
	if err := c.dst.Link(first, path); err != nil {
		return err
	}
	c.base.Entries[path] = e
	for _, name := range []string{path, first} { // another name changes the signature
		info, err := c.dst.Info(name)
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
	root, err := c.src.Info(".")
	if err != nil {
		return err
	}
	for _, l := range append(c.folders, listed{path: ".", info: root}) {
		if err := c.dst.SetTime(l.path, l.info.Time); err != nil {
			return err
		}
		mode := l.info.Mode & modeBits
		if l.closed {
			mode = 0 // a program that runs here can read neither
		}
		if err := c.dst.Chmod(l.path, mode); err != nil {
			return err
		}
	}
	return nil
}

// attempts is how often a file is copied that is written meanwhile.
const attempts = 5

// copyFile copies a regular file. It returns nil where the file is gone.
func (c *copying) copyFile(path string) (*baseEntry, error) {
	for range attempts {
		src, err := c.src.File(path)
		if errors.Is(err, fs.ErrPermission) {
			c.mu.Lock()
			c.base.Shared[path] = true // no program here can read either
			c.mu.Unlock()
			return nil, c.dst.Replace(path, beneath.Attributes{}, func(*beneath.Content) error { return nil })
		}
		if err != nil {
			return nil, ignoreGone(err)
		}
		e, err := c.copyOpen(src, path)
		_ = src.Close()
		if e != nil || err != nil {
			return e, err
		}
	}
	return nil, &state.Error{
		Code:    state.CodeBusy,
		Message: fmt.Sprintf("%s is being written while it is copied", filepath.Join(c.from, path)),
		Hint:    "wait until the program that writes it has ended, and try again",
	}
}

// copyOpen copies an open file to a name of c.dst. It returns nil where the file was written meanwhile.
func (c *copying) copyOpen(src *os.File, to string) (*baseEntry, error) {
	info, err := beneath.Described(src)
	if err != nil {
		return nil, err
	}
	mode := info.Mode & modeBits
	var digest state.Digest
	err = c.dst.Replace(to, beneath.Attributes{Mode: mode, Time: info.Time}, func(to *beneath.Content) error {
		digest, err = c.content(to, src, info)
		return err
	})
	if err != nil {
		return nil, err
	}
	after, err := beneath.Described(src)
	if err != nil || signatureOf(after) != signatureOf(info) {
		return nil, errors.Join(err, c.dst.Remove(to))
	}
	copied, err := c.dst.Info(to)
	if err != nil {
		return nil, err
	}
	return &baseEntry{
		Is:       entry{Kind: regular, Mode: mode, Digest: digest},
		Original: signatureOf(info), View: signatureOf(copied),
	}, nil
}

// content copies the content of a file, and returns its digest.
func (c *copying) content(dst *beneath.Content, src *os.File, info *beneath.Info) (state.Digest, error) {
	h := sha256.New()
	if !c.unable.Load() && info.Size > 0 {
		if clone(dst.File(), src) {
			c.shared.Store(true)
			_, err := io.Copy(h, src)
			return state.Digest(hex.EncodeToString(h.Sum(nil))), err
		}
		c.unable.Store(true)
	}
	sparse := info.Blocks*512 < info.Size
	buffer := make([]byte, min(max(info.Size+1, 512), 1<<18))
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

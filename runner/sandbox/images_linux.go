package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/runner/beneath"
)

// images saves what is at a path before it changes.
type images struct {
	spool, journal string
}

// imageCount numbers the copies of all boxes of this process: some share a spool.
var imageCount atomic.Int64

// worthy reports whether a path has content to save: the system's own folders and the engine's have none.
func worthy(p string) bool {
	return !parents.Holds("/proc", p) && !parents.Holds("/sys", p) &&
		(!parents.Holds("/dev", p) || parents.Holds("/dev/shm", p))
}

// imageOf describes a file, without its content.
func imageOf(f *found) *Image {
	if !f.ok {
		return nil
	}
	return &Image{Mode: f.stat.Mode & 0o7777, Time: f.stat.Mtim.Nano()}
}

// save completes an image by the content, and announces it: the file changes only after that.
func (i *images) save(f *found, image *Image) error {
	var err error
	switch f.kind() {
	case 0:
	case unix.S_IFREG:
		image.Copy, err = i.copy(f.path)
	case unix.S_IFDIR:
		image.Copy = "directory"
	case unix.S_IFLNK:
		var target string
		target, err = readlink(f.path)
		image.Copy = "symlink:" + target
	default:
		image.Copy = "special"
	}
	if err != nil {
		return err
	}
	return i.announce(f.path, image)
}

func (i *images) announce(p string, image *Image) error {
	if i.journal == "" {
		return nil
	}
	line, err := json.Marshal(struct {
		Path   string `json:"path"`
		Before *Image `json:"before"`
	}{p, image})
	if err != nil {
		return err
	}
	j, err := os.OpenFile(i.journal, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	defer j.Close()
	_, err = j.Write(append(line, '\n'))
	return err
}

// readlink returns the target of a link at a canonical path.
func readlink(p string) (string, error) {
	in, name, err := beneath.Exactly(p)
	if err != nil {
		return "", err
	}
	return in.Readlink(name)
}

// copy copies a file into the spool. Where the file system can, the two share their blocks. The path is canonical, and
// the bounds allow it. Another thread may have put a link on the way to it since then, which is not followed.
func (i *images) copy(p string) (string, error) {
	in, base, err := beneath.Exactly(p)
	if err != nil {
		return "", err
	}
	from, err := in.File(base)
	if err != nil {
		return "", err
	}
	defer from.Close()
	name := filepath.Join(i.spool, fmt.Sprintf("image-%d-%d", os.Getpid(), imageCount.Add(1)))
	to, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	if unix.IoctlFileClone(int(to.Fd()), int(from.Fd())) != nil {
		_, err = io.Copy(to, from)
	}
	if e := to.Close(); err == nil {
		err = e
	}
	if err != nil {
		os.Remove(name)
		return "", err
	}
	return name, nil
}

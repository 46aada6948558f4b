package sandbox

import (
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/xstate-engine/xstate/internal/parents"
)

// resolver finds the files that the paths of one call lead to. It keeps the folders that it has resolved: see caches.
type resolver struct {
	caches *caches
	tid    int
	root   string // what the process takes for the root; "" for the real one
	left   int    // symbolic links that may still be followed
	// passing says that the result holds for this process, and this time, only.
	passing bool
	links   []string // that were followed
}

// found is what a path leads to.
type found struct {
	path string // canonical
	stat unix.Stat_t
	ok   bool // it is there
}

func (f *found) kind() uint32 {
	if !f.ok {
		return 0
	}
	return f.stat.Mode & unix.S_IFMT
}

func (r *resolver) reset(c *caches, tid int, root string) {
	*r = resolver{caches: c, tid: tid, root: root, left: 40, passing: root != "", links: r.links[:0]}
}

// rooted puts a path below what the process takes for the root. The path of an open file is there already.
func rooted(root, p string) string {
	if root == "" || parents.Holds(root, p) {
		return p
	}
	return path.Join(root, p)
}

// find resolves a path from the root. It follows a symbolic link in the last place where follow says so.
func (r *resolver) find(p string, follow bool) found {
	for len(p) > 1 && p[len(p)-1] == '/' {
		p, follow = p[:len(p)-1], true
	}
	parent, name := path.Split(p)
	folder := r.folder(trim(parent))
	switch name {
	case "", ".":
		return r.at(folder)
	case "..":
		return r.at(r.up(folder))
	}
	f := r.at(join(folder, name))
	if f.kind() != unix.S_IFLNK || !follow {
		return f
	}
	target, ok := r.target(folder, f.path)
	if !ok {
		return f
	}
	return r.find(target, true)
}

// folder resolves all of a path, which leads to a folder.
func (r *resolver) folder(p string) string {
	if p == "" || p == "/" {
		return "/"
	}
	if known, ok := r.caches.folder(p); ok && r.root == "" {
		return known
	}
	parent, name := path.Split(p)
	folder := r.folder(trim(parent))
	switch name {
	case "", ".":
	case "..":
		folder = r.up(folder)
	default:
		f := r.at(join(folder, name))
		folder = f.path
		if f.kind() == unix.S_IFLNK {
			if target, ok := r.target(path.Dir(f.path), f.path); ok {
				folder = r.folder(trim(target))
			}
		}
	}
	if !r.passing {
		r.caches.keepFolder(p, folder)
	}
	return folder
}

// at looks at a canonical path. Two links of /proc lead each process to its own folder.
func (r *resolver) at(p string) (f found) {
	if strings.HasPrefix(p, "/proc/") {
		r.passing = true
		switch p {
		case "/proc/self":
			p = "/proc/" + strconv.Itoa(groupOf(r.tid))
		case "/proc/thread-self":
			p = "/proc/" + strconv.Itoa(groupOf(r.tid)) + "/task/" + strconv.Itoa(r.tid)
		}
	}
	f.path = p
	f.ok = unix.Lstat(p, &f.stat) == nil
	return f
}

// up is the folder above a canonical one. No path leads above the root.
func (r *resolver) up(folder string) string {
	if folder == r.root {
		return folder
	}
	return path.Dir(folder)
}

// target is the path that a symbolic link leads to. It is false if there is none: too many links, or a link of /proc to
// what has no path.
func (r *resolver) target(folder, link string) (string, bool) {
	if r.left--; r.left < 0 {
		return "", false
	}
	var buf [unix.PathMax]byte
	n, err := unix.Readlink(link, buf[:])
	if err != nil || n <= 0 {
		return "", false
	}
	target := string(buf[:n])
	if strings.HasPrefix(link, "/proc/") {
		// /proc/PID/fd/3 leads to a file, or to "pipe:[12]".
		return target, target[0] == '/' && !strings.HasSuffix(target, deleted)
	}
	r.links = append(r.links, link)
	if target[0] == '/' {
		return r.root + target, true
	}
	return join(folder, target), true
}

func join(folder, name string) string {
	if strings.HasSuffix(folder, "/") {
		return folder + name
	}
	return folder + "/" + name
}

func trim(p string) string {
	for len(p) > 1 && p[len(p)-1] == '/' {
		p = p[:len(p)-1]
	}
	return p
}

// caches are what one side of a box, main or child, has resolved and noted in this node. They are emptied when links or
// folders change, and unused until the change has happened: the supervisor sees a call before its effect.
type caches struct {
	folders map[string]string
	noted   map[string]manner // by path as the process gave it
}

// manner is how a path was used, as far as one bit says it: two calls of one manner have the same uses.
type manner uint8

const (
	mannerRead manner = 1 << iota
	mannerWrite
	mannerLook
	mannerOnLink // a look that does not follow the last link
	mannerList
)

func newCaches() *caches { return &caches{folders: map[string]string{}, noted: map[string]manner{}} }

func (c *caches) folder(p string) (string, bool) {
	known, ok := c.folders[p]
	return known, ok
}

func (c *caches) keepFolder(p, canonical string) { c.folders[p] = canonical }

func (c *caches) clear() {
	clear(c.folders)
	clear(c.noted)
}

//go:build linux

package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// fileModel is what lies in the folders of a test while the judge follows the calls of a program. Elsewhere nothing
// changes, so there the model asks the system.
type fileModel struct {
	roots []string
	kinds map[string]string // "file", "folder" or "link:TARGET", by path
}

// newFileModel notes what is in the folders now.
func newFileModel(roots ...string) (*fileModel, error) {
	m := &fileModel{roots: roots, kinds: map[string]string{}}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			m.kinds[path] = kindOnDisk(path)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

func kindOnDisk(path string) string {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		return "folder"
	case info.Mode().Type() == fs.ModeSymlink && !strings.HasPrefix(path, "/proc/"): // where each process has its own
		to, _ := os.Readlink(path)
		return "link:" + to
	}
	return "file"
}

// kind is what is at a path; "": nothing.
func (m *fileModel) kind(path string) string {
	for _, root := range m.roots {
		if path == root || strings.HasPrefix(path, root+"/") {
			return m.kinds[path]
		}
	}
	return kindOnDisk(path)
}

// set says what is at a path from now on.
func (m *fileModel) set(path, kind string) {
	if kind == "" {
		delete(m.kinds, path)
		return
	}
	m.kinds[path] = kind
}

// take removes a path with all that is in it, and says what that was.
func (m *fileModel) take(path string) map[string]string {
	taken := map[string]string{}
	for p, kind := range m.kinds {
		if p == path || strings.HasPrefix(p, path+"/") {
			taken[p] = kind
			delete(m.kinds, p)
		}
	}
	return taken
}

// walk follows a path one name at a time, as the system does, and names each link that it follows. It says false where
// the links lead in a circle.
func (m *fileModel) walk(path string, follow bool, link func(string)) (string, bool) {
	at, rest := "/", strings.Split(path, "/")
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		to, isLink := strings.CutPrefix(m.kind(next), "link:")
		if !isLink || isLast(rest) && !follow || strings.HasPrefix(next, "/proc/") {
			at = next
			continue
		}
		if links++; links > 40 {
			return "", false
		}
		link(next)
		if filepath.IsAbs(to) {
			at = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return at, true
}

// isLast says whether no name follows.
func isLast(rest []string) bool {
	for _, name := range rest {
		if name != "" && name != "." {
			return false
		}
	}
	return true
}

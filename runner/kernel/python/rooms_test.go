package python

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rooms are the packages of the driver. A module imports modules of its own room and of those before it; the modules
// on top of the driver import from all rooms.
var rooms = []string{"ground", "adapters", "show", "look", "value", "observe", "world", "node", "suite"}

// under are what all rooms may import of the top, the package itself and its bundle: they import no room.
var under = []string{"", "bundle"}

// roomSize is the most files that a room may have.
const roomSize = 35

// imports are statements of Python that import from the driver, with what is in front of the names and the names.
var imports = regexp.MustCompile(`(?m)^[ \t]*(?:` +
	`from[ \t]+((?:\.|xstate_kernel\b)[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|` +
	`import[ \t]+(xstate_kernel[\w.]*))`)

// importedBy returns the modules of the driver that a file imports, as paths without suffix. A name of another kind
// counts as a module of its package.
func importedBy(f driverFile) []string {
	var found []string
	for _, m := range imports.FindAllStringSubmatch(string(f.text), -1) {
		base, names := cmp.Or(m[1], m[3]), m[2]
		if rest, absolute := strings.CutPrefix(base, "xstate_kernel"); absolute {
			base = strings.ReplaceAll(strings.Trim(rest, "."), ".", "/")
		} else {
			rest := strings.TrimLeft(base, ".")
			folder := path.Dir(f.path)
			for range len(base) - len(rest) - 1 {
				folder = path.Dir(folder)
			}
			base = path.Join(folder, strings.ReplaceAll(rest, ".", "/"))
		}
		if m[3] != "" {
			found = append(found, base)
		}
		for _, line := range strings.Split(strings.Trim(names, "()"), "\n") {
			line, _, _ = strings.Cut(line, "#")
			for _, name := range strings.Split(strings.Trim(line, "() \t"), ",") {
				if name, _, _ = strings.Cut(strings.TrimSpace(name), " "); name != "" {
					found = append(found, path.Join(base, name))
				}
			}
		}
	}
	return found
}

// roomOf returns the room of a module, or "" for one on top.
func roomOf(module string) string {
	room, _, inside := strings.Cut(module, "/")
	if inside || slices.Contains(rooms, room) {
		return room
	}
	return ""
}

// badRooms returns what of the order of rooms does not hold.
func badRooms(files []driverFile) []string {
	var bad []string
	sizes, top := map[string]int{}, map[string]bool{}
	for _, f := range files {
		sizes[path.Dir(f.path)]++
		if path.Dir(f.path) == "." {
			top[strings.TrimSuffix(f.path, ".py")] = true
		}
	}
	for _, f := range files {
		from := roomOf(f.path)
		switch {
		case from == "offered": // the package that a program imports, which is installed without the driver, too
			continue
		case from != "" && !slices.Contains(rooms, from):
			bad = append(bad, f.path+": no room has this name")
			continue
		case from != "adapters" && from != "" && path.Base(f.path) == "__init__.py" && len(f.text) > 0:
			bad = append(bad, f.path+": is not empty, so an import of a module of the room loads more")
		}
		module := strings.TrimSuffix(strings.TrimSuffix(f.path, ".py"), "__init__")
		for _, imported := range importedBy(f) {
			to := roomOf(imported)
			onTop := top[imported] && !slices.Contains(under, imported)
			back := slices.Index(rooms, to) > slices.Index(rooms, from) || onTop
			if from == "" {
				back = slices.Contains(under, module) && (to != "" || onTop)
			}
			if back {
				bad = append(bad, fmt.Sprintf("%s imports %s", f.path, imported))
			}
		}
	}
	for folder, size := range sizes {
		if size > roomSize {
			bad = append(bad, fmt.Sprintf("%s has %d files", folder, size))
		}
	}
	return bad
}

// TestRooms keeps the driver readable from the ground up: a room is understood without those after it.
func TestRooms(t *testing.T) {
	files := driverFiles()
	arrows := 0
	for _, f := range files {
		arrows += len(importedBy(f))
	}
	if arrows < 300 {
		t.Errorf("found %d imports in %d files: the statements are not recognized", arrows, len(files))
	}
	for _, bad := range badRooms(files) {
		t.Error(bad)
	}
}

// TestRoomsFindPlanted shows that each rule can fail.
func TestRoomsFindPlanted(t *testing.T) {
	files := driverFiles()
	for _, planted := range []struct{ path, text, want string }{
		{"ground/planted.py", "from ..value import walk\n", "ground/planted.py imports value/walk"},
		{"adapters/planted.py", "from ..observe.os_functions import watch\n", "imports observe/os_functions/watch"},
		{"value/planted.py", "from .. import adapters, main\n", "value/planted.py imports main"},
		{"show/planted.py", "def f():\n    from ..node import (\n        run,  # late\n    )\n", "imports node/run"},
		{"world/planted.py", "import xstate_kernel.suite.tests\n", "imports suite/tests"},
		{"observe/planted.py", "from xstate_kernel.world import hidden as h\n", "imports world/hidden"},
		{"bundle.py", "from .ground import native\n", "bundle.py imports ground/native"},
		{"attic/planted.py", "", "attic/planted.py: no room"},
		{"node/__init__.py", "from . import run\n", "node/__init__.py: is not empty"},
	} {
		with := append(slices.Clone(files), driverFile{path: planted.path, text: []byte(planted.text)})
		if got := strings.Join(badRooms(with), "\n"); !strings.Contains(got, planted.want) {
			t.Errorf("%s with %q: got %q, want %q", planted.path, planted.text, got, planted.want)
		}
	}
	for i := range roomSize {
		files = append(files, driverFile{path: fmt.Sprintf("show/planted%d.py", i)})
	}
	if got := strings.Join(badRooms(files), "\n"); !strings.Contains(got, "show has") {
		t.Errorf("a room of too many files is not found: %q", got)
	}
}

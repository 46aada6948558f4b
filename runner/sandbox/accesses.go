package sandbox

import (
	"slices"

	"github.com/xstate-engine/xstate/internal/parents"
)

// notes are what has been seen of one node so far.
type notes struct {
	report Report
	// before has the image of each path from before its first change. The main process and the others share it.
	before map[string]*Image
}

func newNotes(node int) *notes {
	return &notes{
		report: Report{
			Node: node, Main: map[string]*Access{}, Child: map[string]*Access{},
			Hidden: map[string]bool{}, Changed: map[FileID]bool{},
		},
		before: map[string]*Image{},
	}
}

// of returns what one side did.
func (n *notes) of(main bool) map[string]*Access {
	if main {
		return n.report.Main
	}
	return n.report.Child
}

// wrote reports whether the node has written at a path: what is there is its own.
func (n *notes) wrote(path string) bool {
	a, b := n.report.Main[path], n.report.Child[path]
	return a != nil && a.Use&UseWrite != 0 || b != nil && b.Use&UseWrite != 0
}

// note adds uses to a path. Of a path that the node wrote, only further changes count: it returns nil for others.
func (n *notes) note(main bool, path string, use Use) *Access {
	if n.wrote(path) {
		if use &= changes | UseTold; use == 0 {
			return nil
		}
	}
	side := n.of(main)
	a := side[path]
	if a == nil {
		a = &Access{}
		side[path] = a
	} else {
		use &^= UseAbsent // it says what was there at the first use
	}
	a.Use |= use
	return a
}

// changes are the uses that need an image.
const changes = UseWrite | UseMode | UseTime

func addOnce(list *[]string, name string) {
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

// unseen notes what could not be followed.
func (n *notes) unseen(what string) { addOnce(&n.report.Unseen, what) }

// private reports whether a path is none of the program's. The workspace may lie in the store.
func (s *Spec) private(p string) bool {
	return parents.Holds(s.Spool, p) ||
		parents.Holds(s.Store, p) && !(parents.Holds(s.Store, s.Folder) && parents.Holds(s.Folder, p))
}

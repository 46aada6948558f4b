package runner

import (
	"fmt"
	"slices"

	"github.com/xstate-engine/xstate/runner/basestate"
	"github.com/xstate-engine/xstate/state"
)

// A user may edit a file that the program writes between two runs. The meaning of the edit depends on the program. If a
// node reads the file before the program writes it, the edit is an input, as in a fresh run: a log that the program
// appends to, a configuration that it writes only if it is missing. Otherwise the file is a result, and a run would put
// the program's content in place of the edit. Such a run is refused before anything executes. The traces show which of
// the two holds. If they do not, because a node is new, the run overwrites the file as a fresh run would, and reports
// it.

// CodeFileEdited is the code of the error of a run that would overwrite an edited result.
const CodeFileEdited state.Code = "file-edited"

// EditedFile is a result of the program that was edited after the program wrote it.
type EditedFile struct {
	Name string        `json:"name"` // relative to the workspace
	By   state.BlockID `json:"by"`   // the block that writes it
}

// editedFiles returns the files of the program that were edited since the last run, or earlier if no run wrote them
// since. Deleted files do not count: writing them again loses nothing. Nor does a folder where the program left
// nothing.
func (e *Engine) editedFiles() map[string]state.Digest {
	found := map[string]state.Digest{}
	for name, r := range e.cfg.Files {
		now := e.baseState.OnDisk(name)
		made := now == basestate.Directory && r.Left == state.Absent
		// behind a link, the program writes elsewhere now
		nothing := now == state.Absent || now == basestate.Unreadable || basestate.IsBehind(now)
		if edited := now != r.Left || r.Edited && now == r.Base; edited && !made && !nothing {
			found[name] = now
		}
	}
	return found
}

// editedSearch finds the results among the edited files, while a plan passes the nodes in order.
type editedSearch struct {
	open  map[string]state.Digest // edited files that no node has read or written yet
	found []EditedFile
}

// pass takes what a node reads and writes: the result that it reuses, or its last execution.
func (s *editedSearch) pass(d *decision) {
	t := d.Last
	if d.trace != nil {
		t = &d.trace.Trace
	}
	if t == nil || len(s.open) == 0 {
		return
	}
	for _, a := range t.Reads {
		switch a.Key.Space() {
		case "file", "stat", "mode", "time":
			delete(s.open, a.Key.Name())
		}
	}
	for _, a := range t.Writes {
		if now, edited := s.open[a.Key.Name()]; edited && a.Key.Space() == "file" {
			delete(s.open, a.Key.Name())
			if a.Digest != now && a.Digest != state.Absent {
				s.found = append(s.found, EditedFile{a.Key.Name(), d.Block})
			}
		}
	}
}

func editedError(files []EditedFile) error {
	more, them := "", "it"
	if n := len(files) - 1; n > 0 {
		more, them = fmt.Sprintf(" (and %d more, see `xstate plan`)", n), "them"
	}
	return &state.Error{
		Code: CodeFileEdited,
		Message: fmt.Sprintf("%s%s was edited after block %s wrote it; nothing was executed",
			files[0].Name, more, files[0].By),
		Hint: fmt.Sprintf("to overwrite %s with what the program writes: `xstate run FILE --restore-files`; "+
			"to keep your version: copy or rename it first", them),
	}
}

// overwritten returns the names of the edited files whose content is another after the run, sorted.
func (e *Engine) overwritten(edited map[string]state.Digest) []string {
	var names []string
	for name, was := range edited {
		if basestate.IsFile(was) && e.cfg.Files[name].Left != was {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

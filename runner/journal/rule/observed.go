package rule

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Undeclared says, in a sentence for each list, how a manifest differs from what the results of a program show that it
// uses: tools, models, and files of the workspace. called returns the call that a key names; nil for other keys.
func (m *Manifest) Undeclared(results []*state.Trace, called func(depgraph.Key) (*state.Call, error)) ([]string,
	error) {
	var used Program
	for _, t := range results {
		for _, a := range t.Writes {
			used.Writes = addFile(used.Writes, a.Key)
		}
		for _, a := range t.Reads {
			used.Reads = addFile(used.Reads, a.Key)
			c, err := called(a.Key)
			switch {
			case err != nil:
				return nil, err
			case c == nil:
			case c.Kind == string(journal.KindTool):
				used.Tools = query.AppendNew(used.Tools, c.Tool)
			case c.Kind == string(journal.KindModel):
				used.Models = query.AppendNew(used.Models, c.Tool)
			}
		}
	}
	var all []string
	for _, d := range m.Compare(&used) {
		if d.What == "hosts" || d.What == "packages" { // results do not show them
			continue
		}
		if len(d.Missing) > 0 {
			all = append(all, fmt.Sprintf("used, and not in the manifest (%s): %s %s", m.At, d.What,
				strings.Join(d.Missing, ", ")))
		}
		if len(d.Unneeded) > 0 {
			all = append(all, fmt.Sprintf("in the manifest (%s), and not used: %s %s", m.At, d.What,
				strings.Join(d.Unneeded, ", ")))
		}
	}
	return all, nil
}

// addFile adds the file of the workspace that a key names. Modules of the workspace are part of the program.
func addFile(to []string, k depgraph.Key) []string {
	if name := k.Name(); k.Space() == "file" && !filepath.IsAbs(name) && filepath.Ext(name) != ".py" {
		return query.AppendNew(to, name)
	}
	return to
}

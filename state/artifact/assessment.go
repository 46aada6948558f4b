package artifact

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/languages"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// assessment holds the facts about a session after a step, for assessing artifacts. It is immutable.
type assessment struct {
	folder       string // the workspace
	Snapshot     *query.Snapshot
	Dependencies *query.Dependencies
	Nodes        map[string]*query.Node // by name
	Declared     *state.Declaration     // nil: no artifacts
	// Latest: this is the last step, so the files of the workspace can be read. Their content at other steps is
	// unknown.
	Latest bool
	Checks []CheckView
	// Why the result of a block is out of date: "was edited in step 3 and has not run since"
	pending map[state.BlockID]string
	lastRun state.StepNumber
	then    *query.Snapshot // the program after that run; nil if there was none

	outlines map[state.Digest]*depgraph.Outline // by version
	linked   map[string][]link                  // by node; see links
	files    map[string]state.Digest            // what files of the workspace hold; absent: there is none
}

// artifacts are the declared artifacts.
func (m *assessment) artifacts() []state.Artifact {
	if m.Declared == nil {
		return nil
	}
	return m.Declared.All
}

// outline is the outline of a block; empty if the block does not parse.
func (m *assessment) outline(b *query.BlockView) *depgraph.Outline {
	o, known := m.outlines[b.Version]
	if !known {
		var err error
		if o, err = languages.Outline([]byte(b.Source), b.Dialect); err != nil {
			o = &depgraph.Outline{}
		}
		m.outlines[b.Version] = o
	}
	return o
}

// Writer is the block of a node; nil if the node belongs to no block of the program.
func (m *assessment) Writer(node string) *query.BlockView {
	id, _, _ := strings.Cut(node, "#")
	b, err := m.Snapshot.Block(state.BlockID(id))
	if node == "" || err != nil {
		return nil
	}
	return b
}

// Content is the digest of what a file of the workspace holds now; state.Absent if there is none.
func (m *assessment) Content(path string) state.Digest {
	d, known := m.files[path]
	if !known {
		d, _ = digestFile(filepath.Join(m.folder, filepath.FromSlash(path))) // what cannot be read is not there
		m.files[path] = d
	}
	return d
}

// Writes reports whether a block of the program wrote a key when it last ran.
func (m *assessment) Writes(k depgraph.Key) bool {
	return slices.ContainsFunc(m.Snapshot.Blocks, func(b query.BlockView) bool { _, ok := b.Writes()[k]; return ok })
}

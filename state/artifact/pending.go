package artifact

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// findPending finds the blocks whose results do not hold any more, as far as the record and the files tell, and those
// that rest on them: what they were seen to rest on in the last run, and what the text says of what came since.
func (m *assessment) findPending() error {
	var roots []string // nodes, or blocks where all of one is meant
	stale := map[string]bool{}
	last := map[depgraph.Key]written{}
	for i := range m.Snapshot.Blocks {
		b := &m.Snapshot.Blocks[i]
		node, text := m.outdated(b)
		if text == "" {
			node, text = leftBehind(b, last)
		}
		if text != "" {
			roots, m.pending[b.ID], stale[node] = append(roots, node), text, true
		}
		for _, n := range b.Nodes {
			for _, w := range n.Writes {
				last[w.Key] = written{w.Digest, b}
			}
		}
	}
	for _, root := range roots {
		reached, err := m.Dependencies.Affected(root)
		if err != nil {
			return err
		}
		for _, r := range reached {
			m.restsOnPending(r.Block, m.Writer(root).ID)
			for _, node := range r.Nodes {
				stale[node] = true
			}
		}
	}
	if m.lastRun == 0 {
		return nil
	}
	links, now, anew := trailOf(m.then), trailOf(m.Snapshot), m.boundAnew(stale)
	for again := true; again; {
		again = false
		for i := range m.Snapshot.Blocks {
			b := &m.Snapshot.Blocks[i]
			for _, n := range b.Nodes {
				if stale[n.Name] {
					continue
				}
				is := m.followPending(b, append(m.between(b, &n, links[n.Name], anew), links[n.Name]...), stale)
				if other := otherThan(links[n.Name], now[n.Name]); !is && other != "" {
					is = true
					if m.pending[b.ID] == "" {
						m.pending[b.ID] = fmt.Sprintf(
							"had %s from another block when it ran in step %d",
							other,
							b.RanAt,
						)
					}
				}
				if is {
					stale[n.Name], again = true, true
				}
			}
		}
	}
	return nil
}

// written is what a key was given last, and by which block.
type written struct {
	digest state.Digest
	by     *query.BlockView
}

// leftBehind tells which part of a block an interrupted run did not come to, after it had executed who gives that part
// something else than it read; "" where there is none.
func leftBehind(b *query.BlockView, last map[depgraph.Key]written) (node, text string) {
	for _, n := range b.Nodes {
		for _, r := range n.Reads {
			if w, ok := last[r.Key]; ok && w.digest != r.Digest && w.by.RanAt > b.RanAt {
				return n.Name, fmt.Sprintf("had another %s when it ran in step %d", r.Key.Name(), b.RanAt)
			}
		}
	}
	return "", ""
}

// boundAnew are the blocks that were edited, or are new, by the names that their text may bind or change.
func (m *assessment) boundAnew(stale map[string]bool) map[depgraph.Key][]*query.BlockView {
	found := map[depgraph.Key][]*query.BlockView{}
	for _, id := range m.Dependencies.Graph.NodeIDs() {
		p := m.Dependencies.Nodes[id]
		if p == nil || p.Block.RanAt > 0 || !stale[string(p.Block.ID)] {
			continue
		}
		for _, name := range slices.Concat(p.Facts.Defines, p.Facts.Mutates, p.Facts.Deletes) {
			found[depgraph.Var(name)] = query.AppendNew(found[depgraph.Var(name)], p.Block)
		}
	}
	return found
}

// between are those of them that stand between a node and who gave it what it read, though its text need not name that:
// names that share objects are read together.
func (m *assessment) between(
	b *query.BlockView,
	n *query.NodeView,
	links []query.Via,
	anew map[depgraph.Key][]*query.BlockView,
) []query.Via {
	var found []query.Via
	for _, r := range n.Reads {
		for _, x := range anew[r.Key] {
			later := slices.ContainsFunc(links, func(v query.Via) bool {
				from := m.Writer(v.From)
				return v.Key == r.Key && from != nil && from.Index > x.Index
			})
			if x.Index < b.Index && !later {
				found = append(found, query.Via{From: string(x.ID), Key: r.Key})
			}
		}
	}
	return found
}

// otherThan returns a key that two lists have from different nodes, for blocks were moved, or one came in between.
func otherThan(then, now []query.Via) depgraph.Key {
	for _, v := range now {
		if !slices.Contains(then, v) && slices.ContainsFunc(then, func(x query.Via) bool { return x.Key == v.Key }) {
			return v.Key
		}
	}
	return ""
}

// followPending looks whether a node of a block rested, in the last run, on one whose result does not hold, or that is
// gone.
func (m *assessment) followPending(b *query.BlockView, links []query.Via, stale map[string]bool) bool {
	for _, via := range links {
		id, _, _ := strings.Cut(via.From, "#")
		from := state.BlockID(id)
		if _, err := m.Snapshot.Block(from); err != nil {
			if m.pending[b.ID] == "" {
				m.pending[b.ID] = fmt.Sprintf("rests on %s, which is gone", id)
			}
			return true
		}
		if stale[via.From] || stale[id] {
			m.restsOnPending(b.ID, from)
			return true
		}
	}
	return false
}

// restsOnPending notes that a block rests on another whose result does not hold, by what that goes back to.
func (m *assessment) restsOnPending(id, on state.BlockID) {
	why := m.pending[on]
	if m.pending[id] == "" && id != on {
		if !strings.HasPrefix(why, "rests on ") {
			why = fmt.Sprintf("rests on %s, which %s", on, why)
		}
		m.pending[id] = why
	}
}

// outdated tells why the result of a block does not hold, for its version and the files that it reads, and which part
// of it that is about; "" where it holds.
func (m *assessment) outdated(b *query.BlockView) (node, text string) {
	switch {
	case b.RanAt == 0 && m.lastRun < b.Edited && m.lastRun > 0:
		return string(b.ID), fmt.Sprintf("was edited in step %d and has not run since", b.Edited)
	case b.RanAt == 0:
		return string(b.ID), "was never run"
	case !m.Latest:
		return "", ""
	}
	for i := range b.Nodes {
		for _, r := range b.Nodes[i].Reads {
			name := r.Key.Name()
			if r.By != "" || filepath.IsAbs(name) {
				continue
			}
			if r.Key.Space() == "stat" && !m.Writes(depgraph.Key("file:"+name)) {
				_, err := os.Lstat(filepath.Join(m.folder, filepath.FromSlash(name)))
				if (err == nil) != (r.Digest != state.Absent) {
					return b.Nodes[i].Name, fmt.Sprintf(
						"looked for %s, which is %s",
						name,
						map[bool]string{true: "there now", false: "gone"}[err == nil],
					)
				}
			}
			if r.Key.Space() != "file" || len(r.Digest) != 64 && r.Digest != state.Absent {
				continue
			}
			now, left := m.Content(name), m.left(name)
			switch {
			case now == r.Digest,
				now == left && left != state.Absent: // before a run, what the program wrote over is put back
			case now == state.Absent:
				return b.Nodes[i].Name, fmt.Sprintf("reads %s, which is gone", name)
			case r.Digest == state.Absent:
				return b.Nodes[i].Name, fmt.Sprintf("looked for %s, which is there now", name)
			default:
				return b.Nodes[i].Name, fmt.Sprintf(
					"reads %s, which has changed since it ran in step %d",
					name,
					b.RanAt,
				)
			}
		}
	}
	return "", ""
}

// left is what the last run left in a file; state.Absent where it wrote none.
func (m *assessment) left(path string) state.Digest {
	if m.then == nil {
		return state.Absent
	}
	d, _ := wrote(m.then, path)
	return d
}

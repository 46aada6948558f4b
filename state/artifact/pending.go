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

// findPending finds the blocks whose results are out of date, as far as the record and the files show, and those that
// depend on them. A dependency is what the last run observed or, for later edits, what the text says.
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

// written is the last value of a key, and the block that wrote it.
type written struct {
	digest state.Digest
	by     *query.BlockView
}

// leftBehind finds the part of a block that an interrupted run did not reach, although the run executed a writer of its
// inputs and that writer produced a different value. It returns "" if there is none.
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

// boundAnew maps names to the edited and new blocks whose text may bind or change them.
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

// between are the given blocks that lie between a node and the writer of its input. The text of the node need not name
// the key: the runner reads names that share objects together.
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

// otherThan returns a key that two lists have from different nodes, because a block was moved or inserted.
func otherThan(then, now []query.Via) depgraph.Key {
	for _, v := range now {
		if !slices.Contains(then, v) && slices.ContainsFunc(then, func(x query.Via) bool { return x.Key == v.Key }) {
			return v.Key
		}
	}
	return ""
}

// followPending checks whether a node of a block depended, in the last run, on a node whose result is out of date or
// that is gone.
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

// restsOnPending records that a block depends on an outdated one, and where that begins. The reason names the first
// cause, not the nearest neighbour: that is what the reader must run or fix.
func (m *assessment) restsOnPending(id, on state.BlockID) {
	why := m.pending[on]
	if m.pending[id] == "" && id != on {
		if !strings.HasPrefix(why, "rests on ") {
			why = fmt.Sprintf("rests on %s, which %s", on, why)
		}
		m.pending[id] = why
	}
}

// outdated explains why the result of a block is out of date, from its version and the files that it reads, and names
// the part of the block. It returns "" if the result is up to date.
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
			if r.Digest == state.Edited {
				return b.Nodes[i].Name, fmt.Sprintf("reads %s, which was edited while it ran in step %d", name, b.RanAt)
			}
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
				now == left && left != state.Absent: // before a run, the runner restores what the program overwrote
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

// left is the digest that the last run left in a file; state.Absent if it wrote none.
func (m *assessment) left(path string) state.Digest {
	if m.then == nil {
		return state.Absent
	}
	d, _ := wrote(m.then, path)
	return d
}

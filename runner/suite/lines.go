package suite

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// Lines are observed on demand (Options.Lines), because they cost more than all else: each line of a function is a
// separate event, armed again for each test. The suite stores executed lines as numbers of statements in their unit.
// The digest of the unit, which the trace has, covers which statements there are and in which order, but not their
// places. So the numbers stay right wherever the text moves and however its layout changes. Numbers of lines would not,
// even counted from the beginning of the function. A statement of several lines is one. Lines are not part of a trace,
// because they follow from it: a valid trace executed them. They are stored with the trace and may be lost like any
// result.

// statements holds the numbers of statements of a unit.
type statements map[int]bool

// executedLines are the statements that imports executed, and those that a test executed, by unit, as ranges.
type executedLines []map[depgraph.Key]string

// hitLines is written as a list: the number of a unit, lines of it.
type hitLines struct {
	Unit  int
	Lines []int
}

func (h *hitLines) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&h.Unit, &h.Lines})
}

// add notes the statements that lines belong to: the last that begins there or before, with all others on that line.
// Lines before the first statement belong to a docstring.
func (p *suiteProcess) add(to map[int]statements, h hitLines) {
	part := p.units[h.Unit]
	starts := p.starts(h.Unit)
	if to[h.Unit] == nil {
		to[h.Unit] = statements{}
	}
	for _, line := range h.Lines {
		after, _ := slices.BinarySearch(starts, line-part.From+1)
		for i := after - 1; i >= 0 && starts[i] == starts[after-1]; i-- {
			to[h.Unit][i] = true
		}
	}
}

// starts returns the lines on which statements of a unit begin, counted from its first.
func (p *suiteProcess) starts(unit int) []int {
	found, ok := p.begins[unit]
	if !ok {
		part := p.units[unit]
		found = p.s.sources[part.File].Units[part.Name].starts()
		p.begins[unit] = found
	}
	return found
}

// hits notes the statements that a test executed, itself and in its fixtures.
func (p *suiteProcess) hits(r *report, to map[int]statements, seen map[int]bool) {
	for _, h := range r.Hit {
		p.add(to, h)
	}
	for _, n := range r.Groups {
		if g := p.groups[n]; g != nil && g.Fixture && !seen[n] {
			seen[n] = true
			p.hits(g, to, seen)
		}
	}
}

// keptLines is stored with the trace of a test. Lines that imports executed are equal for all tests of a process, and
// are stored once.
type keptLines struct {
	Units  map[depgraph.Key]string `json:"units"`
	Levels state.Digest            `json:"levels"`
}

// keepLines stores the lines that a test executed with its trace. For a module level, these are the lines that its
// import executed.
func (p *suiteProcess) keepLines(trace state.Digest, r *report) (executedLines, error) {
	if p.imported == nil {
		p.imported = p.written(p.levels)
	}
	levels, err := json.Marshal(p.imported)
	if err != nil {
		return nil, err
	}
	own := map[int]statements{}
	p.hits(r, own, map[int]bool{})
	kept := keptLines{p.written(own), state.DigestOf(levels)}
	data, err := json.Marshal(kept)
	if err == nil {
		err = errors.Join(
			p.s.cfg.Store.PutMemo(state.MemoLines, string(kept.Levels), levels),
			p.s.cfg.Store.PutMemo(state.MemoLines, string(trace), data),
		)
	}
	return executedLines{p.imported, kept.Units}, err
}

// written returns statements by the names of their units.
func (p *suiteProcess) written(units map[int]statements) map[depgraph.Key]string {
	found := map[depgraph.Key]string{}
	for n, list := range units {
		found[p.units[n].key()] = state.Ranges(slices.Sorted(maps.Keys(list)))
	}
	return found
}

// lines returns the lines that were stored with a trace, or nil.
func (s *Suite) lines(trace state.Digest) executedLines {
	var kept keptLines
	levels := map[depgraph.Key]string{}
	data, ok := s.cfg.Store.Memo(state.MemoLines, string(trace))
	if !ok || json.Unmarshal(data, &kept) != nil {
		return nil
	}
	if data, ok = s.cfg.Store.Memo(state.MemoLines, string(kept.Levels)); !ok || json.Unmarshal(data, &levels) != nil {
		return nil
	}
	return executedLines{levels, kept.Units}
}

// of returns the executed statements of a unit.
func (e executedLines) of(unit depgraph.Key) map[int]bool {
	found := map[int]bool{}
	for _, units := range e {
		for n := range state.InRanges(units[unit]) {
			found[n] = true
		}
	}
	return found
}

func (u unitOf) starts() []int {
	var found []int
	for text := range strings.FieldsSeq(u.Starts) {
		if n, err := strconv.Atoi(text); err == nil {
			found = append(found, n)
		}
	}
	return found
}

// lines returns the lines of executed statements of a unit in the present source, counted from the first line of the
// unit. A statement has the lines up to the next that begins, in the unit or in a function within. Before the first
// statement lies what a call executes. At the level of a module the functions are not distinguished, for their lines do
// not belong to it.
func (s *source) lines(unit string, executed map[int]bool) string {
	u := s.Units[unit]
	starts := u.starts()
	bounds := starts
	if unit != "" {
		bounds = nil
		for _, other := range s.Units {
			if u.From <= other.From && other.To <= u.To {
				for _, start := range other.starts() {
					bounds = append(bounds, other.From+start-u.From)
				}
			}
		}
		slices.Sort(bounds)
	}
	found := map[int]bool{}
	fill := func(start int) {
		end, at := u.To-u.From, 0
		if at, _ = slices.BinarySearch(bounds, start+1); at < len(bounds) {
			end = min(end, bounds[at]-1)
		}
		for line := start; line <= max(start, end); line++ {
			found[line] = true
		}
	}
	fill(0)
	for n := range executed {
		if n < len(starts) {
			fill(starts[n])
		}
	}
	return state.Ranges(slices.Sorted(maps.Keys(found)))
}

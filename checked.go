package xstate

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

// CheckAssert is the kind of a part of a block that asserts something: it is a check of itself, and of all that it read.
const CheckAssert CheckKind = "assert"

// CheckView is a check as seen after a step.
type CheckView struct {
	Check
	Current bool `json:"current"` // all that it exercised is as it was then, so that it would come to the same
}

// Proves reports whether the check passed on the present code. One that comes to something else each time, or keeps a result that
// does not hold, proves nothing.
func (c *CheckView) Proves() bool {
	return c.Current && c.Outcome == CheckPassed && !slices.Contains(c.Marks, runner.MarkVolatile) && !slices.Contains(c.Marks, runner.MarkPinned)
}

// Coverage is what checks that passed exercised of the present version of a block or file. Lines are those that were executed where
// that was observed (TestOptions.Lines), else all of a function that was. Of a class that a block's assertion read, the lines
// outside of its methods count, for it is not seen which of these ran.
type Coverage struct {
	Block   BlockID  `json:"block,omitempty"`
	File    string   `json:"file,omitempty"`
	Checks  []string `json:"checks"`
	Lines   int      `json:"lines"`   // that hold code
	Covered int      `json:"covered"` // of them
	Missed  []string `json:"missed"`  // functions that no check executed; "" stands for what is outside of functions

	MissedLines string   `json:"missed_lines"` // that no check executed, of other functions, as ranges counted from 1: "7-8,12"
	Whole       []string `json:"whole"`        // functions that count as a whole, because some check executed them whose lines were not observed
}

// Unchecked returns the coverage of the blocks, and of the files of code that artifacts hold, after step n, that checks which passed exercised in part only, or not at all.
func (s *Session) Unchecked(ctx context.Context, n StepNumber) ([]Coverage, error) {
	m, err := s.momentAt(ctx, n)
	if err != nil {
		return nil, err
	}
	found := []Coverage{}
	for i := range m.snap.Blocks {
		if c := m.coverage(&m.snap.Blocks[i]); c.Covered < c.Lines {
			found = append(found, c)
		}
	}
	for _, a := range m.artifacts() {
		for _, f := range a.Files {
			if c, ok := m.fileCoverage(f.Path); ok && a.Kind == state.ArtifactCode && c.Covered < c.Lines {
				found = append(found, c)
			}
		}
	}
	return found, nil
}

// checksAt returns the checks that were known at the moment.
func (s *Session) checksAt(ctx context.Context, m *moment) ([]CheckView, error) {
	kept, err := s.ChecksAt(ctx, m.snap.Step.Number)
	if err != nil {
		return nil, err
	}
	found := []CheckView{}
	for _, c := range kept {
		found = append(found, CheckView{c, !slices.ContainsFunc(c.Exercised, func(x Exercised) bool { return !m.present(x) })})
	}
	asserts, err := s.asserts(ctx, m)
	return append(found, asserts...), err
}

// present reports whether a part of the code is as a check found it. A function of a file counts as another as soon as anything in
// the file is: the next xstate test tells whether it is.
func (m *moment) present(x Exercised) bool {
	if x.File != "" {
		return !m.now || x.Content != "" && m.content(x.File) == x.Content
	}
	b, err := m.snap.Block(x.Block)
	return err == nil && b.Version == x.Version
}

// asserts are the parts of blocks that assert something, as they last ran.
func (s *Session) asserts(ctx context.Context, m *moment) ([]CheckView, error) {
	volatile, err := s.volatile(ctx)
	if err != nil {
		return nil, err
	}
	var found []CheckView
	for i := range m.snap.Blocks {
		b := &m.snap.Blocks[i]
		outline := m.outline(b)
		for j := range b.Nodes {
			n := &b.Nodes[j]
			place := m.deps.nodes[depgraph.NewNodeID(string(b.ID), j)]
			if place == nil || n.Trace == "" || n.Lost || !slices.ContainsFunc(outline.Asserts, func(line int) bool { return place.facts.Line <= line && line <= place.facts.EndLine }) {
				continue
			}
			run, err := s.step(ctx, b.RanAt)
			if err != nil {
				return nil, err
			}
			c := CheckView{Check: Check{ID: n.Name, Kind: CheckAssert, Outcome: CheckPassed, At: run.Time, Step: run.Number, Seconds: n.Seconds, Marks: b.Marks}, Current: true}
			if volatile[n.Code] != nil {
				c.Marks = appendNew(slices.Clone(c.Marks), runner.MarkVolatile)
			}
			if n.Status == "failed" || b.Status == "failed" && j == len(b.Nodes)-1 {
				c.Outcome, c.Message = CheckFailed, brief(b.Error)
			}
			if c.Exercised, c.Current = m.exercised(b, n); !c.Current {
				if c.Exercised, err = s.exercisedThen(ctx, m, b, j); err != nil {
					return nil, err
				}
			}
			found = append(found, c)
		}
	}
	return found, nil
}

// exercised are the parts of the program that an execution of a node executed, and those whose values it read; current is false
// where some of that is another by now, or gone.
func (m *moment) exercised(b *BlockView, n *NodeView) (parts []Exercised, current bool) {
	parts, current = []Exercised{m.level(b, n.Name)}, true
	for _, r := range n.Reads {
		from := m.writer(r.By)
		if from == nil {
			current = current && (r.Digest == state.Absent || r.Key.Space() != "var")
			continue
		}
		x := m.level(from, r.By)
		for _, d := range m.outline(from).Definitions {
			if d.Line > 0 && r.Key == depgraph.Var(d.Name) {
				x.Function, x.From, x.To = d.Name, d.Line, d.End
			}
		}
		parts = appendNew(parts, x)
	}
	return parts, current
}

// level is what a node of a block executed itself, rather than a function.
func (m *moment) level(b *BlockView, node string) Exercised {
	x := Exercised{Block: b.ID, Version: b.Version}
	if p := m.places[node]; p != nil {
		x.From, x.To = p.facts.Line, p.facts.EndLine
	}
	return x
}

// exercisedThen is exercised after the run that executed a node of a block.
func (s *Session) exercisedThen(ctx context.Context, m *moment, b *BlockView, node int) ([]Exercised, error) {
	snap, err := s.At(ctx, b.RanAt)
	if err != nil {
		return nil, err
	}
	then := &moment{snap: snap, outlines: m.outlines}
	old, err := snap.Block(b.ID)
	if err != nil || node >= len(old.Nodes) {
		return nil, err
	}
	parts, _ := then.exercised(old, &old.Nodes[node])
	return parts, nil
}

// coverage tells what of a block was exercised.
func (m *moment) coverage(b *BlockView) Coverage {
	return m.covered(Coverage{Block: b.ID}, b.Source, m.outline(b), func(x Exercised) bool { return x.Block == b.ID })
}

// fileCoverage tells what of a Python file of the workspace was exercised, as it is now; ok is false where that is none, or not known.
func (m *moment) fileCoverage(path string) (c Coverage, ok bool) {
	data, err := os.ReadFile(filepath.Join(m.folder, filepath.FromSlash(path)))
	if err != nil || !m.now || !inFile(path) {
		return c, false
	}
	outline, err := python.Outline(data, python.Plain)
	if err != nil {
		outline = &depgraph.Outline{}
	}
	return m.covered(Coverage{File: path}, string(data), outline, func(x Exercised) bool { return x.File == path }), true
}

func (m *moment) covered(c Coverage, source string, outline *depgraph.Outline, of func(Exercised) bool) Coverage {
	c.Checks, c.Missed, c.Whole = []string{}, []string{}, []string{}
	lines := strings.Split(source, "\n")
	owner := make([]string, len(lines)+1) // of each line, from 1: the name of the definition that it is in
	for line, i := range owners(outline) {
		if line < len(owner) {
			owner[line] = outline.Definitions[i].Name
		}
	}
	const whole, byLine = 1, 2
	executed, outer := map[string]int{}, 0
	hit, level := make([]bool, len(owner)), make([]bool, len(owner)) // lines that were executed, of functions and outside of them
	for i := range m.checks {
		check := &m.checks[i]
		if !check.Proves() {
			continue
		}
		for _, x := range check.Exercised {
			switch {
			case !of(x):
				continue
			case x.Function != "" && 0 < x.From && x.From < len(owner):
				name := owner[x.From]
				for line := range x.lines(len(owner)) {
					hit[line] = hit[line] || owner[line] == name
				}
				executed[name] |= x.counted(whole, byLine)
			case x.Function == "":
				for line := range x.lines(len(owner)) {
					level[line] = true
				}
				outer |= x.counted(whole, byLine)
			}
			c.Checks = appendNew(c.Checks, check.ID)
		}
	}
	outside := map[string]bool{"": true} // names of lines that are executed with the text: its level and, in a file, those of classes
	for _, d := range outline.Definitions {
		outside[d.Name] = c.File != "" && d.Class
	}
	var missed [][2]int
	last := 0 // line that holds code
	for i, text := range lines {
		if text = strings.TrimSpace(text); text == "" || text[0] == '#' {
			continue
		}
		line, name := i+1, owner[i+1]
		c.Lines++
		switch {
		case executed[name]&whole != 0 || hit[line], outside[name] && level[line]:
			c.Covered++
		case executed[name] == 0 && (!outside[name] || outer != byLine):
			c.Missed = appendNew(c.Missed, name)
		case len(missed) > 0 && missed[len(missed)-1][1] == last:
			missed[len(missed)-1][1] = line
		default:
			missed = append(missed, [2]int{line, line})
		}
		last = line
	}
	for _, r := range missed {
		c.MissedLines += fmt.Sprintf(",%d-%d", r[0], r[1])
		if r[0] == r[1] {
			c.MissedLines = strings.TrimSuffix(c.MissedLines, fmt.Sprintf("-%d", r[1]))
		}
	}
	c.MissedLines = strings.TrimPrefix(c.MissedLines, ",")
	if outer&whole != 0 && c.File != "" {
		c.Whole = append(c.Whole, "")
	}
	for _, d := range outline.Definitions {
		if executed[d.Name]&whole != 0 {
			c.Whole = append(c.Whole, d.Name)
		}
	}
	return c
}

// owners gives each line of a text that is in a definition, counted from 1, the place of the innermost one.
func owners(outline *depgraph.Outline) map[int]int {
	found := map[int]int{}
	for i, d := range outline.Definitions { // a class comes before what it holds
		for line := max(d.Line, 1); line <= d.End; line++ {
			found[line] = i
		}
	}
	return found
}

// counted tells how the lines of a part are.
func (x *Exercised) counted(whole, byLine int) int {
	if x.Lines == "" {
		return whole
	}
	return byLine
}

// lines yields the lines of a part that were executed, all of them where that was not observed, below end.
func (x *Exercised) lines(end int) iter.Seq[int] {
	return func(yield func(int) bool) {
		ranges := x.Lines
		if ranges == "" {
			ranges = fmt.Sprintf("0-%d", x.To-x.From)
		}
		for n := range runner.InRanges(ranges) {
			if line := x.From + n; 0 < line && line < end && !yield(line) {
				return
			}
		}
	}
}

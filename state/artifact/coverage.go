package artifact

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Coverage is the part of the present version of a block or file that passing checks exercised. Lines are the executed
// lines where the checks observed them (TestOptions.Lines). Elsewhere every line of an executed function counts. Of a
// class that an assertion of a block read, the lines outside of its methods count: the runner does not observe which
// methods ran.
type Coverage struct {
	Block   state.BlockID `json:"block,omitempty"`
	File    string        `json:"file,omitempty"`
	Checks  []string      `json:"checks"`
	Lines   int           `json:"lines"`   // that hold code
	Covered int           `json:"covered"` // how many of these
	// Functions that no check executed; "" means the code outside of functions.
	Missed []string `json:"missed"`

	// Lines of other functions that no check executed, as ranges counted from 1: "7-8,12".
	MissedLines string `json:"missed_lines"`
	// Functions that count as a whole, because a check executed them without observing lines.
	Whole []string `json:"whole"`
}

// present reports whether a part of the code is as a check executed it. A function of a file counts as changed as soon
// as anything in the file changes. That is too strict, but safe: the next xstate test compares the functions one by
// one.
func (m *assessment) present(x query.Exercised) bool {
	if x.File != "" {
		return !m.Latest || x.Content != "" && m.Content(x.File) == x.Content
	}
	b, err := m.Snapshot.Block(x.Block)
	return err == nil && b.Version == x.Version
}

// asserts are the parts of blocks that assert something, as of their last run.
func asserts(ctx context.Context, h *query.History, m *assessment) ([]CheckView, error) {
	volatile, err := h.VaryingCode(ctx)
	if err != nil {
		return nil, err
	}
	var found []CheckView
	for i := range m.Snapshot.Blocks {
		b := &m.Snapshot.Blocks[i]
		outline := m.outline(b)
		for j := range b.Nodes {
			n := &b.Nodes[j]
			place := m.Dependencies.Nodes[depgraph.NewNodeID(string(b.ID), j)]
			if place == nil || n.Trace == "" || n.Lost ||
				!slices.ContainsFunc(
					outline.Asserts,
					func(line int) bool { return place.Facts.Line <= line && line <= place.Facts.EndLine },
				) {
				continue
			}
			run, err := h.Step(ctx, b.RanAt)
			if err != nil {
				return nil, err
			}
			c := CheckView{
				Check: query.Check{
					ID:      n.Name,
					Kind:    CheckAssert,
					Outcome: query.CheckPassed,
					At:      run.Time,
					Step:    run.Number,
					Seconds: n.Seconds,
					Marks:   b.Marks,
				},
				Current: true,
			}
			if volatile[n.Code] != nil {
				c.Marks = query.AppendNew(slices.Clone(c.Marks), state.MarkVaried)
			}
			if n.Status == "failed" || b.Status == "failed" && j == len(b.Nodes)-1 {
				c.Outcome, c.Message = query.CheckFailed, brief(b.Error)
			}
			if c.Exercised, c.Current = m.exercised(b, n); !c.Current {
				if c.Exercised, err = exercisedThen(ctx, h, m, b, j); err != nil {
					return nil, err
				}
			}
			found = append(found, c)
		}
	}
	return found, nil
}

// exercised returns the parts of the program that an execution of a node executed, and those whose values it read.
// current is false if one of these parts has changed since or is gone.
func (m *assessment) exercised(b *query.BlockView, n *query.NodeView) (parts []query.Exercised, current bool) {
	parts, current = []query.Exercised{m.level(b, n.Name)}, true
	for _, r := range n.Reads {
		from := m.Writer(r.By)
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
		parts = query.AppendNew(parts, x)
	}
	return parts, current
}

// level is the part of a block that a node executed itself, outside of functions.
func (m *assessment) level(b *query.BlockView, node string) query.Exercised {
	x := query.Exercised{Block: b.ID, Version: b.Version}
	if p := m.Nodes[node]; p != nil {
		x.From, x.To = p.Facts.Line, p.Facts.EndLine
	}
	return x
}

// exercisedThen is exercised for the program at the run that executed the node.
func exercisedThen(
	ctx context.Context,
	h *query.History,
	m *assessment,
	b *query.BlockView,
	node int,
) ([]query.Exercised, error) {
	snap, err := h.At(ctx, b.RanAt)
	if err != nil {
		return nil, err
	}
	then := &assessment{Snapshot: snap, outlines: m.outlines}
	old, err := snap.Block(b.ID)
	if err != nil || node >= len(old.Nodes) {
		return nil, err
	}
	parts, _ := then.exercised(old, &old.Nodes[node])
	return parts, nil
}

// Coverage returns the coverage of a block.
func (m *assessment) Coverage(b *query.BlockView) Coverage {
	return m.covered(
		Coverage{Block: b.ID},
		b.Source,
		m.outline(b),
		func(x query.Exercised) bool { return x.Block == b.ID },
	)
}

// FileCoverage returns the coverage of a source file of the workspace, with its present content. ok is false if there
// is none, or if it is not known.
func (m *assessment) FileCoverage(path string) (c Coverage, ok bool) {
	data, err := readIn(m.folder, path)
	if err != nil || !m.Latest || !InFile(path) {
		return c, false
	}
	outline, err := outlineOf(path, data)
	if err != nil {
		outline = &depgraph.Outline{}
	}
	return m.covered(
		Coverage{File: path},
		string(data),
		outline,
		func(x query.Exercised) bool { return x.File == path },
	), true
}

func (m *assessment) covered(
	c Coverage,
	source string,
	outline *depgraph.Outline,
	of func(query.Exercised) bool,
) Coverage {
	c.Checks, c.Missed, c.Whole = []string{}, []string{}, []string{}
	lines := strings.Split(source, "\n")
	owner := make([]string, len(lines)+1) // by line, from 1: the name of the definition that it is in
	for line, i := range query.InnermostDefinitions(outline) {
		if line < len(owner) {
			owner[line] = outline.Definitions[i].Name
		}
	}
	const whole, byLine = 1, 2
	executed, outer := map[string]int{}, 0
	hit, level := make(
		[]bool,
		len(owner),
	), make(
		[]bool,
		len(owner),
	) // lines that were executed, of functions and outside of them
	for i := range m.Checks {
		check := &m.Checks[i]
		if !check.Proves() {
			continue
		}
		for _, x := range check.Exercised {
			switch {
			case !of(x):
				continue
			case x.Function != "" && 0 < x.From && x.From < len(owner):
				name := owner[x.From]
				for line := range x.ExecutedLines(len(owner)) {
					hit[line] = hit[line] || owner[line] == name
				}
				executed[name] |= x.Counted(whole, byLine)
			case x.Function == "":
				for line := range x.ExecutedLines(len(owner)) {
					level[line] = true
				}
				outer |= x.Counted(whole, byLine)
			}
			c.Checks = query.AppendNew(c.Checks, check.ID)
		}
	}
	outside := map[string]bool{
		"": true,
	} // names of lines that are executed with the text: its level and, in a file, those of classes
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
			c.Missed = query.AppendNew(c.Missed, name)
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

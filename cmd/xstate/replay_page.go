package main

import (
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state/output"
	"github.com/xstate-engine/xstate/state/provenance"
	"github.com/xstate-engine/xstate/state/query"
)

// replayPage is what the page of a replay shows. It is one file that needs nothing else and runs nothing.
type replayPage struct {
	Title, Verdict  string
	First           *pageDivergence
	Runs            [][]string // the first row of a table is its head
	Missing, Served []string
	Others          []pageDivergence // that no block of the page shows
	Writers         [][]string
	Steps           []pageStep
}

// pageDivergence is a divergence, with what was recorded and what the replay produced.
type pageDivergence struct{ Text, Recorded, Replayed string }

// pageStep is the program of one run.
type pageStep struct {
	Number xstate.StepNumber
	Text   string
	Blocks []pageBlock
}

// pageBlock is a block in one run: its code, its data and its author.
type pageBlock struct {
	Place         int // from 1
	ID            xstate.BlockID
	Same          xstate.StepNumber // the step that shows the same block with the same results; 0: none
	Outcome       string
	Diverged      bool
	Version       string // and who wrote it
	Source        string
	Reads, Writes [][]string
	Absent        string // what it looked for and did not find
	Output        string
	Pictures      []template.URL
	Divergences   []pageDivergence
}

//go:embed replay_page.html
var replayPageText string

var replayTemplate = template.Must(template.New("replay").Parse(replayPageText))

// replayHTML is the page of a replay. programs are those of its runs, by step.
func replayHTML(x *replay.Report, programs map[xstate.StepNumber]*query.Snapshot) (string, error) {
	page := replayPage{
		Title:   "Replay of session " + x.Session,
		Verdict: verdictText(x),
		Runs:    replayTable(x),
		Served:  servedTexts(x),
	}
	if x.First != nil {
		first := pageDivergenceOf(x.First)
		page.First = &first
	}
	for _, m := range x.Missing {
		page.Missing = append(page.Missing, missingText(m))
	}
	shown := map[string]xstate.StepNumber{}
	for i := range x.Runs {
		run := &x.Runs[i]
		program := programs[run.Step]
		if program == nil {
			for j := range run.Divergences {
				if d := &run.Divergences[j]; d != x.First {
					page.Others = append(page.Others, pageDivergenceOf(d))
				}
			}
			continue
		}
		page.Steps = append(page.Steps, pageStepOf(run, program, shown))
	}
	page.Writers = writersOf(x, programs)
	var b strings.Builder
	err := replayTemplate.Execute(&b, page)
	return b.String(), err
}

func pageDivergenceOf(d *replay.Divergence) pageDivergence {
	return pageDivergence{causeText(d), d.Recorded, d.Replayed}
}

// pageStepOf is the program of a run. shown are the blocks that the page has already, by what is shown of them.
func pageStepOf(run *replay.RunReport, program *query.Snapshot, shown map[string]xstate.StepNumber) pageStep {
	step := pageStep{Number: run.Step, Text: fmt.Sprintf("%s, recorded with %s: %s.",
		run.Time.UTC().Format(time.RFC3339), run.Interpreter, run.Result)}
	for i := range program.Blocks {
		b := &program.Blocks[i]
		p := pageBlockOf(run, b)
		key := fmt.Sprintf("%q %q %q %q", b.ID, b.Version, p.Outcome, p.Divergences)
		for _, n := range b.Nodes {
			key += " " + string(n.Trace)
		}
		if before := shown[key]; before > 0 {
			p = pageBlock{Place: p.Place, ID: p.ID, Same: before}
		} else {
			shown[key] = run.Step
		}
		step.Blocks = append(step.Blocks, p)
	}
	return step
}

func pageBlockOf(run *replay.RunReport, b *query.BlockView) pageBlock {
	p := pageBlock{
		Place: b.Index + 1, ID: b.ID, Source: b.Source, Version: versionText(b),
		Output: (*places)(nil).outputs(withoutPictures(b.Outputs), b.Error), Pictures: picturesOf(b.Outputs),
		Reads: readRows(b), Absent: absentKeys(b), Writes: writeRows(b),
	}
	for i := range run.Divergences {
		if d := &run.Divergences[i]; d.Block == b.ID {
			p.Divergences, p.Diverged = append(p.Divergences, pageDivergenceOf(d)), true
		}
	}
	p.Outcome = "recorded: " + b.Status
	served := slices.ContainsFunc(run.Served, func(s replay.ServedNode) bool {
		return slices.ContainsFunc(b.Nodes, func(n query.NodeView) bool { return n.Name == s.Node })
	})
	switch {
	case p.Diverged:
		p.Outcome += ", replayed: diverged"
	case served:
		p.Outcome += ", replayed: served from the recording"
	}
	return p
}

// versionText says which version of a block it is, who wrote it, and why.
func versionText(b *query.BlockView) string {
	text := fmt.Sprintf("Version %s of step %d, %s", term.Short(string(b.Version)), b.Edited,
		b.EditedAt.UTC().Format(time.RFC3339))
	if by := originText(b.Origin); by != "" {
		text += ", by " + by
	}
	if more := originMore(b.Origin); more != "" {
		text += " (" + more + ")"
	}
	return text + "."
}

// readRows are a table of what a block read, except for what is as every interpreter begins.
func readRows(b *query.BlockView) [][]string {
	rows := [][]string{{"key", "value", "digest", "from"}}
	for _, n := range b.Nodes {
		for _, r := range n.Reads {
			if r.Digest == "" || r.By == "" && r.Key.Space() == "conf" {
				continue
			}
			rows = append(rows, []string{string(r.Key), valueText(r.Value), term.Short(string(r.Digest)), fromText(r)})
		}
	}
	return tableOrNone(rows)
}

// absentKeys are what a block looked for and did not find, except for builtins.
func absentKeys(b *query.BlockView) string {
	var keys []string
	for _, n := range b.Nodes {
		for _, r := range n.Reads {
			if r.Digest == "" && plain(r.Key) {
				keys = appendNew(keys, string(r.Key))
			}
		}
	}
	return strings.Join(keys, ", ")
}

func writeRows(b *query.BlockView) [][]string {
	rows := [][]string{{"key", "value", "digest"}}
	for _, n := range b.Nodes {
		for _, w := range n.Writes {
			rows = append(rows, []string{string(w.Key), valueText(w.Value), digestText(w.Digest)})
		}
	}
	return tableOrNone(rows)
}

// tableOrNone is nil for a table that has only a head.
func tableOrNone(rows [][]string) [][]string {
	if len(rows) < 2 {
		return nil
	}
	return rows
}

// writersOf is a table of who wrote the versions of blocks that the runs executed, each version once.
func writersOf(x *replay.Report, programs map[xstate.StepNumber]*query.Snapshot) [][]string {
	type version struct {
		block xstate.BlockID
		step  xstate.StepNumber
	}
	rows := [][]string{{"block", "step", "when", "agent, model, call", "reason"}}
	seen := map[version]bool{}
	for _, run := range x.Runs {
		if programs[run.Step] == nil {
			continue
		}
		for _, b := range programs[run.Step].Blocks {
			if v := (version{b.ID, b.Edited}); !seen[v] {
				seen[v] = true
				rows = append(rows, []string{string(b.ID), fmt.Sprint(b.Edited), b.EditedAt.UTC().Format(time.RFC3339),
					whoText(b.Origin), b.Origin.Reason})
			}
		}
	}
	return tableOrNone(rows)
}

// picturesOf are the pictures of outputs, in the page itself.
func picturesOf(list []output.Output) []template.URL {
	var found []template.URL
	for _, f := range provenance.Figures("", list) {
		found = append(found, template.URL(f.URL()))
	}
	return found
}

func withoutPictures(list []output.Output) []output.Output {
	return slices.DeleteFunc(slices.Clone(list), func(o output.Output) bool {
		return len(provenance.Figures("", []output.Output{o})) > 0
	})
}

// programsOf are the programs of the runs of a replay, by step.
func programsOf(
	ctx context.Context, h *query.History, x *replay.Report,
) (map[xstate.StepNumber]*query.Snapshot, error) {
	programs := map[xstate.StepNumber]*query.Snapshot{}
	for _, run := range x.Runs {
		snap, err := h.At(ctx, run.Step)
		if err != nil {
			return nil, err
		}
		programs[run.Step] = snap
	}
	return programs, nil
}

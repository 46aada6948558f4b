package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

type queryFlags struct {
	at                                   moment
	block, symbol, dependsOn, affectedBy string
	path                                 bool
	ends                                 []string // of --path
}

func (a *app) queryVerb() *cobra.Command {
	var f queryFlags
	cmd := &cobra.Command{
		Use:   "query",
		Short: "ask what the program was at a step, and what depends on what",
		Long: `Query answers from what is recorded; nothing is executed. It is about the program after the last step, or after the
step that --at-step names.

What code was running at step 5?
  xstate query --at-step 5                   every block with its version, status and outputs
  xstate query --at-step 5 --block clean     its source, what it read and wrote, what it printed, who wrote it

If I regenerate clean, what must re-run?
  xstate query --affected-by clean           the blocks it reaches, through what, and their recorded seconds

--affected-by follows dependencies to their end, those seen in executions and those only the text suggests; it is the
most that can run: a block whose inputs come out equal is reused. --depends-on takes the first step of the way only.
Both take a block, a name of the program (a function, a variable), a file or a package.`,
		Example: `  xstate query --at-step 5
  xstate query --affected-by load_data
  xstate query --affected-by penguins.csv
  xstate query --symbol df --at-step 12`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.path {
				return takes(2, 2, "two blocks for --path")(cmd, args)
			}
			return takes(0, 0, "")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.ends = args
			return a.query(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.at.flags(cmd)
	flags.StringVar(&f.block, "block", "", "one `BLOCK` with all that is recorded of it")
	flags.StringVar(&f.symbol, "symbol", "", "who binds and who reads a `NAME`, and its value")
	flags.StringVar(&f.affectedBy, "affected-by", "", "all that must re-run if `X` is regenerated")
	flags.BoolVar(&f.path, "path", false, "how the second of two blocks depends on the first, by a shortest chain")
	flags.StringVar(&f.dependsOn, "depends-on", "", "who reads directly what `X` gives")
	_ = cmd.RegisterFlagCompletionFunc("block", func(cmd *cobra.Command, _ []string, s string) ([]string, cobra.ShellCompDirective) {
		return a.completeBlocks(cmd, nil, s)
	})
	return a.sessionFlag(cmd)
}

// one refuses two questions at once.
func (f *queryFlags) one() error {
	asked := ""
	for _, q := range [][2]string{{"--block", f.block}, {"--symbol", f.symbol}, {"--affected-by", f.affectedBy}, {"--depends-on", f.dependsOn}, {"--path", strings.Join(f.ends, " ")}} {
		if q[1] == "" {
			continue
		}
		if asked != "" {
			return &usageError{err: fmt.Errorf("%s and %s are two questions", asked, q[0]), hint: "ask them one by one"}
		}
		asked = q[0]
	}
	return nil
}

func (a *app) query(ctx context.Context, f queryFlags) error {
	if err := f.one(); err != nil {
		return err
	}
	return a.lookAt(ctx, f.at, func(o *opened, at xstate.StepNumber) error {
		if f.symbol != "" || f.affectedBy != "" || f.dependsOn != "" || f.path {
			d, err := o.session.Dependencies(ctx, at)
			if err != nil {
				return err
			}
			return a.queryGraph(d, at, f)
		}
		return a.queryAt(ctx, o, at, f.block)
	})
}

func (a *app) queryAt(ctx context.Context, o *opened, at xstate.StepNumber, block string) error {
	snap, err := o.session.At(ctx, at)
	if err != nil {
		return err
	}
	if block == "" {
		return a.querySnapshot(snap)
	}
	b, err := snap.Block(xstate.BlockID(block))
	if err != nil {
		return err
	}
	if a.ui.json {
		return a.ui.document(struct {
			Version int               `json:"version"`
			Session string            `json:"session"`
			Step    xstate.Entry      `json:"step"`
			NextRun xstate.StepNumber `json:"next_run,omitempty"`
			Block   *xstate.BlockView `json:"block"`
		}{1, snap.Session, snap.Step, snap.NextRun, b})
	}
	a.stepHead(snap)
	a.printBlockView(b)
	return nil
}

func (a *app) querySnapshot(snap *xstate.Snapshot) error {
	if a.ui.json {
		return a.ui.document(struct {
			Version int `json:"version"`
			*xstate.Snapshot
		}{1, snap})
	}
	a.stepHead(snap)
	var rows [][]string
	for _, b := range snap.Blocks {
		took := ""
		if b.Seconds > 0 {
			took = seconds(b.Seconds)
		}
		rows = append(rows, []string{fmt.Sprintf("[%d]", b.Index+1), string(b.ID), short(string(b.Version)),
			fmt.Sprintf("step %d", b.Edited), b.Status, took, summary(b.Outputs, b.Error)})
	}
	a.ui.write(columns(rows))
	return nil
}

// stepHead tells which step a snapshot is of.
func (a *app) stepHead(s *xstate.Snapshot) {
	if s.Step.Number == 0 {
		a.ui.print("session %s before its first step\n", s.Session)
		return
	}
	a.ui.print("%s\n", a.ui.bold(strings.Join(entryRow(s.Step), "  ")))
	switch {
	case s.NextRun > 0:
		a.ui.talk("step %d is an edit; the next run is step %d", s.Step.Number, s.NextRun)
	case s.Step.Kind != state.KindRun:
		a.ui.talk("step %d is an edit, and was not run yet", s.Step.Number)
	}
}

const summaryWidth = 60

// summary is the first line of what a block put out.
func summary(list []runner.Output, e *state.ExecError) string {
	text := ""
	if e != nil {
		text = e.Type + ": " + e.Message
	} else {
		text = strings.TrimSpace(outputs(list, nil))
	}
	first, rest, more := strings.Cut(text, "\n")
	if r := []rune(first); len(r) > summaryWidth {
		first = string(r[:summaryWidth-1]) + "…"
	}
	if more {
		first += fmt.Sprintf(" (+%s)", plural(strings.Count(rest, "\n")+1, "line"))
	}
	return first
}

func (a *app) printBlockView(b *xstate.BlockView) {
	u := a.ui
	head := fmt.Sprintf("%s  version %s of step %d, %s", title(u, b.Index, b.ID, b.Title), short(string(b.Version)), b.Edited, b.EditedAt.Local().Format(timeFormat))
	if by := originText(b.Origin); by != "" {
		head += ", by " + by
	}
	u.print("%s\n", head)
	u.write(indent(b.Source, "    "))
	if b.RanAt == 0 {
		u.print("not run in this version\n")
		return
	}
	state := fmt.Sprintf("%s in step %d", b.Status, b.RanAt)
	if b.Seconds > 0 {
		state += ", " + seconds(b.Seconds)
	}
	if len(b.Marks) > 0 {
		state += ", volatile (" + strings.Join(b.Marks, ", ") + ")"
	}
	u.print("%s\n", state)
	var rows [][]string
	var builtins []string
	for _, n := range b.Nodes {
		if n.Lost {
			rows = append(rows, []string{"  " + n.Name, "what it read and wrote is lost", "", ""})
		}
		for _, r := range n.Reads {
			switch {
			case r.Digest == "" && r.Key.Space() == "var":
				builtins = appendNew(builtins, r.Key.Name())
			case r.By == "" && r.Key.Space() == "conf": // as the interpreter begins
			case r.Digest != "" || plain(r.Key):
				rows = append(rows, []string{"  reads", string(r.Key), valueOr(r.Value, r.Digest), fromText(r)})
			}
		}
		for _, w := range n.Writes {
			rows = append(rows, []string{"  writes", string(w.Key), valueOr(w.Value, w.Digest), ""})
		}
	}
	u.write(cells(rows))
	if len(builtins) > 0 {
		u.print("  reads, though no block defines them (builtins): %s\n", strings.Join(builtins, ", "))
	}
	if text := outputs(b.Outputs, b.Error); text != "" {
		u.print("output:\n")
		u.write(indent(text, "    "))
	}
}

func appendNew(list []string, x string) []string {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

// plain says that the absence of a key tells people something: not so for the state of generators and the like, which
// most nodes read and no node sets.
func plain(k xstate.Key) bool {
	switch k.Space() {
	case "file", "dir", "stat", "mode", "time", "env", "isset", "module":
		return true
	}
	return false
}

func fromText(r xstate.AccessView) string {
	switch {
	case r.By != "":
		return "from " + r.By
	case r.Digest != "":
		return "from the workspace"
	}
	return "not there"
}

// cells is columns with what is long cut.
func cells(rows [][]string) string {
	for _, row := range rows {
		for i, c := range row {
			if r := []rune(c); len(r) > summaryWidth {
				row[i] = string(r[:summaryWidth-1]) + "…"
			}
		}
	}
	return columns(rows)
}

func valueOr(v *state.ValueInfo, d xstate.Digest) string {
	if text := valueText(v); text != "" {
		return text
	}
	return short(string(d))
}

func (a *app) printPath(d *xstate.Dependencies, at xstate.StepNumber, from, to string) error {
	nodes, err := d.Path(from, to)
	if err != nil {
		return err
	}
	if a.ui.json {
		return a.ui.document(struct {
			Version int               `json:"version"`
			Session string            `json:"session"`
			Step    xstate.StepNumber `json:"step"`
			Path    []string          `json:"path"`
		}{1, d.Snapshot.Session, at, nodes})
	}
	if len(nodes) == 0 {
		a.ui.talk("%s does not depend on %s", to, from)
		return nil
	}
	a.ui.print("%s\n", strings.Join(nodes, " -> "))
	return nil
}

func (a *app) queryGraph(d *xstate.Dependencies, at xstate.StepNumber, f queryFlags) error {
	if f.path {
		return a.printPath(d, at, f.ends[0], f.ends[1])
	}
	if f.symbol != "" {
		s, err := d.Symbol(f.symbol)
		if err != nil {
			return err
		}
		return a.printSymbol(s, d.Snapshot, at)
	}
	what, find := f.affectedBy, d.Affected
	if f.dependsOn != "" {
		what, find = f.dependsOn, d.Readers
	}
	found, err := find(what)
	if err != nil {
		return err
	}
	total := 0.0
	for _, b := range found {
		total += b.Seconds
	}
	if a.ui.json {
		return a.ui.document(struct {
			Version int                `json:"version"`
			Session string             `json:"session"`
			Step    xstate.StepNumber  `json:"step"`
			Of      string             `json:"of"`
			Seconds float64            `json:"seconds"`
			Blocks  []xstate.Dependent `json:"blocks"`
		}{1, d.Snapshot.Session, at, what, micro(total), found})
	}
	var rows [][]string
	for _, b := range found {
		rows = append(rows, []string{fmt.Sprintf("[%d]", b.Index+1), string(b.Block), seconds(b.Seconds), b.Evidence, viaText(b.Through)})
	}
	a.ui.write(columns(rows))
	if f.affectedBy != "" {
		a.ui.talk("if %s changes, at most %s of %d must re-run, %s by recorded times", what, plural(len(found), "block"), len(d.Snapshot.Blocks), seconds(total))
	} else {
		a.ui.talk("%s read directly what %s gives", plural(len(found), "block"), what)
	}
	return nil
}

const viaShown = 4

func viaText(list []xstate.Via) string {
	var parts []string
	for i, v := range list {
		if i == viaShown {
			parts = append(parts, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		if v.From == "" {
			parts = append(parts, "reads "+string(v.Key))
		} else {
			parts = append(parts, string(v.Key)+" from "+v.From)
		}
	}
	return strings.Join(parts, ", ")
}

func (a *app) printSymbol(s *xstate.Symbol, snap *xstate.Snapshot, at xstate.StepNumber) error {
	if a.ui.json {
		return a.ui.document(struct {
			Version int               `json:"version"`
			Session string            `json:"session"`
			Step    xstate.StepNumber `json:"step"`
			*xstate.Symbol
		}{1, snap.Session, at, s})
	}
	var rows [][]string
	add := func(what string, uses []xstate.SymbolUse) {
		for _, use := range uses {
			rows = append(rows, []string{what, use.Node, use.Evidence, short(string(use.Digest)), valueText(use.Value)})
		}
	}
	add("written by", s.Writers)
	add("read by", s.Readers)
	a.ui.write(cells(rows))
	return nil
}

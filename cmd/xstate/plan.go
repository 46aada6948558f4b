package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/journal/rule"
	"github.com/xstate-engine/xstate/runner/preflight"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

func (a *app) planVerb() *cobra.Command {
	var python string
	var given invocationFlags
	cmd := &cobra.Command{
		Use:   "plan FILE [flags] [-- ARGUMENT…]",
		Short: "report what would run, why, and for how long",
		Long: `Plan reports what run would do with the file now: blocks that would run and why, that might run (an input
depends on one that runs first), that would be reused; with recorded times. It executes and records nothing, not even
the edits. Without a FILE, --session names a session that has none, as exec makes.`,
		Example: `  xstate plan analysis.py
  xstate plan analysis.py -- --n 6`,
		Args:              takesProgramOrSession,
		ValidArgsFunction: completePrograms,
		RunE: func(cmd *cobra.Command, args []string) error {
			if own, _ := programArguments(cmd, args); len(own) == 0 {
				return a.planRequest(cmd.Context(), &verb.Plan{Python: python})
			}
			return given.with(a.caller, cmd, args, func(name string, in *runner.Invocation) error {
				return a.plan(cmd.Context(), verb.Plan{File: name, Python: python}, in)
			})
		},
	}
	given.add(cmd.Flags())
	cmd.Flags().Var(a.pythonPath(&python), "python", "the interpreter's `PATH`, as for run")
	cmd.Flags().StringVar(&a.session, "session", "", "the session's `NAME` (default: the file's)")
	a.completeSessions(cmd)
	return cmd
}

func (a *app) plan(ctx context.Context, f verb.Plan, in *runner.Invocation) error {
	src, err := a.sourceOf(f.File, f.Contents)
	if err != nil {
		return err
	}
	blocks, err := src.blocks()
	if err != nil {
		return err
	}
	dir, found, err := a.storeDir(filepath.Dir(src.path))
	if err != nil {
		return err
	}
	if !found || !isStore(dir) {
		if err := a.findLanguage(blocks[0].Dialect, f.Python, filepath.Dir(src.path)); err != nil {
			return err
		}
		return a.printPlan(planOfNew(cmp.Or(a.session, sessionName(dir, src.path)), blocks), "there is no store yet")
	}
	store, err := a.openStore(ctx, dir, state.Options{})
	if state.CodeOf(err) == state.CodeReadOnly {
		store, err = a.openStore(ctx, dir, state.Options{ReadOnly: true})
	}
	if err != nil {
		return err
	}
	o, err := a.sessionOptions(ctx, store, src, f.Python, "", in)
	if err == nil {
		err = a.planIn(ctx, store, src, blocks, o)
	}
	a.notices(store)
	if bad := a.closeStore(store); err == nil {
		err = bad
	}
	return err
}

func (a *app) planIn(
	ctx context.Context, store *xstate.Store, src *source, blocks []patch.Block, o xstate.SessionOptions,
) error {
	name, err := a.runName(ctx, store, src)
	if err != nil {
		return err
	}
	if _, err := store.FindPython(ctx, name, o.Python, o.Workspace, a.env); err != nil {
		return err
	}
	if err := a.bounded(ctx, store, name, &o); err != nil {
		return err
	}
	session, err := store.Existing(ctx, name, o)
	if state.CodeOf(err) == state.CodeNoSession {
		return a.printPlan(planOfNew(name, blocks), "this program was never run")
	}
	if err != nil {
		return err
	}
	defer session.Close()
	d, err := planOf(ctx, session, blocks)
	if err != nil {
		return err
	}
	a.planned(d, src, blocks)
	if err := declared(d, src, blocks); err != nil {
		return err
	}
	return a.printPlan(d, "")
}

// planRecorded reports what runRecorded would do.
func (a *app) planRecorded(ctx context.Context, python string) error {
	o, err := a.recorded(ctx, python, "plan")
	if err != nil {
		return err
	}
	defer o.Close()
	head, err := o.head(ctx)
	if err != nil {
		return err
	}
	blocks, err := o.history.ProgramFrom(ctx, head)
	if err != nil {
		return err
	}
	d, err := planOf(ctx, o.session, blocks)
	if err != nil {
		return err
	}
	return a.printPlan(d, "")
}

// planOf plans a session with these blocks in place of its program.
func planOf(ctx context.Context, session *xstate.Session, blocks []patch.Block) (*api.Plan, error) {
	edits, old, _, err := session.History().Compare(ctx, blocks)
	if err != nil {
		return nil, err
	}
	plan, err := session.Plan(ctx, blocks)
	if err != nil {
		return nil, err
	}
	effect, err := session.Impact(ctx, plan)
	if err != nil {
		return nil, err
	}
	planned, err := plan.Blocks(ctx)
	if err != nil {
		return nil, err
	}
	start, imports, err := plan.Preparation(ctx)
	if err != nil {
		return nil, err
	}
	d := planDocumentOf(session.Name(), planned, old, edits, effect)
	d.Edited = plan.Edited
	if d.Stale, err = staleCalls(ctx, session); err != nil {
		return nil, err
	}
	if d.Loops, err = session.History().Loops(ctx); err != nil {
		return nil, err
	}
	d.Prepare = micro(start + imports)
	d.Seconds, d.Saved = micro(d.Seconds+start+imports), micro(max(d.Saved-imports, 0))
	return d, nil
}

// planOfNew plans a program of which nothing is recorded.
func planOfNew(session string, blocks []patch.Block) *api.Plan {
	return planDocumentOf(
		session,
		xstate.PlanNew(blocks),
		nil,
		patch.Match(nil, blocks),
		&query.Impact{Lost: []query.Lost{}, Fires: []query.RepeatedEffect{}},
	)
}

// planned takes a planned program, whose blocks are those of the file, to be the one whose places are shown.
func (a *app) planned(d *api.Plan, src *source, blocks []patch.Block) {
	a.places = &places{caller: a.caller, file: src.path, folder: filepath.Dir(src.path)}
	for i := range d.Blocks {
		b := &d.Blocks[i]
		a.places.blocks = append(a.places.blocks, placedBlock{b.ID, blocks[i].Dialect, blocks[i].Source})
	}
	for i := range d.Blocks {
		d.Blocks[i].Error = a.places.explain(d.Blocks[i].Error)
	}
}

// declared says how a planned program differs from the manifest in its file.
func declared(d *api.Plan, src *source, blocks []patch.Block) error {
	m, err := rule.ManifestIn(src.path)
	if m == nil || err != nil {
		return err
	}
	var program []state.ProgramBlock
	for i, b := range blocks {
		b.ID = string(d.Blocks[i].ID)
		program = append(program, query.ProgramBlock(b, nil))
	}
	text, err := preflight.Read(program)
	if err != nil {
		return err
	}
	d.Manifest = slices.DeleteFunc(m.Compare(&text.Uses), func(x rule.Deviation) bool { return x.What == "packages" })
	return nil
}

func (w *printer) printPlan(d *api.Plan, note string) error {
	if w.ui.JSON {
		return w.ui.Document(d)
	}
	w.planText(d, note)
	return nil
}

// partRows are the rows of the nodes of a function that a block calls, beside those that are reused.
func partRows(b *api.PlanBlock) (rows [][]string) {
	for _, n := range b.Nodes {
		if n.Part != "" && n.Action != runner.ActReuse && n.Action != runner.ActBlock && n.Action != runner.ActSkip {
			took := "?"
			if n.Seconds > 0 {
				took = term.Seconds(n.Seconds)
			}
			rows = append(rows, []string{"", "  " + n.Part, string(n.Action), took, reasonText(n.Reason)})
		}
	}
	if b.Whole != "" {
		rows = append(rows, []string{"", "  " + b.Whole})
	}
	return rows
}

func (w *printer) planText(d *api.Plan, note string) {
	if d.Saved > 0 || d.Reuse > 0 { // in a new program everything is new
		for _, e := range d.Edits {
			w.ui.Print("%s %s: %s\n", e.Kind, w.ui.Bold(string(e.Block)), textEffect(e.Kind, e.EditSummary))
		}
	}
	var rows [][]string
	for _, b := range d.Blocks {
		if b.Action == runner.ActReuse {
			continue
		}
		took := "?"
		if b.Seconds > 0 {
			took = term.Seconds(b.Seconds)
		}
		reason := reasonText(b.Reason)
		switch b.Action {
		case runner.ActBlock, runner.ActSkip:
			took = ""
		case runner.ActFail:
			took, reason = "", "as before: "+query.ErrorLine(b.Error)
		}
		rows = append(rows, []string{fmt.Sprintf("[%d]", b.Index+1), string(b.ID), string(b.Action), took, reason})
		rows = append(rows, partRows(&b)...)
	}
	w.ui.Table(rows)
	w.ui.Write(effectText(d.Impact))
	for _, f := range d.Edited {
		w.ui.Talk("%s was edited after block %s wrote it: run needs --restore-files to overwrite it", f.Name, f.By)
	}
	w.printStaleCalls(d.Stale)
	for _, b := range d.Blocks {
		if b.Error != nil && b.Action != runner.ActFail {
			w.ui.Print("\n[%d] %s\n%s", b.Index+1, b.ID, w.places.errorText(b.Error))
		}
	}
	for _, m := range d.Manifest {
		if len(m.Missing) > 0 {
			w.ui.Talk("used, and not in the manifest: %s %s", m.What, strings.Join(m.Missing, ", "))
		}
		if len(m.Unneeded) > 0 {
			w.ui.Talk("in the manifest, and not used: %s %s", m.What, strings.Join(m.Unneeded, ", "))
		}
	}
	for _, l := range d.Loops {
		w.ui.Talk("%s", l.Advice)
	}
	if note != "" {
		w.ui.Talk("%s: every block would run", note)
	}
	text := fmt.Sprintf("would run %s, reuse %d", term.Plural(d.Run, "block"), d.Reuse)
	if d.Maybe > 0 {
		text = fmt.Sprintf("would run %s, maybe %d more, reuse %d", term.Plural(d.Run, "block"), d.Maybe, d.Reuse)
	}
	if d.Fail > 0 {
		text += fmt.Sprintf(", fail %d as before", d.Fail)
	}
	if d.Block > 0 {
		text += fmt.Sprintf(", not run %d", d.Block)
	}
	if d.Skip > 0 {
		text += fmt.Sprintf(", not reach %d", d.Skip)
	}
	if d.Seconds > d.Prepare {
		text += ", at most " + term.Seconds(d.Seconds-d.Prepare) + " by recorded times"
	}
	if d.Prepare > 0 {
		text += ", and " + term.Seconds(d.Prepare) + " for a cold start"
	}
	if d.Saved > 0 {
		text += " (" + term.Seconds(d.Saved) + " saved)"
	}
	w.ui.Talk("%s", text)
}

func planDocumentOf(
	session string,
	plan []runner.PlanBlock,
	old []patch.Block,
	edits []patch.Edit,
	effect *query.Impact,
) *api.Plan {
	d := &api.Plan{
		Version: api.Version,
		Session: session,
		Edits:   []api.PlannedEdit{},
		Blocks:  []api.PlanBlock{},
		Impact:  effect,
	}
	texts := query.SummarizeEdits(old, edits)
	for i, e := range edits {
		d.Edits = append(
			d.Edits,
			api.PlannedEdit{Edit: api.Edit{Kind: string(e.Op), Block: xstate.BlockID(e.ID)}, EditSummary: texts[i]},
		)
	}
	for _, b := range plan {
		switch b.Action {
		case runner.ActRun:
			d.Run++
		case runner.ActMaybe:
			d.Maybe++
		case runner.ActReuse:
			d.Reuse++
		case runner.ActBlock:
			d.Block++
		case runner.ActSkip:
			d.Skip++
		case runner.ActFail:
			d.Fail++
		}
		d.Seconds += b.Seconds
		d.Saved += b.Saved
		pb := api.PlanBlock{
			ID:      b.ID,
			Index:   b.Index,
			Title:   b.Title,
			Action:  b.Action,
			Reason:  b.Reason,
			Seconds: micro(b.Seconds),
			Saved:   micro(b.Saved),
			Error:   cmp.Or(b.Err, b.Failure),
			Nodes:   []api.PlanNode{},
			Whole:   b.Whole,
		}
		var traces []state.Digest
		for _, n := range b.Nodes {
			traces = append(traces, n.Trace)
			node := api.PlanNode{Line: n.Line, Action: n.Action, Reason: n.Reason, Seconds: micro(n.Seconds)}
			if node.Part = n.Facts.Label(); node.Part != "" {
				node.Of = n.Text
			}
			pb.Nodes = append(pb.Nodes, node)
		}
		pb.Record = api.RecordOf(traces)
		d.Blocks = append(d.Blocks, pb)
	}
	d.Seconds, d.Saved = micro(d.Seconds), micro(d.Saved)
	return d
}

// planRequest plans the program of a file, or the recorded one of a session.
func (a *app) planRequest(ctx context.Context, f *verb.Plan) error {
	if f.File != "" {
		return a.plan(ctx, *f, &runner.Invocation{Arguments: f.Arguments})
	}
	if err := withoutContents(f.Contents); err != nil {
		return err
	}
	file, err := a.privateFile(ctx)
	switch {
	case err != nil:
		return err
	case file == "":
		return a.planRecorded(ctx, f.Python)
	}
	return a.plan(ctx, verb.Plan{File: file, Python: f.Python}, nil)
}

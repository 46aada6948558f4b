package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

func (a *app) patchVerb() *cobra.Command {
	var f verb.Patch
	cmd := &cobra.Command{
		Use:   "patch [SESSION] [PATCHFILE|-]",
		Short: "apply a patch, in any format that agents write, to the program",
		Long: `Patch reads a change of the program, from PATCHFILE or from stdin, and applies all of it or nothing: to
the session, one step for each block, and to the session's file. Nothing is executed unless --run asks for it. Where a
FILE has no session yet, patch begins one with what the file holds; a FILE that does not exist is made.

Patch detects the format: a unified or git diff, a diff without line numbers, SEARCH/REPLACE blocks, *** Begin Patch, a
call of a text editor or of a notebook as JSON, or code, which is a block written again. It skips prose and fences
around the patch. Where the program differs from the patch, patch ignores white space, then indentation, then
typographic signs, and then searches for similar text; the step records how it was found. Text that is absent or
ambiguous is an error.`,
		Example: `  xstate patch analysis.py fix.diff
  xstate patch --run --agent coder --reason "fix the join" < answer.md
  xstate patch analysis.py - --block clean --dry-run`,
		Args: takes(0, 2, "a SESSION and a PATCHFILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.patch(cmd.Context(), cmd.InOrStdin(), args, f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.Format, "format", "", "the `FORMAT` of the patch (default: detected):\n"+formatNames())
	flags.StringVar(&f.Block, "block", "", "the `BLOCK` to patch where the patch names none")
	flags.StringVar(&f.Expect, "expect", "", "fail unless the session is at this `STEP`, or the block has this VERSION")
	flags.BoolVar(&f.Merge, "merge", false, "with --expect: merge if others have edited other lines since")
	flags.BoolVar(&f.DryRun, "dry-run", false, "report what would change, and record nothing")
	flags.BoolVar(&f.Run, "run", false, "then run what is affected, like run")
	flags.DurationVar(
		&f.Timeout,
		"timeout",
		0,
		"with --run: stop a part of a block that runs longer than this `DURATION`",
	)
	flags.Var(a.pythonPath(&f.Python), "python", "the interpreter's `PATH`, as for run")
	a.originFlags(cmd, &f.Origin)
	cmd.ValidArgsFunction = a.completePatch
	a.completeBlockFlags(cmd, "block")
	return a.sessionFlag(cmd)
}

func (a *app) patch(ctx context.Context, in io.Reader, args []string, f verb.Patch) error {
	name, from := "", "-"
	switch {
	case len(args) == 2:
		name, from = args[0], args[1]
	case len(args) == 1 && slices.Contains(programKinds, filepath.Ext(args[0])),
		len(args) == 1 && a.session == "" && a.notAFile(args[0]):
		name = args[0]
	case len(args) == 1:
		from = args[0]
	}
	if err := checkPatch(&f); err != nil { // before the patch is read
		return err
	}
	if name != "" && a.session != "" {
		return &usageError{
			err:  errors.New("the session is named twice"),
			hint: "name it as an argument or with `--session`",
		}
	}
	text, err := a.readPatch(from, in)
	if err != nil {
		return err
	}
	if f.Text = text; name != "" {
		a.session = name
	}
	return a.applyPatch(ctx, f)
}

// applyPatch applies a patch to the program of the session that is meant.
func (a *app) applyPatch(ctx context.Context, f verb.Patch) error {
	if err := checkPatch(&f); err != nil {
		return err
	}
	p, err := patch.Read(f.Text, patch.Format(f.Format))
	if err != nil {
		return err
	}
	a.runs = f.Run && !f.DryRun
	o, err := a.openToPatch(ctx, p, f)
	if err != nil {
		return err
	}
	defer o.Close()
	return a.patchIn(ctx, o, p, f)
}

// checkPatch refuses fields that do not go together.
func checkPatch(f *verb.Patch) error {
	if f.Timeout < 0 || f.Timeout > 0 && !f.Run {
		return &usageError{
			err:  errors.New("--timeout needs --run, and must not be negative"),
			hint: "`xstate patch FILE PATCHFILE --run --timeout 30s`",
		}
	}
	return nil
}

func (c caller) notAFile(name string) bool {
	_, err := c.stat(name)
	return err != nil
}

// readPatch reads a patch from a file, or from stdin.
func (c caller) readPatch(from string, in io.Reader) (string, error) {
	if from == "-" {
		data, err := io.ReadAll(in)
		return string(data), err
	}
	src, err := c.readSource(from)
	if err != nil {
		return "", err
	}
	return string(src.data), nil
}

func (a *app) patchIn(ctx context.Context, o *opened, p *patch.Patch, f verb.Patch) error {
	release, err := o.session.Hold(ctx)
	if err != nil {
		return err
	}
	defer func() {
		_ = a.closeSession(o.session)
		release()
	}()
	target := xstate.Target{Answers: f.Origin.Answers}
	if target.Block, err = o.named(ctx, f.Block); err != nil {
		return err
	}
	if target.Base, err = o.expected(ctx, f); err != nil {
		return err
	}
	if f.Merge {
		target.Stale = xstate.Merge
	}
	if slices.Contains(programKinds, filepath.Ext(o.file)) {
		src, err := o.readSource(o.fromHere(o.file))
		if err != nil && state.CodeOf(err) != api.CodeNoFile {
			return err
		}
		target.Name, target.Path = filepath.ToSlash(o.fromHere(o.file)), filepath.ToSlash(o.file)
		if err == nil {
			target.Data = src.data
		}
		if err == nil && o.begins {
			if _, err := o.session.LoadFile(ctx, src.name, src.data, xstate.Origin{}); err != nil {
				return err
			}
		}
	}
	r, err := o.session.Revise(ctx, p, target)
	if err != nil {
		return err
	}
	d := patchDocumentOf(o.history.Name(), p, r)
	if f.DryRun {
		d.DryRun = true
		if d.Plan, err = planOf(ctx, o.session, r.Blocks); err != nil {
			return err
		}
		return a.printPatch(&d)
	}
	path, err := o.patched(ctx, r, target.Data)
	if err != nil {
		return err
	}
	steps, err := recordWith(path, r.Text, func() ([]xstate.Step, error) { return o.session.Record(ctx, r, f.Origin) })
	if err != nil {
		return err
	}
	for i := range steps {
		d.Step = steps[i].Number
		if i < len(d.Edits) {
			d.Edits[i].Step = d.Step
		} else if i -= len(d.Edits); i < len(d.Texts) {
			d.Texts[i].Step = d.Step
		}
	}
	if path != "" {
		d.File = o.fromHere(path)
	}
	if !f.Run {
		a.repeats(&d)
		return a.printPatch(&d)
	}
	if !a.ui.JSON {
		if err := a.printPatch(&d); err != nil {
			return err
		}
	}
	if len(steps) > 0 {
		f.Origin = f.Origin.WithoutCost()
	}
	var bad error
	edits := steps[:len(r.Edits)]
	d.Run, bad = a.execute(ctx, o.store, o.session, o.file, edits, runFlags{
		Run: verb.Run{Timeout: f.Timeout, Origin: f.Origin},
		retry: func(id xstate.BlockID) bool {
			return slices.ContainsFunc(edits, func(s xstate.Step) bool { return s.Block == id })
		},
	})
	a.repeats(&d)
	if a.ui.JSON && d.Run != nil {
		if err := a.printPatch(&d); err != nil {
			return err
		}
	}
	return bad
}

// patched returns the file that goes along with a revision; no path when none does.
func (o *opened) patched(ctx context.Context, r *xstate.Revision, was []byte) (path string, err error) {
	if was == nil && o.begins {
		if r.Text == nil { // a block, not a file
			r.Text, err = o.history.TextOf(ctx, r.Blocks, o.file, nil)
		}
		return o.file, err
	}
	if was == nil || string(was) == string(r.Text) {
		return "", nil
	}
	return o.file, o.unedited(o.file, was, "`xstate run` records its edits; then patch again")
}

// expected is the program that a patch was made from; nil if that is not given.
func (o *opened) expected(ctx context.Context, f verb.Patch) ([]patch.Block, error) {
	if f.Expect == "" {
		if f.Merge {
			return nil, &usageError{
				err:  errors.New("--merge needs --expect, the step or version that the patch was made from"),
				hint: "`xstate patch FILE PATCHFILE --expect STEP --merge`",
			}
		}
		return nil, nil
	}
	head, err := o.head(ctx)
	if err != nil {
		return nil, err
	}
	n, err := parseStep(f.Expect)
	if err != nil || n > head && len(f.Expect) > 3 { // a digest may begin with digits only
		return o.history.Base(ctx, f.Expect)
	}
	if !f.Merge { // no step at all is refused when it does not follow the one expected
		_, err := o.store.State().Commit(ctx, o.history.Name(), n, nil)
		return nil, err
	}
	return o.history.ProgramFrom(ctx, n)
}

func patchDocumentOf(session string, p *patch.Patch, r *xstate.Revision) api.Patch {
	d := api.Patch{
		Version: api.Version,
		Session: session,
		Step:    r.Base,
		Base:    r.Base,
		Format:  p.Format,
		Edits:   []api.PatchEdit{},
		Places:  []api.Placement{},
		Repeats: r.Repeats,
	}
	if skipped := r.SkippedText(); skipped != "" {
		d.Notices = []string{skipped}
	}
	for i, e := range r.Edits {
		d.Edits = append(d.Edits, api.PatchEdit{Kind: string(e.Op), Block: xstate.BlockID(e.ID), Diff: r.Diff(i)})
	}
	for _, t := range r.Texts {
		d.Texts = append(d.Texts, api.PatchText{Kind: string(t.Op), Cell: t.Cell, Type: t.Type,
			Diff: query.UnifiedDiff(xstate.BlockID(t.Cell), t.Was, t.Now)})
	}
	for _, x := range r.Placements {
		d.Places = append(
			d.Places,
			api.Placement{Block: x.Block, Match: x.Match, Lines: x.Lines, Unchanged: x.Unchanged, Decision: x.Decision},
		)
	}
	return d
}

func (w *printer) printPatch(d *api.Patch) error {
	if w.ui.JSON {
		return w.ui.Document(d)
	}
	for _, x := range d.Places {
		w.ui.Talk("%s", placementText(x))
	}
	for _, n := range d.Notices {
		w.ui.Talk("%s", n)
	}
	for _, e := range d.Edits {
		w.ui.Print("block %s %s\n", w.ui.Bold(string(e.Block)), done[e.Kind])
		w.ui.Write(e.Diff)
	}
	for _, t := range d.Texts {
		w.ui.Print("%s cell %s %s\n", t.Type, w.ui.Bold(t.Cell), done[t.Kind])
		w.ui.Write(t.Diff)
	}
	edits := len(d.Edits) + len(d.Texts)
	switch {
	case d.DryRun:
		w.planText(d.Plan, "")
		w.ui.Talk("nothing was recorded: %s would be", term.Plural(edits, "edit"))
	case edits == 0 && d.File != "":
		w.ui.Talk("no code changes")
	case edits == 0:
		w.ui.Talk("the program has this already: nothing changes")
	default:
		w.ui.Talk("step %d: %s recorded", d.Step, term.Plural(edits, "edit"))
	}
	if d.File != "" {
		w.ui.Talk("wrote %s", d.File)
	}
	return nil
}

// placementText says how a part of a patch found its place.
func placementText(x api.Placement) string {
	where := "the file"
	if x.Block != "" {
		where = "block " + x.Block
	}
	if x.Decision == nil {
		if x.Match == patch.Exact {
			return where + ": found as it is"
		}
		return fmt.Sprintf("%s: found but for differences, at most of: %s", where, x.Match)
	}
	text := fmt.Sprintf("%s is written again (by %s, score %.2f", where, x.By, x.Score)
	if x.By == patch.ByNothing {
		text = fmt.Sprintf("%s is new (best score %.2f", where, x.Score)
	}
	if x.RunnerUp != "" {
		text += fmt.Sprintf("; next is %s, %.2f", x.RunnerUp, x.RunnerUpScore)
	}
	return text + ")"
}

// repeats reports blocks that were submitted unchanged, and how they fail now, if they do.
func (w *printer) repeats(d *api.Patch) {
	for i := range d.Repeats {
		r := &d.Repeats[i]
		if d.Run != nil {
			r.Failed = ""
			for _, b := range d.Run.Blocks {
				if b.ID == r.Block && b.Error != nil {
					r.Failed = b.Error.Type + ": " + b.Error.Message
				}
			}
		}
		if !w.ui.JSON {
			w.ui.Talk("%s", repeatText(r))
		}
	}
}

func repeatText(r *xstate.Repeat) string {
	text := fmt.Sprintf(
		"block %s was submitted with this very text for the %s time",
		r.Block,
		humanize.Ordinal(r.Times),
	)
	if r.Failed == "" {
		return text
	}
	text += ", and fails as before: " + r.Failed
	if r.Times > 2 {
		text += "; the same again will not help"
	}
	return text
}

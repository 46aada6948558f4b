package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/journal/rule"
	calls "github.com/xstate-engine/xstate/runner/journal/source"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/runner/preflight"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/artifact"
	"github.com/xstate-engine/xstate/state/query"
)

func (a *app) preflightVerb() *cobra.Command {
	var interpreter string
	cmd := &cobra.Command{
		Use:   "preflight FILE [flags]",
		Short: "say whether a program is ready to run, before anything executes",
		Long: `Preflight reads a program and says what it would do: errors, names that nothing defines, missing packages
and files; the tools, models and hosts that it would use, against its manifest and the rules; calls that cannot be
undone, and what stands before them; calls in loops without a bound; and by recorded runs the time, tokens and money.

It executes nothing of the program. It exits with 0 if the program is ready, and with 3 if a person should look at it
first (ask), or if it would fail or a rule forbids it (refuse). docs/calls.md describes rules and manifests.`,
		Example: `  xstate preflight analysis.py
  xstate preflight analysis.py --budget usd=1,calls=50 --json`,
		Args:              takes(1, 1, "a FILE"),
		ValidArgsFunction: completePrograms,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.preflight(cmd.Context(), args[0], interpreter)
		},
	}
	flags := cmd.Flags()
	flags.Var(a.pythonPath(&interpreter), "python", "the interpreter's `PATH`, as for run")
	a.budgetFlag(flags)
	a.sandboxFlag(flags, "preflight")
	flags.StringVar(&a.session, "session", "", "the session's `NAME` (default: the file's)")
	a.completeSessions(cmd)
	return cmd
}

// preflighting is one preflight.
type preflighting struct {
	*app
	src     *source
	store   *xstate.Store   // nil: there is none
	session *xstate.Session // nil: the program was never run
	options xstate.SessionOptions
	planned []runner.PlanBlock
	text    *preflight.Text
	host    preflight.Host
}

func (a *app) preflight(ctx context.Context, name, interpreter string) error {
	src, err := a.readSource(name)
	if err != nil {
		return err
	}
	blocks, err := src.blocks()
	if err != nil {
		return err
	}
	p := &preflighting{app: a, src: src}
	if err := p.open(ctx, interpreter, blocks); err != nil {
		return err
	}
	defer p.close()
	r, err := p.report(ctx, blocks)
	if err != nil {
		return err
	}
	for i := range r.Findings {
		r.Findings[i].Hint = a.door.Hint(r.Findings[i].Hint)
	}
	if a.ui.JSON {
		err = a.ui.Document(api.Preflight{Version: api.Version, Session: p.name(), Report: r})
	} else {
		a.printPreflight(r)
	}
	if err == nil && r.Verdict != preflight.Ready {
		err = outcome(exitRefused)
	}
	return err
}

// open opens what there is of the program, and plans it.
func (p *preflighting) open(ctx context.Context, interpreter string, blocks []patch.Block) error {
	folder := filepath.Dir(p.src.path)
	p.options = xstate.SessionOptions{Python: interpreter, Workspace: folder, Environ: p.environ, File: p.src.path}
	p.planned = xstate.PlanNew(blocks)
	dir, found, err := p.storeDir(folder)
	if err != nil || !found || !isStore(dir) {
		o, bad := p.policyOptions(folder, "")
		if bad == nil {
			p.options.Policy, bad = policy.Read(o)
		}
		p.options.Budgets = p.bounds.budgets
		return cmp.Or(err, bad)
	}
	p.store, err = p.openStore(ctx, dir, state.Options{})
	if state.CodeOf(err) == state.CodeReadOnly {
		p.store, err = p.openStore(ctx, dir, state.Options{ReadOnly: true})
	}
	if err != nil {
		return err
	}
	name, err := p.runName(ctx, p.store, p.src)
	if err == nil {
		p.options, err = p.sessionOptions(ctx, p.store, p.src, interpreter, "", nil)
	}
	if err == nil {
		err = p.bounded(ctx, p.store, name, &p.options)
	}
	if err != nil {
		return err
	}
	p.session, err = p.store.Existing(ctx, name, p.options)
	if state.CodeOf(err) == state.CodeNoSession {
		return nil
	}
	if err != nil {
		return err
	}
	plan, err := p.session.Plan(ctx, blocks)
	if err != nil {
		return err
	}
	p.planned, err = plan.Blocks(ctx)
	return err
}

func (p *preflighting) close() {
	if p.session != nil {
		_ = p.session.Close()
	}
	if p.store != nil {
		_ = p.closeStore(p.store)
	}
}

func (p *preflighting) name() string {
	if p.session == nil {
		return cmp.Or(p.app.session, filepath.Base(p.src.path))
	}
	return p.session.Name()
}

// report holds the program against its surroundings.
func (p *preflighting) report(ctx context.Context, blocks []patch.Block) (*preflight.Report, error) {
	var program []state.ProgramBlock
	for i, b := range blocks {
		b.ID = string(p.planned[i].ID)
		program = append(program, query.ProgramBlock(b, nil))
	}
	var err error
	if p.text, err = preflight.Read(program); err != nil {
		return nil, err
	}
	if m, err := rule.ManifestIn(p.src.path); m != nil || err != nil {
		if p.text.Manifest = m; err != nil {
			return nil, err
		}
	}
	h := &p.host
	h.Generated = p.options.Policy.Generated
	if h.Rules, err = rule.Compile(p.options.Policy.Rules); err != nil {
		return nil, err
	}
	h.Budgets = rule.Limits(p.options.Policy.Budgets, p.options.Budgets, p.text.Manifest)
	h.Exists = func(file string) bool {
		if !filepath.IsAbs(file) {
			file = filepath.Join(p.options.Workspace, filepath.FromSlash(file))
		}
		_, err := os.Stat(file)
		return err == nil
	}
	if err := p.packages(ctx); err != nil {
		return nil, err
	}
	j := p.tools(ctx)
	defer j.Close()
	if err := p.forecast(ctx); err != nil {
		return nil, err
	}
	r, err := preflight.Check(ctx, p.text, h)
	if err != nil {
		return nil, err
	}
	return r, p.coverage(ctx, r)
}

// packages asks the interpreters of the program's languages for their names, and which modules they have.
func (p *preflighting) packages(ctx context.Context) error {
	p.host.Offers = map[string]preflight.Offer{}
	for _, space := range p.text.Spaces() {
		entry, err := kernel.LookupSpace(space)
		if err != nil {
			return err
		}
		search := kernel.Search{
			Folder: p.options.Workspace, Environ: p.options.Policy.Environ(p.environ),
			Cache: filepath.Join(p.tempDir(), "xstate-probe"), // which a probe does not see
			// A program in bounds may have changed what it loads when it starts.
			Bounds: &sandbox.Bounds{},
		}
		language, err := p.language(ctx, entry, search)
		if err != nil {
			return err
		}
		offering, ok := language.(kernel.Offering)
		if !ok {
			continue
		}
		found, err := offering.Available(ctx, search, p.text.Imports(space))
		if err != nil {
			return err
		}
		p.host.Offers[space] = preflight.OfferOf(found.Modules, found.Builtins)
	}
	return nil
}

// language finds the interpreter of a language that a run would use.
func (p *preflighting) language(ctx context.Context, e kernel.Entry, s kernel.Search) (kernel.Language, error) {
	if e.Name != python.Name {
		if p.store != nil {
			s.Known = kernel.InterpretersOf(p.store.State().Dir(), true)
		}
		return e.Find(ctx, s)
	}
	var path string
	var err error
	if p.store != nil {
		path, err = p.store.FindPython(ctx, p.name(), p.options.Python, p.options.Workspace, p.env)
	} else {
		path, err = python.Find(p.options.Python, p.options.Workspace, p.env)
	}
	return python.Interpreter{Path: path}, err
}

// tools makes the sources answer for their tools, which are asked if the program calls some. The journal that it
// returns is to be closed.
func (p *preflighting) tools(ctx context.Context) *journal.Journal {
	sources := calls.Of(p.options.Policy.Calls, calls.Options{Environ: p.environ, Folder: p.options.Workspace})
	j := journal.New(nil, journal.Options{Sources: sources})
	p.host.Find, p.host.Untrusted = j.Find, p.options.Policy.UntrustedHint()
	if len(p.text.Calls) > 0 && len(sources) > 0 {
		_, failed := j.Offered(ctx)
		p.host.Certain = len(failed) == 0
	}
	return j
}

// forecast predicts what a run takes by what is recorded.
func (p *preflighting) forecast(ctx context.Context) (err error) {
	var plan []preflight.Planned
	for _, b := range p.planned {
		runs := b.Action == runner.ActRun || b.Action == runner.ActMaybe
		plan = append(plan, preflight.Planned{ID: b.ID, Runs: runs, Seconds: b.Seconds})
	}
	var records *state.Store
	if p.store != nil {
		records = p.store.State()
	}
	p.host.Forecast, err = p.text.Predict(ctx, records, p.name(), plan)
	p.host.Forecast.Seconds = micro(p.host.Forecast.Seconds)
	return err
}

// coverage adds the outputs that no check covers.
func (p *preflighting) coverage(ctx context.Context, r *preflight.Report) error {
	outputs := p.text.Outputs()
	if len(outputs) == 0 {
		return nil
	}
	covered := map[state.BlockID]bool{}
	if p.session != nil {
		head, _, err := p.store.State().Head(ctx, p.session.Name())
		if err != nil {
			return err
		}
		lacking, err := artifact.IncompleteCoverage(ctx, p.session.History(), head)
		if err != nil {
			return err
		}
		for _, b := range p.planned {
			covered[b.ID] = !slices.ContainsFunc(lacking, func(c artifact.Coverage) bool {
				return c.Block == b.ID && c.Covered == 0
			})
		}
	}
	for _, at := range outputs {
		if !covered[at.Block] {
			r.Findings = append(r.Findings, preflight.Finding{Kind: preflight.KindUncovered, Verdict: preflight.Ready,
				Place: at, Message: "no check covers what this block puts out", Hint: "docs/testing.md"})
		}
	}
	return nil
}

// printPreflight prints a report: the verdict last, as the summary of other verbs.
func (w *printer) printPreflight(r *preflight.Report) {
	for _, f := range r.Findings {
		word := string(f.Verdict)
		if f.Verdict == preflight.Ready {
			word = "note"
		}
		at := ""
		if f.Block != "" {
			at = fmt.Sprintf("block %s, line %d: ", f.Block, f.Line)
		}
		w.ui.Print("%s: %s%s\n", word, at, f.Message)
		if f.Hint != "" && f.Verdict != preflight.Ready {
			w.ui.Print("    %s\n", f.Hint)
		}
	}
	var rows [][]string
	u := r.Uses
	for _, list := range []struct {
		what  string
		names []string
	}{
		{"packages", u.Packages}, {"tools", u.Tools}, {"models", u.Models}, {"hosts", u.Hosts}, {"reads", u.Reads},
		{"writes", u.Writes}, {"cannot be undone", u.Irreversible},
	} {
		if len(list.names) > 0 {
			rows = append(rows, []string{list.what, strings.Join(list.names, ", ")})
		}
	}
	w.ui.Table(rows)
	for _, c := range r.Calls {
		if c.Class != string(journal.Irreversible) || c.Kind != journal.KindTool {
			continue
		}
		before := "nothing asks before it"
		if c.Approval != "" {
			before = "asks before it: " + c.Approval
		}
		if c.Checkpoint != nil {
			before += fmt.Sprintf("; kept until block %s, line %d", c.Checkpoint.Block, c.Checkpoint.Line)
		}
		w.ui.Print("%s in block %s, line %d: %s\n", c.Name, c.Block, c.Line, before)
	}
	f := r.Forecast
	text := "by recorded runs "
	if text += term.Seconds(f.Seconds); f.Calls > 0 {
		text += fmt.Sprintf(", %s, %d tokens, %.4g USD", term.Plural(int(f.Calls), "call"), f.Tokens, f.USD)
	}
	if len(f.Unknown) > 0 {
		text += fmt.Sprintf(", and %s without a record", term.Plural(len(f.Unknown), "block"))
	}
	w.ui.Talk("%s: %s", r.Verdict, text)
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/internal/wording"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

func (a *app) runVerb() *cobra.Command {
	f := runFlags{Run: verb.Run{Jobs: 1}}
	cmd := &cobra.Command{
		Use:   "run FILE [flags] [-- ARGUMENT…]",
		Short: "run what is new, edited or affected in a program",
		Long: `Run reads a program (.py, .js, .ts, .sh with cells or without, .ipynb, .md) and compares its
blocks with those of the session. It records every difference as a step (patch, move, append, delete) and executes the
blocks that are new, edited or affected, each from the right prior state. All others keep their results.

Run prints the blocks that ran or have new output. The results equal those of a fresh interpreter that executes the
whole program from top to bottom. --verify also runs everything from scratch, and compares.

The interpreter stays, with all its imports and values, in a server that ends by itself (xstate serve --status).

Arguments after -- are those of the program, and --stdin is its input. Both are inputs like files: a block
that reads them runs again when what it reads has changed. Other verbs take those of the last run. A run with other
arguments finds the files that the last one left, as under Python. A program may end itself: run exits with 0 after
sys.exit(0), and with 1 after any other code, which it prints.

Without a FILE, --session names a session that has none, as exec makes, and its recorded program runs.`,
		Example: `  xstate run analysis.py
  xstate run analysis.py --stdin orders.txt -- --n 5
  xstate run analysis.py --verify --timeout 30s
  xstate run analysis.py --watch
  xstate run analysis.py --json --agent coder --reason "fix the join"`,
		Args:              takesProgramOrSession,
		ValidArgsFunction: completePrograms,
		RunE: func(cmd *cobra.Command, args []string) error {
			if own, _ := programArguments(cmd, args); len(own) == 0 {
				return a.runRequest(cmd.Context(), f)
			}
			if f.watch {
				own, _ := programArguments(cmd, args)
				return a.watch(cmd.Context(), own[0])
			}
			return f.given.with(a.caller, cmd, args, func(name string, in *runner.Invocation) error {
				f.invocation = in
				return a.run(cmd.Context(), name, f)
			})
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.all, "all", false, "also print the output of reused blocks")
	flags.BoolVar(
		&f.Verify,
		"verify",
		false,
		"then run everything from scratch and compare; repeats effects outside the folder",
	)
	flags.BoolVar(&f.watch, "watch", false, "run it again whenever FILE is saved, until Ctrl-C")
	flags.StringVar(&f.Until, "until", "", "run the program up to this `BLOCK`, which runs again if its result may\n"+
		"vary; later blocks stay as they are")
	flags.BoolVar(&f.Fresh, "fresh", false, "reuse nothing: execute every block")
	flags.StringSliceVar(&f.Always, "always", nil, "always execute this `BLOCK`, like \"# xstate: always\" in its text")
	flags.StringSliceVar(
		&f.Never,
		"never",
		nil,
		"keep the result of this `BLOCK` even if its inputs change, like \"# xstate: never\"",
	)
	flags.BoolVar(
		&f.RestoreFiles,
		"restore-files",
		false,
		"overwrite results that were edited after the program wrote them",
	)
	flags.BoolVar(&f.Refresh, "refresh", false, "first call again what is stale: tools whose results are older than "+
		"their\nlifetime; blocks run only where a result differs")
	flags.StringVar(&f.Tool, "tool", "", "with --refresh: call again all calls of the tool `NAME`")
	flags.BoolVar(&f.Private, "private", false, "run in a private copy of the folder first, and in the folder only "+
		"if no block\nfails; else the folder stays as it was")
	flags.Var(jobsFlag{&f.Run}, "jobs", "execute independent blocks in this `NUMBER` of interpreters at once,\n"+
		"or with remote=NUMBER on workers (remote.executor, remote.launcher);\n"+
		"with remote, one worker executes the run (default 1)")
	flags.BoolVar(&f.Write, "write", false, "then write outputs and execution counts into the notebook FILE")
	flags.DurationVar(
		&f.Timeout,
		"timeout",
		0,
		"stop a part of a block that runs longer than this `DURATION`, such as 30s or 5m",
	)
	f.given.add(flags)
	a.budgetFlag(flags)
	flags.Var((*byteSize)(&f.Memory), "memory",
		"keep at most `SIZE` of earlier values in memory, such as 500MB (default 1GiB)")
	flags.Var((*byteSize)(&f.MaxBytes), "max-bytes", "then free results beyond this `SIZE`, like gc")
	flags.Var(a.pythonPath(&f.Python), "python",
		"the interpreter's `PATH`, which the session remembers; auto forgets it\n"+
			"(default: $XSTATE_PYTHON, the one remembered, $VIRTUAL_ENV, .venv, python3)",
	)
	a.sandboxFlag(flags, "run")
	a.recordFlag(flags)
	a.completeBlockFlags(cmd, "until", "always", "never")
	flags.StringVar(&f.Workdir, "workdir", "", "run in the folder `DIR`, which the session keeps\n"+
		"(default: the file's; for a module with relative imports, the one that holds its package;\n"+
		"this one, if an argument names a file that is found only from here)")
	flags.StringVar(&a.session, "session", "", "the session's `NAME` (default: the file's)")
	a.completeSessions(cmd)
	flags.Var(stepFlag{&f.Expect}, "expect",
		"fail if the session is not at this `STEP`, because others have edited or run it")
	flags.BoolVar(
		&f.Merge,
		"merge",
		false,
		"with --expect: merge if others have edited other lines, and write the file",
	)
	a.mayBegin["run"] = func(args []string) error { return a.runMayBegin(args[0], &f) }
	a.originFlags(cmd, &f.Origin)
	a.linesFlag(cmd)
	flags.BoolVar(&a.ui.Quiet, "quiet", false, "print results and errors only")
	return cmd
}

func completePrograms(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var endings []string
	for _, ext := range patch.Extensions() {
		endings = append(endings, strings.TrimPrefix(ext, "."))
	}
	return endings, cobra.ShellCompDirectiveFilterFileExt
}

func (a *app) run(ctx context.Context, name string, f runFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	src, err := a.sourceOf(name, f.Contents)
	if err != nil {
		return err
	}
	if f.Write {
		if err := src.forResults(); err != nil {
			return err
		}
	}
	folder := filepath.Dir(src.path)
	dir, found, err := a.storeDir(folder)
	if err != nil {
		return err
	}
	if !found { // and nothing is to be made where nothing can run
		if err := a.canRun(ctx, src, f); err != nil {
			return err
		}
	}
	store, err := a.openStore(ctx, dir, state.Options{})
	if err != nil {
		return err
	}
	if f.Private {
		err = a.runPrivate(ctx, store, src, f)
	} else {
		err = a.runIn(ctx, store, src, f)
	}
	if f.MaxBytes != 0 {
		most := state.CollectOptions{MaxBytes: byteSize(f.MaxBytes).most()}
		if _, bad := store.State().Collect(ctx, most); err == nil {
			err = bad
		}
	}
	a.notices(store)
	if bad := a.closeStore(store); err == nil {
		err = bad
	}
	return err
}

// jobsFlag is NUMBER, remote=NUMBER, or remote.
type jobsFlag struct{ run *verb.Run }

func (f jobsFlag) String() string { return "" }
func (f jobsFlag) Type() string   { return "NUMBER" }

func (f jobsFlag) Set(text string) error {
	if f.run.Elsewhere = text == "remote"; f.run.Elsewhere {
		return nil
	}
	number, remote := strings.CutPrefix(text, "remote=")
	n, err := strconv.Atoi(number)
	if err != nil {
		return fmt.Errorf("%q is no number", number)
	}
	if remote && n < 1 {
		return errors.New("there must be one worker at least")
	}
	if remote {
		f.run.RemoteJobs = n
	} else {
		f.run.Jobs = n
	}
	return nil
}

// mostJobs is how many interpreters a run may use at once.
const mostJobs = 1024

// check refuses flags that do not go together.
func (f *runFlags) check() error {
	if f.Merge && f.Expect == nil {
		return &usageError{
			err:  errors.New("--merge needs --expect STEP, the step that the file was made from"),
			hint: "`xstate run FILE --expect STEP --merge`",
		}
	}
	if f.Private && f.Expect != nil {
		return &usageError{err: errors.New("--private and --expect exclude each other"),
			hint: "`xstate fork --private NEW` makes a private session for longer work"}
	}
	if f.Tool != "" && !f.Refresh {
		return &usageError{err: errors.New("`--tool` needs `--refresh`"),
			hint: "`xstate run FILE --refresh --tool NAME`"}
	}
	if max(f.Jobs, f.RemoteJobs) > mostJobs || f.Jobs < 1 || f.RemoteJobs < 0 {
		return &usageError{err: fmt.Errorf("`--jobs` must be 1 to %d", mostJobs), hint: "`xstate run FILE --jobs 2`"}
	}
	if f.Until != "" && (f.Verify || f.Private) {
		return &usageError{err: errors.New("--until excludes --verify and --private, which are of the whole program"),
			hint: "`xstate run FILE --verify`"}
	}
	if f.Contents != nil && (f.Write || f.Merge) {
		return &usageError{err: errors.New("the contents are given, so the file is not written"),
			hint: "save the file, and run it without the contents"}
	}
	if f.Timeout < 0 {
		return &usageError{err: errors.New("`--timeout` must not be negative"), hint: "`xstate run FILE --timeout 30s`"}
	}
	return nil
}

// runMayBegin reports whether a run of a program without a store would make one.
func (a *app) runMayBegin(name string, f *runFlags) error {
	src, err := a.sourceOf(name, f.Contents)
	if err = errors.Join(err, f.check()); err != nil {
		return err
	}
	return a.canRun(context.Background(), src, *f)
}

// canRun reports whether a file is a program, and there is an interpreter for it.
func (a *app) canRun(ctx context.Context, src *source, f runFlags) error {
	blocks, err := src.blocks()
	if err != nil {
		return err
	}
	return a.findLanguage(blocks[0].Dialect, f.Python, src.workdir(f.Workdir, nil))
}

// runSession opens the session of a run; it makes one only for a file that is a program.
func (a *app) runSession(ctx context.Context, store *xstate.Store, src *source, f runFlags) (*xstate.Session, error) {
	name, err := a.runName(ctx, store, src)
	if err != nil {
		return nil, err
	}
	o, err := a.sessionOptions(ctx, store, src, f.Python, f.Workdir, f.invocation)
	if err != nil {
		return nil, err
	}
	if blocks, err := src.blocks(); err != nil || languageOf(blocks[0].Dialect) == python.Name {
		if _, err := store.FindPython(ctx, name, o.Python, o.Workspace, a.env); err != nil {
			return nil, err
		}
	}
	return a.runnable(ctx, store, name, o, func(ctx context.Context, name string, o xstate.SessionOptions) (
		*xstate.Session, error,
	) {
		session, err := store.Existing(ctx, name, o)
		if state.CodeOf(err) != state.CodeNoSession {
			return session, err
		}
		if _, err := src.blocks(); err != nil {
			return nil, err
		}
		return store.Session(ctx, name, o)
	})
}

func (a *app) notices(store *xstate.Store) {
	for _, n := range a.noticesOf(store) {
		a.ui.Talk("%s", n)
	}
}

func (a *app) runIn(ctx context.Context, store *xstate.Store, src *source, f runFlags) error {
	session, err := a.runSession(ctx, store, src, f)
	if err != nil {
		return err
	}
	a.ends = true
	defer a.closeSession(session)
	end, err := a.hold(ctx, session)
	if err != nil {
		return err
	}
	defer end()
	if f.usual() && !a.ui.JSON {
		if done, ok, err := session.RunIfChanged(ctx, src.name, src.data, f.Origin); ok || err != nil {
			if err == nil {
				a.printSettled(done)
				var stale []query.StaleCall
				if stale, err = staleCalls(ctx, session); err == nil {
					a.printStaleCalls(stale)
					err = a.writeResults(ctx, session, src, f, nil)
				}
			}
			return err
		}
	}
	edits, err := a.load(ctx, session, src, f)
	if err != nil {
		return err
	}
	d, err := a.executeAsking(ctx, store, session, src.path, edits, f)
	if d != nil {
		if bad := a.writeResults(ctx, session, src, f, d); bad != nil {
			return bad
		}
	}
	if d != nil && a.ui.JSON {
		if bad := a.ui.Document(d); bad != nil {
			return bad
		}
	}
	return err
}

// runRecorded runs what is affected in a session of no file.
func (a *app) runRecorded(ctx context.Context, f runFlags) error {
	o, err := a.recorded(ctx, f.Python, "run")
	if err != nil {
		return err
	}
	defer o.Close()
	end, err := a.hold(ctx, o.session)
	if err != nil {
		return err
	}
	defer end()
	d, err := a.executeAsking(ctx, o.store, o.session, o.file, nil, f)
	if d != nil && a.ui.JSON {
		if bad := a.ui.Document(d); bad != nil {
			return bad
		}
	}
	return err
}

// usual reports whether a run that has nothing to do needs to print only that.
func (f *runFlags) usual() bool {
	return !f.Verify && f.Until == "" && !f.Fresh && !f.Refresh && !f.all && !f.Merge && f.Expect == nil &&
		len(f.Always)+len(f.Never) == 0
}

// execute runs what the edits of a session affect, and prints it, unless that is for a document, which it returns.
func (a *app) execute(
	ctx context.Context,
	store *xstate.Store,
	session *xstate.Session,
	file string,
	edits []xstate.Step,
	f runFlags,
) (*api.Run, error) {
	if len(edits) > 0 {
		f.Origin = f.Origin.WithoutCost()
	}
	program, _, err := session.History().Program(ctx)
	if err != nil {
		return nil, err
	}
	p := newProgress(a.ui)
	a.places = a.placesOf(session, file, program)
	p.blocks = a.places
	pins, err := f.pins(program)
	if err != nil {
		return nil, err
	}
	given, err := givenBlocks(file, f.Contents, program)
	if err != nil {
		return nil, err
	}
	until, err := f.until(given, program)
	if err != nil {
		return nil, err
	}
	o := runner.RunOptions{
		Fresh:        f.Fresh,
		Jobs:         f.Jobs,
		RemoteJobs:   f.RemoteJobs,
		Elsewhere:    f.Elsewhere,
		Timeout:      f.Timeout,
		Memory:       f.Memory,
		Pins:         pins,
		RestoreFiles: f.RestoreFiles,
		Refresh:      f.refreshing(),
		Retry:        f.retry,
		Until:        until,
	}
	if until != "" {
		o.Submitted = func(id xstate.BlockID) bool { return id == until }
	}
	if p.live() || p.lines() {
		if err := p.name(ctx, session); err != nil {
			return nil, err
		}
	}
	p.start()
	following, run := a.beginRun(ctx, session, "run", f.Origin)
	o.OnEvent = func(e runner.Event) {
		a.ui.Event(runEvent(e))
		p.event(e)
		run.Event(e)
	}
	a.ui.Event(api.Event{Event: "started", Run: run.id, Blocks: given})
	out, step, err := session.Run(following, o, f.Origin)
	run.end(out, step, err)
	a.places.python = session.Python()
	p.stop()
	if out != nil {
		a.places.follow(out)
	}
	if err != nil {
		if out != nil && !a.ui.JSON {
			a.printRun(out, step, p, f.all) // it ran, but could not be recorded
		}
		return nil, a.unrecorded(err, len(edits), len(p.ran))
	}
	calls, err := run.callsOf(ctx, session, step.Number, out.Refreshed)
	if err != nil {
		return nil, err
	}
	if !a.ui.JSON {
		a.printRun(out, step, p, f.all)
		a.noneRefreshed(&f, calls)
		a.printCallsSummary(calls)
	}
	var verified *api.Verified
	if f.Verify && out.Stopped == nil {
		if verified, err = a.verify(ctx, session, step.Number, out, f); err != nil {
			return nil, err
		}
	}
	notices := append(a.noticesOf(store), out.Warnings...)
	d := documentOf(session.Name(), step, edits, out, verified, notices, a.places)
	d.Calls = calls
	d.Loops = a.loopsOf(ctx, session.History(), calls != nil)
	return &d, runExitCode(out, verified)
}

// load records how the file differs from the session.
func (a *app) load(ctx context.Context, session *xstate.Session, src *source, f runFlags) ([]xstate.Step, error) {
	if f.Expect == nil {
		return session.LoadFile(ctx, src.name, src.data, f.Origin)
	}
	store := session.Store().State()
	_, err := store.Commit(
		ctx,
		session.Name(),
		*f.Expect,
		nil,
	) // no step at all is refused when it does not follow the one expected
	if err == nil {
		return session.LoadFile(ctx, src.name, src.data, f.Origin)
	}
	if !f.Merge || state.CodeOf(err) != state.CodeConflict {
		return nil, err
	}
	edits, text, err := session.MergeFile(ctx, *f.Expect, src.name, src.data, f.Origin)
	if err != nil || bytes.Equal(text, src.data) {
		return edits, err
	}
	a.ui.Talk("%s also contains what others have edited since step %d", src.name, *f.Expect)
	src.data, src.program = text, nil
	return edits, writeFile(src.path, text)
}

// unrecorded describes what is kept of a run that could not be recorded: the edits before it, and nothing of what
// the given number of blocks did.
func (a *app) unrecorded(err error, edits, ran int) error {
	kept, did := "the history is unchanged", "nothing ran"
	if state.CodeOf(err) == state.CodeNoStore {
		kept = "nothing is recorded"
	} else if edits > 0 {
		kept = fmt.Sprintf("recorded %s of the program", term.Plural(edits, "edit"))
	}
	if ran > 0 {
		did = term.Plural(ran, "block") + " ran, which is not recorded"
	}
	canceled := errors.Is(err, context.Canceled)
	if edits+ran > 0 {
		a.ui.Talk("%s; %s", kept, did)
	}
	if bad := (*state.Error)(nil); a.door != wording.CommandLine && edits > 0 &&
		errors.As(err, &bad) { // the answer alone is read there
		told := *bad
		told.Message += "; " + kept
		err = &told
	}
	if canceled && edits+ran > 0 {
		return &state.Error{Code: api.CodeInterrupted, Message: "interrupted", Hint: "run it again to continue",
			Err: err}
	}
	return err
}

// name gives the progress line the places of blocks.
func (p *progress) name(ctx context.Context, s *xstate.Session) error {
	blocks, _, err := s.History().Program(ctx)
	for i, b := range blocks {
		p.places[b.ID], p.names[b.ID] = i, b.Title
	}
	return err
}

// runExitCode is the exit code of a run.
func runExitCode(out *xstate.Outcome, v *api.Verified) error {
	if v != nil && len(v.Differences) > 0 {
		return outcome(exitDiverged)
	}
	switch {
	case out.Stopped != nil || slices.ContainsFunc(out.Blocks, isFailed):
		return outcome(exitFailed)
	case slices.ContainsFunc(out.Blocks, isWaiting):
		return outcome(exitRefused)
	case slices.ContainsFunc(out.Blocks, func(b runner.BlockOutcome) bool { return b.Status.Bad() }):
		return outcome(exitFailed) // blocked by what is not in the program any more
	}
	return nil
}

func isFailed(b runner.BlockOutcome) bool { return b.Status == state.StatusFailed && !isWaiting(b) }

// isWaiting reports whether a call of a block waits for a decision.
func isWaiting(b runner.BlockOutcome) bool {
	return state.StatusWith(b.Status, b.Err) == state.StatusWaiting
}

// runRequest runs the program of a file, or the recorded one of a session.
func (a *app) runRequest(ctx context.Context, f runFlags) error {
	if f.File == "" {
		if err := needsFile(&f.Run); err != nil {
			return err
		}
		file, err := a.privateFile(ctx)
		switch {
		case err != nil:
			return err
		case file == "":
			return a.runRecorded(ctx, f)
		}
		return a.run(ctx, file, f)
	}
	f.invocation = &runner.Invocation{Arguments: f.Arguments}
	return a.run(ctx, f.File, f)
}

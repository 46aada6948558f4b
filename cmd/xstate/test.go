package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/runner/suite"
	"github.com/xstate-engine/xstate/state"
)

type testFlags struct {
	all, plan, lines bool
	verbose          bool
	keyword, mark    string
	timeout          time.Duration
	python           string
	origin           xstate.Origin
}

func (a *app) testVerb() *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "test [PATH…|BLOCK…] [-- PYTEST ARGUMENT…]",
		Short: "run the tests that a change affects",
		Long: `Test runs the tests of the folder and those in the program's blocks. Each test has its own trace: the
functions that it executed, the modules it depends on, the files and variables it read. Only tests whose inputs changed
run; all others keep their results. Results are found by content: to undo a change runs nothing.

Pytest runs the tests where the interpreter has it, with its fixtures, marks, plugins and configuration; otherwise
unittest does. A test that failed, or that read the clock, the network or another process, runs every time. What follows
-- goes to pytest; results are reused only under the same arguments. -k and -m only choose among the tests. --lines also
observes which lines each test executes (in blocks from CPython 3.12 on), for xstate evidence, query --unverified and
artifact.

Test prints the tests that ran, why, and the reports of those that failed. Exit code 1 means that a test failed. A
folder without a program needs no session: test makes one for its results.`,
		Example: `  xstate test
  xstate test tests/test_api.py -k login
  xstate test --plan
  xstate test -- -p no:randomly --strict-markers`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var more []string
			if n := cmd.ArgsLenAtDash(); n >= 0 {
				args, more = args[:n], args[n:]
			}
			return a.test(cmd.Context(), args, more, f)
		},
		ValidArgsFunction: a.completeBlocks,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.all, "all", false, "run every test")
	flags.BoolVar(
		&f.plan,
		"plan",
		false,
		"report what would run and why; imports only test files whose tests are not known",
	)
	flags.BoolVar(&f.lines, "lines", false, "also observe the lines that tests execute; tests without known lines run")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "also print the tests that were reused")
	flags.StringVarP(&f.keyword, "keyword", "k", "", "only tests whose names match `EXPRESSION`, as for pytest")
	flags.StringVarP(&f.mark, "mark", "m", "", "only tests whose marks match `EXPRESSION`, as for pytest")
	flags.DurationVar(&f.timeout, "timeout", 0, "stop a test that runs longer than this `DURATION`")
	flags.Var(a.pythonPath(&f.python), "python", "the interpreter's `PATH`, as for run")
	a.sandboxFlag(flags, "test")
	a.originFlags(cmd, &f.origin)
	return a.sessionFlag(cmd)
}

func (a *app) test(ctx context.Context, args, more []string, f testFlags) error {
	if f.timeout < 0 {
		return &usageError{err: errors.New("`--timeout` must not be negative"), hint: "`xstate test --timeout 30s`"}
	}
	o, err := a.openToTest(ctx, args, f.python)
	if err != nil {
		return err
	}
	defer o.Close()
	to := xstate.TestOptions{
		Args:    more,
		All:     f.all,
		Lines:   f.lines,
		Plan:    f.plan,
		Timeout: f.timeout,
		OnTalk:  func(text string) { a.ui.Talk("%s", text) },
	}
	if f.keyword != "" {
		to.Choose = append(to.Choose, "-k", f.keyword)
	}
	if f.mark != "" {
		to.Choose = append(to.Choose, "-m", f.mark)
	}
	if to.Paths, to.Blocks, err = o.whichTests(ctx, args); err != nil {
		return err
	}
	count := 0
	to.OnTest = func(t *xstate.TestResult) {
		count++
		if a.ui.ErrTerminal && !a.ui.JSON && !a.ui.Quiet {
			a.ui.Progress(fmt.Sprintf("%d  %s  %s", count, t.Outcome, t.ID))
		}
	}
	found, err := o.session.Test(ctx, to, f.origin)
	if err != nil {
		return err
	}
	a.ui.Progress("")
	if len(found.Tests) == 0 && found.Stopped == nil {
		return &state.Error{
			Code:    suite.CodeNoTests,
			Message: "no tests were found",
			Hint:    "name a file or folder: `xstate test PATH`",
		}
	}
	if a.ui.JSON {
		err = a.ui.Document(api.Test{Version: api.Version, Session: o.history.Name(), Plan: f.plan, TestReport: found})
	} else {
		a.printTests(found, f)
	}
	switch {
	case err != nil:
		return err
	case found.Failed > 0 || found.Stopped != nil:
		return outcome(exitFailed)
	}
	return nil
}

// openToTest opens the session of the folder. It makes a store and a session if there are none. Tests of files need no
// program, so those of several programs are run in a separate session.
func (a *app) openToTest(ctx context.Context, args []string, python string) (*opened, error) {
	a.bounds.executes = true
	o, err := a.openWith(ctx, state.Options{}, python)
	switch code := state.CodeOf(err); {
	case code == api.CodeWhich && len(args) > 0 && !slices.ContainsFunc(args, a.isNoPath):
		a.session = testSession
		if o, err = a.openWith(ctx, state.Options{}, python); state.CodeOf(err) != state.CodeNoSession {
			return o, err
		}
	case code != state.CodeNoStore && (code != state.CodeNoSession || a.session != ""):
		return o, err
	}
	folder, err := a.here()
	if err != nil {
		return nil, err
	}
	if err := a.findLanguage("", python, folder); err != nil {
		return nil, err
	}
	return a.openMade(ctx, cmp.Or(a.session, testSession), folder, python,
		"keeps the results of the tests of this folder in %s")
}

// openMade opens a session without a file, which runs in a folder. It makes a store there, of which talk says where it
// is, and the session, if there are none.
func (a *app) openMade(ctx context.Context, name, folder, python, talk string) (*opened, error) {
	dir, found, err := a.storeDir(folder)
	if err != nil {
		return nil, err
	}
	if !found {
		a.ui.Talk(talk, a.fromHere(dir))
	}
	store, err := a.openStore(ctx, dir, state.Options{})
	if err != nil {
		return nil, err
	}
	so := xstate.SessionOptions{Workspace: folder, Python: python, Environ: a.environ}
	var session *xstate.Session
	if err = a.bounded(ctx, store, name, &so); err == nil {
		session, err = store.Session(ctx, name, so)
	}
	if err != nil {
		return nil, errors.Join(err, a.closeStore(store))
	}
	return &opened{caller: a.caller, app: a, store: store, history: session.History(), session: session}, nil
}

func (c caller) isNoPath(arg string) bool {
	file, _, _ := strings.Cut(arg, "::")
	return c.notAFile(file)
}

// whichTests sorts arguments into blocks of the program, and paths relative to the workspace.
func (o *opened) whichTests(ctx context.Context, args []string) (paths []string, blocks []xstate.BlockID, err error) {
	program, _, err := o.history.Program(ctx)
	if err != nil {
		return nil, nil, err
	}
	meta, err := o.store.State().Session(ctx, o.history.Name())
	if err != nil {
		return nil, nil, err
	}
	for _, arg := range args {
		file, test, _ := strings.Cut(arg, "::")
		is := func(b state.ProgramBlock) bool { return string(b.ID) == file }
		if _, err := o.stat(file); err != nil && slices.ContainsFunc(program, is) {
			blocks = append(blocks, xstate.BlockID(file))
			continue
		} else if err != nil {
			return nil, nil, &state.Error{
				Code: api.CodeNoFile, Message: fmt.Sprintf("there is no file, folder or block %q", file),
				Hint: "`xstate query` lists the blocks",
			}
		}
		if notPython(file) {
			return nil, nil, &state.Error{
				Code: suite.CodeNoTests, Message: fmt.Sprintf("%s: only tests in Python are collected", file),
				Hint: "run it as a program, where a test that fails is an error of its block: `xstate run " + file +
					"`",
			}
		}
		path, err := o.abs(file)
		if err == nil {
			path, err = filepath.Rel(meta.Workspace, path)
		}
		if err != nil {
			return nil, nil, err
		}
		if test != "" {
			path += "::" + test
		}
		paths = append(paths, path)
	}
	return paths, blocks, nil
}

// notPython reports whether a file is one of another language by its name.
func notPython(name string) bool {
	dialect, ok := patch.FileDialect(name, nil)
	return ok && languageOf(dialect) != python.Name || filepath.Ext(name) == ".bats"
}

func (w *printer) printTests(found *xstate.TestReport, f testFlags) {
	for _, t := range found.Tests {
		if t.Text != "" {
			w.ui.Print("%s\n%s", w.ui.Bold(w.ui.Red(t.ID)), term.Indent(t.Text, "    "))
		}
	}
	var rows [][]string
	for _, t := range found.Tests {
		if t.Status != suite.TestReused || t.Outcome.Bad() || f.verbose {
			what := string(t.Outcome)
			if t.Status == suite.TestWould {
				what = "run"
			}
			if t.Outcome.Bad() {
				what = w.ui.Red(what)
			}
			rows = append(rows, []string{what, t.ID, term.Seconds(t.Seconds), reasonText(t.Reason)})
		}
	}
	w.ui.Table(rows)
	text := ""
	if found.Step > 0 {
		text = fmt.Sprintf("step %d: ", found.Step)
	}
	if f.plan {
		w.ui.Talk("would run %s, reuse %d (%s saved)", term.Plural(found.Ran, "test"), found.Reused,
			term.Seconds(found.Saved))
		return
	}
	w.ui.Talk(
		"%s%s",
		text,
		testedText(
			&state.Testing{
				Ran:          found.Ran,
				Reused:       found.Reused,
				Failed:       found.Failed,
				Seconds:      found.Seconds,
				SavedSeconds: found.Saved,
			},
		),
	)
	if found.Stopped != nil {
		w.ui.Talk("interrupted; what ended is kept")
	}
}

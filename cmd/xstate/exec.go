package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

// execFlags are the flags of exec.
type execFlags struct {
	verb.Exec
	code optionalText
}

// optionalText is a flag that may hold an empty text.
type optionalText struct {
	text  string
	given bool
}

func (o *optionalText) Set(text string) error { o.text, o.given = text, true; return nil }
func (o *optionalText) String() string        { return "" }
func (o *optionalText) Type() string          { return "string" }

// execSession is the session of exec where none is named.
const execSession = "main"

// execText is the number of bytes of text that exec shows where --budget does not say it.
const execText = 16_000

// execBudget is --budget of exec: a size bounds the text, and what has a name what is spent.
type execBudget struct {
	text   *byteSize
	limits *budgetFlag
}

func (f *execBudget) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		set := f.limits.Set
		if !strings.Contains(part, "=") {
			set = f.text.Set
		}
		if err := set(part); err != nil {
			return err
		}
	}
	return nil
}

func (f *execBudget) String() string { return "" }
func (f *execBudget) Type() string   { return "budget" }

func (a *app) execVerb() *cobra.Command {
	var f execFlags
	cmd := &cobra.Command{
		Use:   "exec [FILE|-] [flags]",
		Short: "execute code as a block of a session, and run what it affects",
		Long: `Exec executes code, from -c, FILE or stdin, and prints only what this code puts out: text, the value of a
last expression, an error as its language prints it. It makes the store and the session if there is none. Text around
fenced code is skipped.

The code becomes a block of the session's program. Exec decides whether it is a new block or replaces one: by a name
("# %% NAME"), the functions and names that it defines, how much it resembles a block, and whether the last block
failed. Then exec runs what is new or affected, so what it prints equals a run of the whole program from the top. Code
that fails is kept until the next code corrects or replaces it; what it did before the statement that failed stays if
later code uses it. The same code again is not executed again, unless what it reads has changed or its result varies.

A long output keeps its head and its tail. All of it, and pictures, are files that --json lists. Exec exits with 1 if
the code failed.`,
		Example: `  xstate exec -c "import pandas as pd; df = pd.read_csv('sales.csv')"
  xstate exec -c "df.groupby('region').amount.mean()"
  xstate exec --json --session report < answer.md
  xstate exec step.py --replace clean
  xstate exec --language bash -c "ls *.csv"`,
		Args: takes(0, 1, "one FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.exec(cmd.Context(), cmd.InOrStdin(), args, f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.VarP(&f.code, "code", "c", "the `CODE` itself")
	flags.StringVar(&a.session, "session", "", "the session's `NAME`, or its file (default: main)")
	a.completeSessions(cmd)
	flags.StringVar(&f.Replace, "replace", "", "the code replaces this `BLOCK`")
	flags.BoolVar(&f.Append, "append", false, "the code is a new block, whatever it resembles")
	flags.StringVar(
		&f.Language,
		"language",
		"",
		"the `LANGUAGE` of the code: "+strings.Join(api.Languages(), ", ")+", or as fences "+
			"call it\n(default: by the ending of FILE, and as the program)",
	)
	flags.Var(&execBudget{(*byteSize)(&f.Text), &a.bounds.budgets}, "budget",
		"`LIMITS` as for run, such as usd=1.50,calls=50; and "+
			"the SIZE of text that\nis printed, such as 8kB (default 16kB)")
	flags.DurationVar(
		&f.Timeout,
		"timeout",
		0,
		"stop a part of a block that runs longer than this `DURATION`, such as 30s",
	)
	flags.Var(a.pythonPath(&f.Python), "python", "the interpreter's `PATH`, as for run")
	a.sandboxFlag(flags, "exec")
	a.recordFlag(flags)
	a.originFlags(cmd, &f.Origin)
	a.linesFlag(cmd)
	flags.BoolVar(&a.ui.Quiet, "quiet", false, "print results and errors only")
	a.completeBlockFlags(cmd, "replace")
	a.mayBegin["exec"] = func(args []string) error {
		f.File = strings.Join(args, "")
		f.Session = a.session
		return a.execMayBegin(&f.Exec)
	}
	return cmd
}

func (a *app) exec(ctx context.Context, in io.Reader, args []string, f execFlags) (err error) {
	if f.Code, err = a.execCode(in, args, f); err != nil {
		return err
	}
	f.File = strings.Join(args, "")
	return a.execCodeOf(ctx, f.Exec)
}

// execCodeOf executes code in the session that is meant.
func (a *app) execCodeOf(ctx context.Context, f verb.Exec) error {
	if strings.TrimSpace(f.Code) == "" {
		return &usageError{
			err:  errors.New("there is no code to execute"),
			hint: "`xstate exec -c CODE`, or code on stdin",
		}
	}
	if f.Timeout < 0 {
		return &usageError{err: errors.New("`--timeout` must not be negative"),
			hint: "`xstate exec FILE --timeout 30s`"}
	}
	dialect, err := execDialect(&f)
	if err != nil {
		return err
	}
	if f.Append && f.Replace != "" {
		return &usageError{
			err:  errors.New("--append and --replace exclude each other"),
			hint: "leave out both, and exec decides",
		}
	}
	started := time.Now()
	o, err := a.openToExec(ctx, f, dialect)
	if err != nil {
		return err
	}
	defer o.Close()
	end, err := a.hold(ctx, o.session)
	if err != nil {
		return err
	}
	defer end()
	x := &execution{app: a, o: o, budget: int(byteSize(f.Text).most()), started: started, origin: f.Origin}
	if x.budget == 0 {
		x.budget = execText
	}
	err = x.execute(ctx, dialect, f)
	a.notices(o.store)
	return err
}

// execMayBegin reports whether code that is executed where no store is would make one.
func (a *app) execMayBegin(f *verb.Exec) error {
	dialect, err := execDialect(f)
	if err != nil {
		return err
	}
	folder, err := a.folderFrom(f.Session)
	return errors.Join(err, a.findLanguage(dialect, f.Python, folder))
}

// execDialect returns the dialect of the code; "" if neither a language nor the name of its file says it.
func execDialect(f *verb.Exec) (string, error) {
	if f.Language == "" {
		dialect, _ := patch.FileDialect(f.File, nil)
		return dialect, nil
	}
	dialect, ok := patch.DialectNamed(f.Language)
	if !ok {
		return "", &usageError{
			err:  fmt.Errorf("there is no language %q", f.Language),
			hint: "the languages are " + strings.Join(api.Languages(), ", "),
		}
	}
	return dialect, nil
}

// execCode returns the code that is given.
func (a *app) execCode(in io.Reader, args []string, f execFlags) (string, error) {
	switch {
	case f.code.given && len(args) > 0:
		return "", &usageError{err: errors.New("the code is given twice"), hint: "use -c CODE or FILE"}
	case f.code.given:
		return f.code.text, nil
	case len(args) == 0:
		return a.readPatch("-", in)
	}
	code, err := a.readPatch(args[0], in)
	if state.CodeOf(err) == api.CodeNoFile && likeCode(args[0]) {
		return "", &usageError{err: fmt.Errorf("there is no file %q", args[0]),
			hint: "`xstate exec -c CODE` runs code that is an argument"}
	}
	return code, err
}

// openToExec opens the session that is meant, and makes it and its store if there is none. A session keeps the folder
// that it began in.
func (a *app) openToExec(ctx context.Context, f verb.Exec, dialect string) (*opened, error) {
	folder, err := a.folderOf()
	if err != nil {
		return nil, err
	}
	dir, found, err := a.storeDir(folder)
	if err != nil {
		return nil, err
	}
	if !found { // and nothing is to be made where nothing can run
		if err := a.findLanguage(dialect, f.Python, folder); err != nil {
			return nil, err
		}
	}
	store, err := a.openStore(ctx, dir, state.Options{})
	if err != nil {
		return nil, err
	}
	o, err := a.execSessionOf(ctx, store, folder, f)
	if err != nil {
		return nil, errors.Join(err, a.closeStore(store))
	}
	return o, nil
}

func (a *app) execSessionOf(ctx context.Context, store *xstate.Store, folder string, f verb.Exec) (*opened, error) {
	name, made := execSession, false
	if a.session != "" {
		var err error
		name, err = a.sessionOf(ctx, store, a.session)
		if state.CodeOf(err) == state.CodeNoSession && !slices.Contains(programKinds, filepath.Ext(a.session)) {
			name, made, err = a.session, true, nil
		}
		if err != nil {
			return nil, err
		}
	}
	file, err := fileOf(ctx, store, name)
	if err != nil {
		return nil, err
	}
	so := xstate.SessionOptions{Python: f.Python, Environ: a.environ, Tools: a.tools}
	if isSource(file) {
		so.File = file // as a run of it has
	}
	if begun, err := store.State().Session(ctx, name); err == nil {
		so.Workspace = begun.Workspace
	} else if state.CodeOf(err) != state.CodeNoSession || a.session != "" && !made {
		return nil, err
	} else {
		so.Workspace = folder
	}
	session, err := a.runnable(ctx, store, name, so, store.Session)
	if err != nil {
		return nil, err
	}
	return &opened{caller: a.caller, app: a, store: store, history: session.History(), session: session,
		file: file}, nil
}

// target returns the file that a session belongs to, which is kept in step with the session: a later run of the file
// would otherwise remove what exec added. Without a file the session is the program.
func (x *execution) target(ctx context.Context, f verb.Exec) (t xstate.Target, err error) {
	t.Answers = f.Origin.Answers
	if t.Block, err = x.o.named(ctx, f.Replace); err != nil {
		return t, err
	}
	if !slices.Contains(programKinds, filepath.Ext(x.o.file)) {
		return t, nil
	}
	src, err := x.readSource(x.fromHere(x.o.file))
	if state.CodeOf(err) == api.CodeNoFile {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	t.Name, t.Path, t.Data = filepath.ToSlash(x.fromHere(x.o.file)), filepath.ToSlash(x.o.file), src.data
	return t, nil
}

func (x *execution) execute(ctx context.Context, dialect string, f verb.Exec) error {
	target, err := x.target(ctx, f)
	if err != nil {
		return err
	}
	following, run := x.beginRun(ctx, x.o.session, "exec", f.Origin)
	x.begin(run.id)
	follow := func(e runner.Event) {
		x.event(e)
		run.Event(e)
	}
	o := xstate.ExecOptions{Target: target, Dialect: dialect, Append: f.Append, Origin: f.Origin,
		Run: runner.RunOptions{Timeout: f.Timeout, OnEvent: follow}}
	var before []byte // the document of the same submission
	o.Recall = func(submission string) (known bool) {
		before, known = x.o.store.State().Memo(submissionMemos, x.o.history.Name()+" "+submission)
		return known
	}
	o.Record = func(r *xstate.Revision, record func() ([]xstate.Step, error)) ([]xstate.Step, error) {
		if r.Placements == nil { // the code is taken back
			path := x.wrote
			x.wrote = ""
			return recordWith(x.path(path), target.Data, record)
		}
		if err := x.decided(ctx, r); err != nil {
			return nil, err
		}
		path, err := x.o.patched(ctx, r, target.Data)
		if err != nil {
			return nil, err
		}
		if path != "" {
			x.wrote = x.fromHere(path)
		}
		return recordWith(x.path(path), r.Text, record)
	}
	done, err := x.o.session.Exec(following, f.Code, o)
	x.ended()
	if done == nil {
		run.end(nil, xstate.Step{}, err)
	} else {
		run.end(done.Outcome, done.Step, err)
	}
	if err != nil {
		err = x.withoutFile(err)
		if done != nil {
			return x.app.unrecorded(err, len(done.Edits), 0)
		}
		return err
	}
	if before != nil {
		return x.printAgain(before)
	}
	if x.calls, err = run.callsOf(ctx, x.o.session, done.Step.Number, nil); err != nil {
		return err
	}
	if done.Repeated {
		if err := x.decidedBefore(ctx, done); err != nil {
			return err
		}
	}
	shown := x.print(ctx, done)
	if err := x.keepSubmitted(done); err != nil {
		return err
	}
	return shown
}

// submissionMemos is the space of the documents of submissions in the results of the store.
const submissionMemos = "submission"

// keepSubmitted keeps the document for a repetition of the submission. Code that waits for a decision, or was stopped,
// has no result yet.
func (x *execution) keepSubmitted(done *xstate.ExecResult) error {
	if done.Submission == "" || x.d.Suspended > 0 || x.d.TakenBack || x.d.Stopped != "" {
		return nil
	}
	document, err := json.Marshal(&x.d)
	if err != nil {
		return err
	}
	return x.o.store.State().PutMemo(submissionMemos, x.o.history.Name()+" "+done.Submission, document)
}

// withoutFile returns an error whose hint says how a session is run that has no file.
func (x *execution) withoutFile(err error) error {
	var e *state.Error
	if slices.Contains(programKinds, filepath.Ext(x.o.file)) || !errors.As(err, &e) {
		return err
	}
	named := *e
	named.Hint = strings.ReplaceAll(e.Hint, "xstate run FILE", "xstate run --session "+term.Quoted(x.o.history.Name()))
	return &named
}

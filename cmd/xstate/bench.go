package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/bench"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state"
)

type benchFlags struct {
	workloads, strategies []string
	sizes                 []int
	edits                 int
	seed                  uint64
	fresh, peers          bool
	out, python           string
	o                     bench.Options
}

func (a *app) benchVerb() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench [PATH...]",
		Short: "measure what re-execution saves on your programs, and whether it is right",
		Long: `Bench makes a series of edits to each program and runs the program after every edit ` +
			`under several strategies:
  scratch    everything, in a fresh interpreter
  down       from the edit down, in the live interpreter
  names      what was edited and what names connect to it, as reactive notebooks do
  snapshot   from the edit down, after the variables before it were loaded from a pickle
  xstate     what is affected
It reports what each strategy executed and saved, and where output, values or files differ from scratch. --peers adds
other tools, each used as its documentation says: marimo, ipyflow, joblib (Memory, on functions), nbclient (run all).

A PATH is a script, a notebook, an archive of a session ("export --out FILE.zip"), which brings its own edits, or a
folder of these. Bench copies the folder of a program for each run. The programs execute many times, and so do their
effects elsewhere. --workload generates programs: chain, fan-out, diamond, layered, notebook, agent, tree, tests, or
all.

Results are added to --out as they come; a bench that was stopped continues there. The report goes there, too:
report.html, report.json, runs.csv, table.md, savings.svg, and with peers peers.md.`,
		Example: `  xstate bench notebooks/
  xstate bench analysis.py --edits 20 --seed 7
  xstate bench --workload all --size 10,40 --jobs 2 --budget 10m
  xstate bench notebooks/ --python venv/bin/python --peers`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.bench(cmd.Context(), args, f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&f.workloads, "workload", nil, "generate the programs of these workloads (`NAMES`, or all)")
	flags.IntSliceVar(&f.sizes, "size", []int{10, 40}, "generate programs of this many `BLOCKS`")
	flags.IntVar(&f.edits, "edits", 8, "make this `NUMBER` of edits to each program")
	flags.Uint64Var(&f.seed, "seed", 1, "draw edits and programs with this `SEED`")
	flags.StringSliceVar(
		&f.strategies,
		"strategy",
		nil,
		"measure these strategies (`NAMES`; default: all but peers); scratch is always one",
	)
	flags.BoolVar(
		&f.peers,
		"peers",
		false,
		"also measure marimo, ipyflow, joblib and nbclient; the interpreter must have them",
	)
	flags.IntVar(&f.o.Jobs, "jobs", 1, "measure this `NUMBER` of programs at once; times are then less exact")
	flags.DurationVar(&f.o.Budget, "budget", 0, "stop after this `DURATION`; the next bench continues")
	flags.DurationVar(
		&f.o.Timeout,
		"timeout",
		time.Minute,
		"give up a program when one of its blocks runs longer than this `DURATION`",
	)
	flags.StringVar(&f.out, "out", "xstate-bench", "keep results and report in this `FOLDER`")
	flags.BoolVar(&f.fresh, "fresh", false, "measure again what the folder has results for")
	flags.StringVar(&f.python, "python", "", "the interpreter's `PATH` (default: as for run)")
	flags.BoolVar(&a.ui.Quiet, "quiet", false, "print the table and errors only")
	return cmd
}

func (f *benchFlags) check(paths []string) error {
	switch {
	case len(paths) == 0 && len(f.workloads) == 0:
		return &usageError{
			err:  errors.New("there is nothing to measure"),
			hint: "`xstate bench PATH`, or `xstate bench --workload all`",
		}
	case f.edits < 1:
		return &usageError{err: errors.New("`--edits` must be 1 or more"), hint: "`xstate bench PATH --edits 8`"}
	case f.o.Jobs < 1:
		return &usageError{err: errors.New("`--jobs` must be 1 or more"), hint: "`xstate bench PATH --jobs 2`"}
	case f.o.Budget < 0 || f.o.Timeout < 0:
		return &usageError{
			err:  errors.New("--budget and --timeout must not be negative"),
			hint: "`xstate bench PATH --budget 10m`",
		}
	case slices.ContainsFunc(f.sizes, func(n int) bool { return n < 4 }):
		return &usageError{
			err:  errors.New("a program of --size has 4 blocks or more"),
			hint: "`xstate bench --workload all --size 10,40`",
		}
	}
	return nil
}

func (a *app) bench(ctx context.Context, paths []string, f benchFlags) error {
	if err := f.check(paths); err != nil {
		return err
	}
	var err error
	if f.o.Strategies, err = bench.ParseStrategies(f.strategies, f.peers); err != nil {
		return err
	}
	programs, err := a.benchPrograms(ctx, paths, f)
	if err != nil {
		return err
	}
	if f.o.Python, err = bench.FindInterpreter(ctx, f.python); err != nil {
		return err
	}
	if f.o.Peers, err = bench.CheckPeers(ctx, f.o.Python, f.o.Strategies); err != nil {
		return err
	}
	records, err := bench.OpenSavedResults(f.out)
	if err != nil {
		return &usageError{
			err:  fmt.Errorf("the results cannot be read: %w", err),
			hint: "name another folder: `--out FOLDER`",
		}
	}
	if !f.fresh {
		f.o.Earlier = records.Results
	}
	f.o.OnResult = records.Add
	a.benchProgress(&f.o, len(programs))
	results, err := bench.Measure(ctx, programs, f.o)
	a.ui.Progress("")
	if ctx.Err() != nil {
		return &state.Error{
			Code: api.CodeInterrupted,
			Message: fmt.Sprintf(
				"interrupted; the results of %d of %s are kept in %s",
				len(results),
				term.Plural(len(programs), "program"),
				f.out,
			),
			Hint: "run it again to continue",
		}
	}
	if err != nil {
		return err
	}
	report := bench.NewReport(results, f.o, f.seed, len(programs), time.Now())
	page, err := report.Write(f.out)
	if err != nil {
		return &usageError{
			err:  fmt.Errorf("the report cannot be written: %w", err),
			hint: "name another folder: `--out FOLDER`",
		}
	}
	if a.ui.JSON {
		err = a.ui.Document(report)
	} else {
		a.printBench(report, page)
	}
	if err == nil && len(report.Summary.Wrong) > 0 {
		return outcome(exitDiverged)
	}
	return err
}

// benchPrograms finds and generates what is to be measured.
func (a *app) benchPrograms(ctx context.Context, paths []string, f benchFlags) ([]bench.Program, error) {
	programs, err := bench.FindPrograms(
		ctx,
		paths,
		f.seed,
		f.edits,
		func(path string, err error) { a.ui.Talk("%s is left out: %v", path, err) },
	)
	if err != nil {
		return nil, err
	}
	if slices.Contains(f.workloads, "all") {
		f.workloads = bench.Workloads
	}
	for _, size := range f.sizes {
		for _, name := range f.workloads {
			p, err := bench.Generate(name, f.seed, size, f.edits)
			if err != nil {
				return nil, err
			}
			programs = append(programs, p)
		}
	}
	return programs, nil
}

// benchProgress shows how far the bench is.
func (w *printer) benchProgress(o *bench.Options, of int) {
	if !w.ui.ErrTerminal || w.ui.Quiet || w.ui.JSON {
		return
	}
	var mu sync.Mutex
	begun := 0
	o.OnVersion = func(program string, version, versions int) {
		mu.Lock()
		defer mu.Unlock()
		if version == 0 {
			begun++
		}
		w.ui.Progress(
			fmt.Sprintf("xstate: program %d of %d, %s: run %d of %d", begun, of, program, version+1, versions),
		)
	}
}

func (w *printer) printBench(r *bench.Report, page string) {
	rows := append([][]string{bench.Header}, r.Table()...)
	for i := range rows[0] {
		rows[0][i] = w.ui.Bold(rows[0][i])
	}
	w.ui.Table(rows)
	for _, x := range r.Summary.Wrong {
		w.ui.Print("xstate is not equal to scratch: %s, edit %d: %v\n", x.Program, x.Version, x.Differs)
	}
	for _, p := range r.Results {
		if p.Error != "" {
			w.ui.Talk("%s was not measured to the end: %s", p.Program, p.Error)
		}
	}
	if n := r.Programs - r.Done; n > 0 {
		w.ui.Talk("the time was up with %s left; run it again to continue", term.Plural(n, "program"))
	}
	if n := len(r.Summary.Fewer); n > 0 {
		w.ui.Talk(
			"after %s xstate executed more blocks than a strategy that was right on the whole program",
			term.Plural(n, "edit"),
		)
	}
	w.ui.Talk("the report is %s", page)
}

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

type queryFlags struct {
	at            moment
	ends          []string // of --path
	limit         int
	after, python string

	block, symbol, value, version, patch, affectedBy, dependsOn, where string
	path, failed, volatile, unverified                                 bool
}

func (a *app) queryVerb() *cobra.Command {
	var f queryFlags
	cmd := &cobra.Command{
		Use:   "query",
		Short: "ask what the program was at a step, and what depends on what",
		Long: `Query answers from what is recorded; nothing of the program is executed. It is about the program after the last step, or
after the step, or at the time, that --at-step or --at names.

What code was running at step 5?
  xstate query --at-step 5                   every block with its version, status and outputs
  xstate query --at-step 5 --block clean     its source, what it read and wrote, what it printed, who wrote it

If I regenerate clean, what must re-run?
  xstate query --affected-by clean           the blocks it reaches, in order, through what, and their recorded seconds

--affected-by follows dependencies to their end, those seen in executions and those only the text suggests; it is the
most that can run: a block whose inputs come out equal is reused. --depends-on takes the first step of the way only.
Both take a block, a name of the program (a function, a variable), a file or a package.

--value prints what a variable had. Simple values are told from the record; others are loaded from the store by an
interpreter that runs nothing of the program but the imports, functions and classes that they need. What was cheaper to
compute than to store is not kept.

--unverified lists the blocks whose present result no run from scratch (run --verify) has confirmed: not since they came
to it, or with a difference, or they were never run; and those that no check exercised in their present version, or in part only.
--volatile lists those whose recorded result is one of several possible
ones, because they, or what they rest on, read the clock, the network and so on.

--where takes an expression in the Common Expression Language (cel.dev) over
` + names() + `
It lists executions (traces) if it names trace, else blocks if it names block, else steps if it names step.`,
		Example: `  xstate query --at-step 5
  xstate query --at 2026-11-20T10:00 --value df
  xstate query --affected-by load_data
  xstate query --path load report
  xstate query --where 'block.status == "failed" && origin.agent == "coder"'
  xstate query --where 'trace.reads.exists(r, r.key == "file:data.csv")'
  xstate query --where 'step.kind == "run" && step.seconds > 10.0' --limit 5 --json`,
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
	flags.StringVar(&f.value, "value", "", "what the variable `NAME` had")
	flags.StringVar(&f.symbol, "symbol", "", "who binds and who reads a `NAME`, and its value")
	flags.StringVar(&f.affectedBy, "affected-by", "", "all that must re-run if `X` is regenerated")
	flags.StringVar(&f.dependsOn, "depends-on", "", "who reads directly what `X` gives")
	flags.BoolVar(&f.path, "path", false, "how the second of two blocks depends on the first, by a shortest chain")
	flags.StringVar(&f.version, "version", "", "a `VERSION` of a block by its digest: its text, and from which step to which it was there")
	flags.StringVar(&f.patch, "patch", "", "an `EDIT`, by its step or the id of the call that made it, and what ran because of it")
	flags.BoolVar(&f.failed, "failed", false, "the blocks that failed, or were blocked")
	flags.BoolVar(&f.unverified, "unverified", false, "the blocks whose result no run from scratch has confirmed, and those that no check exercised")
	flags.BoolVar(&f.volatile, "volatile", false, "the blocks whose result may differ from run to run")
	flags.StringVar(&f.where, "where", "", "the blocks, traces or steps that an `EXPRESSION` holds for")
	flags.IntVar(&f.limit, "limit", noLimit, fmt.Sprintf("at most `N` of the blocks listed, or of what --where finds; 0 for all (default: the first %d blocks, with --json all)", listed))
	flags.Lookup("limit").DefValue = "0" // of which help says nothing
	flags.StringVar(&f.after, "after", "", "with --where: go on after `NEXT`, which the page before ended with")
	flags.StringVar(&f.python, "python", "", "with --value: the interpreter's `PATH`, as for run")
	a.completeBlockFlag(cmd)
	return a.sessionFlag(cmd)
}

const (
	noLimit = -1 // none was given
	listed  = 50 // blocks of a program that people are shown
)

// names are the variables of expressions, for the help: folded, a variable begins a line.
func names() string {
	var b strings.Builder
	for _, line := range query.Names() {
		line = "  " + strings.ReplaceAll(line, ", ", " ")
		for len(line) > foldWidth {
			at := strings.LastIndexByte(line[:foldWidth], ' ')
			b.WriteString(line[:at] + "\n")
			line = "        " + line[at:]
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

const foldWidth = 118

// question is one thing that query can be asked.
type question struct {
	flag  string
	asked bool
	ask   func(context.Context, *opened, xstate.StepNumber) error
}

func (a *app) questions(f queryFlags) []question {
	return []question{
		{"--block", f.block != "", func(ctx context.Context, o *opened, n xstate.StepNumber) error {
			return a.queryBlock(ctx, o, n, f.block)
		}},
		{"--value", f.value != "", func(ctx context.Context, o *opened, n xstate.StepNumber) error {
			return a.queryValue(ctx, o, n, f.value)
		}},
		{"--symbol", f.symbol != "", a.ofGraph(func(d *query.Dependencies) error { return a.querySymbol(d, f.symbol) })},
		{"--affected-by", f.affectedBy != "", a.ofGraph(func(d *query.Dependencies) error { return a.queryAffected(d, f.affectedBy) })},
		{"--depends-on", f.dependsOn != "", a.ofGraph(func(d *query.Dependencies) error { return a.queryReaders(d, f.dependsOn) })},
		{"--path", f.path, a.ofGraph(func(d *query.Dependencies) error { return a.queryPath(d, f.ends[0], f.ends[1]) })},
		{"--version", f.version != "", func(ctx context.Context, o *opened, _ xstate.StepNumber) error {
			return a.queryVersion(ctx, o, f.version)
		}},
		{"--patch", f.patch != "", func(ctx context.Context, o *opened, _ xstate.StepNumber) error { return a.queryPatch(ctx, o, f.patch) }},
		{"--failed", f.failed, a.ofBlocks("failed or were blocked", (*query.BlockView).Failed)},
		{"--unverified", f.unverified, a.queryUnverified},
		{"--volatile", f.volatile, a.ofGraph(a.queryVolatile)},
		{"--where", f.where != "", func(ctx context.Context, o *opened, n xstate.StepNumber) error { return a.queryWhere(ctx, o, n, f) }},
	}
}

// ofGraph is a question about what depends on what.
func (a *app) ofGraph(ask func(*query.Dependencies) error) func(context.Context, *opened, xstate.StepNumber) error {
	return func(ctx context.Context, o *opened, n xstate.StepNumber) error {
		d, err := o.session.History().Dependencies(ctx, n)
		if err != nil {
			return err
		}
		return ask(d)
	}
}

func (a *app) query(ctx context.Context, f queryFlags) error {
	ask := question{ask: func(ctx context.Context, o *opened, n xstate.StepNumber) error { return a.queryAll(ctx, o, n, f.limit) }}
	for _, q := range a.questions(f) {
		if !q.asked {
			continue
		}
		if ask.asked {
			return &usageError{err: fmt.Errorf("%s and %s are two questions", ask.flag, q.flag), hint: "ask them one by one"}
		}
		ask = q
	}
	if f.where == "" && f.after != "" || f.where == "" && ask.asked && f.limit > 0 {
		return &usageError{err: fmt.Errorf("--limit and --after are of --where"), hint: "xstate query --help shows an example"}
	}
	o, err := a.openWith(ctx, state.Options{ReadOnly: true}, f.python)
	if err != nil {
		return err
	}
	defer o.Close()
	n, err := o.step(ctx, f.at)
	if err != nil {
		return err
	}
	return ask.ask(ctx, o, n)
}

// queryAll lists the program. People are shown the beginning of a long one.
func (a *app) queryAll(ctx context.Context, o *opened, n xstate.StepNumber, limit int) error {
	if limit == noLimit {
		limit = 0
		if !a.ui.json {
			limit = listed
		}
	}
	snap, err := o.session.History().Start(ctx, n, limit)
	if err != nil {
		return err
	}
	return a.printSnapshot(snap)
}

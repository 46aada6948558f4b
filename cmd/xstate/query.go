package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/inspect"
	"github.com/xstate-engine/xstate/state/query"
)

// queryFlags are the flags of query.
type queryFlags struct {
	verb.Query
	showFlags
	full  bool
	graph string // the format of the graph
	path  bool   // the arguments are its ends
}

func (a *app) queryVerb() *cobra.Command {
	var f queryFlags
	cmd := &cobra.Command{
		Use:   "query [BLOCK|STEP]",
		Short: "show the program at a step, a block, an edit, values and dependencies",
		Long: `Query answers from the record; it executes nothing of the program. It shows the program after the last
step, or after the step or at the time that --at-step or --at names. With --full each block has its source and output.

With a BLOCK it shows that one, with what it read and wrote. With the STEP of an edit it shows what the edit changed,
and what the next run did because of it: what ran and why, the values and files that were lost, the effects that were
repeated.

Which code ran at step 5?
  xstate query --at-step 5                   every block with its version, status and outputs
  xstate query --at-step 5 --block clean     its source, what it read and wrote, what it printed, who wrote it

If I regenerate clean, what must re-run?
  xstate query --affected-by clean           the blocks it reaches, in order, through what, and their recorded seconds

--affected-by follows observed and predicted dependencies to their end. It is an upper bound of what can run: a block
whose inputs are equal is reused. --depends-on lists the direct readers only: blocks that ran by what they really read,
others by their text. Both take a block, a name of the program (a function, a variable), a file, a package, or
tool:NAME.

--value prints the value of a variable. Simple values come from the record. Others are loaded from the store by an
interpreter that runs nothing of the program but the imports, functions and classes that they need. A value that was
cheaper to compute than to store is not kept. With --rows it also describes a value that has parts: of a table or an
array the types, a summary of each column, and rows; of nested data the items.

--graph prints the dependency graph. An edge has a type (import, symbol, order) and is predicted from the source,
observed in executions, or both. For SVG, Graphviz (dot) draws it if it is installed.

A terminal of Kitty, Ghostty, iTerm2, WezTerm, or one with Sixel that TERM announces, shows pictures in place. --images
writes those of the BLOCK, or of all blocks, as files instead. --open shows those of the BLOCK in the system's viewer.

--unverified lists the blocks whose present result no run from scratch (run --verify) has confirmed, and those that no
check exercised in their present version, or only in part. --volatile lists the blocks whose recorded result is one of
several possible ones, because they, or what they depend on, read the clock, the network and so on.

--where takes an expression in the Common Expression Language (cel.dev) over
` + names() + `
It lists executions (traces) if it names trace, else blocks if it names block, else steps if it names step.`,
		Example: `  xstate query --at-step 5
  xstate query --at 2026-11-20T10:00 --value df
  xstate query --affected-by load_data
  xstate query --path load report
  xstate query --graph=svg > graph.svg
  xstate query plot --open
  xstate query --where 'block.status == "failed" && origin.agent == "coder"'
  xstate query --where 'trace.reads.exists(r, r.key == "file:data.csv")'
  xstate query --where 'step.kind == "run" && step.seconds > 10.0' --limit 5 --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.path {
				return takes(2, 2, "two blocks for --path")(cmd, args)
			}
			return takes(0, 1, "one BLOCK or STEP")(cmd, args)
		},
		ValidArgsFunction: a.completeBlocks,
		RunE: func(cmd *cobra.Command, args []string) error {
			var questions []string
			for _, q := range a.questions(f) {
				questions = append(questions, strings.TrimPrefix(q.flag, "--"))
			}
			err := cmp.Or(alone(cmd, "graph", append(questions, "full", "limit", "images", "open")...),
				alone(cmd, "full", questions...))
			for _, name := range questions {
				if err == nil && len(args) == 1 && cmd.Flags().Changed(name) {
					err = &usageError{err: fmt.Errorf("%s and --%s exclude each other", args[0], name),
						hint: "use one at a time"}
				}
			}
			switch {
			case err != nil:
				return err
			case f.path:
				f.From, f.To = args[0], args[1]
			case cmd.Flags().Changed("graph"):
				if len(args) == 1 && slices.Contains(graphFormats, args[0]) { // --graph svg
					f.graph, args = args[0], nil
				}
				if len(args) > 0 {
					return &usageError{err: errors.New("--graph is of the whole program"),
						hint: "`xstate query --depends-on X`, or `--affected-by X`"}
				}
				if f.graph == "" {
					return noGraph("")
				}
				return a.graph(cmd.Context(), f.graph, f.Moment)
			case f.open || f.images != "":
				return a.showFigures(cmd.Context(), args, f.showFlags)
			case len(args) == 1:
				return a.queryNamed(cmd.Context(), args[0], f)
			}
			return a.query(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	momentFlags(cmd, &f.Moment)
	flags.StringVar(&f.Block, "block", "", "one `BLOCK` with everything recorded about it")
	flags.BoolVar(&f.full, "full", false, "each block with its source and output")
	flags.BoolVar(&f.all, "all", false, "of a BLOCK: all reads and writes, where many of a kind are one line")
	flags.StringVar(&f.Value, "value", "", "the value of the variable `NAME`")
	flags.Var(placeFlag{&f.Place}, "rows",
		fmt.Sprintf("with --value: describe it, and show %d rows or items from `N` on", inspect.Standard.Rows))
	flags.StringVar(&f.Symbol, "symbol", "", "the nodes that bind and read a `NAME`, and its value")
	flags.StringVar(&f.AffectedBy, "affected-by", "", "everything that must re-run if `X` is regenerated")
	flags.StringVar(&f.DependsOn, "depends-on", "", "the direct readers of `X`")
	flags.StringVar(&f.Tool, "tool", "", "the blocks whose results depend on a call of the tool or model `NAME`")
	flags.BoolVar(&f.path, "path", false, "how the second of two blocks depends on the first, by a shortest chain")
	flags.StringVar(
		&f.Version,
		"version",
		"",
		"a `VERSION` of a block by its digest: its text, and the steps at which the program had it",
	)
	flags.StringVar(
		&f.Patch,
		"patch",
		"",
		"an `EDIT`, by its step or the id of the call that made it, and what ran because of it",
	)
	flags.BoolVar(&f.Failed, "failed", false, "the blocks that failed, or were blocked")
	flags.BoolVar(
		&f.Unverified,
		"unverified",
		false,
		"the blocks that no run from scratch has confirmed, or no check exercised",
	)
	flags.BoolVar(&f.Volatile, "volatile", false, "the blocks whose result may differ from run to run")
	flags.BoolVar(&f.Denied, "denied", false, "what the sandbox denied, and what would allow it")
	flags.StringVar(&f.Where, "where", "", "the blocks, traces or steps for which an `EXPRESSION` is true")
	flags.Var(countFlag{&f.Limit}, "limit",
		fmt.Sprintf("list at most `N`; 0 for all (default: %d blocks, with --json all)", listed))
	flags.StringVar(&f.After, "after", "", "with --where: continue after `NEXT`, the end of the page before")
	flags.StringVar(&f.graph, "graph", "",
		"the dependency graph, as `FORMAT`: text, dot, mermaid, svg or json")
	flags.Lookup("graph").NoOptDefVal = graphFormats[0]
	_ = cmd.RegisterFlagCompletionFunc("graph",
		cobra.FixedCompletions(graphFormats, cobra.ShellCompDirectiveNoFileComp))
	flags.StringVar(&f.images, "images", "", "write pictures into the folder `DIR` and print their paths")
	flags.BoolVar(&f.open, "open", false, "show the pictures of BLOCK in the system's viewer")
	flags.Var(a.pythonPath(&f.Python), "python", "with --value: the interpreter's `PATH`, as for run")
	a.completeBlockFlags(cmd, "block", "affected-by", "depends-on")
	return a.ofSession(cmd)
}

// listed is how many blocks of a program people are shown.
const listed = 50

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

// question is one query that the verb answers.
type question struct {
	flag  string
	asked bool
	ask   func(context.Context, *opened, xstate.StepNumber) error
}

func (a *app) questions(f queryFlags) []question {
	return []question{
		{"--block", f.Block != "", func(ctx context.Context, o *opened, n xstate.StepNumber) error {
			return a.queryBlock(ctx, o, n, f)
		}},
		{"--value", f.Value != "", func(ctx context.Context, o *opened, n xstate.StepNumber) error {
			return a.queryValue(ctx, o, n, f.Value, f.Place)
		}},
		{
			"--symbol",
			f.Symbol != "",
			a.ofGraph(func(d *query.Dependencies) error { return a.querySymbol(d, f.Symbol) }),
		},
		{
			"--affected-by",
			f.AffectedBy != "",
			a.ofGraph(func(d *query.Dependencies) error { return a.queryAffected(d, f.AffectedBy) }),
		},
		{
			"--depends-on",
			f.DependsOn != "",
			a.ofGraph(func(d *query.Dependencies) error { return a.queryReaders(d, f.DependsOn) }),
		},
		{
			"--tool",
			f.Tool != "",
			a.ofGraph(func(d *query.Dependencies) error { return a.queryReaders(d, "tool:"+f.Tool) }),
		},
		{
			"--path",
			f.From != "",
			a.ofGraph(func(d *query.Dependencies) error { return a.queryPath(d, f.From, f.To) }),
		},
		{"--version", f.Version != "", func(ctx context.Context, o *opened, _ xstate.StepNumber) error {
			return a.queryVersion(ctx, o, f.Version)
		}},
		{
			"--patch",
			f.Patch != "",
			func(ctx context.Context, o *opened, _ xstate.StepNumber) error { return a.queryPatch(ctx, o, f.Patch) },
		},
		{"--failed", f.Failed, a.ofBlocks("failed or were blocked", (*query.BlockView).Failed)},
		{"--unverified", f.Unverified, a.queryUnverified},
		{"--denied", f.Denied, a.queryDenied},
		{"--volatile", f.Volatile, a.ofGraph(a.queryVolatile)},
		{
			"--where",
			f.Where != "",
			func(ctx context.Context, o *opened, n xstate.StepNumber) error { return a.queryWhere(ctx, o, n, f) },
		},
	}
}

// ofGraph is a question about what depends on what.
func (a *app) ofGraph(ask func(*query.Dependencies) error) func(context.Context, *opened, xstate.StepNumber) error {
	return func(ctx context.Context, o *opened, n xstate.StepNumber) error {
		d, err := o.history.Dependencies(ctx, n)
		if err != nil {
			return err
		}
		return ask(d)
	}
}

func (a *app) query(ctx context.Context, f queryFlags) error {
	ask := question{
		ask: func(ctx context.Context, o *opened, n xstate.StepNumber) error { return a.queryAll(ctx, o, n, f) },
	}
	for _, q := range a.questions(f) {
		if !q.asked {
			continue
		}
		if ask.asked {
			return &usageError{
				err:  fmt.Errorf("%s and %s exclude each other", ask.flag, q.flag),
				hint: "use one at a time",
			}
		}
		ask = q
	}
	if f.Where == "" && f.After != "" || f.Where == "" && ask.asked && countOr(f.Limit, 0) > 0 {
		return &usageError{
			err:  fmt.Errorf("--limit and --after need --where"),
			hint: "`xstate query --help` shows an example",
		}
	}
	if f.Value == "" && f.Place != nil {
		return &usageError{err: errors.New("--rows needs --value"), hint: "`xstate query --value NAME --rows 0`"}
	}
	open := a.open
	if a.bounds.executes = f.Value != ""; a.bounds.executes { // an interpreter may load it
		open = func(ctx context.Context) (*opened, error) {
			return a.openWith(ctx, state.Options{ReadOnly: true}, f.Python)
		}
	}
	o, err := open(ctx)
	if err != nil {
		return err
	}
	defer o.Close()
	n, err := o.step(ctx, f.Moment)
	if err != nil {
		return err
	}
	return ask.ask(ctx, o, n)
}

// queryNamed shows the block of that name, or the edit of that step.
func (a *app) queryNamed(ctx context.Context, name string, f queryFlags) error {
	block := f
	block.Block = name
	err := a.query(ctx, block)
	if state.CodeOf(err) == query.CodeNoBlock && isNumber(name) {
		if f.AtStep != nil || f.At != "" {
			return &usageError{err: fmt.Errorf("%s is a step, as that of --at-step is", name),
				hint: "`xstate query STEP` shows an edit, `xstate query --at-step STEP` the program after a step"}
		}
		f.Patch = name
		return a.query(ctx, f)
	}
	return err
}

// queryAll lists the program. People are shown the beginning of a long one.
func (a *app) queryAll(ctx context.Context, o *opened, n xstate.StepNumber, f queryFlags) error {
	usual := listed
	if a.ui.JSON || f.full {
		usual = 0
	}
	snap, err := o.history.Start(ctx, n, countOr(f.Limit, usual))
	if err != nil {
		return err
	}
	if f.full {
		return a.printFull(o, snap)
	}
	return a.printSnapshot(o, snap)
}

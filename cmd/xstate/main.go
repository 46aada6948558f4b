package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	_ "github.com/xstate-engine/xstate/cmd/xstate/early"
	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/telemetry"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/wording"
	"github.com/xstate-engine/xstate/state"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run carries out a call of this process; it returns the exit code.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := interruptible(context.Background())
	defer stop()
	folder, _ := os.Getwd() // a verb that needs it reports that it is gone
	exported := telemetry.New(os.Getenv, buildVersion())
	defer func() {
		if err := exported.Close(); err != nil {
			fmt.Fprintf(term.Escaper{Writer: errOut}, "xstate: telemetry was not exported: %v\n", err)
		}
	}()
	return commands{exported: exported}.Do(ctx, serve.Call{
		Args: args, Folder: folder, Environ: os.Environ(), Stdin: in, Stdout: out, Stderr: errOut,
	})
}

// interruptible returns a context that the first interrupt cancels, as does the end of the terminal; the second ends
// the process at once.
func interruptible(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	forget := context.AfterFunc(ctx, stop)
	return ctx, func() { forget(); stop() }
}

// commands carries out calls of verbs in this process.
type commands struct {
	server   *serve.Server        // whose calls they are; nil where a call is this process's own
	exported *telemetry.Telemetry // nil: none is
}

// app returns what the verbs share for a call that came by a door.
func (c commands) app(call serve.Call, door wording.Door) *app {
	from := callerOf(call, door)
	a := &app{
		caller: from, call: call, ui: term.New(from.env, from.door, call.Stdout, call.Stderr),
		server: c.server, doer: func(s *serve.Server) serve.Doer { return commands{s, c.exported} },
		exported: c.exported,
	}
	if c.server != nil {
		a.noticesBefore = len(c.server.Pool.Store().State().Notices())
	}
	return a
}

// Do implements serve.Doer.
func (c commands) Do(ctx context.Context, call serve.Call) (code int) {
	a := c.app(call, wording.CommandLine)
	defer a.end()
	a.ui.Lines = slices.Contains(call.Args, "--json-lines") // also for errors found before the flags are read
	a.ui.JSON = a.ui.Lines || slices.Contains(call.Args, "--json")
	defer func() {
		if r := recover(); r != nil {
			code = fail(a.ui, fmt.Errorf("internal error: %v", r))
		}
	}()
	stopTalk := context.AfterFunc(ctx, func() {
		if a.ui.ErrTerminal && !a.forwarded.Load() {
			a.ui.Talk("stopping what runs; interrupt again to end at once")
		}
	})
	defer stopTalk()
	root := a.root()
	root.SetArgs(append([]string{}, call.Args...)) // not nil, which means those of this process
	root.SetIn(call.Stdin)
	root.SetOut(term.Escaper{Writer: call.Stdout})
	root.SetErr(term.Escaper{Writer: call.Stderr})
	err := root.ExecuteContext(ctx)
	a.noteDamage(err)
	if err != nil && !a.parsed {
		err = usage(err)
	}
	return fail(a.ui, err)
}

// helpVerb is the help that cobra makes, except that it fails for a word that is not a verb.
func helpVerb(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [VERB]",
		Short: "print the help of a verb",
		Long:  "Help prints what a verb does, its flags and examples, like xstate VERB --help.",
		Args:  cobra.ArbitraryArgs,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, c := range root.Commands() {
				names = append(names, c.Name())
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil {
				return root.Args(root, args)
			}
			if len(rest) > 0 {
				return root.Args(cmd, rest)
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

func (a *app) root() *cobra.Command {
	version := false
	root := &cobra.Command{
		Use:   "xstate",
		Short: "run programs block by block, and after an edit only what is affected",
		Long: `xstate runs a program block by block and records what each block really read and wrote. After an edit it
runs again only the blocks that the edit affects, each from the right prior state; all others keep their results. Every
step is kept: which code ran then, what it read, wrote and printed, and who wrote it.

Without a verb, xstate lists the sessions that are here, their state, and what to do next.`,
		Example: `  xstate run analysis.py        run what is new, edited or affected
  xstate plan analysis.py       what would run, why, and for how long
  xstate why report             why the block "report" ran, was reused or is stale
  xstate query --at-step 5      which code ran at step 5
  xstate init --example         a small program to try`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return noVerb(cmd, args[0])
		},
		SuggestionsMinimumDistance: 2,
		SilenceErrors:              true,
		SilenceUsage:               true,
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			a.parsed = true
			a.bounds.standard = standards[cmd.Name()]
			a.ui.JSON = a.ui.JSON || a.ui.Lines
			if a.wait != 0 {
				cmd.SetContext(state.WithWait(cmd.Context(), a.wait))
			}
			return a.forward(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return a.version()
			}
			return a.status(cmd.Context())
		},
	}
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().BoolVar(&a.ui.JSON, "json", false, "print one JSON document to stdout")
	root.PersistentFlags().
		StringVar(&a.store, "store", "", "use the store `DIR` (default: the nearest .xstate/ at or above the file)")
	root.PersistentFlags().
		Var((*patience)(&a.wait), "wait", "wait at most this `DURATION` for another process (default 5s)")
	root.PersistentFlags().BoolVar(&a.alone, "no-server", false, "do not use the server of the store")
	a.mayBegin = map[string]func([]string) error{}
	root.AddCommand(
		a.runVerb(),
		a.execVerb(),
		a.planVerb(),
		a.preflightVerb(),
		a.whyVerb(),
		a.queryVerb(),
		a.logVerb(),
		a.diffVerb(),
		a.patchVerb(),
		a.forkVerb(),
		a.applyVerb(),
		a.rollbackVerb(),
		a.undoVerb(),
		a.callsVerb(),
		a.approveVerb(),
		a.blameVerb(),
		a.replayVerb(),
		a.testVerb(),
		a.benchVerb(),
		a.artifactVerb(),
		a.evidenceVerb(),
		a.exportVerb(),
		a.importVerb(),
		a.serveVerb(),
		a.initVerb(),
		a.policyVerb(),
		a.doctorVerb(),
		a.gcVerb(),
		a.mcpVerb(),
		a.versionVerb(),
		a.completionVerb(),
		a.manVerb(),
		former(a.showVerb(), "query"),
		former(a.graphVerb(), "query --graph"),
		former(a.creditVerb(), "blame --by"),
		former(a.bisectVerb(), "replay --bisect"),
		former(a.verifyVerb(), "replay --times"),
		former(a.checkVerb(), "doctor --check"),
	)
	root.SetHelpCommand(helpVerb(root))
	return root
}

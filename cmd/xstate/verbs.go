package main

import (
	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/state"
)

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
		a.flowVerb(),
		a.approveVerb(),
		a.blameVerb(),
		a.replayVerb(),
		a.testVerb(),
		a.checkCodeVerb(),
		a.checkVerifierVerb(),
		a.benchVerb(),
		a.artifactVerb(),
		a.evidenceVerb(),
		a.exportVerb(),
		a.importVerb(),
		a.pushVerb(),
		a.pullVerb(),
		a.executeVerb(),
		a.uiVerb(),
		a.serveVerb(),
		a.initVerb(),
		a.policyVerb(),
		a.doctorVerb(),
		a.gcVerb(),
		a.mcpVerb(),
		a.kernelVerb(),
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

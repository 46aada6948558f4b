package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

func (a *app) whyVerb() *cobra.Command {
	var python string
	cmd := &cobra.Command{
		Use:   "why BLOCK",
		Short: "show why a block ran, was reused, is blocked or is stale",
		Long: `Why shows, for each node of a block (a definition, an import or a run of statements), what the last run
did with it and the reason: the key that changed, its two digests, the values where they are recorded, and the node that
wrote it. Then it shows what the next run would do, and whether the file has edits that are not recorded yet. Nothing is
executed.`,
		Example: `  xstate why report
  xstate why report --json`,
		Args:              takes(1, 1, "a BLOCK; xstate query lists them"),
		ValidArgsFunction: a.completeBlocks,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.why(cmd.Context(), args[0], python)
		},
	}
	cmd.Flags().Var(a.pythonPath(&python), "python", "the interpreter's `PATH`, as for run")
	return a.ofSession(cmd)
}

// completeBlocks completes the names of blocks.
func (a *app) completeBlocks(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	o, err := a.open(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer o.Close()
	blocks, _, err := o.history.Program(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, b := range blocks {
		names = append(names, string(b.ID))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeBlockFlags completes flags that name blocks.
func (a *app) completeBlockFlags(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		_ = cmd.RegisterFlagCompletionFunc(
			name,
			func(cmd *cobra.Command, args []string, s string) ([]string, cobra.ShellCompDirective) {
				if a.session == "" && len(args) > 0 && a.isSession(cmd, args[0]) {
					a.session = args[0]
				}
				return a.completeBlocks(cmd, nil, s)
			},
		)
	}
}

func (a *app) why(ctx context.Context, block, python string) error {
	o, err := a.openToPlan(ctx, python)
	if err != nil {
		return err
	}
	defer o.Close()
	x, planned, err := o.session.Why(ctx, xstate.BlockID(block), o.blocks())
	if err != nil {
		return err
	}
	program, _, err := o.history.Program(ctx)
	if err != nil {
		return err
	}
	a.places = a.placesOf(o.session, o.file, program)
	if x.Error = a.places.explain(x.Error); a.ui.JSON {
		return a.ui.Document(api.Why{Version: api.Version, Session: o.history.Name(), Explanation: x})
	}
	a.printWhy(x)
	if planned != nil {
		a.ui.Talk("cannot plan the next run: %s", a.errorDocument(planned).Message)
	}
	return nil
}

func (w *printer) printWhy(x *xstate.Explanation) {
	w.ui.Print("%s\n", whyHead(w.ui, x))
	for _, n := range x.Nodes {
		w.printReason(n, "  ")
	}
	if x.Error != nil {
		w.ui.Print("  %s: %s\n", x.Error.Type, x.Error.Message)
		if x.Error.Hint != "" {
			w.ui.Print("  hint: %s\n", x.Error.Hint)
		}
	}
	if x.RanAt > 0 && len(x.Nodes) == 0 && x.Error == nil {
		w.ui.Print("  it has no statement\n")
	}
	if x.Pending != "" {
		w.ui.Print("the file has it %s since; xstate run will record that\n", x.Pending)
	}
	if len(x.Next) == 0 {
		return
	}
	stale, fails := false, false
	for _, n := range x.Next {
		fails = fails || n.Action == "fail" // what comes after it in the block is blocked
		stale = stale || n.Action != "reuse" && n.Action != "fail" && !(fails && n.Action == "block")
	}
	switch {
	case !stale && fails:
		w.ui.Print("now: up to date, the next run would fail as before\n")
		return
	case !stale:
		w.ui.Print("now: up to date, the next run would reuse it\n")
		return
	case x.Next[0].Action == "skip":
		w.ui.Print("now: not reached\n")
	default:
		w.ui.Print("now: stale\n")
	}
	for _, n := range x.Next {
		if n.Action != "reuse" {
			w.printReason(n, "  ")
		}
	}
}

func whyHead(u *term.UI, x *xstate.Explanation) string {
	text := fmt.Sprintf("block %s: version of step %d", u.Bold(string(x.Block)), x.Edited)
	if by := originText(x.Origin); by != "" {
		text += " by " + by
	}
	if x.RanAt == 0 {
		return text + ", not run yet"
	}
	return text + fmt.Sprintf(", %s in step %d", x.Status, x.RanAt)
}

// verbs says actions in words.
var verbs = map[string]string{
	"run": "would run", "maybe": "may run", "reuse": "would be reused", "block": "would not run",
	"fail": "would fail as before",
	"new":  "was not reached",
	"skip": "would not be reached", "not-reached": "was not reached",
	"blocked": "did not run", "reused": "was reused",
}

func (w *printer) printReason(n xstate.NodeReason, margin string) {
	verb := n.Action
	if v, ok := verbs[verb]; ok {
		verb = v
	}
	took := ""
	if n.Seconds > 0 {
		took = ", " + term.Seconds(n.Seconds)
	}
	w.ui.Print("%s%s %s%s: %s (%s)\n", margin, n.Name, verb, took, query.Sentence(n.Reason), n.Reason.Code)
	if of := trustText(state.Trust{Tier: n.Trust, Signer: n.Signer}); of != "" {
		w.ui.Print("%s  the result is %s\n", margin, of)
	}
	if k := n.Reason.Key.Space(); k == "" || k == "call" { // the sentence says all of a call
		return
	}
	rows := [][]string{{margin + "  key", string(n.Reason.Key), ""}}
	rows = append(rows, []string{margin + "  was", digestText(n.Reason.Was), valueText(n.WasValue)})
	if n.Action != "maybe" {
		rows = append(rows, []string{margin + "  now", digestText(n.Reason.Now), valueText(n.NowValue)})
	}
	by := n.Reason.By
	switch {
	case by != "":
	case n.Reason.Key == "conf:argv" || n.Reason.Key.Space() == "stdin":
		by = "no block: the run was given it"
	default:
		by = "no block: it comes from the workspace or is built in"
	}
	rows = append(rows, []string{margin + "  written by", by, ""})
	w.ui.Table(rows)
}

// trustText says on whose word the store has a result; "" for its own.
func trustText(t state.Trust) string {
	switch {
	case t.Tier == state.TierForeign:
		return "foreign: it came with an archive and was not executed here"
	case t.Signer != "":
		return "of another store, signed by the key " + term.Short(t.Signer)
	case t.Tier == state.TierTrusted:
		return "of another store, which you trust"
	}
	return ""
}

func digestText(d state.Digest) string {
	if d == state.Absent {
		return "absent"
	}
	return term.Short(string(d))
}

package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/runner/journal"
)

func (a *app) typesVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "types",
		Short: "declare the tools for TypeScript",
		Long: `Types prints a declaration of the tools that a session's program can call, for editors, compilers and the
prompts of agents that write TypeScript.`,
		Example: `  xstate calls types > tools.d.ts`,
		Args:    takes(0, 0, "no argument"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.types(cmd.Context()) },
	}
	return a.sessionFlag(cmd)
}

func (a *app) types(ctx context.Context) error {
	a.bounds.executes = true // tools come from the policy
	return a.change(ctx, func(o *opened) error {
		a.ui.Print("%s", journal.TypeScript(o.session.Tools(ctx)))
		return nil
	})
}

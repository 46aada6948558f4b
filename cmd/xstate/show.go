package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) showVerb() *cobra.Command {
	var f showFlags
	cmd := &cobra.Command{
		Use:   "show [BLOCK|STEP]",
		Short: "print the program with its last results, or an edit and what it did",
		Long: `Show prints the blocks of the program as they were last recorded, each with its source and output. With a
BLOCK it prints only that one, and also what it read and wrote. It is query at the last step, for reading.

With the STEP of an edit it prints what the edit changed, and what the next run did because of it: what ran and why, the
values and files that were lost, the effects that were repeated.

A terminal of Kitty, Ghostty, iTerm2, WezTerm, or one with Sixel that TERM announces, shows pictures in place. --images
writes those of the BLOCK, or of all blocks, as files instead. --open shows those of the BLOCK in the system's viewer.`,
		Example: `  xstate show
  xstate show report
  xstate show plot --open
  xstate show --images figures
  xstate show 12`,
		Args:              takes(0, 1, "one BLOCK or STEP"),
		ValidArgsFunction: a.completeBlocks,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.show(cmd.Context(), args, f) },
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "of a BLOCK: all reads and writes, where many of a kind are one line")
	cmd.Flags().StringVar(&f.images, "images", "", "write pictures into the folder `DIR` and print their paths")
	cmd.Flags().BoolVar(&f.open, "open", false, "show the pictures of BLOCK in the system's viewer")
	return a.ofSession(cmd)
}

func (a *app) show(ctx context.Context, args []string, f showFlags) error {
	if f.open || f.images != "" {
		return a.showFigures(ctx, args, f)
	}
	if len(args) > 0 {
		return a.queryNamed(ctx, args[0], queryFlags{showFlags: f})
	}
	return a.query(ctx, queryFlags{full: true})
}

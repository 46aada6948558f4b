package main

import (
	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/runner"
)

// With --json-lines each event is a separate document on one line. The verb's document comes last, on one line.

// runEvent returns the event for what a run reports.
func runEvent(e runner.Event) api.Event {
	event := api.Event{Event: e.Kind, Block: e.Block, Seconds: micro(e.Seconds), Expected: micro(e.Expected)}
	if e.Kind == "output" {
		event.Output = &e.Output
	}
	return event
}

// linesFlag adds --json-lines.
func (a *app) linesFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.ui.Lines, "json-lines", false, "print a JSON document a line for each event, as it happens")
}

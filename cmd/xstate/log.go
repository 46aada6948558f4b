package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/state"
)

const timeFormat = "2006-01-02 15:04:05"

func (a *app) logVerb() *cobra.Command {
	limit := 0
	cmd := &cobra.Command{
		Use:   "log",
		Short: "list the steps of a session, newest first",
		Long: `Log lists the steps of a session, newest first: every edit with the lines it added and removed and who made it, and
every run with what it came to.`,
		Example: `  xstate log --limit 5`,
		Args:    takes(0, 0, ""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.log(cmd.Context(), limit) },
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "at most `N` steps; 0 for all")
	return a.sessionFlag(cmd)
}

func (a *app) log(ctx context.Context, limit int) error {
	o, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer o.Close()
	entries, err := o.session.Log(ctx, max(limit, 0))
	if err != nil {
		return err
	}
	if a.ui.json {
		return a.ui.document(struct {
			Version int            `json:"version"`
			Session string         `json:"session"`
			Steps   []xstate.Entry `json:"steps"`
		}{1, o.session.Name(), entries})
	}
	var rows [][]string
	for _, e := range entries {
		rows = append(rows, entryRow(e))
	}
	a.ui.write(columns(rows))
	if n := len(entries); n > 0 && entries[n-1].Number > 1 {
		a.ui.talk("%s before these; --limit 0 lists all", plural(int(entries[n-1].Number-1), "step"))
	}
	return nil
}

// entryRow is a step in columns: number, time, kind, what, who and why.
func entryRow(e xstate.Entry) []string {
	row := []string{fmt.Sprintf("step %d", e.Number), e.Time.Local().Format(timeFormat), string(e.Kind), entryText(e)}
	if by := originText(e.Origin); by != "" {
		row = append(row, by)
	}
	return row
}

func entryText(e xstate.Entry) string {
	switch {
	case e.Run != nil:
		text := countsText(e.Run.Blocks)
		if e.Run.Blocks.Ran+e.Run.Blocks.Failed > 0 {
			text += ", " + seconds(e.Run.Seconds)
		}
		return text
	case e.Kind == state.KindRollback:
		return fmt.Sprintf("to step %d", e.To)
	}
	text := string(e.Block)
	if e.Added+e.Removed > 0 {
		text += fmt.Sprintf(" +%d -%d", e.Added, e.Removed)
	}
	return strings.TrimSpace(text)
}

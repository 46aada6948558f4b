package main

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

const timeFormat = "2006-01-02 15:04:05"

// entryRow is a step in columns: number, time, kind, subject, author and reason.
func (c caller) entryRow(e query.Entry) []string {
	when := e.Time.In(c.zone()).Format(timeFormat)
	row := []string{fmt.Sprintf("step %d", e.Number), when, string(e.Kind), entryText(e)}
	if by := originText(e.Origin); by != "" {
		row = append(row, by)
	}
	return row
}

func entryText(e query.Entry) string {
	switch {
	case e.Run != nil:
		text := countsText(e.Run)
		if e.Run.Blocks.Ran+e.Run.Blocks.Failed > 0 {
			text += ", " + term.Seconds(e.Run.Seconds)
		}
		if e.Run.Sandbox != "" {
			text += ", sandbox " + e.Run.Sandbox
		}
		return text
	case e.Verified != nil:
		return verifiedText(e.Verified)
	case e.Tested != nil:
		return testedText(e.Tested)
	case e.Applied != nil:
		return fmt.Sprintf("applied %s of %s after its step %d", term.Plural(e.Applied.Count, "file"), e.Applied.From,
			e.Applied.Step)
	case e.Repeated != nil && len(e.Repeated.Differs) > 0:
		return fmt.Sprintf(
			"%s executed %d times: not the same %s",
			e.Block,
			e.Repeated.Times,
			strings.Join(e.Repeated.Differs, ", "),
		)
	case e.Repeated != nil:
		return fmt.Sprintf("%s executed %d times: the same", e.Block, e.Repeated.Times)
	case e.Artifact != nil:
		return artifactText(e)
	case e.Decided != nil:
		return fmt.Sprintf("call %d of %s: %s", e.Decided.Call, e.Decided.Tool, e.Decided.Choice)
	case e.Text != nil:
		return fmt.Sprintf("%s of the %s cell %s", e.Text.Edit, e.Text.Type, e.Text.Cell)
	case e.Kind == state.KindDeclare && e.Placement != nil:
		return fmt.Sprintf("%s as it was, for the %s time", e.Block, humanize.Ordinal(max(2, e.Placement.Times)))
	case e.Kind == state.KindRollback:
		return fmt.Sprintf("to step %d", e.To)
	case e.From != nil:
		return fmt.Sprintf("from %s after step %d", e.From.Session, e.From.Step)
	}
	text := string(e.Block)
	if e.Added+e.Removed > 0 {
		text += fmt.Sprintf(" +%d -%d", e.Added, e.Removed)
	}
	if e.Undoes > 0 {
		text += fmt.Sprintf(", undoes step %d", e.Undoes)
	}
	return strings.TrimSpace(text)
}

func artifactText(e query.Entry) string {
	text := fmt.Sprintf("artifact %s: %s", e.Artifact.Name, e.Artifact.Kind)
	if e.Artifact.Dropped {
		text = "artifact " + e.Artifact.Name + " dropped"
	}
	if e.Undoes > 0 {
		text += fmt.Sprintf(", undoes step %d", e.Undoes)
	}
	return text
}

func testedText(t *state.Testing) string {
	text := "ran " + term.Plural(t.Ran, "test")
	if t.Failed > 0 {
		text += fmt.Sprintf(", %d failed", t.Failed)
	}
	if t.Ran > 0 {
		text += ", " + term.Seconds(t.Seconds)
	}
	if t.Reused > 0 {
		text += fmt.Sprintf("; reused %d (%s saved)", t.Reused, term.Seconds(t.SavedSeconds))
	}
	return text
}

func verifiedText(v *state.Verification) string {
	text := fmt.Sprintf("step %d verified: %s equal to a run from scratch", v.Of, term.Plural(v.Blocks, "block"))
	if v.Differences > 0 {
		text += ", " + term.Plural(v.Differences, "difference")
	}
	if v.Explained > 0 {
		text += fmt.Sprintf(", %d explained", v.Explained)
	}
	return text
}

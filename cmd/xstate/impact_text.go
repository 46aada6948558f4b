package main

import (
	"fmt"
	"strings"

	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// textEffect says what an edit does to the text of its block.
func textEffect(kind string, x query.EditSummary) string {
	switch {
	case x.Form == query.FormLayout:
		return "layout only"
	case x.Form == query.FormComment:
		return "comments only"
	case x.Form == query.FormNone && state.Kind(kind) == state.KindMove:
		return "another place"
	case x.Form == query.FormNone:
		return "no code"
	}
	var parts []string
	for _, p := range []struct {
		what  string
		names []string
	}{{"adds", x.Symbols.Added}, {"changes", x.Symbols.Changed}, {"removes", x.Symbols.Removed}} {
		if len(p.names) > 0 {
			parts = append(parts, p.what+" "+strings.Join(p.names, ", "))
		}
	}
	if parts == nil {
		return "code that binds no name"
	}
	return strings.Join(parts, "; ")
}

// effectText says what a run loses and does again.
func effectText(e *query.Impact) string {
	var rows [][]string
	for _, l := range e.Lost {
		rows = append(rows, []string{"lost", string(l.Key), "made by " + l.By, valueText(l.Value)})
	}
	for _, f := range e.Fires {
		when := "again"
		if f.Action == string(runner.ActMaybe) {
			when = "maybe again"
		}
		rows = append(rows, []string{when, firedText(f.Effect), fmt.Sprintf("by %s", f.Node), evidenceText[f.Evidence]})
	}
	return term.Columns(rows)
}

var evidenceText = map[string]string{"former": "as the former code did", "predicted": "by its source",
	"asks": "asks first, unless it is the same"}

func firedText(effect string) string {
	if name, ok := strings.CutPrefix(effect, "file:"); ok {
		return "writes " + name
	}
	if call, ok := strings.CutPrefix(effect, "call:"); ok {
		number, text, _ := strings.Cut(call, " ")
		return fmt.Sprintf("%s (call %s)", text, number)
	}
	return effect
}

package query

import (
	"maps"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/languages"
	"github.com/xstate-engine/xstate/patch"
)

// Form is what an edit changes of a text.
type Form string

const (
	FormCode    Form = "code"
	FormComment Form = "comment" // comments, and maybe layout; no token of the code
	FormLayout  Form = "layout"  // white space, line ends
	FormNone    Form = ""        // nothing: a title, a place
)

// Symbols are the names that a block binds, by what an edit does to the statements that bind them. Each list is sorted.
type Symbols struct {
	Added   []string `json:"added"`
	Changed []string `json:"changed"`
	Removed []string `json:"removed"`
}

// EditSummary is what an edit does to the text of a block.
type EditSummary struct {
	Form    Form    `json:"form"`
	Symbols Symbols `json:"symbols"`
}

// SummarizeEdit compares two texts of a block. A text that does not parse has no symbols, and any change of it counts
// as code.
func SummarizeEdit(was, now string, dialect depgraph.Dialect) EditSummary {
	x := EditSummary{
		Form:    formOf(was, now, dialect),
		Symbols: Symbols{Added: []string{}, Changed: []string{}, Removed: []string{}},
	}
	if x.Form != FormCode {
		return x
	}
	old, _ := languages.Symbols([]byte(was), dialect)
	new, _ := languages.Symbols([]byte(now), dialect)
	for _, name := range slices.Sorted(maps.Keys(new)) {
		switch tokens, known := old[name]; {
		case !known:
			x.Symbols.Added = append(x.Symbols.Added, name)
		case tokens != new[name]:
			x.Symbols.Changed = append(x.Symbols.Changed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, kept := new[name]; !kept {
			x.Symbols.Removed = append(x.Symbols.Removed, name)
		}
	}
	return x
}

func formOf(was, now string, dialect depgraph.Dialect) Form {
	if was == now {
		return FormNone
	}
	old, err := languages.Analyze([]byte(was), dialect)
	if err != nil {
		return FormCode
	}
	new, err := languages.Analyze([]byte(now), dialect)
	switch {
	case err != nil || old.Tokens() != new.Tokens():
		return FormCode
	case !slices.Equal(languages.Comments(old, dialect), languages.Comments(new, dialect)):
		return FormComment
	}
	return FormLayout
}

// SummarizeEdits returns what each of some edits does to the text of its block.
func SummarizeEdits(old []patch.Block, edits []patch.Edit) []EditSummary {
	was := map[string]patch.Block{}
	for _, b := range old {
		was[b.ID] = b
	}
	var found []EditSummary
	for _, e := range edits {
		before, now := was[e.ID], e.Block
		dialect := now.Dialect
		switch e.Op {
		case patch.OpMove:
			now = before
		case patch.OpDelete:
			now, dialect = patch.Block{}, before.Dialect
		}
		found = append(found, SummarizeEdit(before.Source, now.Source, depgraph.Dialect(dialect)))
		was[e.ID] = now
	}
	return found
}

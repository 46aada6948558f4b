package bash

import (
	"strings"

	"github.com/xstate-engine/xstate/state/inspect"
)

// shown is the reply to a request to show a variable. Its description is a list of the elements of an array; the text
// of another variable is all there is.
type shown struct {
	OK          bool                 `json:"ok"`
	Repr        string               `json:"Repr"`
	Description *inspect.Description `json:"description,omitempty"`
}

// showing answers a request for a variable; at is the place that is described, nil: none is.
func showing(d declaration, at *inspect.Place) shown {
	if strings.HasSuffix(d.name, "()") {
		return shown{OK: true, Repr: d.value}
	}
	found := shown{OK: true, Repr: strings.TrimPrefix(d.value, "=")}
	if at != nil && (d.has("a") || d.has("A")) && !d.has("n") {
		found.Description = listed(d, at.Row)
	}
	return found
}

// listed describes an array from an element on. It is nil if an element is no text.
func listed(d declaration, from int) *inspect.Description {
	keys, values, why := elements(d)
	if why != "" {
		return nil
	}
	if from < 0 || from >= len(values) {
		from = 0
	}
	size := int64(len(values))
	root := inspect.Item{Type: kindOf(d), Size: &size}
	for i := from; i < min(len(values), from+inspect.Standard.Rows); i++ {
		key := "[" + keys[i] + "]"
		root.Items = append(root.Items, inspect.Item{Key: key, Type: "text", Text: clipped(values[i])})
	}
	root.More = size - int64(from+len(root.Items))
	return &inspect.Description{Tree: &inspect.Tree{From: int64(from), Root: root}}
}

// clipped returns the beginning of a long text.
func clipped(text string) string {
	if runes := []rune(text); len(runes) > inspect.Standard.Text {
		return string(runes[:inspect.Standard.Text]) + "..."
	}
	return text
}

package query

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

// Two runs of one program print texts that differ in names which say nothing: addresses of objects, and numbers that a
// library gives to what it displays, so that a page can refer to it. Texts are compared without them.

// Text renders outputs as text, without names that say nothing.
func Text(outputs []output.Output) string {
	var b strings.Builder
	for _, o := range outputs {
		b.WriteString("[" + o.Kind + "]")
		b.WriteString(o.Text)
		for _, media := range slices.Sorted(maps.Keys(o.Data)) {
			fmt.Fprintf(&b, "\n%s: %s", media, o.Data[media])
		}
		b.WriteByte('\n')
	}
	return renumbered(blanked(b.String()))
}

// ErrorText returns an error with its traceback, without object addresses, or "" for nil.
func ErrorText(e *state.ExecError) string {
	if e == nil {
		return ""
	}
	return blanked(e.Type + ": " + e.Message + "\n" + strings.Join(e.Traceback, "\n"))
}

// ErrorLine is an error without its place, because the place moves with the lines around it.
func ErrorLine(e *state.ExecError) string {
	return strings.TrimSuffix(blanked(e.Type+": "+e.Message), ": ")
}

// address matches object addresses: whole, or cut by what shortens a long text (reprlib, scikit-learn), which leaves
// the beginning before three dots, or the end after them.
var address = regexp.MustCompile(`0x[0-9a-f]{6,}|\bx[0-9a-f]{12}\b|0x[0-9a-f]*(\.\.\.|…)|` +
	`(\.\.\.|…)(0?x)?[0-9a-f]{3,16}(>|&gt;)`)

// blanked returns a text with 0x… for each address.
func blanked(text string) string {
	return address.ReplaceAllStringFunc(text, func(a string) string {
		if strings.HasSuffix(a, ">") {
			return "0x…>"
		}
		if strings.HasSuffix(a, "&gt;") {
			return "0x…&gt;"
		}
		return "0x…"
	})
}

// displayID matches the names that scikit-learn gives to the parts of a display. They count what the process displayed
// before.
var displayID = regexp.MustCompile(`\bsk-[a-z]+(?:-[a-z]+)*-id-[0-9]+\b`)

// renumbered returns a text with its display ids numbered in their order, so that what refers to a part still does.
func renumbered(text string) string {
	names := map[string]string{}
	return displayID.ReplaceAllStringFunc(text, func(id string) string {
		if names[id] == "" {
			names[id] = fmt.Sprintf("%s#%d", id[:strings.LastIndexByte(id, '-')], len(names)+1)
		}
		return names[id]
	})
}

package diff

import (
	"fmt"
	"strings"
)

// Unified returns the unified diff of two texts by lines, or "" if they are equal. The format is that of "diff -u" and
// "patch", including the note on a missing final line end. context is the number of unchanged lines around a change.
func Unified(oldName, newName, old, new string, context int) string {
	a, b := SplitLines(old), SplitLines(new)
	changes := Changes(a, b)
	if len(changes) == 0 {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", FileName(oldName), FileName(newName))
	for _, h := range Hunks(changes, max(0, context)) {
		h.write(&out, a, b, max(0, context))
	}
	return out.String()
}

// Stat counts the lines that Unified shows as added and removed.
func Stat(old, new string) (added, removed int) {
	for _, c := range Changes(SplitLines(old), SplitLines(new)) {
		added += c.NewEnd - c.NewStart
		removed += c.OldEnd - c.OldStart
	}
	return added, removed
}

// FileName writes a name so that diff readers find its end. As git does, it adds a tab to a name with spaces.
func FileName(name string) string {
	name = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(name)
	if strings.Contains(name, " ") {
		name += "\t"
	}
	return name
}

package patch

import (
	"strings"

	"github.com/xstate-engine/xstate/patch/diff"
)

// Compare returns the patch that turns the old texts into the new ones, in a format for Print. The patch mentions texts
// in the order of names. It creates a text that is only in new, and deletes a text that is only in old.
func Compare(f Format, names []string, old, new map[string]string) *Patch {
	p := &Patch{Format: f}
	for _, name := range names {
		was, before := old[name]
		is, after := new[name]
		whole := f == FormatBlock || f == FormatCell
		switch {
		case before && !after:
			p.Sections = append(p.Sections, Section{Act: ActDelete, Name: name, Text: was})
		case !before && after && f == FormatCell:
			p.Sections = append(p.Sections, Section{Act: ActInsert, After: previous(names, name, old), Text: is})
		case !before && after && f == FormatBlock:
			p.Sections = append(p.Sections, Section{Act: ActEmit, Name: name, Text: is})
		case !before && after:
			p.Sections = append(p.Sections, Section{Act: ActCreate, Name: name, Text: is})
		case was != is && whole:
			p.Sections = append(p.Sections, Section{Act: ActWrite, Name: name, Text: is})
		case was != is:
			p.Sections = append(p.Sections, Section{Act: ActUpdate, Name: name, Hunks: hunksOf(f, was, is)})
		}
	}
	return p
}

// previous returns the nearest earlier name that is among the old texts.
func previous(names []string, name string, old map[string]string) string {
	last := ""
	for _, n := range names {
		if n == name {
			break
		}
		if _, there := old[n]; there {
			last = n
		}
	}
	return last
}

const contextLines = 3

// hunksOf returns the hunks that turn one text into another. If a format has no line numbers, each hunk includes enough
// lines around it to occur only once.
func hunksOf(f Format, old, new string) []Hunk {
	a, b := diff.SplitLines(old), diff.SplitLines(new)
	if len(a) == 0 {
		return []Hunk{{New: new, Line: 1, End: true}}
	}
	numbered := f == FormatUnified || f == FormatGit
	var l *lineIndex
	if !numbered {
		l = newLineIndex(old)
	}
	var spans []wideHunk
	for _, h := range diff.Hunks(diff.Changes(a, b), contextLines) {
		w := widen(h, len(a), len(b), contextLines)
		for context := 2 * contextLines; l != nil && !l.once(a[w.from:w.to]) &&
			(w.from > 0 || w.to < len(a)); context *= 2 {
			w = widen(h, len(a), len(b), context)
		}
		if n := len(spans); n > 0 && w.from < spans[n-1].to {
			w.from, w.newFrom = spans[n-1].from, spans[n-1].newFrom
			spans = spans[:n-1]
		}
		spans = append(spans, w)
	}
	manner := ByLines
	if f == FormatEditor || f == FormatStrings {
		manner = ByText
	}
	var out []Hunk
	for _, w := range spans {
		out = append(out, Hunk{Manner: manner, Old: strings.Join(a[w.from:w.to], ""),
			New: strings.Join(b[w.newFrom:w.newTo], ""), Line: w.from + 1})
	}
	return out
}

// wideHunk is a hunk with its context lines.
type wideHunk struct{ from, to, newFrom, newTo int }

func widen(h diff.Hunk, old, new, context int) wideHunk {
	first, last := h[0], h[len(h)-1]
	above := min(context, first.OldStart)
	below := min(context, old-last.OldEnd)
	return wideHunk{first.OldStart - above, last.OldEnd + below, first.NewStart - above, min(last.NewEnd+below, new)}
}

// once reports whether the lines occur once in the text.
func (l *lineIndex) once(lines []string) bool {
	want := l.numbers(lines, Exact)
	return len(want) > 0 && len(l.find(want, 0, 2, Exact)) == 1
}

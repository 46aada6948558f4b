package patch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/patch/diff"
)

// editBuffer is a text while hunks are applied to it. It holds the original text and the replacements so far. A hunk
// that refers to what an earlier hunk wrote is applied to that. Only a hunk that cannot be placed this way costs a pass
// over the text.
type editBuffer struct {
	*locator
	result  *Result
	name    string
	ordered bool
	spots   []*replacement            // in the order of the text, without overlap
	joins   bool                      // a replacement is empty, so lines have become neighbours that were not
	written map[string][]*replacement // by line: the replacements that wrote it
}

// read starts with a new text.
func (u *editBuffer) read(text string) {
	u.locator = &locator{lineIndex: newLineIndex(text), name: u.name, ordered: u.ordered}
	u.spots, u.joins, u.written = nil, false, map[string][]*replacement{}
}

// commit makes the replacements and starts again with the result.
func (u *editBuffer) commit() {
	now := u.result.done(u.name, u.text, u.spots)
	u.result.Texts[u.name] = now
	u.read(now)
}

func (u *editBuffer) applyHunk(k int, h *Hunk) *ApplyError {
	if u.ordered || len(u.spots) == 0 {
		return u.locateInOriginal(k, h)
	}
	if h.Old == "" && h.Line > 0 && len(h.Under) == 0 {
		if at, base, ok := u.originalLine(h.Line - 1); ok {
			x := u.insertAt(base, h)
			x.hunk = k
			u.insert(at, x)
			return nil
		}
	}
	if h.Old != "" {
		u.more = true
		found, bad := u.locate(k, h)
		u.more = false
		apart := bad == nil && u.overlap(found, k) == nil
		switch {
		case apart && u.isFinal(h, found):
			u.keep(h, found)
			return nil
		case !apart && (bad == nil || bad.Code != CodeAmbiguous) && u.editWritten(k, h):
			return nil
		}
	}
	u.commit()
	return u.locateInOriginal(k, h)
}

// locateInOriginal finds a hunk in the original text.
func (u *editBuffer) locateInOriginal(k int, h *Hunk) *ApplyError {
	found, bad := u.locate(k, h)
	if bad == nil {
		bad = u.overlap(found, k)
	}
	if bad != nil {
		return bad
	}
	u.keep(h, found)
	return nil
}

// keep stores the replacements of a hunk.
func (u *editBuffer) keep(h *Hunk, found []replacement) {
	for _, x := range found {
		u.add(x)
	}
	u.reached(h, found)
}

// isFinal reports whether a place in the original text is right whatever was written since. It is if the match is
// exact, or if no replacement wrote one of the lines.
func (u *editBuffer) isFinal(h *Hunk, found []replacement) bool {
	if !slices.ContainsFunc(found, func(x replacement) bool { return x.how > Exact || x.loose }) {
		return true
	}
	return h.Manner == ByLines && !u.joins && len(u.writers(diff.SplitLines(h.Old))) == 0
}

// writers returns the replacements that wrote one of the lines.
func (u *editBuffer) writers(lines []string) []*replacement {
	var places []*replacement
	for _, line := range lines {
		for _, x := range u.written[keyOf(line, Punctuation)] {
			if !slices.Contains(places, x) {
				places = append(places, x)
			}
		}
	}
	return places
}

func (u *editBuffer) add(x replacement) { u.insert(u.placeOf(x), x) }

func (u *editBuffer) insert(at int, x replacement) {
	u.spots = slices.Insert(u.spots, at, &x)
	u.note(&x)
}

// note records the lines that a replacement writes, and where its hunk was found.
func (u *editBuffer) note(x *replacement) {
	u.result.Found = append(u.result.Found, Found{Name: u.name, Hunk: x.hunk + 1, Line: x.line + 1, How: x.how})
	if u.ordered {
		return
	}
	u.joins = u.joins || x.text == ""
	for line := range strings.Lines(x.text) {
		key := keyOf(line, Punctuation)
		if at := u.written[key]; len(at) <= maxPlacesTried && !slices.Contains(at, x) {
			u.written[key] = append(at, x)
		}
	}
}

// placeOf returns the index of a replacement in order. It comes after those that begin at the same place; but an
// insertion comes before a replacement that begins there.
func (u *editBuffer) placeOf(x replacement) int {
	i, _ := slices.BinarySearchFunc(u.spots, x, func(a *replacement, b replacement) int {
		if a.start == b.start && a.end > a.start && b.end == b.start {
			return 1
		}
		return cmp.Or(cmp.Compare(a.start, b.start), -1)
	})
	return i
}

// overlap returns an error if a hunk changes lines that another hunk changes.
func (u *editBuffer) overlap(found []replacement, k int) *ApplyError {
	for _, x := range found {
		i := u.placeOf(x)
		other := -1
		switch {
		case i > 0 && u.spots[i-1].end > x.start:
			other = u.spots[i-1].hunk
		case i < len(u.spots) && u.spots[i].start < x.end:
			other = u.spots[i].hunk
		}
		if other >= 0 && other != k {
			return &ApplyError{Code: CodeOverlap, Name: u.name, Hunk: k + 1,
				Message: fmt.Sprintf("it changes lines that hunk %d changes, too", other+1),
				Hint:    "make one hunk of the two"}
		}
	}
	return nil
}

// originalLine finds the line of the original text that a line of the current text stood before, and its index among
// the replacements. ok is false for a line that a hunk wrote, or that does not exist.
func (u *editBuffer) originalLine(line int) (at, base int, ok bool) {
	shift := 0
	for at = range u.spots {
		x := u.spots[at]
		begin := x.line + shift
		if line <= begin {
			return at, line - shift, true
		}
		wrote, took := strings.Count(x.text, "\n"), strings.Count(u.text[x.start:x.end], "\n")
		if line < begin+wrote || line == begin+wrote && (x.end > u.from[min(x.line+took, u.len())] ||
			!strings.HasSuffix(x.text, "\n")) {
			return 0, 0, false
		}
		shift += wrote - took
	}
	return len(u.spots), line - shift, line-shift <= u.len()
}

// editWritten applies a hunk to what an earlier hunk wrote and the lines around it, if exactly one such place exists.
func (u *editBuffer) editWritten(k int, h *Hunk) bool {
	old := diff.SplitLines(h.Old)
	places := u.writers(old)
	if u.joins || len(places) > maxPlacesTried {
		return false
	}
	var into *replacement
	var made replacement
	for _, x := range places {
		one, found, sure := u.editNear(x, h, len(old))
		if !sure || found && into != nil {
			return false
		}
		if found {
			into, made = x, one
		}
	}
	if into == nil {
		return false
	}
	made.hunk = k
	*into = made
	u.note(into)
	return true
}

// editNear finds a hunk of n lines in the text of a replacement and the n lines around it. It returns a replacement
// that does both.
func (u *editBuffer) editNear(x *replacement, h *Hunk, n int) (out replacement, found, sure bool) {
	after, _ := slices.BinarySearch(u.from, x.end)
	from, to := u.from[max(0, x.line-n)], u.from[min(u.len(), after+n)]
	i := slices.Index(u.spots, x)
	if i < 0 || i > 0 && u.spots[i-1].end > from || i+1 < len(u.spots) && u.spots[i+1].start < to {
		return out, false, false // another replacement is too close
	}
	w := &locator{lineIndex: newLineIndex(u.text[from:x.start] + x.text + u.text[x.end:to]), name: u.name, more: true}
	places, bad := w.locate(0, h)
	if bad != nil || len(places) != 1 {
		return out, false, bad != nil && bad.Code == CodeAbsent
	}
	y := places[0]
	begin, end := x.start-from, x.start-from+len(x.text)
	low, high := min(begin, y.start), max(end, y.end)
	out = replacement{start: x.start - (begin - low), end: x.end + (high - end), how: max(x.how, y.how)}
	out.text = w.text[low:y.start] + y.text + w.text[y.end:high]
	out.line = u.lineOf(out.start)
	return out, true, true
}

package patch

import (
	"fmt"
	"strings"

	"github.com/xstate-engine/xstate/patch/diff"
)

// locate finds the places of a hunk. There is one place, unless the hunk replaces every occurrence.
func (l *locator) locate(k int, h *Hunk) ([]replacement, *ApplyError) {
	spots, bad := l.places(h)
	if bad == nil && h.Times > 0 && len(spots) != h.Times {
		var lines []int
		for _, s := range spots {
			lines = append(lines, s.line)
		}
		bad = l.ambiguous(lines, countLines(h.Old))
		bad.Hint = "give the number of places, or more of the lines around the one that is meant"
		bad.Message = fmt.Sprintf("the text to replace is there %d times, and the patch expects %d", len(spots),
			h.Times)
	}
	if bad != nil {
		bad.Name, bad.Hunk, bad.Old = l.name, k+1, h.Old
		return nil, bad
	}
	for i := range spots {
		spots[i].hunk = k
	}
	return spots, nil
}

func (l *locator) places(h *Hunk) ([]replacement, *ApplyError) {
	switch {
	case h.Old == "":
		s, bad := l.insertion(h)
		return []replacement{s}, bad
	case h.Manner == ByText:
		if spots, bad := l.bytesOf(h); len(spots) > 0 || bad != nil {
			return spots, bad
		}
		spots, bad := l.lines(h)
		for i := range spots {
			spots[i].loose = true
		}
		return spots, bad
	}
	return l.lines(h)
}

// insertion returns the place of a hunk without old text.
func (l *locator) insertion(h *Hunk) (replacement, *ApplyError) {
	line := l.len()
	switch {
	case len(h.Under) > 0:
		all, bad := l.scopes(h)
		switch {
		case bad != nil:
			return replacement{}, bad
		case h.End:
			return l.insertAt(l.len(), h), nil
		case len(all) > 1:
			var places []int
			for _, s := range all {
				places = append(places, s.from-1)
			}
			bad := l.ambiguous(places, 1)
			bad.Message = strings.Replace(bad.Message, "text to replace", "line above the new ones", 1)
			return replacement{}, bad
		}
		s := l.insertAt(all[0].from, h)
		s.how = all[0].how
		return s, nil
	case h.Line > l.len()+1 && !h.End:
		return replacement{}, &ApplyError{Code: CodeAbsent,
			Message: fmt.Sprintf("there is no line %d to insert after: the text has %d", h.Line-1, l.len()),
			Hint:    "read the current text (`xstate query --full`) and give the line again"}
	case h.Line > 0:
		line = h.Line - 1
	}
	return l.insertAt(line, h), nil
}

// insertAt inserts lines before a line. After a last line without a line end, it adds one there, and the inserted text
// has none at its end.
func (l *locator) insertAt(line int, h *Hunk) replacement {
	at := l.from[line]
	text := h.New
	if text == "" {
		return replacement{start: at, end: at, line: line}
	}
	if h.Manner == ByLines {
		text = withEnds(text, l.lineEnd(line))
	} else if line < l.len() && text != "" && !strings.HasSuffix(text, "\n") {
		text += l.lineEnd(line)
	}
	if line == l.len() && (!l.ended() || h.New != "" && !strings.HasSuffix(h.New, "\n")) {
		text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	}
	if line == l.len() && !l.ended() {
		text = l.lineEnd(line) + text
	}
	return replacement{start: at, end: at, text: text, line: line}
}

// bytesOf finds a piece of text byte for byte. If the text has Windows line ends, the hunk may lack them.
func (l *locator) bytesOf(h *Hunk) ([]replacement, *ApplyError) {
	spots, bad := l.exactBytes(h)
	if len(spots) == 0 && bad == nil && strings.Contains(h.Old, "\n") && !strings.Contains(h.Old, "\r") &&
		l.lineEnd(0) == "\r\n" {
		windows := *h
		windows.Old, windows.New = strings.ReplaceAll(h.Old, "\n", "\r\n"),
			strings.ReplaceAll(unix(h.New), "\n", "\r\n")
		return l.exactBytes(&windows)
	}
	return spots, bad
}

func (l *locator) exactBytes(h *Hunk) ([]replacement, *ApplyError) {
	if h.Line > 0 && h.Line <= l.len() {
		if at := l.from[h.Line-1]; strings.HasPrefix(l.text[at:], h.Old) {
			return []replacement{{start: at, end: at + len(h.Old), text: h.New, line: h.Line - 1}}, nil
		}
	}
	var found []replacement
	line := 0
	for at := 0; ; {
		i := strings.Index(l.text[at:], h.Old)
		if i < 0 {
			break
		}
		at += i
		for line+1 < l.len() && l.from[line+1] <= at {
			line++
		}
		found = append(found, replacement{start: at, end: at + len(h.Old), text: h.New, line: line})
		if len(found) == maxCandidates+1 && !h.All {
			break
		}
		at += len(h.Old)
	}
	if len(found) > 1 && !h.All {
		lines := make([]int, len(found))
		for i, s := range found {
			lines[i] = s.line
		}
		return nil, l.ambiguous(lines, countLines(h.Old))
	}
	return found, nil
}

// lines finds whole lines, first exactly and then less and less strictly.
func (l *locator) lines(h *Hunk) ([]replacement, *ApplyError) {
	all, bad := l.scopes(h)
	if bad != nil {
		return nil, bad
	}
	for _, try := range []func(*Hunk, int) ([]replacement, *ApplyError){l.linesByStrictness, l.linesWithoutBlanks,
		l.linesAroundDots, l.linesWithGaps} {
		if spots, bad := l.inScopes(h, all, try); len(spots) > 0 || bad != nil {
			return spots, bad
		}
	}
	if spots, bad := l.inScopes(h, all[:1], l.fuzzyLines); len(spots) > 0 || bad != nil {
		return spots, bad
	}
	if l.more {
		return nil, &ApplyError{Code: CodeAbsent}
	}
	return nil, l.absent(diff.SplitLines(h.Old))
}

// linesByStrictness finds lines that are equal at some strictness.
func (l *locator) linesByStrictness(h *Hunk, from int) ([]replacement, *ApplyError) {
	old := diff.SplitLines(h.Old)
	if l.numbers(old, Punctuation) == nil {
		return nil, nil // then they are not equal at a stricter level either
	}
	for s := range Fuzzy {
		want := l.numbers(old, s)
		if want == nil {
			continue
		}
		lines, bad := l.choose(h, want, from, s)
		if bad != nil {
			return nil, bad
		}
		var spots []replacement
		for _, i := range lines {
			if one, ok := l.replace(h, old, i, s); ok {
				spots = append(spots, one)
			}
		}
		if len(spots) > 0 {
			return spots, nil
		}
	}
	return nil, nil
}

// linesWithoutBlanks finds lines without the blank ones around them, which models often add or leave out.
func (l *locator) linesWithoutBlanks(h *Hunk, from int) ([]replacement, *ApplyError) {
	old, fresh := diff.SplitLines(h.Old), diff.SplitLines(h.New)
	cut := false
	for len(old) > 1 && len(fresh) > 0 && blankLine(old[0]) && blankLine(fresh[0]) {
		old, fresh, cut = old[1:], fresh[1:], true
	}
	for len(old) > 1 && len(fresh) > 0 && blankLine(old[len(old)-1]) && blankLine(fresh[len(fresh)-1]) {
		old, fresh, cut = old[:len(old)-1], fresh[:len(fresh)-1], true
	}
	if !cut {
		return nil, nil
	}
	less := *h
	less.Old, less.New = strings.Join(old, ""), strings.Join(fresh, "")
	spots, bad := l.linesByStrictness(&less, from)
	for i := range spots {
		spots[i].how = max(spots[i].how, Trailing)
	}
	return spots, bad
}

// linesAroundDots finds the parts of a hunk that leaves out lines with "..." in the old and the new text.
func (l *locator) linesAroundDots(h *Hunk, from int) ([]replacement, *ApplyError) {
	old, fresh := atDots(h.Old), atDots(h.New)
	if len(old) < 2 || len(old) != len(fresh) {
		return nil, nil
	}
	var spots []replacement
	for k := range old {
		if old[k] == "" && fresh[k] == "" {
			continue
		}
		if old[k] == "" {
			return nil, nil
		}
		part := Hunk{Old: old[k], New: fresh[k]}
		found, bad := l.linesByStrictness(&part, from)
		if len(found) != 1 || bad != nil {
			return nil, bad
		}
		spots = append(spots, found...)
		from = found[0].line + countLines(old[k])
	}
	return spots, nil
}

// atDots cuts a text at lines that are "...".
func atDots(text string) []string {
	var parts []string
	from, at := 0, 0
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "..." {
			parts = append(parts, text[from:at])
			from = at + len(line)
		}
		at += len(line)
	}
	return append(parts, text[from:])
}

// fuzzyLines finds the lines that are most similar.
func (l *locator) fuzzyLines(h *Hunk, from int) ([]replacement, *ApplyError) {
	if l.more {
		return nil, nil
	}
	old := diff.SplitLines(h.Old)
	if i, ok := l.fuzzy(h, old, from); ok {
		if one, ok := l.replace(h, old, i, Fuzzy); ok {
			return []replacement{one}, nil
		}
	}
	return nil, nil
}

// choose returns the intended one of the places where lines with these numbers begin. The result is empty if there is
// none.
func (l *locator) choose(h *Hunk, want []int, from int, s Strictness) ([]int, *ApplyError) {
	last := l.len() - len(want)
	if (h.End || !strings.HasSuffix(h.Old, "\n") && h.Manner == ByLines) && last >= from && l.matchesAt(want, last, s) {
		return []int{last}, nil
	}
	if said := h.Line - 1 + l.shift; h.Line > 0 && said >= from && l.matchesAt(want, said, s) {
		return []int{said}, nil
	}
	most := maxCandidates + 1
	if h.All {
		most = l.len()
	}
	found := l.find(want, from, most, s)
	if len(found) < 2 || h.All {
		return apart(found, len(want)), nil
	}
	if len(h.Under) > 0 {
		return l.nearest(found, from, len(want))
	}
	if behind := l.find(want, max(from, l.after), 2, s); len(behind) == 1 && l.after > 0 && l.ordered {
		return behind, nil
	}
	return nil, l.ambiguous(found, len(want))
}

// apart drops a place that overlaps the one before.
func apart(found []int, size int) []int {
	var out []int
	for _, i := range found {
		if len(out) == 0 || i >= out[len(out)-1]+size {
			out = append(out, i)
		}
	}
	return out
}

// replace returns the replacement of the lines from line i on. Lines that the hunk keeps stay as they are in the text.
// ok is false if the nesting of the lines differs from that in the hunk.
func (l *locator) replace(h *Hunk, old []string, i int, s Strictness) (replacement, bool) {
	there := make([]string, len(old))
	for k := range old {
		there[k] = l.full(i + k)
	}
	put := func(line string) string { return line }
	if s >= Indentation {
		m, ok := indentMapOf(old, there)
		if !ok && s < Fuzzy {
			return replacement{}, false
		}
		if ok {
			put = m.indent
		}
	}
	fresh := diff.SplitLines(h.New)
	end := l.lineEnd(i)
	var out strings.Builder
	at := 0
	write := func(lines []string) {
		if s := out.String(); len(lines) > 0 && s != "" && s[len(s)-1] != '\n' {
			out.WriteString(end) // this line is not the last any more
		}
		for _, line := range lines {
			out.WriteString(put(bare(line)) + end)
		}
	}
	for _, c := range diff.Changes(bares(old), bares(fresh)) {
		for ; at < c.OldStart; at++ {
			out.WriteString(there[at])
		}
		write(fresh[c.NewStart:c.NewEnd])
		at = c.OldEnd
	}
	for ; at < len(there); at++ {
		out.WriteString(there[at])
	}
	text := out.String()
	if i+len(old) == l.len() {
		text = l.lastEnd(h, text, end)
	}
	return replacement{start: l.from[i], end: l.from[i+len(old)], text: text, how: s, line: i}, true
}

// withEnds gives every line the same line end, including the last.
func withEnds(text, end string) string {
	var out strings.Builder
	for _, line := range diff.SplitLines(text) {
		out.WriteString(bare(line) + end)
	}
	return out.String()
}

// reached records where a hunk was found, for the next hunk.
func (l *locator) reached(h *Hunk, found []replacement) {
	last := found[len(found)-1]
	l.after = last.line + countLines(h.Old)
	if h.Line > 0 {
		l.shift = last.line - (h.Line - 1)
	}
}

package patch

import (
	"fmt"
	"strings"
)

// scope is a range of lines below the lines that Hunk.Under lists. A line that occurs several times begins several
// scopes. Then the place is certain only if the hunk fits into one of them.
type scope struct {
	from, to int // the lines below the last of them, up to where the next scope begins
	how      Strictness
}

// maxScopes bounds the places of the outermost line that are looked at.
const maxScopes = 256

// scopes returns the scopes of a hunk, below the hunk before it if there are any.
func (l *locator) scopes(h *Hunk) ([]scope, *ApplyError) {
	if len(h.Under) == 0 {
		return []scope{{to: l.len()}}, nil
	}
	first, how := l.seek(h.Under[0], l.after, maxScopes)
	if len(first) == 0 && l.after > 0 {
		first, how = l.seek(h.Under[0], 0, maxScopes)
	}
	missing := h.Under[0]
	var out []scope
	for i, line := range first {
		s := scope{from: line + 1, to: l.len(), how: how}
		if i+1 < len(first) {
			s.to = first[i+1]
		}
		there := true
		for _, u := range h.Under[1:] { // the nearest one below
			inner, how := l.seek(u, s.from, 1)
			if there = len(inner) > 0 && (inner[0] < s.to || i+1 == len(first)); !there {
				missing = u
				break
			}
			s.from, s.how = inner[0]+1, max(s.how, how)
		}
		if there {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		bad := l.absent([]string{missing})
		bad.Message = fmt.Sprintf("the line above it is not there: %s", strings.TrimSpace(missing))
		return nil, bad
	}
	return out, nil
}

// seek returns the first n places of a line from another line on.
func (l *locator) seek(line string, from, n int) ([]int, Strictness) {
	for s := range Fuzzy {
		if number := l.number(line, s); number >= 0 {
			if found := l.find([]int{number}, from, n, s); len(found) > 0 {
				return found, s
			}
		}
	}
	return nil, Exact
}

// inScopes tries to find a hunk in each scope. That it is found in several is an error.
func (l *locator) inScopes(h *Hunk, all []scope, try func(*Hunk, int) ([]replacement, *ApplyError)) (
	spots []replacement, bad *ApplyError,
) {
	var places []int
	for _, s := range all {
		found, bad := try(h, s.from)
		if bad != nil {
			return nil, bad
		}
		if len(found) == 0 || found[0].line >= s.to && len(all) > 1 {
			continue
		}
		for i := range found {
			found[i].how = max(found[i].how, s.how)
		}
		spots, places = found, append(places, found[0].line)
	}
	if len(places) > 1 {
		return nil, l.ambiguous(places, countLines(h.Old))
	}
	return spots, nil
}

// nearest returns the first of the places below the lines that Hunk.Under lists. If the last of these opens a suite,
// the place is the only one in it.
func (l *locator) nearest(found []int, from, size int) ([]int, *ApplyError) {
	end := l.suiteEnd(from)
	if inside := found[0] < end; inside == (found[1] < end) && end > from {
		return nil, l.ambiguous(found, size)
	}
	return found[:1], nil
}

// suiteEnd returns the end of the suite that the line above opens: the first line with no more margin than that line.
// It returns from if there is none.
func (l *locator) suiteEnd(from int) int {
	if from == 0 {
		return from
	}
	margin, end := indentOf(l.full(from-1)), from
	for i := from; i < l.len() && (blankLine(l.full(i)) || indentOf(l.full(i)) > margin); i++ {
		if !blankLine(l.full(i)) {
			end = i + 1
		}
	}
	return end
}

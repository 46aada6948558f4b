package patch

import (
	"strings"
	"unicode"

	"github.com/xstate-engine/xstate/patch/diff"
)

// lineIndex is a text as lines that can be looked up by content, at each strictness.
type lineIndex struct {
	text  string
	from  []int                // offset of each line, and the length of text at the end
	keys  [Fuzzy][]int         // by strictness: the number of each line; equal lines have equal numbers
	names [Fuzzy]diff.Interner // by strictness: the text behind each number
	at    [Fuzzy][][]int32     // by strictness and number: the lines that have it, in rising order
	words map[string][]int32
}

func newLineIndex(text string) *lineIndex {
	l := &lineIndex{text: text, from: []int{0}}
	for i := strings.IndexByte(text, '\n'); i >= 0 && i+1 < len(text); {
		l.from = append(l.from, i+1)
		next := strings.IndexByte(text[i+1:], '\n')
		if next < 0 {
			break
		}
		i += next + 1
	}
	if text != "" {
		l.from = append(l.from, len(text))
	}
	return l
}

// len returns the number of lines.
func (l *lineIndex) len() int { return len(l.from) - 1 }

// full returns a line with its line end.
func (l *lineIndex) full(i int) string { return l.text[l.from[i]:l.from[i+1]] }

// span returns the text of a range of lines.
func (l *lineIndex) span(first, after int) string { return l.text[l.from[first]:l.from[after]] }

// ended reports whether the last line has a line end. A text without lines needs none.
func (l *lineIndex) ended() bool { return l.text == "" || strings.HasSuffix(l.text, "\n") }

// lineEnd returns the line end of the lines near one line.
func (l *lineIndex) lineEnd(near int) string {
	for _, i := range []int{near, near - 1, 0} {
		if i < 0 || i >= l.len() {
			continue
		}
		switch s := l.full(i); {
		case strings.HasSuffix(s, "\r\n"):
			return "\r\n"
		case strings.HasSuffix(s, "\n"):
			return "\n"
		}
	}
	return "\n"
}

// bare returns a line without its line end.
func bare(line string) string {
	line = strings.TrimSuffix(line, "\n")
	return strings.TrimSuffix(line, "\r")
}

// keyOf returns the part of a line that counts at a strictness.
func keyOf(line string, s Strictness) string {
	line = bare(line)
	switch s {
	case Trailing:
		return strings.TrimRightFunc(line, unicode.IsSpace)
	case Indentation:
		return strings.TrimSpace(line)
	case Punctuation:
		return strings.TrimSpace(plainPunctuation(line))
	}
	return line
}

// plainPunctuation replaces typographic characters by those of a keyboard, one for one.
func plainPunctuation(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return strings.Map(plain, s)
		}
	}
	return s
}

func plain(r rune) rune {
	switch r {
	case '‐', '‑', '‒', '–', '—', '―', '−':
		return '-'
	case '‘', '’', '‚', '‛':
		return '\''
	case '“', '”', '„', '‟':
		return '"'
	case '\u00a0', '\u2002', '\u2003', '\u2004', '\u2005', '\u2006', '\u2007', '\u2008', '\u2009', '\u200a', '\u202f',
		'\u205f', '\u3000':
		return ' '
	}
	return r
}

// index numbers the lines at a strictness.
func (l *lineIndex) index(s Strictness) {
	if l.names[s] != nil {
		return
	}
	l.names[s] = diff.Interner{}
	l.keys[s] = make([]int, l.len())
	for i := range l.len() {
		n := l.names[s].Number(keyOf(l.full(i), s))
		l.keys[s][i] = n
		if n == len(l.at[s]) {
			l.at[s] = append(l.at[s], nil)
		}
		l.at[s][n] = append(l.at[s][n], int32(i))
	}
}

// number returns the number of a line at a strictness, or -1 if the text has no such line.
func (l *lineIndex) number(line string, s Strictness) int {
	l.index(s)
	if n, ok := l.names[s][keyOf(line, s)]; ok {
		return n
	}
	return -1
}

// numbers returns the numbers of some lines, or nil if one of them is not in the text.
func (l *lineIndex) numbers(lines []string, s Strictness) []int {
	out := make([]int, len(lines))
	for k, line := range lines {
		if out[k] = l.number(line, s); out[k] < 0 {
			return nil
		}
	}
	return out
}

// matchesAt reports whether lines with these numbers begin at line i.
func (l *lineIndex) matchesAt(want []int, i int, s Strictness) bool {
	if i < 0 || i+len(want) > l.len() {
		return false
	}
	for k, n := range want {
		if l.keys[s][i+k] != n {
			return false
		}
	}
	return true
}

// maxPlacesTried is the largest number of places of the rarest line that find tries one by one.
const maxPlacesTried = 16

// find returns the first n places, from a line on, where lines with these numbers begin. Its cost grows with the count
// of their rarest line. It never exceeds the number of lines (Knuth, Morris, Pratt).
func (l *lineIndex) find(want []int, from, n int, s Strictness) []int {
	var found []int
	rarest := 0
	for k := range want {
		if len(l.at[s][want[k]]) < len(l.at[s][want[rarest]]) {
			rarest = k
		}
	}
	if places := l.at[s][want[rarest]]; len(places) <= maxPlacesTried {
		for _, p := range places {
			if i := int(p) - rarest; i >= from && len(found) < n && l.matchesAt(want, i, s) {
				found = append(found, i)
			}
		}
		return found
	}
	back := borders(want)
	for i, k := from, 0; i < l.len() && len(found) < n; i++ {
		for k > 0 && l.keys[s][i] != want[k] {
			k = back[k-1]
		}
		if l.keys[s][i] == want[k] {
			k++
		}
		if k == len(want) {
			found = append(found, i-k+1)
			k = back[k-1]
		}
	}
	return found
}

// borders returns, for every prefix of a list, the length of its longest proper prefix that is also its suffix.
func borders(list []int) []int {
	out := make([]int, len(list))
	k := 0
	for i := 1; i < len(list); i++ {
		for k > 0 && list[i] != list[k] {
			k = out[k-1]
		}
		if list[i] == list[k] {
			k++
		}
		out[i] = k
	}
	return out
}

package patch

import (
	"bytes"
	"regexp"
	"sort"
	"strings"

	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/patch/syntax"
	"github.com/xstate-engine/xstate/patch/syntax/python"
)

// cellMarker is a line that starts a cell.
type cellMarker struct {
	line  int // from 0
	title string
	id    string
	text  bool // what follows is not code: [markdown], [raw]
}

var (
	percentMarker   = regexp.MustCompile(`^[ \t]*%%+(.*)$`)                      // after a sign: Jupytext, VS Code
	promptMarker    = regexp.MustCompile(`^#[ \t]*In[ ]?\[[ \d]*\]:?[ \t]*$`)    // nbconvert
	codecellMarker  = regexp.MustCompile(`^#[ \t]*<(code|markdown)cell>[ \t]*$`) // IPython, before nbconvert
	notCodeType     = regexp.MustCompile(`\[(?:markdown|md|raw)\]`)              // Jupytext's cell types
	optionAtEnd     = regexp.MustCompile(`(?:^|[ \t])([\w.-]+)=("[^"]*"|'[^']*'|\[[^\]]*\]|\{[^}]*\}|true|false|null)$`)
	optionsInBraces = regexp.MustCompile(`(?:^|[ \t])\{.*\}$`)
	firstWord       = regexp.MustCompile(`^(?:!|[A-Za-z]\w*)`)
)

// magics are the cell magics that Jupytext writes as "# %%time". They must be known, because the text of a marker may
// also follow %% without a space.
var magics = map[string]bool{
	"!": true, "HTML": true, "SVG": true, "R": true, "bash": true, "bigquery": true, "capture": true, "cython": true,
	"debug": true, "file": true, "html": true, "javascript": true, "js": true, "latex": true, "markdown": true,
	"perl": true, "prun": true, "pypy": true, "python": true, "python2": true, "python3": true, "ruby": true,
	"script": true, "sh": true, "sql": true, "svg": true, "sx": true, "system": true, "time": true, "timeit": true,
	"writefile": true,
}

// markerIn reads a line as a marker of a language. ok is false if it is none.
func markerIn(s *syntax.Syntax, line []byte) (cellMarker, bool) {
	if !bytes.HasPrefix(line, []byte(s.Comment)) {
		return cellMarker{}, false
	}
	_, m, ok := anyMarker(line)
	return m, ok
}

// anyMarker reads a line as a marker of any language, and returns the first language with such comments. ok is false if
// it is none.
func anyMarker(line []byte) (l *lang.Language, m cellMarker, ok bool) {
	if l, ok = lang.Commented(line); !ok {
		return nil, m, false
	}
	if promptMarker.Match(line) {
		return l, m, true
	}
	if found := codecellMarker.FindSubmatch(line); found != nil {
		return l, cellMarker{text: string(found[1]) == "markdown"}, true
	}
	text, ok := afterPercent(line)
	if !ok || magics[string(firstWord.Find(text))] {
		return nil, m, false
	}
	return l, parseTitle(string(text)), true
}

// afterPercent returns the text after the %% of a comment that begins a cell, or an IPython cell with a magic.
func afterPercent(line []byte) (text []byte, ok bool) {
	l, ok := lang.Commented(line)
	if !ok {
		return nil, false
	}
	found := percentMarker.FindSubmatch(line[len(l.Comment):])
	if found == nil {
		return nil, false
	}
	return found[1], true
}

// parseTitle reads the text after %%: a title, a type in brackets, and options at the end.
func parseTitle(s string) cellMarker {
	var m cellMarker
	s = strings.TrimSpace(s)
	for {
		at := optionAtEnd.FindStringSubmatchIndex(s)
		if at == nil {
			break
		}
		m.set(s[at[2]:at[3]], strings.Trim(s[at[4]:at[5]], `"'`))
		s = strings.TrimSpace(s[:at[0]])
	}
	s = optionsInBraces.ReplaceAllString(s, "")
	m.text = notCodeType.MatchString(s)
	s = strings.Trim(notCodeType.ReplaceAllString(s, ""), " \t\f-=#*")
	if s != "" {
		m.title = s
	}
	return m
}

func (m *cellMarker) set(key, value string) {
	switch key {
	case "id":
		m.id = value
	case "name", "title":
		m.title = value
	}
}

// cellMarkers returns the lines that start cells. A marker inside a string or another statement is a comment of that
// statement. A cut there would leave two halves that do not parse.
func cellMarkers(t *syntax.Text, list []syntax.Statement, broken bool) []cellMarker {
	var out []cellMarker
	for i := range t.Lines() {
		if m, ok := markerIn(t.Syntax, t.Line(i)); ok {
			m.line = i
			out = append(out, m)
		}
	}
	if !t.Python {
		return markersOfCells(t, out, list)
	}
	if broken {
		return markersInBroken(t, out)
	}
	return outside(t, out, list)
}

// outside drops the markers inside statements. Both lists are in order.
func outside(t *syntax.Text, marks []cellMarker, list []syntax.Statement) []cellMarker {
	out := marks[:0]
	var s syntax.Scanner // scans list[0]
	for _, m := range marks {
		at := t.Begin(m.line)
		for len(list) > 0 && list[0].End <= at {
			list = list[1:]
			s = syntax.Scanner{}
		}
		if len(list) == 0 || at < list[0].Start || !encloses(t, list[0], &s, at) {
			out = append(out, m)
		}
	}
	return out
}

// encloses reports whether a line inside a statement belongs to it: in its suite, in a string or in brackets. The
// parser lets simple statements continue where Python ends them; for example, it reads "else:" as an annotation.
func encloses(t *syntax.Text, of syntax.Statement, s *syntax.Scanner, at int) bool {
	if of.Compound {
		return true
	}
	if s.Code == nil {
		*s = syntax.Scanner{Code: t.Code, At: of.Start}
	}
	s.To(at)
	return s.Quote != "" || s.Depth > 0
}

// markersInBroken drops the markers inside long strings in a file that does not parse. A string that is left open in
// one cell seems to end where the next string starts, and so seems to hold the cells in between. It counts as a string
// only if its cell parses.
func markersInBroken(t *syntax.Text, marks []cellMarker) []cellMarker {
	out := marks[:0]
	s := syntax.Scanner{Code: t.Code}
	start, left := 0, syntax.Budget(len(t.Code)) // start of the cell
	for i, m := range marks {
		at := t.Begin(m.line)
		s.To(at)
		if s.Quote != "" {
			end := endAfter(s, t, marks[i+1:])
			if left -= end - start; end > 0 && left > 0 && t.Parses(t.Code[start:end]) {
				continue
			}
		}
		out = append(out, m)
		start = t.From[m.line+1]
		s = syntax.Scanner{Code: t.Code, At: start}
	}
	return out
}

// markersOfCells drops the markers inside strings, comments of several lines and other statements: those that would cut
// a text which parses into two that do not. A cell with an error parses nowhere, so its marker stays.
func markersOfCells(t *syntax.Text, marks []cellMarker, list []syntax.Statement) []cellMarker {
	out := marks[:0]
	left := syntax.Budget(len(t.Code))
	parses := func(from, to int) bool {
		left -= to - from
		return left > 0 && t.Parses(t.Code[from:to])
	}
	start := 0 // where the cell begins
	for i, m := range marks {
		at, end := t.Begin(m.line), 0
		if before := within(list, 0, at); len(before) > 0 {
			end = before[len(before)-1].End
		}
		if end <= at && !bytes.Contains(t.Code[start:at], []byte("/*")) ||
			parses(start, at) && (end <= at || parses(at, end)) || !closes(t, start, marks[i+1:], parses) {
			out = append(out, m)
			start = at
		}
	}
	return out
}

// closes reports whether the text from an offset to one of the markers, or to the end, parses.
func closes(t *syntax.Text, start int, marks []cellMarker, parses func(from, to int) bool) bool {
	for _, m := range marks {
		if parses(start, t.Begin(m.line)) {
			return true
		}
	}
	return parses(start, len(t.Code))
}

// endAfter returns the end of the cell if the string that s is in is one: the first marker outside of a string. It
// returns 0 if the string never ends.
func endAfter(s syntax.Scanner, t *syntax.Text, marks []cellMarker) int {
	for _, m := range marks {
		if s.To(t.Begin(m.line)); s.Quote == "" {
			return t.Begin(m.line)
		}
	}
	if s.To(len(t.Code)); s.Quote == "" {
		return len(t.Code)
	}
	return 0
}

// cellRegions makes a block of every cell with code, and of the text before the first marker if it has code.
func cellRegions(t *syntax.Text, dialect string, marks []cellMarker, list []syntax.Statement, broken bool) []region {
	var out []region
	if t.Python && t.HoldsCode(0, marks[0].line-1) ||
		!t.Python && len(within(list, 0, t.Begin(marks[0].line))) > 0 { // before it may be a comment of several lines
		out = addCell(out, t, dialect, cellMarker{line: t.HashBang() - 1}, marks[0].line)
	}
	for i, m := range marks {
		next := t.Lines()
		if i+1 < len(marks) {
			next = marks[i+1].line
		}
		if !m.text {
			out = addCell(out, t, dialect, m, next)
		}
	}
	for i := range out {
		own := within(list, t.Begin(out[i].first), t.Finish(out[i].last))
		if t.Python && python.CallsIPython(t.Code[t.Begin(out[i].first):t.Finish(out[i].last)]) {
			out[i].block.Dialect = syntax.IPython
		}
		if broken {
			own = describe(&out[i], t)
		}
		if out[i].block.Title == "" {
			out[i].block.Title = syntax.OnlyDefinition(own)
		}
	}
	return out
}

func addCell(out []region, t *syntax.Text, dialect string, m cellMarker, next int) []region {
	first, last, ok := t.Trim(m.line+1, next-1)
	if !ok {
		return out
	}
	return append(out, region{first: first, last: last, named: m.title != "",
		block: Block{ID: m.id, Title: m.title, Dialect: dialect}})
}

// within returns the statements that start in a byte range.
func within(list []syntax.Statement, from, to int) []syntax.Statement {
	i := sort.Search(len(list), func(i int) bool { return list[i].Start >= from })
	j := sort.Search(len(list), func(j int) bool { return list[j].Start >= to })
	return list[i:j]
}

// describe returns the statements of one cell in a file that does not parse, and sets its dialect. Editors that run
// cells allow magics in them.
func describe(r *region, t *syntax.Text) []syntax.Statement {
	code := t.Code[t.Begin(r.first):t.Finish(r.last)]
	list, broken := t.Statements(code)
	if t.Python && broken && (python.HasMagic(t, r.first, r.last) || python.IsEscaped(code)) {
		r.block.Dialect = syntax.IPython
	}
	return list
}

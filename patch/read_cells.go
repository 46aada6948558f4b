package patch

import (
	"bytes"
	"regexp"
	"sort"
	"strings"
)

// cellMarker is a line that starts a cell.
type cellMarker struct {
	line  int // from 0
	title string
	id    string
	text  bool // what follows is not code: [markdown], [raw]
}

var (
	percentMarker   = regexp.MustCompile(`^(?:#|//)[ \t]*%%+(.*)$`)              // Jupytext, Spyder, VS Code
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

// marker reads a line as a marker of a language. ok is false if it is none.
func (s *syntax) marker(line []byte) (cellMarker, bool) {
	if !bytes.HasPrefix(line, []byte(s.comment)) {
		return cellMarker{}, false
	}
	return anyMarker(line)
}

// anyMarker reads a line as a marker of any language. ok is false if it is none.
func anyMarker(line []byte) (cellMarker, bool) {
	if len(line) == 0 || line[0] != '#' && line[0] != '/' {
		return cellMarker{}, false
	}
	if promptMarker.Match(line) {
		return cellMarker{}, true
	}
	if m := codecellMarker.FindSubmatch(line); m != nil {
		return cellMarker{text: string(m[1]) == "markdown"}, true
	}
	m := percentMarker.FindSubmatch(line)
	if m == nil || magics[string(firstWord.Find(m[1]))] {
		return cellMarker{}, false
	}
	return parseTitle(string(m[1])), true
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
func cellMarkers(t *text, list []stmt, broken bool) []cellMarker {
	var out []cellMarker
	for i := range t.lines() {
		if m, ok := t.marker(t.line(i)); ok {
			m.line = i
			out = append(out, m)
		}
	}
	if !t.python {
		return markersOfCells(t, out, list)
	}
	if broken {
		return markersInBroken(t, out)
	}
	return outside(t, out, list)
}

// outside drops the markers inside statements. Both lists are in order.
func outside(t *text, marks []cellMarker, list []stmt) []cellMarker {
	out := marks[:0]
	var s scanner // scans list[0]
	for _, m := range marks {
		at := t.begin(m.line)
		for len(list) > 0 && list[0].end <= at {
			list = list[1:]
			s = scanner{}
		}
		if len(list) == 0 || at < list[0].start || !encloses(t, list[0], &s, at) {
			out = append(out, m)
		}
	}
	return out
}

// encloses reports whether a line inside a statement belongs to it: in its suite, in a string or in brackets. The
// parser lets simple statements continue where Python ends them; for example, it reads "else:" as an annotation.
func encloses(t *text, of stmt, s *scanner, at int) bool {
	if of.compound {
		return true
	}
	if s.code == nil {
		*s = scanner{code: t.code, at: of.start}
	}
	s.to(at)
	return s.quote != "" || s.depth > 0
}

// markersInBroken drops the markers inside long strings in a file that does not parse. A string that is left open in
// one cell seems to end where the next string starts, and so seems to hold the cells in between. It counts as a string
// only if its cell parses.
func markersInBroken(t *text, marks []cellMarker) []cellMarker {
	out := marks[:0]
	s := scanner{code: t.code}
	start, left := 0, budget(len(t.code)) // start of the cell
	for i, m := range marks {
		at := t.begin(m.line)
		s.to(at)
		if s.quote != "" {
			end := s.after(t, marks[i+1:])
			if left -= end - start; end > 0 && left > 0 && t.parses(t.code[start:end]) {
				continue
			}
		}
		out = append(out, m)
		start = t.from[m.line+1]
		s = scanner{code: t.code, at: start}
	}
	return out
}

// markersOfCells drops the markers inside strings, comments of several lines and other statements: those that would cut
// a text which parses into two that do not. A cell with an error parses nowhere, so its marker stays.
func markersOfCells(t *text, marks []cellMarker, list []stmt) []cellMarker {
	out := marks[:0]
	left := budget(len(t.code))
	parses := func(from, to int) bool {
		left -= to - from
		return left > 0 && t.parses(t.code[from:to])
	}
	start := 0 // where the cell begins
	for i, m := range marks {
		at, end := t.begin(m.line), 0
		if before := within(list, 0, at); len(before) > 0 {
			end = before[len(before)-1].end
		}
		if end <= at && !bytes.Contains(t.code[start:at], []byte("/*")) ||
			parses(start, at) && (end <= at || parses(at, end)) || !t.closes(start, marks[i+1:], parses) {
			out = append(out, m)
			start = at
		}
	}
	return out
}

// closes reports whether the text from an offset to one of the markers, or to the end, parses.
func (t *text) closes(start int, marks []cellMarker, parses func(from, to int) bool) bool {
	for _, m := range marks {
		if parses(start, t.begin(m.line)) {
			return true
		}
	}
	return parses(start, len(t.code))
}

// after returns the end of the cell if the string that s is in is one: the first marker outside of a string. It returns
// 0 if the string never ends.
func (s scanner) after(t *text, marks []cellMarker) int {
	for _, m := range marks {
		if s.to(t.begin(m.line)); s.quote == "" {
			return t.begin(m.line)
		}
	}
	if s.to(len(t.code)); s.quote == "" {
		return len(t.code)
	}
	return 0
}

// cellRegions makes a block of every cell with code, and of the text before the first marker if it has code.
func cellRegions(t *text, dialect string, marks []cellMarker, list []stmt, broken bool) []region {
	var out []region
	if t.python && t.holdsCode(0, marks[0].line-1) ||
		!t.python && len(within(list, 0, t.begin(marks[0].line))) > 0 { // before it may be a comment of several lines
		out = addCell(out, t, dialect, cellMarker{line: t.hashBang() - 1}, marks[0].line)
	}
	for i, m := range marks {
		next := t.lines()
		if i+1 < len(marks) {
			next = marks[i+1].line
		}
		if !m.text {
			out = addCell(out, t, dialect, m, next)
		}
	}
	for i := range out {
		own := within(list, t.begin(out[i].first), t.finish(out[i].last))
		if t.python && exported(t.code[t.begin(out[i].first):t.finish(out[i].last)]) {
			out[i].block.Dialect = IPython
		}
		if broken {
			own = describe(&out[i], t)
		}
		if out[i].block.Title == "" {
			out[i].block.Title = onlyDefinition(own)
		}
	}
	return out
}

func addCell(out []region, t *text, dialect string, m cellMarker, next int) []region {
	first, last, ok := t.trim(m.line+1, next-1)
	if !ok {
		return out
	}
	return append(out, region{first: first, last: last, named: m.title != "",
		block: Block{ID: m.id, Title: m.title, Dialect: dialect}})
}

// within returns the statements that start in a byte range.
func within(list []stmt, from, to int) []stmt {
	i := sort.Search(len(list), func(i int) bool { return list[i].start >= from })
	j := sort.Search(len(list), func(j int) bool { return list[j].start >= to })
	return list[i:j]
}

// describe returns the statements of one cell in a file that does not parse, and sets its dialect. Editors that run
// cells allow magics in them.
func describe(r *region, t *text) []stmt {
	code := t.code[t.begin(r.first):t.finish(r.last)]
	list, broken := t.stmts(code)
	if t.python && broken && (hasMagic(t, r.first, r.last) || escaped(code)) {
		r.block.Dialect = IPython
	}
	return list
}

package syntax

import "bytes"

// Budget returns how many bytes recovery of a file of that many bytes may parse again. So a long file with many errors
// costs little more than a few correct ones. When the budget is used up, the rest is cut without the parser.
func Budget(file int) int { return 4*file + 1<<18 }

// Recover returns the statements of a script that does not parse. The parser's own recovery is good only up to the
// first error. After it, an open parenthesis turns all text into loose tokens, and an open string turns prose into
// statements. So the text from the first error to where a new block may start becomes one broken statement. Parsing
// starts again after it.
func Recover(t *Text, list []Statement) []Statement {
	var out []Statement
	left := Budget(len(t.Code))
	for {
		good := firstBroken(list)
		out = append(out, list[:good]...)
		if good == len(list) {
			return out
		}
		line := t.LineAt(list[good].Start)
		next := resync(t, line)
		out = append(out, parseStretch(t, line, next)...)
		if next == t.Lines() {
			return out
		}
		from := t.Begin(next)
		if left -= len(t.Code) - from; left < 0 {
			return append(out, chunks(t, next)...)
		}
		list, _ = t.Statements(t.Code[from:])
		shift(list, from)
	}
}

// firstBroken returns the number of statements before the first broken one.
func firstBroken(list []Statement) int {
	for i, s := range list {
		if s.Broken {
			return i
		}
	}
	return len(list)
}

func shift(list []Statement, by int) {
	for i := range list {
		list[i].Start += by
		list[i].End += by
	}
}

// chunks cuts the lines from first on wherever a new block may start.
func chunks(t *Text, first int) []Statement {
	var out []Statement
	for first < t.Lines() {
		next := resync(t, first)
		out = append(out, parseStretch(t, first, next)...)
		first = next
	}
	return out
}

// parseStretch returns the statements of the lines from first to before next if these lines parse alone. Otherwise it
// returns one broken statement.
func parseStretch(t *Text, first, next int) []Statement {
	from, to := t.Begin(first), t.From[next]
	list, broken := t.Statements(t.Code[from:to])
	if !broken {
		shift(list, from)
		return list
	}
	last := next - 1
	for last > first && (t.Blank(last) || t.IsComment(last)) {
		last--
	}
	return []Statement{{Start: from, End: t.Finish(last), Broken: true, Defines: definedByBroken(t, first, last)}}
}

// definedByBroken returns the name that broken lines begin to define, after comments and decorators.
func definedByBroken(t *Text, first, last int) string {
	for i := first; i <= last; i++ {
		l := t.Line(i)
		if m := t.Head.FindSubmatch(l); m != nil {
			return string(bytes.Join(m[1:], nil))
		}
		if !t.Blank(i) && !t.IsComment(i) && !bytes.HasPrefix(l, []byte("@")) {
			return ""
		}
	}
	return ""
}

// begins reports whether a definition begins at a line, or a decorator.
func (t *Text) begins(i int) bool {
	l := t.Line(i)
	return t.Head.Match(l) || bytes.HasPrefix(l, []byte("@"))
}

// resync returns the next line after first at which a block may start, or the number of lines.
func resync(t *Text, first int) int {
	s := Scanner{Code: t.Code, At: t.Begin(first)}
	inDefinition := t.begins(first)
	for i := first + 1; i < t.Lines(); i++ {
		if t.Python { // elsewhere the quotation mark of an error may be the one that is open
			s.To(t.Begin(i))
		}
		if s.Quote == "" && startsBlock(t, i, inDefinition) {
			return i
		}
	}
	return t.Lines()
}

// startsBlock reports whether a block may start at a line. The line must be at the margin and continue nothing. It must
// also be a definition, or come after a blank line or a definition.
func startsBlock(t *Text, i int, behindDefinition bool) bool {
	l := t.Line(i)
	if t.Blank(i) || t.Indented(i) || t.Follows.Match(l) || bytes.HasPrefix(t.Line(i-1), []byte("@")) {
		return false
	}
	return behindDefinition && !t.IsComment(i) || t.Blank(i-1) || t.begins(i)
}

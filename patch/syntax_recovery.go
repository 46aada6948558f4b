package patch

import "bytes"

// budget returns how many bytes recovery may parse again. So a long file with many errors costs little more than a few
// correct ones. When the budget is used up, the rest is cut without the parser.
func budget(file int) int { return 4*file + 1<<18 }

// recoverStmts returns the statements of a script that does not parse. The parser's own recovery is good only up to the
// first error. After it, an open parenthesis turns all text into loose tokens, and an open string turns prose into
// statements. So the text from the first error to where a new block may start becomes one broken statement. Parsing
// starts again after it.
func recoverStmts(t *text, list []stmt) []stmt {
	var out []stmt
	left := budget(len(t.code))
	for {
		good := firstBroken(list)
		out = append(out, list[:good]...)
		if good == len(list) {
			return out
		}
		line := t.lineAt(list[good].start)
		next := resync(t, line)
		out = append(out, parseStretch(t, line, next)...)
		if next == t.lines() {
			return out
		}
		from := t.begin(next)
		if left -= len(t.code) - from; left < 0 {
			return append(out, chunks(t, next)...)
		}
		list, _ = t.stmts(t.code[from:])
		shift(list, from)
	}
}

// firstBroken returns the number of statements before the first broken one.
func firstBroken(list []stmt) int {
	for i, s := range list {
		if s.broken {
			return i
		}
	}
	return len(list)
}

func shift(list []stmt, by int) {
	for i := range list {
		list[i].start += by
		list[i].end += by
	}
}

// chunks cuts the lines from first on wherever a new block may start.
func chunks(t *text, first int) []stmt {
	var out []stmt
	for first < t.lines() {
		next := resync(t, first)
		out = append(out, parseStretch(t, first, next)...)
		first = next
	}
	return out
}

// parseStretch returns the statements of the lines from first to before next if these lines parse alone. Otherwise it
// returns one broken statement.
func parseStretch(t *text, first, next int) []stmt {
	from, to := t.begin(first), t.from[next]
	list, broken := t.stmts(t.code[from:to])
	if !broken {
		shift(list, from)
		return list
	}
	last := next - 1
	for last > first && (t.blank(last) || t.isComment(last)) {
		last--
	}
	return []stmt{{start: from, end: t.finish(last), broken: true, defines: definedByBroken(t, first, last)}}
}

// definedByBroken returns the name that broken lines begin to define, after comments and decorators.
func definedByBroken(t *text, first, last int) string {
	for i := first; i <= last; i++ {
		l := t.line(i)
		if m := t.head.FindSubmatch(l); m != nil {
			return string(bytes.Join(m[1:], nil))
		}
		if !t.blank(i) && !t.isComment(i) && !bytes.HasPrefix(l, []byte("@")) {
			return ""
		}
	}
	return ""
}

// begins reports whether a definition begins at a line, or a decorator.
func (t *text) begins(i int) bool {
	l := t.line(i)
	return t.head.Match(l) || bytes.HasPrefix(l, []byte("@"))
}

// resync returns the next line after first at which a block may start, or the number of lines.
func resync(t *text, first int) int {
	s := scanner{code: t.code, at: t.begin(first)}
	inDefinition := t.begins(first)
	for i := first + 1; i < t.lines(); i++ {
		if t.python { // elsewhere the quotation mark of an error may be the one that is open
			s.to(t.begin(i))
		}
		if s.quote == "" && startsBlock(t, i, inDefinition) {
			return i
		}
	}
	return t.lines()
}

// startsBlock reports whether a block may start at a line. The line must be at the margin and continue nothing. It must
// also be a definition, or come after a blank line or a definition.
func startsBlock(t *text, i int, behindDefinition bool) bool {
	l := t.line(i)
	if t.blank(i) || t.indented(i) || t.follows.Match(l) || bytes.HasPrefix(t.line(i-1), []byte("@")) {
		return false
	}
	return behindDefinition && !t.isComment(i) || t.blank(i-1) || t.begins(i)
}

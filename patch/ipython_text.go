package patch

import (
	"bytes"
	"regexp"
)

// An escape is a line that is IPython's and no other language's: a magic (%time f()), a shell command (!ls), either one
// assigned to names (files = !ls), or a question (f?).
var (
	escape   = regexp.MustCompile(`^[ \t]*(?:[\pL_][\pL\pN_.,\t ]*=[ \t]*(?:!|%[A-Za-z])|%{1,2}[A-Za-z]|!)`)
	question = regexp.MustCompile(`^[ \t]*(?:\?{1,2}[\pL_][\pL\pN_.]*|[\pL_][\pL\pN_.]*\?{1,2})[ \t\r]*$`)
)

func isEscape(line []byte) bool { return escape.Match(line) || question.Match(line) }

// shellCall is how nbconvert writes magics and shell commands into a script. A script that only asks whether there is a
// get_ipython is not one: there is none under Python.
var shellCall = regexp.MustCompile(
	`(?m)^(?:[\w.]+ *= *)?get_ipython\(\)\.(?:run_line_magic|run_cell_magic|magic|system|getoutput)\(`)

// exported reports whether code calls the shell of IPython as an exported notebook does.
func exported(code []byte) bool {
	return bytes.Contains(code, []byte("get_ipython")) && shellCall.Match(code)
}

func hasMagic(t *text, first, last int) bool {
	s := scanner{code: t.code, at: t.begin(first)}
	for i := first; i <= last; i++ {
		s.to(t.begin(i))
		if s.quote == "" && bytes.IndexAny(t.line(i), "%!") == 0 {
			return true
		}
	}
	return false
}

// escaped reports whether a text is one of IPython because of its escapes: without them Python parses it.
func escaped(code []byte) bool {
	t, found := newText(code, pythonSyntax), false
	s, plain := scanner{code: t.code}, make([]byte, 0, len(code))
	for i := range t.lines() {
		s.to(t.begin(i))
		line := t.line(i)
		if s.quote != "" || !isEscape(line) {
			plain = append(append(plain, line...), '\n')
			continue
		}
		found = true
		plain = append(plain, line[:len(line)-len(bytes.TrimLeft(line, " \t"))]...)
		plain = append(plain, "pass\n"...)
	}
	return found && pythonSyntax.parses(plain)
}

// isIPython reports whether a text of Python is one of IPython.
func isIPython(text string) bool {
	t := newText([]byte(text), pythonSyntax)
	return exported(t.code) || !pythonSyntax.parses(t.code) && (hasMagic(t, 0, t.lines()-1) || escaped(t.code))
}

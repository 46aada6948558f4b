package python

import (
	"bytes"
	"regexp"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// An escape is a line that is IPython's and no other language's: a magic (%time f()), a shell command (!ls), either one
// assigned to names (files = !ls), or a question (f?).
var (
	escape   = regexp.MustCompile(`^[ \t]*(?:[\pL_][\pL\pN_.,\t ]*=[ \t]*(?:!|%[A-Za-z])|%{1,2}[A-Za-z]|!)`)
	question = regexp.MustCompile(`^[ \t]*(?:\?{1,2}[\pL_][\pL\pN_.]*|[\pL_][\pL\pN_.]*\?{1,2})[ \t\r]*$`)
)

// IsEscape reports whether a line is an escape.
func IsEscape(line []byte) bool { return escape.Match(line) || question.Match(line) }

// shellCall is how nbconvert writes magics and shell commands into a script. A script that only asks whether there is a
// get_ipython is not one: there is none under Python.
var shellCall = regexp.MustCompile(
	`(?m)^(?:[\w.]+ *= *)?get_ipython\(\)\.(?:run_line_magic|run_cell_magic|magic|system|getoutput)\(`)

// CallsIPython reports whether code calls the shell of IPython as an exported notebook does.
func CallsIPython(code []byte) bool {
	return bytes.Contains(code, []byte("get_ipython")) && shellCall.Match(code)
}

// HasMagic reports whether one of the lines from first to last, outside of long strings, begins with % or !.
func HasMagic(t *syntax.Text, first, last int) bool {
	s := syntax.Scanner{Code: t.Code, At: t.Begin(first)}
	for i := first; i <= last; i++ {
		s.To(t.Begin(i))
		if s.Quote == "" && bytes.IndexAny(t.Line(i), "%!") == 0 {
			return true
		}
	}
	return false
}

// IsEscaped reports whether a text is one of IPython because of its escapes: without them Python parses it.
func IsEscaped(code []byte) bool {
	t, found := syntax.NewText(code, rules), false
	s, plain := syntax.Scanner{Code: t.Code}, make([]byte, 0, len(code))
	for i := range t.Lines() {
		s.To(t.Begin(i))
		line := t.Line(i)
		if s.Quote != "" || !IsEscape(line) {
			plain = append(append(plain, line...), '\n')
			continue
		}
		found = true
		plain = append(plain, line[:len(line)-len(bytes.TrimLeft(line, " \t"))]...)
		plain = append(plain, "pass\n"...)
	}
	return found && rules.Parses(plain)
}

// IsIPython reports whether a text of Python is one of IPython.
func IsIPython(text string) bool {
	t := syntax.NewText([]byte(text), rules)
	return CallsIPython(t.Code) || !rules.Parses(t.Code) && (HasMagic(t, 0, t.Lines()-1) || IsEscaped(t.Code))
}

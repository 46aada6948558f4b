package python

import (
	"fmt"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
)

// cellMagic translates a cell whose first line of code, on the given line, is a cell magic.
func cellMagic(before string, lines []logicalLine, line int) (string, error) {
	head, _, _ := strings.Cut(lines[0].text, "\n")
	head = strings.TrimRight(head, " \t\r")
	name, args := cutMagic(head)
	body := cellBody(lines)
	below := strings.Repeat("\n", strings.Count(body, "\n")+1)
	if len(lines) == 1 && !strings.Contains(lines[0].text, "\n") {
		below = ""
	}
	call := ""
	switch name {
	case "time", "prun", "memit":
		call = "__xstate__.cell_time()"
		if _, stmt := cutTimeOptions(name, args); stmt != "" {
			call += "; " + stmt
		}
		python, err := translateBody(body, line)
		return before + call + below[:min(1, len(below))] + python, err
	case "capture":
		target, options := captureTarget(args)
		call = "with __xstate__.capture()"
		if options != "" {
			call = "with __xstate__.capture(" + quote(options) + ")"
		}
		if target != "" {
			call += " as " + target
		}
		python, err := translateBody(body, line)
		return before + wrap(call+":", python), err
	case "timeit":
		python, err := translateBody(body, line)
		return before + timeitCell(args, python), err
	case "bash", "sh":
		call = fmt.Sprintf("__xstate__.bash(%s)", quote(body))
		if args != "" {
			call = fmt.Sprintf("__xstate__.bash(%s, %s)", quote(body), quote(args))
		}
	case "writefile", "file":
		call = fmt.Sprintf("__xstate__.writefile(%s, %s)", command(args), quote(withEnd(body)))
	case "html", "HTML":
		call = fmt.Sprintf("__xstate__.html(%s)", quote(body))
	case "system", "sx", "!":
		call = fmt.Sprintf("__xstate__.getoutput(%s)", quote(body))
	default:
		if !scriptMagics[name] {
			return "", &depgraph.SyntaxError{Line: line, Column: 1, Msg: "unknown magic %%" + name}
		}
		call = fmt.Sprintf("__xstate__.cell_magic(%s, %s, %s)", quote(name), quote(args), quote(body))
	}
	return before + call + below, nil
}

// withEnd returns the text of a cell with the end of its last line, which IPython adds.
func withEnd(body string) string {
	if body == "" || strings.HasSuffix(body, "\n") {
		return body
	}
	return body + "\n"
}

// timeitCell translates %%timeit. The body runs in a function, so that it binds nothing. The text after the options
// runs untimed and first, in the same function; only source can say that without another line above the body.
func timeitCell(args, python string) string {
	opts, setup := cutOptions(args, "nrp")
	if setup != "" {
		return fmt.Sprintf("__xstate__.timeit(%s, %s, %s)", quote(python), quote(opts), quote(setup)) +
			strings.Repeat("\n", strings.Count(python, "\n")+1)
	}
	run := fmt.Sprintf("\n__xstate__.timeit(__xstate_cell__, %s); del __xstate_cell__", quote(opts))
	return wrap("def __xstate_cell__():", python) + run
}

// cellBody returns the text below the first line.
func cellBody(lines []logicalLine) string {
	var all []string
	for _, l := range lines {
		all = append(all, l.text)
	}
	_, body, _ := strings.Cut(strings.Join(all, "\n"), "\n")
	return body
}

func translateBody(body string, line int) (string, error) {
	python, err := translate(body)
	if e, ok := err.(*depgraph.SyntaxError); ok {
		e.Line += line
	}
	return python, err
}

// captureTarget returns the name in "%%capture --no-stderr name", and the options.
func captureTarget(args string) (target, options string) {
	for _, w := range strings.Fields(args) {
		if strings.HasPrefix(w, "-") {
			options = strings.TrimPrefix(options+" "+w, " ")
		} else if target == "" {
			target = w
		}
	}
	return target, options
}

// wrap makes python the body of a compound statement whose head is on the line above. It indents only lines at which a
// statement begins, so that strings of several lines keep their text.
func wrap(head, python string) string {
	var b strings.Builder
	b.WriteString(head)
	empty := true
	lines := logicalLines(python)
	for _, l := range lines {
		empty = empty && l.code <= len(l.indent)
	}
	if empty {
		b.WriteString(" pass")
	}
	for _, l := range lines {
		b.WriteByte('\n')
		if l.code > len(l.indent) {
			b.WriteByte(' ')
		}
		b.WriteString(l.text)
	}
	return b.String()
}

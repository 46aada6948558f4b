package python

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/xstate-engine/xstate/depgraph"
	p "github.com/xstate-engine/xstate/depgraph/python/pytree"
)

// translate turns an IPython cell into plain Python, line for line. Magics become calls of an object that the kernel's
// driver binds to __xstate__. Its methods:
//
//	magic(name, args)             a line magic that only the driver handles: %matplotlib, %who, …
//	cell_magic(name, args, body)  a cell magic whose body is not Python: %%latex, %%perl, …
//	clock(), timed(clock, value)  %time of an expression: timed reports the time since clock() and returns value
//	time()                        a context manager that reports the time of its body: %time of a statement
//	cell_time()                   reports the time from here to the end of the block: %%time
//	timeit(code, opts)            code is a function, or source that runs in the namespace
//	capture()                     a context manager whose value holds what its body printed: %%capture
//	bash(src)                     runs src with bash; html(text) displays text
//	writefile(args, text)         args are those of %%writefile: options and a path
//	env(args), cd(dir), pwd()     as the magics; each returns what the magic returns
//	system(cmd)                   runs a shell command; its output joins the cell's
//	getoutput(cmd)                runs a shell command and returns its lines as a list
//	var(text, get)                get() as a string, or text on a NameError: $name, {expression} in a command
//	pinfo(text, get)              shows help on get(), or reports that text was not found
//
// __xstate__ calls the functions it receives at once. So what they read counts as used by the node.
//
// IPython replaces all fields of a command or, if one fails, none; here var decides for each field. Automagic (ls
// without the percent sign), auto-call (/f x), and magics defined by the user are not known.

// translate turns a cell into Python.
func translate(text string) (string, error) {
	var out strings.Builder
	lines := logicalLines(unprompted(dedented(text)))
	line := 1
	for i, l := range lines {
		if i > 0 {
			out.WriteByte('\n')
		}
		if strings.HasPrefix(l.text, "%%") && blank(lines[:i]) {
			return cellMagic(out.String(), lines[i:], line)
		}
		code, err := translateLine(l)
		if err != nil {
			err.Line, err.Column = line, utf8.RuneCountInString(l.indent)+1
			return "", err
		}
		out.WriteString(code)
		below := strings.Count(l.text, "\n")
		out.WriteString(strings.Repeat("\n", max(0, below-strings.Count(code, "\n"))))
		line += below + 1
	}
	return out.String(), nil
}

// dedented takes away the indent that all lines with text have in common, as IPython 9 does.
func dedented(text string) string {
	indent, some := "", false
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if !some {
			indent, some = line[:len(line)-len(strings.TrimLeft(line, " \t"))], true
		}
		for !strings.HasPrefix(line, indent) {
			indent = indent[:len(indent)-1]
		}
	}
	if indent == "" {
		return text
	}
	return mapLines(text, func(line string) string { return strings.TrimPrefix(line, indent) })
}

// prompts are those of Python and IPython, with which code is pasted.
var prompts = regexp.MustCompile(`^(>>>|\.\.\.)( |$)|^(In \[\d+\]: | *\.{3,}: ?)`)

// unprompted takes the prompts away, if the first line of code has one.
func unprompted(text string) string {
	first, _, _ := strings.Cut(strings.TrimLeft(text, "\n"), "\n")
	if !strings.HasPrefix(first, ">>>") && !strings.HasPrefix(first, "In [") || !prompts.MatchString(first) {
		return text
	}
	return mapLines(text, func(line string) string { return line[len(prompts.FindString(line)):] })
}

func mapLines(text string, f func(string) string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = f(line)
	}
	return strings.Join(lines, "\n")
}

func blank(lines []logicalLine) bool {
	for _, l := range lines {
		if strings.TrimSpace(l.text) != "" {
			return false
		}
	}
	return true
}

// translateLine turns one logical line into Python.
func translateLine(l logicalLine) (string, *depgraph.SyntaxError) {
	body := l.text[len(l.indent):]
	if isEscape(body) {
		joined := strings.ReplaceAll(strings.ReplaceAll(body, "\\\r\n", " "), "\\\n", " ")
		joined = strings.TrimRight(joined, " \t\r")
		if targets, escape, ok := cutAssigned(joined); ok {
			code, err := escapeValue(escape)
			return l.indent + targets + " " + code, err
		}
		code, err := escapeStatement(joined)
		return l.indent + code, err
	}
	if code := l.text[:l.code]; len(code) > len(l.indent) && (strings.HasSuffix(code, "?") || body[0] == '?') {
		if help, ok := helpLine(strings.TrimSpace(code)); ok {
			return l.indent + help, nil
		}
	}
	return l.text, nil
}

// helpLine translates obj?, ?obj and obj??.
func helpLine(code string) (string, bool) {
	object := strings.TrimSpace(strings.Trim(code, "?"))
	switch {
	case object == "":
		return "", false
	case strings.HasPrefix(object, "%"), strings.Contains(object, "*"):
		return fmt.Sprintf("__xstate__.pinfo(%s)", quote(object)), true
	case expression(object) == "":
		return "", false
	}
	return fmt.Sprintf("__xstate__.pinfo(%s, lambda: %s)", quote(object), object), true
}

// expression returns the text, without a final semicolon, if it is one expression, and "" otherwise.
func expression(text string) string {
	text = strings.TrimRight(strings.TrimSuffix(strings.TrimSpace(text), ";"), " \t")
	tree, err := p.Parse([]byte(text))
	if err != nil {
		return ""
	}
	defer tree.Close()
	if len(tree.Nodes) < 3 || tree.Nodes[1].Sym != p.ExpressionStatement ||
		tree.Nodes[1].Next != uint32(len(tree.Nodes)) {
		return ""
	}
	switch tree.Nodes[2].Sym {
	case p.Assignment, p.AugmentedAssignment, p.NamedExpression, p.Yield:
		return ""
	}
	return text
}

// has reports whether a text, which must parse, holds a node of the kind.
func has(text string, s p.Symbol) bool {
	tree, err := p.Parse([]byte(text))
	if err != nil {
		return false
	}
	defer tree.Close()
	for _, n := range tree.Nodes {
		if n.Sym == s {
			return true
		}
	}
	return false
}

// quote writes a string as a Python literal on one line.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

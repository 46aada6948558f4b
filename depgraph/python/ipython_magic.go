package python

import (
	"fmt"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	p "github.com/xstate-engine/xstate/depgraph/python/pytree"
)

// driverMagics are line magics that only the driver handles.
var driverMagics = words(
	`matplotlib load_ext reload_ext unload_ext autoreload config precision pylab gui colors xmode pdb pprint
	doctest_mode automagic alias unalias history hist notebook lsmagic magic quickref page tb logstart logstop logon
	logoff logstate who who_ls whos reset reset_selective store macro save edit run load loadpy recall rep rerun debug
	psearch pdoc pdef pfile psource pinfo pinfo2 dirs pushd popd dhist bookmark rehashx killbgscripts lprun mprun
	watermark reload sql tensorboard config_profile conda_env code_wrap subshell killbgscripts pycat profile xstate`,
)

// dynamicMagics are the driver magics that read, bind or delete names that the text does not show.
var dynamicMagics = words(
	`pylab who who_ls whos reset reset_selective store macro save edit run load loadpy recall rep rerun
	debug lprun mprun sql`,
)

// shellMagics run the command of the same name.
var shellMagics = words(`ls ll la lx lf lk ldir mkdir rmdir rm cp mv cat less more man pip conda mamba micromamba uv`)

// scriptMagics are cell magics that pass their body to another program or to the display.
var scriptMagics = words(
	`script perl ruby python python2 python3 pypy cmd javascript js latex markdown svg SVG sql cython R julia
	debug_script`,
)

func words(text string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(text) {
		m[w] = true
	}
	return m
}

// cutMagic splits "%name args".
func cutMagic(text string) (name, args string) {
	text = strings.TrimLeft(text, "%")
	n := strings.IndexAny(text, " \t")
	if n < 0 {
		return text, ""
	}
	return text[:n], strings.TrimSpace(text[n:])
}

// escapeStatement translates a magic or shell command that fills a line.
func escapeStatement(text string) (string, *depgraph.SyntaxError) {
	name, args := cutMagic(text)
	if strings.HasPrefix(text, "%%") {
		return "", &depgraph.SyntaxError{Msg: "cell magic %%" + name + " must stand on the first line"}
	}
	if text[0] == '%' {
		switch name {
		case "time", "prun", "memit":
			if _, stmt := cutTimeOptions(name, args); expression(stmt) == "" {
				return timedStatement(stmt), nil
			}
		case "xdel":
			return "del " + strings.TrimPrefix(args, "-n "), nil
		}
	}
	if text[0] == '!' && !strings.HasPrefix(text, "!!") {
		return "__xstate__.system(" + command(strings.TrimSpace(text[1:])) + ")", nil
	}
	return escapeValue(text)
}

// escapeValue translates a magic or shell command to an expression.
func escapeValue(text string) (string, *depgraph.SyntaxError) {
	switch {
	case strings.HasPrefix(text, "!!"):
		return "__xstate__.getoutput(" + command(strings.TrimSpace(text[2:])) + ")", nil
	case text[0] == '!':
		return "__xstate__.getoutput(" + command(strings.TrimSpace(text[1:])) + ")", nil
	}
	name, args := cutMagic(text)
	switch name {
	case "time", "prun", "memit":
		_, stmt := cutTimeOptions(name, args)
		if e := expression(stmt); e != "" {
			return fmt.Sprintf("__xstate__.timed(__xstate__.clock(), (%s))%s", e, quiet(stmt)), nil
		}
		return "", &depgraph.SyntaxError{Msg: "%" + name + " of a statement has no value"}
	case "timeit":
		return timeit(args), nil
	case "env", "set_env":
		return "__xstate__.env(" + optional(args) + ")", nil
	case "cd":
		return "__xstate__.cd(" + optional(args) + ")", nil
	case "pwd":
		return "__xstate__.pwd()", nil
	case "sx", "system":
		return "__xstate__.getoutput(" + command(args) + ")", nil
	}
	switch {
	case shellMagics[name]:
		return "__xstate__.system(" + command(strings.TrimSpace(name+" "+args)) + ")", nil
	case driverMagics[name]:
		return fmt.Sprintf("__xstate__.magic(%s, %s)", quote(name), quote(args)), nil
	}
	return "", &depgraph.SyntaxError{Msg: "unknown magic %" + name}
}

func optional(args string) string {
	if args == "" {
		return ""
	}
	return command(args)
}

func quiet(text string) string {
	if strings.HasSuffix(text, ";") {
		return ";"
	}
	return ""
}

// timedStatement translates %time of a statement. A compound statement cannot follow another on one line, so it is not
// timed.
func timedStatement(stmt string) string {
	first, _, _ := strings.Cut(stmt, " ")
	switch strings.TrimSuffix(first, ":") {
	case "":
		return "__xstate__.cell_time()"
	case "for", "while", "if", "with", "try", "def", "class", "async", "match", "import", "from":
		return stmt
	}
	return "with __xstate__.time(): " + stmt
}

// timeit translates %timeit. The timed code runs in a function, so that an assignment binds nothing; for an assignment,
// only the value is timed. Any other statement is passed as source and marked dynamic.
func timeit(args string) string {
	opts, stmt := cutOptions(args, "nrp")
	e := expression(stmt)
	if e == "" {
		e = assigned(stmt)
	}
	if e != "" && !has(e, p.Await) {
		return fmt.Sprintf("__xstate__.timeit(lambda: (%s), %s)", e, quote(opts))
	}
	return fmt.Sprintf("__xstate__.timeit(%s, %s)", quote(stmt), quote(opts))
}

// cutTimeOptions splits the arguments of %time, %prun and %memit. The reports of these magics are not printed here.
func cutTimeOptions(name, args string) (opts, rest string) {
	switch name {
	case "time":
		rest, _ = strings.CutPrefix(args, "--no-raise-error")
		return "", strings.TrimLeft(rest, " ")
	case "prun":
		return cutOptions(args, "lsTD")
	}
	return cutOptions(args, "rt")
}

// cutOptions splits "-n 10 -r3 stmt". The options in the set have a value.
func cutOptions(args, valued string) (opts, rest string) {
	rest = args
	for strings.HasPrefix(rest, "-") && len(rest) > 1 && isNameRune(rune(rest[1])) {
		takes := strings.ContainsRune(valued, rune(rest[1]))
		word, after, _ := strings.Cut(rest, " ")
		after = strings.TrimLeft(after, " ")
		if takes && len(word) == 2 {
			_, after, _ = strings.Cut(after, " ")
			after = strings.TrimLeft(after, " ")
		}
		rest = after
	}
	return strings.TrimSpace(strings.TrimSuffix(args, rest)), rest
}

// assigned returns the value in "target = value", or "".
func assigned(stmt string) string {
	tree, err := p.Parse([]byte(stmt))
	if err != nil {
		return ""
	}
	defer tree.Close()
	n := tree.Nodes
	if len(n) < 4 || n[1].Sym != p.ExpressionStatement || n[1].Next != uint32(len(n)) || n[2].Sym != p.Assignment {
		return ""
	}
	for c := uint32(3); c < n[2].Next; c = n[c].Next {
		if n[c].Sym == p.Equal && n[c+1].Sym != p.Assignment {
			return stmt[n[c+1].Start:n[2].End]
		}
	}
	return ""
}

// command writes a command line as a Python expression that looks up $name and {expression}.
func command(text string) string {
	var parts []string
	lit := ""
	flush := func() {
		if lit != "" {
			parts = append(parts, quote(lit))
			lit = ""
		}
	}
	for i := 0; i < len(text); {
		field, e := commandField(text[i:])
		switch {
		case e != "":
			flush()
			parts = append(parts, fmt.Sprintf("__xstate__.var(%s, lambda: %s)", quote(text[i:i+field]), e))
		case field > 1: // an escaped $$, {{ or }}
			lit += text[i : i+1]
		default:
			field = 1
			lit += text[i : i+1]
		}
		i += field
	}
	flush()
	if parts == nil {
		return `""`
	}
	return strings.Join(parts, " + ")
}

// commandField looks for a field at the beginning of text. n is its length, and e is the expression in it.
func commandField(text string) (n int, e string) {
	switch {
	case strings.HasPrefix(text, "$$"), strings.HasPrefix(text, "{{"), strings.HasPrefix(text, "}}"):
		return 2, ""
	case text[0] == '$':
		n = 1
		for n < len(text) && isNameRune(rune(text[n])) {
			n++
		}
		if name := text[1:n]; name != "" && (name[0] < '0' || name[0] > '9') && expression(name) != "" {
			return n, name
		}
	case text[0] == '{':
		depth := 0
		for n = 0; n < len(text); n++ {
			switch text[n] {
			case '{':
				depth++
			case '}':
				depth--
			}
			if depth == 0 {
				if e := expression(text[1:n]); e != "" {
					return n + 1, e
				}
				return 1, ""
			}
		}
	}
	return 1, ""
}

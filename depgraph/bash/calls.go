package bash

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/xstate-engine/xstate/depgraph"
)

// call walks a simple command.
func (w *walker) call(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			w.assignment(a)
		}
		return
	}
	name, _ := literalWord(c.Args[0])
	for _, a := range c.Assigns {
		w.value(a)
		if w.note(a.Name.Value); keepsAssignments[name] {
			w.branch(func() { w.bind(a.Name.Value) })
		}
	}
	w.args(c.Args)
	w.invoke(c.Args)
}

// keepsAssignments are commands after which the assignment before them may still be there: x=1 export x.
var keepsAssignments = set("export readonly declare typeset local eval source . command builtin unset")

// invoke notes what a command does, the words of which have been walked.
func (w *walker) invoke(words []*syntax.Word) {
	name, literal := literalWord(words[0])
	if !literal || name != "[" && strings.ContainsAny(name, "*?[{~") {
		w.use(Exports)
		w.use("PATH")
		w.dyn("computed command", true)
		w.effect(depgraph.EffectSubprocess, "computed command", "", "", depgraph.Updates)
		return
	}
	if w.function == 0 && w.certain[Function(name)] {
		return // Build follows what the function does
	}
	w.use(Function(name))
	known := false
	w.branch(func() { known = w.namesBuiltin(name, words[1:]) || w.stateBuiltin(name, words[1:]) })
	if known || quietBuiltins[name] {
		return
	}
	w.use(Exports)
	w.use("PATH")
	w.effect(depgraph.EffectSubprocess, name, "", "", depgraph.Updates)
}

// quietBuiltins do nothing that the facts list.
var quietBuiltins = set(
	": true false echo return exit break continue logout times jobs fg bg disown kill suspend caller " +
		"help",
)

// namesBuiltin notes what a builtin does to names. It is one of two tables; known says that the command is in it.
func (w *walker) namesBuiltin(name string, args []*syntax.Word) (known bool) {
	switch name {
	case "read":
		w.read(args)
	case "mapfile", "readarray":
		w.mapfile(args)
	case "printf":
		w.printf(args)
	case "getopts":
		w.getopts(args)
	case "unset":
		w.unsets(args)
	case "wait":
		if o := options(args, "p"); o.values['p'] != nil {
			w.target("wait", o.values['p'])
		}
		w.effect(depgraph.EffectSubprocess, "wait", "", "", depgraph.Updates)
	case "declare", "typeset", "local", "export", "readonly":
		list := make([]*syntax.Assign, len(args))
		for i, arg := range args {
			list[i] = &syntax.Assign{Naked: true, Value: arg}
		}
		w.declare(name, list)
	case "let":
		for _, arg := range args {
			w.arithmWord(arg)
		}
	case "test", "[":
		w.tests(args)
	case "eval":
		w.eval(args)
	case "source", ".":
		w.dyn("source", true)
		if len(args) > 0 {
			file, literal := literalWord(args[0])
			w.file("source", file, literal, depgraph.Reads)
		}
		w.use("PATH")
	case "trap":
		w.trap(args)
	case "command", "builtin":
		w.indirect(name, args)
	case "type", "hash", "which":
		w.mentioned(name, args)
	default:
		return false
	}
	return true
}

// stateBuiltin notes what a builtin does to hidden state. It is one of two tables.
func (w *walker) stateBuiltin(name string, args []*syntax.Word) (known bool) {
	switch name {
	case "cd", "pushd", "popd":
		w.cd(name)
	case "pwd", "dirs":
		w.use("PWD")
	case "set":
		w.set(args)
	case "shift":
		if w.use("@"); w.function == 0 {
			w.hidden(name, keyArguments)
		}
	case "shopt", "enable", "bind":
		w.hidden(name, keyOptions)
	case "alias", "unalias":
		w.hidden(name, keyAliases)
	case "complete", "compopt":
		w.hidden(name, "conf:completion")
	case "umask", "ulimit":
		w.hidden(name, depgraph.Key("conf:"+name))
	case "history", "fc":
		w.hidden(name, "conf:history")
	case "compgen":
		w.dyn(name, true)
	case "exec":
		if len(args) == 0 {
			w.hidden(name, keyDescriptors)
			break
		}
		w.use(Exports)
		w.use("PATH")
		w.effect(depgraph.EffectSubprocess, name, "", "", depgraph.Updates)
	default:
		return false
	}
	return true
}

// operands are the arguments of a builtin.
type operands struct {
	letters string                // letters of the options
	values  map[byte]*syntax.Word // values of the options that take one
	rest    []*syntax.Word
}

// options splits arguments. takes are the letters of options with a value. A computed word ends the options: it is an
// operand then, and what looks at operands calls it computed.
func options(args []*syntax.Word, takes string) operands {
	o := operands{values: map[byte]*syntax.Word{}}
	for i := 0; i < len(args); i++ {
		text, more := literalPrefix(args[i].Parts, false)
		if text == "--" && len(more) == 0 {
			o.rest = args[i+1:]
			return o
		}
		if len(text) < 2 || text[0] != '-' {
			o.rest = args[i:]
			return o
		}
		for at := 1; at < len(text); at++ {
			o.letters += text[at : at+1]
			if strings.IndexByte(takes, text[at]) < 0 {
				continue
			}
			switch {
			case at+1 < len(text) || len(more) > 0:
				o.values[text[at]] = &syntax.Word{Parts: append(
					[]syntax.WordPart{&syntax.SglQuoted{Value: text[at+1:]}}, more...)}
			case i+1 < len(args):
				i++
				o.values[text[at]] = args[i]
			}
			break
		}
	}
	return o
}

// target notes a name that a builtin assigns: x, or an element x[i].
func (w *walker) target(what string, word *syntax.Word) {
	text, literal := literalWord(word)
	name, index, element := strings.Cut(text, "[")
	switch {
	case !literal || !isName(name):
		w.dyn(what, true)
	case element:
		w.expression(strings.TrimSuffix(index, "]"))
		w.change(name)
	default:
		w.assign(name)
	}
}

func (w *walker) read(args []*syntax.Word) {
	o := options(args, "adinNptu")
	w.use("IFS")
	if o.values['u'] == nil {
		w.effect(depgraph.EffectInput, "read", "", "", depgraph.Updates)
	}
	for _, word := range o.rest {
		w.target("read", word)
	}
	if array := o.values['a']; array != nil {
		w.target("read", array)
	} else if len(o.rest) == 0 {
		w.assign("REPLY")
	}
}

func (w *walker) mapfile(args []*syntax.Word) {
	o := options(args, "dnOsuCc")
	w.effect(depgraph.EffectInput, "mapfile", "", "", depgraph.Updates)
	if o.values['C'] != nil {
		w.eval([]*syntax.Word{o.values['C']})
	}
	if len(o.rest) == 0 {
		w.assign("MAPFILE")
		return
	}
	if w.target("mapfile", o.rest[0]); o.values['O'] != nil { // it keeps the elements before
		if name, literal := literalWord(o.rest[0]); literal {
			w.change(name)
		}
	}
}

func (w *walker) printf(args []*syntax.Word) {
	o := options(args, "v")
	if o.values['v'] != nil {
		w.target("printf -v", o.values['v'])
	}
	if len(o.rest) == 0 {
		return
	}
	format, literal := literalWord(o.rest[0])
	if strings.Contains(format, ")T") {
		w.effect(depgraph.EffectClock, "printf", "", "", depgraph.Updates)
	}
	if !literal || strings.Contains(format, ")T") {
		for _, name := range []string{"TZ", "LC_ALL", "LC_TIME", "LANG"} { // %(…)T shows times by these
			w.use(name)
		}
	}
}

func (w *walker) getopts(args []*syntax.Word) {
	w.use("OPTERR")
	w.change("OPTIND")
	w.assign("OPTARG")
	if len(args) > 1 {
		w.target("getopts", args[1])
	}
	if len(args) <= 2 {
		w.use("@")
	}
}

func (w *walker) unsets(args []*syntax.Word) {
	o := options(args, "")
	for _, word := range o.rest {
		text, literal := literalWord(word)
		name, index, element := strings.Cut(text, "[")
		function := strings.Contains(o.letters, "f")
		switch {
		case !literal || strings.ContainsAny(name, "*?{"):
			w.dyn("unset", true)
		case element:
			w.expression(strings.TrimSuffix(index, "]"))
			w.change(name)
		default:
			if !function && isName(name) {
				w.unset(name)
			}
			if function || !strings.ContainsAny(o.letters, "vn") {
				w.unset(Function(name))
			}
		}
	}
}

// tests notes what a command test or [ reads besides the values of its words.
func (w *walker) tests(args []*syntax.Word) {
	for i, arg := range args {
		op, literal := literalWord(arg)
		switch {
		case !literal || len(op) < 2 || op[0] != '-' || i+1 == len(args):
		case op == "-nt" || op == "-ot" || op == "-ef":
			w.effect(depgraph.EffectFile, "test "+op, "", depgraph.AnyFile, depgraph.Reads)
		case len(op) == 2 && op != "-a":
			w.unaryTest(op, args[i+1])
		}
	}
}

// eval walks code that is given as words.
func (w *walker) eval(args []*syntax.Word) {
	text, ok := literalText(args)
	if !ok || !w.code(text) {
		w.dyn("eval", true)
	}
}

func literalText(args []*syntax.Word) (string, bool) {
	texts := make([]string, len(args))
	for i, arg := range args {
		var ok bool
		if texts[i], ok = literalWord(arg); !ok {
			return "", false
		}
	}
	return strings.Join(texts, " "), true
}

// code walks the statements of a text. It reports whether the text parses.
func (w *walker) code(text string) bool {
	file, err := parse([]byte(text), false)
	if err != nil {
		return false
	}
	source := w.source
	w.source = nil
	w.stmts(file.Stmts)
	w.source = source
	return true
}

// trap walks a handler as the body of a function. When it is called is not in sight.
func (w *walker) trap(args []*syntax.Word) {
	w.hidden("trap", keyTraps)
	o := options(args, "")
	if len(o.rest) < 2 || strings.ContainsAny(o.letters, "lpP") {
		return
	}
	handler, literal := literalWord(o.rest[0])
	if literal && handler == "-" {
		return
	}
	w.inFunction(func() {
		if !literal || !w.code(handler) {
			w.dyn("trap", true)
		}
	})
}

// indirect walks the command that follows the words command and builtin.
func (w *walker) indirect(name string, args []*syntax.Word) {
	o := options(args, "")
	switch {
	case strings.ContainsAny(o.letters, "vV"):
		w.mentioned(name, o.rest)
	case len(o.rest) > 0:
		w.invoke(o.rest)
	}
}

// mentioned notes commands that are looked for and not called.
func (w *walker) mentioned(what string, args []*syntax.Word) {
	w.use("PATH")
	for _, word := range options(args, "p").rest {
		name, literal := literalWord(word)
		if !literal {
			w.dyn(what, false)
			continue
		}
		w.use(Function(name))
		w.effect(EffectOption, what, name, keyAliases, depgraph.Reads)
	}
}

func (w *walker) cd(name string) {
	w.use("HOME")
	w.use("CDPATH")
	mode := depgraph.Updates
	if w.subshell > 0 {
		mode = depgraph.Reads
	}
	w.effect(depgraph.EffectCwd, name, "", keyCwd, mode)
	w.use("PWD")
	w.use("OLDPWD")
	w.assign("PWD")
	w.assign("OLDPWD")
}

// set notes options and arguments that the builtin set changes.
func (w *walker) set(args []*syntax.Word) {
	if len(args) == 0 {
		w.dyn("set", false) // it shows every variable
		return
	}
	first, literal := literalWord(args[0])
	option := len(first) > 0 && (first[0] == '-' || first[0] == '+')
	if !literal || option && first != "--" {
		w.hidden("set", keyOptions)
	}
	if w.function > 0 || literal && option && len(args) == 1 && first != "--" {
		return
	}
	for i := 0; i < len(args); i++ {
		switch text, _ := literalWord(args[i]); {
		case text == "" || text == "--" || text == "-" || text[0] != '-' && text[0] != '+':
			w.hidden("set", keyArguments)
			return
		case strings.HasSuffix(text, "o"): // the name of an option follows
			i++
		}
	}
}

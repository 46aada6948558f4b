package bash

import (
	"bytes"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// features are what a text does besides using names, as far as the driver asks for it. They are those of the text
// alone;
// uses adds what it calls.
type features struct {
	pipes, globs, matches, clobbers, echoes, cds bool

	files    bool // it may use files
	programs bool // it may execute programs
	signals  bool // it may call handlers of signals
	traps    bool // it lists or sets handlers
	exits    bool // it may end the shell
	jobs     bool // it leaves work in the background, unless it waits
	feeds    bool // it starts >(…), which may work on when it has ended
	fed      bool // it reads <(…), which is of no use after it, but for $!
	waits    bool
	process  bool // it changes the process in a way that cannot be restored
	last     bool // it reads $_
	status   bool // it reads $? or PIPESTATUS
	fails    bool // an expansion may end the shell with a message: ${x?}
	draws    bool // it uses RANDOM, and inner: in another process
	inner    bool
	within   map[string]bool // commands that it calls in another process; "": one that is computed
	lines    bool            // it reads the number of its line
	both     bool            // it writes to the standard error by its own choice
	anyFd    bool            // it may use a descriptor of any number
	input    bool            // it may read the standard input, wholeInput: from its beginning
	fds      map[string]bool
	marks    map[string]bool

	wholeInput bool

	computed []string        // variables whose value is the name of a command; "": another way to compute it
	numbers  map[string]bool // variables and parameters whose value is an expression
	flows    flows           // what it assigns
	seeds    []string        // what is assigned to RANDOM

	confinement
}

// processBuiltins change the process of the shell.
var processBuiltins = map[string]bool{"ulimit": true, "enable": true, "times": true, "disown": true, "suspend": true}

// featuresOf returns the features of a text; nil when it does not parse.
func featuresOf(text []byte) *features {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(bytes.NewReader(text), "")
	if err != nil {
		return nil
	}
	f := &features{fds: map[string]bool{}, marks: map[string]bool{}, numbers: map[string]bool{},
		within: map[string]bool{},
		flows:  flowsOf(file), confinement: confinementOf(file)}
	f.wholeInput = bytes.Contains(text, []byte("/dev/stdin")) || bytes.Contains(text, []byte("/fd/0"))
	depth := 0 // nesting of subshells and other processes
	var stack []bool
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			if stack[len(stack)-1] {
				depth--
			}
			stack = stack[:len(stack)-1]
			return true
		}
		inner := false
		switch n := n.(type) {
		case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst, *syntax.CoprocClause:
			inner = true
			if _, is := n.(*syntax.CoprocClause); is {
				f.jobs, f.process, f.anyFd = true, true, true
			}
			if p, is := n.(*syntax.ProcSubst); is {
				f.files = true
				f.fed, f.feeds = f.fed || p.Op == syntax.CmdIn, f.feeds || p.Op != syntax.CmdIn
			}
		case *syntax.Stmt:
			if n.Background || n.Coprocess {
				inner, f.jobs = true, true
			}
		case *syntax.BinaryCmd:
			f.pipes = f.pipes || n.Op == syntax.Pipe || n.Op == syntax.PipeAll
			inner = n.Op == syntax.Pipe || n.Op == syntax.PipeAll
		case *syntax.TestClause, *syntax.CaseClause:
			f.matches = true
		case *syntax.UnaryTest:
			f.files = f.files || n.Op != syntax.TsVarSet && n.Op != syntax.TsEmpStr && n.Op != syntax.TsNempStr
		case *syntax.BinaryTest:
			f.files = f.files || n.Op == syntax.TsNewer || n.Op == syntax.TsOlder || n.Op == syntax.TsDevIno
		case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop:
			f.expression(n)
		case *syntax.ParamExp:
			f.parameter(n, depth > 0)
		case *syntax.Redirect:
			f.redirect(n)
		case *syntax.CallExpr:
			f.call(n)
			if depth > 0 && len(n.Args) > 0 {
				f.within[n.Args[0].Lit()] = true
			}
		case *syntax.DeclClause:
			f.globs = true
			integer := false
			for _, a := range n.Args {
				if a.Name != nil && integer {
					f.numbers[a.Name.Value] = true
				}
				integer = integer || a.Name == nil && strings.HasPrefix(a.Value.Lit(), "-") &&
					strings.Contains(a.Value.Lit(), "i")
			}
		case *syntax.Assign:
			f.globs = f.globs || n.Array != nil
			if n.Name != nil && n.Name.Value == "RANDOM" {
				f.draws, f.inner = true, f.inner || depth > 0
				f.seeds = append(f.seeds, n.Value.Lit())
			}
		case *syntax.ForClause:
			f.input = f.input || n.Select
		case *syntax.WordIter:
			f.globs, f.files = true, f.files || hasPattern(n.Items)
		case *syntax.TimeClause:
			f.marks["clock"] = true
		case *syntax.ExtGlob:
			f.matches, f.globs, f.files = true, true, true
		}
		if inner {
			depth++
		}
		stack = append(stack, inner)
		return true
	})
	return f
}

// hasPattern reports whether words may be lists of files.
func hasPattern(words []*syntax.Word) bool {
	for _, w := range words {
		for _, part := range w.Parts {
			switch part := part.(type) {
			case *syntax.Lit:
				if strings.ContainsAny(part.Value, "*?[~") {
					return true
				}
			case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ExtGlob:
				return true
			}
		}
	}
	return false
}

func (f *features) expression(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Word:
			if name := n.Lit(); isPlain(name) {
				f.numbers[name] = true
				f.special(name, false)
			}
		case *syntax.ParamExp:
			if n.Param != nil {
				f.numbers[flowName(n.Param.Value)] = true
			}
		}
		return true
	})
}

func (f *features) parameter(p *syntax.ParamExp, inner bool) {
	if p.Param == nil {
		return
	}
	f.special(p.Param.Value, inner)
	if p.Repl != nil {
		f.matches = true
	}
	if p.Index != nil {
		f.expression(p.Index)
	}
	if p.Exp != nil {
		f.matches = true
		if p.Exp.Op == syntax.ErrorUnset || p.Exp.Op == syntax.ErrorUnsetOrNull {
			f.fails, f.exits = true, true
		}
	}
}

// special notes a parameter that Bash makes up.
func (f *features) special(name string, inner bool) {
	switch name {
	case "_":
		f.last = true
	case "?", "PIPESTATUS":
		f.status = true
	case "$", "!", "PPID", "BASHPID", "BASH_SUBSHELL":
		if name != "BASH_SUBSHELL" {
			f.marks["process"] = true
		}
	case "LINENO", "BASH_LINENO":
		f.lines = true
	case "SRANDOM":
		f.marks["entropy"] = true
	case "SECONDS", "EPOCHSECONDS", "EPOCHREALTIME", "BASH_MONOSECONDS":
		f.marks["clock"] = true
	case "RANDOM":
		f.draws, f.inner = true, f.inner || inner
	}
}

func (f *features) redirect(r *syntax.Redirect) {
	if r.N != nil {
		f.descriptor(r.N.Value)
	}
	switch r.Op {
	case syntax.DplIn, syntax.DplOut:
		f.input = f.input || r.Word.Lit() == "0"
		to := strings.TrimSuffix(r.Word.Lit(), "-")
		f.descriptor(to)
		f.both = f.both || to == "2" || to == "" && r.Word.Lit() == ""
		if to == "" && r.Word.Lit() != "-" {
			f.anyFd = true
		}
	case syntax.RdrOut:
		f.clobbers, f.files = true, true
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
	default:
		f.clobbers, f.files = true, true
	}
}

// descriptor notes the use of a non-standard descriptor.
func (f *features) descriptor(text string) {
	switch {
	case text == "0" || text == "1" || text == "2" || text == "":
	case strings.Trim(text, "0123456789") == "":
		f.fds[text] = true
	case text[0] == '{':
		f.anyFd = true
	case text != "-":
		f.anyFd = true
	}
}

func (f *features) call(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		return
	}
	f.globs = f.globs || hasPattern(c.Args[1:])
	f.files = f.files || hasPattern(c.Args)
	name := c.Args[0].Lit()
	if quoted, is := literal(c.Args[0]); is {
		name = quoted
	}
	if name == "" {
		f.programs, f.files, f.signals = true, true, true
		f.computed = append(f.computed, variableOf(c.Args[0]))
		return
	}
	for i, a := range c.Args[1:] {
		if a.Lit() == "-u" && i+2 < len(c.Args) {
			if n := c.Args[i+2].Lit(); n != "" {
				f.descriptor(n)
			} else {
				f.anyFd = true
			}
		}
	}
	f.builtin(name, c)
}

// variableOf returns the variable whose value a word begins with; "" when it is computed otherwise.
func variableOf(w *syntax.Word) string {
	part := w.Parts[0]
	if q, is := part.(*syntax.DblQuoted); is && len(q.Parts) == 1 && len(w.Parts) == 1 {
		part = q.Parts[0]
	}
	p, is := part.(*syntax.ParamExp)
	if !is || len(w.Parts) != 1 || p.Param == nil || p.Exp != nil || p.Repl != nil || p.Excl || p.Length ||
		p.Index != nil ||
		p.Slice != nil {
		return ""
	}
	return p.Param.Value
}

func (f *features) builtin(name string, c *syntax.CallExpr) {
	switch name {
	case "echo":
		f.echoes = true
	case "printf", ":", "true", "false", "shift", "set", "unset", "read", "mapfile", "readarray", "return", "break",
		"continue", "local", "declare", "typeset", "export", "readonly", "let", "getopts", "shopt", "alias", "unalias",
		"eval", "builtin", "complete", "compopt":
		if name == "printf" && len(c.Args) > 1 {
			if text, _ := literal(c.Args[1]); strings.Contains(text, ")T") {
				f.marks["clock"] = true
			}
		}
		f.input = f.input || name == "read" || name == "mapfile" || name == "readarray" || name == "builtin"
	case "test", "[":
		for _, a := range c.Args[1:] {
			op := a.Lit()
			f.files = f.files || len(op) == 2 && op[0] == '-' && strings.Contains("abcdefghkprstuwxGLNOS", op[1:]) ||
				op == "-nt" || op == "-ot" || op == "-ef"
		}
	case "cd", "pushd", "popd", "dirs", "pwd", "umask":
		f.cds, f.files = true, true
	case "caller":
		f.lines = true
	case "trap":
		f.traps = true
	case "exit", "logout":
		f.exits = true
		f.status = f.status || len(c.Args) == 1 // it ends with the code of the command before
	case "exec":
		f.exits, f.anyFd = true, true
		f.programs = f.programs || len(c.Args) > 1
	case "source", ".":
		f.files = true
	case "type", "hash", "command", "compgen":
		f.files = true
		f.process = f.process || name == "hash" && len(c.Args) > 1
		f.programs = f.programs || name == "command"
	case "kill":
		f.signals = true
	case "wait":
		f.waits, f.signals = true, true
	case "jobs", "bg", "fg", "history", "fc", "bind", "help":
		f.process = f.process || name == "bg" || name == "fg"
	default:
		f.process = f.process || processBuiltins[name]
		f.programs = f.programs || !processBuiltins[name]
	}
}

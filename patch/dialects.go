package patch

import (
	"path"
	"regexp"
	"strings"

	"github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

// These are the dialects of a block. They equal those of the analysers, which this package may not import.
const (
	Python     = "python"     // plain Python
	IPython    = "ipython"    // Python with line magics, cell magics and shell escapes
	JavaScript = "javascript" // a script of JavaScript
	Module     = "esm"        // a module of JavaScript: strict, with import and export
	TypeScript = "typescript"
	TSX        = "tsx" // TypeScript with JSX
	Bash       = "bash"
)

// syntax is what this package knows of the language of a dialect.
type syntax struct {
	comment string // begins a comment that lasts to the end of its line
	python  bool

	// stmts returns the statements at the top level of a text, in order and without comments.
	stmts func(code []byte) (list []stmt, broken bool)
	// bindings returns the names that a text binds and uses.
	bindings func(code string) *bindings
	// quoted reports whether an offset is inside of a string.
	quoted func(code []byte, at int) bool

	head    *regexp.Regexp // matches the line at which a definition begins; its group is the name
	follows *regexp.Regexp // matches a line that continues the statement before it
	imports *regexp.Regexp // matches a statement that imports
	builtin map[string]bool
}

// These are the syntaxes. TypeScript and TSX differ only in what they take for a type or an element.
var (
	pythonSyntax = &syntax{comment: "#", python: true, stmts: pythonStmts, bindings: pythonBindings,
		head:    regexp.MustCompile(`^(?:async[ \t]+)?(?:def|class)[ \t]+([\pL_][\pL\pN_]*)`),
		follows: regexp.MustCompile(`^(?:[\])}]|(?:else|elif|except|finally)\b)`),
		imports: regexp.MustCompile(`^(?:import|from) `), builtin: pythonBuiltins}
	scriptSyntax = newScriptSyntax(jstree.JavaScript)
	typedSyntax  = newScriptSyntax(jstree.TypeScript)
	tsxSyntax    = newScriptSyntax(jstree.TSX)
	shellSyntax  = &syntax{comment: "#", stmts: shellStmts, bindings: shellBindings, quoted: quotedInShell,
		head:    regexp.MustCompile(`^(?:function[ \t]+([^\s(){}<>|&;]+)|([^\s(){}<>|&;='"$#]+)[ \t]*\([ \t]*\))`),
		follows: regexp.MustCompile(`^(?:[)}]|(?:then|else|elif|fi|do|done|esac|in)\b|;;)`),
		imports: regexp.MustCompile(`^(?:source|\.)[ \t]`), builtin: shellBuiltins}
)

func newScriptSyntax(l jstree.Language) *syntax {
	return &syntax{comment: "//", builtin: scriptBuiltins,
		stmts:    func(code []byte) ([]stmt, bool) { return scriptStmts(code, l) },
		bindings: func(code string) *bindings { return scriptBindings(code, l) },
		quoted:   func(code []byte, at int) bool { return quotedInScript(code, at, l) },
		head: regexp.MustCompile(`^(?:export[ \t]+)?(?:default[ \t]+)?(?:declare[ \t]+)?(?:abstract[ \t]+)?` +
			`(?:(?:async[ \t]+)?function\b[ \t]*\*?|class|interface|enum|namespace|type)[ \t]*([\pL_$][\pL\pN_$]*)`),
		follows: regexp.MustCompile(`^(?:[\])}.?:&|*/%<>=,]|(?:else|catch|finally)\b)`),
		imports: regexp.MustCompile(`^import\b`)}
}

// syntaxOf returns the syntax of a dialect. A block that names none is Python.
func syntaxOf(dialect string) *syntax {
	switch dialect {
	case JavaScript, Module:
		return scriptSyntax
	case TypeScript:
		return typedSyntax
	case TSX:
		return tsxSyntax
	case Bash:
		return shellSyntax
	}
	return pythonSyntax
}

// parses reports whether a text is of this syntax.
func (s *syntax) parses(code []byte) bool {
	_, broken := s.stmts(code)
	return !broken
}

// isImport reports whether a statement imports.
func (s *syntax) isImport(code string) bool { return s.imports.MatchString(code) }

// dialectNames maps what a fence, a notebook or a user calls a language to its dialect, in lower case.
var dialectNames = map[string]string{
	"python": Python, "py": Python, "py3": Python, "ipython": IPython, "ipython3": IPython,
	"javascript": JavaScript, "js": JavaScript, "cjs": JavaScript, "node": JavaScript, "jsx": TSX,
	"mjs": Module, "esm": Module,
	"typescript": TypeScript, "ts": TypeScript, "mts": TypeScript, "cts": TypeScript, "tsx": TSX,
	"bash": Bash, "sh": Bash, "shell": Bash,
}

// DialectNamed returns the dialect of a language as fences, notebooks and users name it: "js", "TypeScript", "sh". ok
// is false if the language has no dialect.
func DialectNamed(language string) (dialect string, ok bool) {
	l := strings.ToLower(strings.TrimSpace(language))
	if dialect, ok = dialectNames[l]; !ok && isPython(l) {
		return Python, true
	}
	return dialect, ok
}

// Extension returns the extension of a file of nothing but blocks of a dialect.
func Extension(dialect string) string {
	switch dialect {
	case JavaScript:
		return ".js"
	case Module:
		return ".mjs"
	case TypeScript:
		return ".ts"
	case TSX:
		return ".tsx"
	case Bash:
		return ".sh"
	}
	return ".py"
}

// sourceFiles has the dialects of the blocks of source files by extension.
var sourceFiles = map[string]string{
	".py": Python, ".pyw": Python, ".js": JavaScript, ".cjs": JavaScript, ".mjs": Module, ".jsx": TSX,
	".ts":  TypeScript,
	".mts": TypeScript, ".cts": TypeScript, ".tsx": TSX, ".sh": Bash, ".bash": Bash,
}

// IsSource reports whether a file is one of source code by its name: neither a notebook nor a document.
func IsSource(name string) bool {
	_, is := sourceFiles[strings.ToLower(path.Ext(name))]
	return is
}

// Extensions returns the extensions of the files that Parse reads.
func Extensions() []string {
	return []string{
		".py",
		".ipynb",
		".md",
		".js",
		".mjs",
		".cjs",
		".jsx",
		".ts",
		".mts",
		".cts",
		".tsx",
		".sh",
		".bash",
		".pyw",
		".markdown",
	}
}

// FileDialect returns the dialect of a source file by its extension; ok is false for any other file.
func FileDialect(name string, data []byte) (dialect string, ok bool) {
	ext := strings.ToLower(path.Ext(name))
	if dialect, ok = sourceFiles[ext]; ext == ".js" && isModule(data) {
		return Module, true
	}
	return dialect, ok
}

// interpreters maps the program of a line #! to an extension.
var interpreters = map[string]string{
	"node": ".js", "nodejs": ".js", "deno": ".ts", "bun": ".ts", "tsx": ".ts", "ts-node": ".ts", "bash": ".sh",
	"sh":   ".sh",
	"dash": ".sh",
}

var shebang = regexp.MustCompile(`^#![ \t]*(\S+)((?:[ \t]+\S+)*)`)

// interpreted returns the extension for the line #! of a file, or "".
func interpreted(line string) string {
	m := shebang.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	program := path.Base(m[1])
	for _, word := range strings.Fields(m[2]) {
		if program == "env" && !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
			program = word
		}
	}
	if strings.Contains(program, "python") {
		return ".py"
	}
	return interpreters[program]
}

func isPython(language string) bool {
	l := strings.ToLower(language)
	return l == "ipython" || strings.TrimRight(l, "0123456789.") == "python"
}

// family returns one dialect for all dialects that a file may hold side by side, or that users mix up.
func family(dialect string) string {
	switch dialect {
	case JavaScript, Module, TypeScript, TSX:
		return JavaScript
	case Bash:
		return Bash
	}
	return Python
}

package patch

import (
	"path"
	"regexp"
	"strings"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// dialectNames maps what a fence, a notebook or a user calls a language to its dialect, in lower case.
var dialectNames = map[string]string{
	"python": syntax.Python, "py": syntax.Python, "py3": syntax.Python,
	"ipython": syntax.IPython, "ipython3": syntax.IPython,
	"javascript": syntax.JavaScript, "js": syntax.JavaScript, "cjs": syntax.JavaScript, "node": syntax.JavaScript,
	"mjs": syntax.Module, "esm": syntax.Module,
	"typescript": syntax.TypeScript, "ts": syntax.TypeScript, "mts": syntax.TypeScript, "cts": syntax.TypeScript,
	"tsx": syntax.TSX, "jsx": syntax.TSX,
	"bash": syntax.Bash, "sh": syntax.Bash, "shell": syntax.Bash,
}

// DialectNamed returns the dialect of a language as fences, notebooks and users name it: "js", "TypeScript", "sh". ok
// is false if no dialect has that name.
func DialectNamed(language string) (dialect string, ok bool) {
	l := strings.ToLower(strings.TrimSpace(language))
	if dialect, ok = dialectNames[l]; !ok && isPython(l) {
		return syntax.Python, true
	}
	return dialect, ok
}

// Extension returns the extension of a file of nothing but blocks of a dialect.
func Extension(dialect string) string {
	switch dialect {
	case syntax.JavaScript:
		return ".js"
	case syntax.Module:
		return ".mjs"
	case syntax.TypeScript:
		return ".ts"
	case syntax.TSX:
		return ".tsx"
	case syntax.Bash:
		return ".sh"
	}
	return ".py"
}

// sourceFiles has the dialects of the blocks of source files by extension.
var sourceFiles = map[string]string{
	".py": syntax.Python, ".pyw": syntax.Python,
	".js": syntax.JavaScript, ".cjs": syntax.JavaScript, ".mjs": syntax.Module,
	".ts": syntax.TypeScript, ".mts": syntax.TypeScript, ".cts": syntax.TypeScript,
	".tsx": syntax.TSX, ".jsx": syntax.TSX,
	".sh": syntax.Bash, ".bash": syntax.Bash,
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
	if dialect, ok = sourceFiles[ext]; ext == ".js" && syntax.IsModule(data) {
		return syntax.Module, true
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

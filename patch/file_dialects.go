package patch

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/patch/syntax"
	_ "github.com/xstate-engine/xstate/patch/syntax/bash" // a syntax registers itself
	"github.com/xstate-engine/xstate/patch/syntax/javascript"
	_ "github.com/xstate-engine/xstate/patch/syntax/python"
)

// variant returns the row's variant of a dialect. A dialect that is not in the table is read as the default one.
func variant(dialect string) *lang.Variant {
	v, ok := lang.Of(lang.Dialect(dialect))
	if !ok {
		v, _ = lang.Of(lang.Default)
	}
	return v
}

// DialectNamed returns the dialect of a language as fences, notebooks and users name it: "js", "TypeScript", "sh". ok
// is false if no dialect has that name.
func DialectNamed(language string) (dialect string, ok bool) {
	v, ok := lang.Named(language)
	if !ok {
		return "", false
	}
	return string(v.Dialect), true
}

// IsSource reports whether a file is one of source code by its name: neither a notebook nor a document.
func IsSource(name string) bool {
	_, is := lang.WithExtension(path.Ext(name))
	return is
}

// These are the extensions of files that hold blocks of several languages.
var (
	notebookExtensions = []string{".ipynb"}
	markdownExtensions = []string{".md", ".markdown"}
)

// Extensions returns the extensions of the files that Parse reads.
func Extensions() []string {
	return slices.Concat(lang.Extensions(), notebookExtensions, markdownExtensions)
}

// FileKinds names the usual ones of these files: "a .py, .ipynb, .md, .js, .ts or .sh file".
func FileKinds() string {
	var all []string
	for _, v := range lang.Offered() {
		if all = append(all, v.Extension()); len(all) == 1 {
			all = append(all, notebookExtensions[0], markdownExtensions[0])
		}
	}
	return "a " + lang.Or(all) + " file"
}

// FileDialect returns the dialect of a source file by its extension; ok is false for any other file.
func FileDialect(name string, data []byte) (dialect string, ok bool) {
	ext := strings.ToLower(path.Ext(name))
	if dialect = sourceDialect(ext); ext == ".js" && javascript.IsModule(data) {
		dialect = syntax.Module
	}
	return dialect, dialect != ""
}

// sourceDialect returns the dialect of source files with an extension, or "".
func sourceDialect(ext string) string {
	if v, ok := lang.WithExtension(ext); ok {
		return string(v.Dialect)
	}
	return ""
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
	if v, ok := lang.RunBy(program); ok {
		return v.Extension()
	}
	return ""
}

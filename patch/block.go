package patch

import (
	"regexp"
	"slices"
	"strings"
)

import "github.com/xstate-engine/xstate/patch/syntax"

// Block is one block of a program, as it comes from a file or an agent.
type Block struct {
	ID      string // the id that the file or the session gives, or ""
	Title   string // a title or name given in the file, else the one function or class it defines, else ""
	Dialect string // one of the constants above
	Source  string // the code verbatim, without its final line end
	Line    int    // 1-based line in the file at which Source starts; 0 if it comes from no file
}

// hiddenID is the id of a block that a front end made for itself.
var hiddenID = regexp.MustCompile(`^(message|hidden)-\d+$`)

// InFile returns the blocks of a program that belong into its file: all but those that a front end made for itself,
// such as what a page said to a widget. Their first line is the comment "xstate: hidden".
func InFile(blocks []Block) []Block {
	return slices.DeleteFunc(slices.Clone(blocks), func(b Block) bool {
		first, _, _ := strings.Cut(b.Source, "\n")
		return (first == "# xstate: hidden" || first == "// xstate: hidden") && hiddenID.MatchString(b.ID)
	})
}

// same reports whether two blocks have equal content. Their ids and places do not matter.
func (b Block) same(o Block) bool {
	return b.Source == o.Source && b.Title == o.Title && b.Dialect == o.Dialect
}

// defined returns the name of the one definition in a block, or "".
func (b Block) defined() string { return definedIn(b.Dialect, b.Source) }

// definedIn returns the name that a text defines if exactly one of its statements is a definition, else "".
func definedIn(dialect, source string) string {
	list, _ := syntax.Of(dialect).Statements([]byte(source))
	return syntax.OnlyDefinition(list)
}

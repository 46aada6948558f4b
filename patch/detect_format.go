package patch

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/patch/syntax"
)

// notation holds the functions that read and write a format.
type notation struct {
	format Format
	plain  bool                                       // its marks are lines that may also occur in a string of code
	like   func(text string) bool                     // reports whether the text looks like this format
	read   func(text string) ([]Section, *ParseError) // returns the sections of the text
	write  func(p *Patch) (string, error)
}

// notations lists the formats in the order in which Read tries them on a text.
var notations = []notation{
	{FormatV4A, true, likeV4A, readV4A, writeV4A},
	{FormatSearch, true, likeSearch, readSearch, writeSearch},
	{FormatCell, false, likeCell, readCell, writeCell},
	{FormatEditor, false, likeEditor, readEditor, writeEditor},
	{FormatStrings, false, likeStrings, readStrings, writeStrings},
	{FormatGit, true, likeGit, readDiff, writeGit},
	{FormatUnified, true, likeUnified, readDiff, writeUnified},
	{FormatUdiff, true, likeUdiff, readUdiff, writeUdiff},
	{FormatBlock, false, likeBlock, readBlock, writeBlock},
}

// Formats returns the names of the formats.
func Formats() []Format {
	var out []Format
	for _, n := range notations {
		out = append(out, n.format)
	}
	slices.Sort(out)
	return out
}

// Read reads a patch. If f is "", Read detects the format from the text; a text that is not a patch counts as a block
// written again. Errors are *ParseError.
func Read(text string, f Format) (*Patch, error) {
	if !utf8.ValidString(text) {
		return nil, notUTF8()
	}
	if inner, ok := enclosed(text); ok {
		text = inner
	}
	text = fenced(text)
	for _, n := range notations {
		if n.format != f && (f != "" || !n.like(text) || n.plain && isCode(text)) {
			continue
		}
		sections, bad := n.read(text)
		if bad != nil {
			return nil, bad
		}
		if len(sections) == 0 {
			return nil, malformed(0, "write at least one change", "the patch is empty")
		}
		p := &Patch{Format: n.format, Sections: sections}
		if n.format == FormatBlock && (!fences.MatchString(text) || anySyntax(text)) {
			p.Whole = text
		}
		return p, nil
	}
	if calls, ok := jsonCalls(text); f == "" && ok && len(calls) > 0 {
		return nil, malformed(0, "give only the arguments of the call: old_string and new_string, or command, or "+
			"cell_id",
			"this is JSON, but not a known tool call")
	}
	if first, _, _ := strings.Cut(strings.TrimSpace(text), "\n"); f == "" && opensCell(first) && inOneLanguage(text) {
		return Read(text, FormatBlock)
	}
	if f == "" {
		return nil, malformed(0, "put code between ```python and ```, or use `--format block` to accept any text",
			"this is neither a patch in a known format nor code")
	}
	return nil, unknownFormat(f)
}

// opensCell reports whether a line begins a cell in some language.
func opensCell(line string) bool {
	_, ok := afterPercent([]byte(line))
	return ok
}

// inOneLanguage reports whether a text parses in a language. Bash takes nearly any text for code, so this is asked if a
// marker says that the text is code.
func inOneLanguage(text string) bool {
	return slices.ContainsFunc(lang.All(), func(l *lang.Language) bool {
		return syntax.Of(string(l.Widest)).Parses([]byte(text))
	})
}

// isCode reports whether a text is code, even if a string in it holds lines of a patch. Lines of plus and minus signs
// alone are valid Python too, but they are a diff.
func isCode(text string) bool {
	return len(text) < syntax.WholeParse && !strings.HasPrefix(strings.TrimSpace(text), "--- ") &&
		anySyntax(text)
}

// enclosed returns the patch in the argument of a tool call, as in {"input": "*** Begin Patch…"}, ["apply_patch", "…"]
// or {"command": ["apply_patch", "…"]}.
func enclosed(text string) (string, bool) {
	calls, _ := jsonCalls(text)
	for _, c := range calls {
		inner := c.text("patch", "diff", "input", "patch_text")
		if inner == "" {
			inner = c.patchInCommand()
		}
		if inner != "" && (likeV4A(inner) || likeSearch(inner) || likeGit(inner) || likeUdiff(inner)) {
			return inner, true
		}
	}
	return "", false
}

// Print writes a patch in a format. It fails if the format cannot express the patch.
func (p *Patch) Print(f Format) (string, error) {
	for _, n := range notations {
		if n.format == f {
			return n.write(p)
		}
	}
	return "", unknownFormat(f)
}

func unknownFormat(f Format) *ParseError {
	var names []string
	for _, g := range Formats() {
		names = append(names, string(g))
	}
	return &ParseError{Code: CodeUnsupported, Message: fmt.Sprintf("there is no patch format %q", f),
		Hint: "there are: " + strings.Join(names, ", ")}
}

package patch

import (
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/patch/syntax"
	"github.com/xstate-engine/xstate/patch/syntax/python"
)

// A block that an agent writes again comes as code, or as prose with fenced code. Each fence of code is a block, and so
// is each cell of code with markers. A name in the fence or the marker is the name of the block.
func readBlock(text string) ([]Section, *ParseError) {
	blocks := []Block{{Source: trimBlankLines(text)}}
	if fences.MatchString(text) && !anySyntax(text) {
		if inner, ok := outermost(text); ok {
			return cells(Block{Source: inner}), nil
		}
		p, bad := readMarkdown([]byte(labelled(text)))
		if bad != nil {
			return nil, malformed(
				0,
				"put the code between ```python and ```",
				"there is no code of a known language in this text",
			)
		}
		blocks = p.Blocks
		for i := range blocks {
			if blocks[i].Dialect == bareFence {
				blocks[i].Dialect = ""
			}
		}
	}
	var sections []Section
	for _, b := range blocks {
		sections = append(sections, cells(b)...)
	}
	return sections, nil
}

// outermost returns the text between the first fence and the last one if that text is code with the fences inside.
// Strings of code may hold fences. The first fence must not name another language.
func outermost(text string) (string, bool) {
	if len(text) > syntax.WholeParse {
		return "", false
	}
	from, to, marks, at := -1, -1, 0, 0
	for line := range strings.Lines(text) {
		if _, info, ok := fenceLine(line); ok {
			if marks++; from < 0 {
				if from = at + len(line); info != "" &&
					fenceDialect(languages.FindStringSubmatch(info)[1], false) == "" {
					return "", false
				}
			} else if info == "" {
				to = at
			}
		}
		at += len(line)
	}
	if marks < 3 || to < from {
		return "", false
	}
	inner := trimBlankLines(text[from:to])
	return inner, inner != "" && anySyntax(inner)
}

// likeBlock reports whether a text that is not a patch holds code. Prose does not, and neither does a patch that is cut
// off.
func likeBlock(text string) bool {
	if isObject(text) || !blankLine(text) && strings.Trim(text, "[]{}, \t\r\n") == "" {
		return false // nor is a list without calls
	}
	t := syntax.NewText([]byte(text), syntax.Of(syntax.Python))
	return fences.MatchString(text) || anySyntax(text) || python.HasMagic(t, 0, t.Lines()-1)
}

// isObject reports whether a text is one or more JSON objects. These parse as Python, but they are calls of an unknown
// tool.
func isObject(text string) bool {
	_, ok := jsonCalls(text)
	return ok && strings.TrimSpace(text)[0] == '{'
}

var fences = regexp.MustCompile("(?m)^[ \t]*(```|~~~)")

// labelled adds the language bareFence to the fences that name no language, except those that show what a program
// prints.
// If other fences say that they are Python, a fence that binds nothing shows output. Otherwise a fence that is not
// Python shows output, if any other is Python.
func labelled(text string) string {
	type place struct{ line, from, to int }
	var lines []string
	var bare []place
	open, at, named, first := "", 0, false, place{}
	for line := range strings.Lines(text) {
		mark, info, ok := fenceLine(line)
		switch {
		case ok && open == "":
			open, first = mark, place{len(lines), at + len(line), 0}
			if i := languages.FindStringSubmatch(info); info != "" {
				named, first.line = named || fenceDialect(i[1], false) != "", -1
			}
		case ok && info == "" && strings.HasPrefix(mark, open):
			if first.to = at; first.line >= 0 {
				bare = append(bare, first)
			}
			open = ""
		}
		lines, at = append(lines, line), at+len(line)
	}
	if open != "" && first.line >= 0 {
		first.to = at
		bare = append(bare, first)
	}
	code := func(p place) bool {
		part := text[p.from:p.to]
		typed := syntax.Of(syntax.TypeScript)
		return isProgram(part, named) || typed.Parses([]byte(part)) && typed.Bindings(part).Does()
	}
	all := !named && !slices.ContainsFunc(bare, code)
	for _, p := range bare {
		if mark, _, _ := fenceLine(lines[p.line]); all || code(p) {
			lines[p.line] = strings.Replace(lines[p.line], mark, mark+bareFence, 1)
		}
	}
	return strings.Join(lines, "")
}

// isProgram reports whether a text is Python. If does is set, the text must also do something, because [1, 2] may be
// what a program printed.
func isProgram(text string, does bool) bool {
	t := syntax.NewText([]byte(text), syntax.Of(syntax.Python))
	if !syntax.Of(syntax.Python).Parses(t.Code) {
		return t.Lines() > 0 && python.HasMagic(t, 0, t.Lines()-1)
	}
	b := syntax.Of(syntax.Python).Bindings(text)
	return !does || len(b.Defines)+len(b.Assigns)+len(b.Imports) > 0 || b.Free["print"]
}

// codeTag matches the tags in which some agents write code, at the beginning of a line: those of elements in TSX have a
// margin. The last one may lack its end, because it is where the model was stopped.
var codeTag = regexp.MustCompile(`(?ms)^<code(?:[ \t]+(?:lang|language|class)="?(?:language-)?(\w+)"?)?>[ \t]*\n?` +
	`(.*?)(?:</code>[ \t]*$|\z)`)

// fenced returns a text with fences in the place of its tags <code>. A text that has fences, or is Python, stays as it
// is. (As TypeScript, "So:\n<code>\nx" is a label and a type.)
func fenced(text string) string {
	if !strings.Contains(text, "<code") || fences.MatchString(text) || syntax.Of(syntax.Python).Parses([]byte(text)) {
		return text
	}
	return codeTag.ReplaceAllStringFunc(text, func(tag string) string {
		m := codeTag.FindStringSubmatch(tag)
		language := m[1]
		if language == "" {
			language = bareFence
		}
		return "```" + language + "\n" + endLast(m[2]) + "```"
	})
}

// trimBlankLines drops the blank lines at both ends, and the final line end.
func trimBlankLines(text string) string {
	for {
		line, rest, ok := strings.Cut(text, "\n")
		if !ok || !blankLine(line) {
			return strings.TrimRight(text, " \t\r\n")
		}
		text = rest
	}
}

// cells cuts a block at its markers, if it has any. Comments above the first one are not code.
func cells(b Block) []Section {
	if blankLine(b.Source) {
		return nil
	}
	dialect, marked := markedDialect(b.Source)
	if b.Dialect != "" && b.Dialect != bareFence {
		dialect = b.Dialect
	}
	if !marked {
		return []Section{emitted(b)}
	}
	p, bad := readSource([]byte(b.Source), variant(dialect).Extension())
	if bad == nil && p.Kind == KindCells && len(p.Blocks) > 0 {
		var out []Section
		for _, c := range p.Blocks {
			out = append(out, emitted(c))
			out[len(out)-1].Dialect = b.Dialect
		}
		return out
	}
	return []Section{emitted(b)}
}

// markedDialect returns the dialect that the first marker of a text shows: TypeScript for "// %%", else Python's.
func markedDialect(text string) (dialect string, marked bool) {
	for line := range strings.Lines(text) {
		if l, _, ok := anyMarker([]byte(bare(line))); ok {
			return string(l.Widest), true
		}
	}
	return "", false
}

// emitted returns the section of a block. A title that comes from the code itself is not a given name.
func emitted(b Block) Section {
	name := b.ID
	if name == "" && b.Title != "" && b.defined() != b.Title {
		name = b.Title
	}
	return Section{Act: ActEmit, Name: name, Text: b.Source, Dialect: b.Dialect}
}

func writeBlock(p *Patch) (string, error) {
	var out strings.Builder
	for _, s := range p.Sections {
		if s.Act == ActUpdate || s.Act == ActDelete {
			return "", cannotExpress(FormatBlock, "a part of a block changes, or that a block is deleted")
		}
		mark := syntax.Of(s.Dialect).Comment + " %%"
		if s.Name != "" {
			mark += " " + s.Name
		}
		ticks := "```"
		for strings.Contains(s.Text, ticks) {
			ticks += "`"
		}
		out.WriteString(
			ticks + fenceWord(
				Block{Dialect: s.Dialect, Source: s.Text},
			) + "\n" + mark + "\n" + endLast(
				s.Text,
			) + ticks + "\n",
		)
	}
	return out.String(), nil
}

// anySyntax reports whether a text is Python or TypeScript. Most prose parses as a command of a shell, and fences parse
// as templates of JavaScript.
func anySyntax(text string) bool {
	code := syntax.NewText([]byte(text), syntax.Of(syntax.Python)).Code
	return syntax.Of(syntax.Python).Parses(code) ||
		!fences.MatchString(text) && syntax.Of(syntax.TypeScript).Parses(code)
}

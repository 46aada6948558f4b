package patch

import (
	"strings"

	"github.com/xstate-engine/xstate/patch/diff"
	"github.com/xstate-engine/xstate/patch/syntax"
)

// A cell text is the code of a program as one text, with each block below a line "# %% NAME" or, in
// the languages whose comments begin so, "// %% NAME". Patches are applied to it
// if the program has no file or its file is a notebook.

// These are the kinds of lines in a cell text.
const (
	lineOfCode    = iota // code of a block; it may look like a marker
	lineOfMarker         // the marker of a block
	lineFromPatch        // inserted by a patch; it begins a block if it looks like a marker
)

// cellText returns the text. For each of its lines it returns the index of the block and the kind of the line.
func cellText(blocks []Block) (text string, lines, marks []int) {
	var out strings.Builder
	for i, b := range blocks {
		out.WriteString(syntax.Of(b.Dialect).Comment + " %% " + cellTextTitle(b) + "\n" + b.Source + "\n")
		lines, marks = append(lines, i), append(marks, lineOfMarker)
		for range countLines(b.Source + "\n") {
			lines, marks = append(lines, i), append(marks, lineOfCode)
		}
	}
	return out.String(), lines, marks
}

// cellTextTitle returns the name of a block in a cell text.
func cellTextTitle(b Block) string {
	name := b.Title
	if name == "" {
		name = b.ID
	}
	return parseTitle(name).title
}

// readCellText returns the blocks of a cell text after a patch. Their dialects are unknown; dialect guesses them.
func readCellText(text string, marks []int, dialect func(said, text string) string) []Block {
	var blocks []Block
	var b Block
	var source strings.Builder
	end := func() {
		if b.Source = trimBlankLines(source.String()); b.Source != "" {
			if b.Title == "" {
				b.Title = definedIn(dialect("", b.Source), b.Source)
			}
			blocks = append(blocks, b)
		}
		source.Reset()
	}
	for i, line := range diff.SplitLines(text) {
		_, m, ok := anyMarker([]byte(bare(line)))
		if ok && !m.text && i < len(marks) && marks[i] != lineOfCode {
			end()
			b = Block{Title: m.title, Line: i + 2}
			continue
		}
		if source.Len() == 0 {
			b.Line = i + 1
		}
		source.WriteString(line)
	}
	end()
	return blocks
}

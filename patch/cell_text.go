package patch

import "strings"

// A sheet is the code of a program as one text, where its file is no text or is none: each block below a line "# %% NAME".

// What a line of a sheet is.
const (
	lineOfCode    = iota // of a block; it may look like a mark
	lineOfMarker         // begins a block
	lineFromPatch        // came with a patch; it begins a block if it looks like a mark
)

// sheet returns the text, and of each line its block and what it is.
func cellText(blocks []Block) (text string, lines, marks []int) {
	var out strings.Builder
	for i, b := range blocks {
		out.WriteString("# %% " + cellTextTitle(b) + "\n" + b.Source + "\n")
		lines, marks = append(lines, i), append(marks, lineOfMarker)
		for range countLines(b.Source + "\n") {
			lines, marks = append(lines, i), append(marks, lineOfCode)
		}
	}
	return out.String(), lines, marks
}

// sheetName is what a block is called in a sheet.
func cellTextTitle(b Block) string {
	name := b.Title
	if name == "" {
		name = b.ID
	}
	return parseTitle(name).title
}

// readSheet returns the blocks of a sheet after a patch. Their dialect is not said.
func readCellText(text string, marks []int) []Block {
	var blocks []Block
	var b Block
	var source strings.Builder
	end := func() {
		if b.Source = trimBlankLines(source.String()); b.Source != "" {
			if b.Title == "" {
				list, _ := stmts([]byte(b.Source))
				b.Title = onlyDefinition(list)
			}
			blocks = append(blocks, b)
		}
		source.Reset()
	}
	for i, line := range splitLines(text) {
		m, ok := parseMarker([]byte(bare(line)))
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

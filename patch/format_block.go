package patch

import (
	"regexp"
	"strings"
)

// A block that is written again comes as code, or as prose with code in fences. Each fence of Python is a block, and so is each
// cell of code with markers. A name in the fence or in the marker is that of the block.
func readBlock(text string) ([]Section, *ParseError) {
	blocks := []Block{{Source: trimBlankLines(text)}}
	if fences.MatchString(text) && !parses([]byte(text)) {
		p, bad := readMarkdown([]byte(labelled(text)))
		if bad != nil {
			return nil, malformed(0, "put the code between ```python and ```", "there is no Python in this answer")
		}
		blocks = p.Blocks
	}
	var sections []Section
	for _, b := range blocks {
		sections = append(sections, cells(b)...)
	}
	return sections, nil
}

// likeBlock reports whether a text that is no patch holds code. Prose does not, nor does a patch that is cut short.
func likeBlock(text string) bool {
	t := newText([]byte(text))
	return fences.MatchString(text) || parses(t.code) || hasMagic(t, 0, t.lines()-1)
}

var fences = regexp.MustCompile("(?m)^[ \t]*(```|~~~)")

// labelled calls the fences that name no language Python.
func labelled(text string) string {
	var out strings.Builder
	open := ""
	for line := range strings.Lines(text) {
		mark, info, ok := fenceLine(line)
		switch {
		case ok && open == "":
			open = mark
			if info == "" {
				line = strings.Replace(line, mark, mark+"python", 1)
			}
		case ok && info == "" && strings.HasPrefix(mark, open):
			open = ""
		}
		out.WriteString(line)
	}
	return out.String()
}

// trimBlankLines drops the blank lines at both ends, and the last line end.
func trimBlankLines(text string) string {
	for {
		line, rest, ok := strings.Cut(text, "\n")
		if !ok || !blankLine(line) {
			return strings.TrimRight(text, " \t\r\n")
		}
		text = rest
	}
}

// cells cuts a block at the markers in it, if it begins with one.
func cells(b Block) []Section {
	first, _, _ := strings.Cut(b.Source, "\n")
	if _, ok := parseMarker([]byte(strings.TrimSuffix(first, "\r"))); ok {
		if p, bad := readPython([]byte(b.Source)); bad == nil && len(p.Blocks) > 0 {
			var out []Section
			for _, c := range p.Blocks {
				out = append(out, emitted(c))
			}
			return out
		}
	}
	if blankLine(b.Source) {
		return nil
	}
	return []Section{emitted(b)}
}

// emitted is the section of a block; a title that the code itself shows is no name that was given.
func emitted(b Block) Section {
	name := b.ID
	if name == "" && b.Title != "" {
		if list, _ := stmts([]byte(b.Source)); onlyDefinition(list) != b.Title {
			name = b.Title
		}
	}
	return Section{Act: ActEmit, Name: name, Text: b.Source}
}

func writeBlock(p *Patch) (string, error) {
	var out strings.Builder
	for _, s := range p.Sections {
		if s.Act == ActUpdate || s.Act == ActDelete {
			return "", unsaid(FormatBlock, "a part of a block is changed, or that it goes")
		}
		mark := "# %%"
		if s.Name != "" {
			mark += " " + s.Name
		}
		ticks := "```"
		for strings.Contains(s.Text, ticks) {
			ticks += "`"
		}
		out.WriteString(ticks + "python\n" + mark + "\n" + endLast(s.Text) + ticks + "\n")
	}
	return out.String(), nil
}

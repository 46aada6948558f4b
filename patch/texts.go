package patch

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// Texts returns the Markdown of a file: the Markdown and raw cells of a notebook, what a document says around its code,
// the "# %% [markdown]" cells of a script. Their places are those in blocks, another version of the program: ids are
// the ids of the file's own blocks, as for With. A text stays before the block that it is before in the file, or before
// the next one that blocks has at the same place.
func (p *Program) Texts(ids []string, blocks []Block) []Text {
	file := map[string]int{}
	for i, id := range ids {
		if id != "" {
			file[id] = i
		}
	}
	stays := staying(file, blocks)
	var next []int // for each block of the file, the place in blocks of it or of the next one that stays
	for k, b := range blocks {
		if i, ok := file[b.ID]; ok && stays[i] {
			for len(next) <= i {
				next = append(next, k)
			}
		}
	}
	texts := p.texts()
	for i := range texts {
		if at := texts[i].Before; at < len(next) {
			texts[i].Before = next[at]
		} else {
			texts[i].Before = len(blocks)
		}
	}
	return texts
}

func (p *Program) texts() []Text {
	switch p.Kind {
	case KindNotebook:
		return p.notebookTexts()
	case KindMarkdown:
		return p.markdownTexts()
	}
	var texts []Text
	for i, gap := range p.gaps {
		texts = append(texts, commentTexts(gap, i, p.comment())...)
	}
	return texts
}

func (p *Program) notebookTexts() []Text {
	skip := len(p.raw) - len(bytes.TrimPrefix(p.raw, []byte(syntax.BOM)))
	top, _ := value{raw: json.RawMessage(p.raw[skip:])}.object()
	n := notebook{program: p, major: p.major}
	cells, _ := n.cells(top)
	var texts []Text
	before := 0
	for i, c := range cells {
		if before < len(p.Cells) && p.Cells[before] == i {
			before++
			continue
		}
		fields, _ := c.object()
		t := Text{Before: before}
		switch fields["cell_type"].text() {
		case "markdown":
		case "raw":
			t.Kind = TextRaw
		default:
			continue
		}
		t.Source, _, _ = fields["source"].multiline()
		fields["attachments"].into(&t.Attachments)
		texts = append(texts, t)
	}
	return texts
}

func (p *Program) markdownTexts() []Text {
	var texts []Text
	before := 0
	for _, q := range p.markdownFormat().pieces {
		if q.block != prose {
			before = q.block + 1
		} else if text := trimBlankLines(strings.ReplaceAll(q.text, "\r\n", "\n")); text != "" {
			texts = append(texts, Text{Before: before, Source: text})
		}
	}
	return texts
}

// commentTexts returns the Markdown cells in the text between two blocks of a script: comments, or a string.
func commentTexts(gap string, before int, comment string) []Text {
	var texts []Text
	var lines []string
	inside, kind := false, TextMarkdown
	end := func() {
		if text := trimBlankLines(strings.Join(lines, "\n")); inside && text != "" {
			texts = append(texts, Text{Kind: kind, Before: before, Source: unquoted(text, comment)})
		}
		lines = nil
	}
	for _, line := range strings.Split(strings.ReplaceAll(gap, "\r\n", "\n"), "\n") {
		if _, m, ok := anyMarker([]byte(line)); ok {
			end()
			inside, kind = m.text, TextMarkdown
			if strings.Contains(line, "[raw]") {
				kind = TextRaw
			}
			continue
		}
		lines = append(lines, line)
	}
	end()
	return texts
}

// unquoted returns the text of a Markdown cell without its comment signs or quotation marks.
func unquoted(text, comment string) string {
	for _, quote := range []string{`"""`, "'''"} {
		if inner, ok := strings.CutPrefix(strings.TrimLeft(text, "rR"), quote); ok {
			inner, _, _ = strings.Cut(inner, quote)
			return strings.Trim(inner, "\n")
		}
	}
	var out []string
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimPrefix(line, comment)
		out = append(out, strings.TrimPrefix(line, " "))
	}
	return strings.Join(out, "\n")
}

package patch

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	gmtext "github.com/yuin/goldmark/text"
)

// CodeSpan is a piece of inline code in a text: what stands between backquotes.
type CodeSpan struct {
	Line int // from 1
	Text string
}

// CodeSpans returns the inline code of a Markdown text, in order. Fenced and indented code is none.
func CodeSpans(markdown []byte) []CodeSpan {
	var found []CodeSpan
	doc := goldmark.DefaultParser().Parse(gmtext.NewReader(markdown))
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		span, ok := n.(*ast.CodeSpan)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		var text strings.Builder
		line := 0
		for c := span.FirstChild(); c != nil; c = c.NextSibling() {
			t, ok := c.(*ast.Text)
			if !ok {
				continue
			}
			if line == 0 {
				line = bytes.Count(markdown[:t.Segment.Start], []byte("\n")) + 1
			}
			text.Write(t.Segment.Value(markdown))
		}
		if line > 0 {
			found = append(found, CodeSpan{line, strings.TrimSpace(strings.ReplaceAll(text.String(), "\n", " "))})
		}
		return ast.WalkSkipChildren, nil
	})
	return found
}

// Prose returns the lines of a Python text that are comments and nothing else, as Markdown; all others are empty, so that
// lines keep their numbers. Cells of Markdown in a script are such lines.
func Prose(python []byte) []byte {
	lines := bytes.SplitAfter(python, []byte("\n"))
	for i, line := range lines {
		text := bytes.TrimLeft(line, " \t")
		end := line[len(bytes.TrimRight(line, "\r\n")):]
		switch {
		case bytes.HasPrefix(text, []byte("# ")) && !bytes.HasPrefix(text, []byte("# %%")):
			lines[i] = text[2:]
		default:
			lines[i] = end
		}
	}
	return bytes.Join(lines, nil)
}

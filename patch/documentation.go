package patch

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	gmtext "github.com/yuin/goldmark/text"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// CodeSpan is a piece of inline code in a text, between backquotes.
type CodeSpan struct {
	Line int // from 1
	Text string
}

// CodeSpans returns the inline code of a Markdown text, in order. It ignores fenced and indented code.
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

// Prose returns the comment lines of a text as Markdown. It empties all other lines, so that lines keep their numbers.
// Markdown cells of a script are such comments.
func Prose(code []byte, dialect string) []byte {
	lines := bytes.SplitAfter(code, []byte("\n"))
	mark := syntax.Of(dialect).Comment + " "
	inside := false // in a comment of several lines
	for i, line := range lines {
		text := bytes.TrimLeft(line, " \t")
		end := line[len(bytes.TrimRight(line, "\r\n")):]
		switch {
		case bytes.HasPrefix(text, []byte(mark)) && !bytes.HasPrefix(text, []byte(mark+"%%")):
			lines[i] = text[len(mark):]
		case syntax.Family(dialect) == syntax.JavaScript && (inside || bytes.HasPrefix(text, []byte("/*"))):
			inside = !bytes.Contains(text, []byte("*/"))
			text, _, _ = bytes.Cut(bytes.TrimRight(text, "\r\n"), []byte("*/"))
			lines[i] = append(bytes.TrimLeft(text, "/* \t"), end...)
		default:
			lines[i] = end
		}
	}
	return bytes.Join(lines, nil)
}

// NotebookProse returns the Markdown cells of a notebook and the comments in its code. Each line has the number that it
// has in a notebook file saved the usual way, with one line per source line. The result is nil if the notebook cannot
// be read.
func NotebookProse(data []byte) []byte {
	body := bytes.TrimPrefix(data, []byte(syntax.BOM))
	n := &notebook{line: syntax.LineCounter{Data: data}}
	top, ok := value{at: len(data) - len(body), raw: body}.object()
	if !ok || !json.Valid(body) {
		return nil
	}
	if n.major = 4; top["worksheets"].raw != nil {
		n.major = 3
	}
	cells, bad := n.cells(top)
	if bad != nil {
		return nil
	}
	dialect, _ := DialectNamed(language(top["metadata"]))
	var out bytes.Buffer
	lines := 1
	for _, c := range cells {
		cell, _ := c.object()
		source := cell["source"]
		if source.raw == nil {
			source = cell["input"]
		}
		text, at, _ := source.multiline()
		prose := []byte(text)
		switch cell["cell_type"].text() {
		case "markdown":
		case "code":
			prose = Prose(prose, dialect)
		default:
			continue
		}
		for ; lines < n.line.At(at); lines++ {
			out.WriteByte('\n')
		}
		out.Write(prose)
		out.WriteByte('\n')
		lines += bytes.Count(prose, []byte("\n")) + 1
	}
	return out.Bytes()
}

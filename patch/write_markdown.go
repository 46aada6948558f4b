package patch

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	gmtext "github.com/yuin/goldmark/text"

	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/patch/syntax"
	"github.com/xstate-engine/xstate/patch/syntax/javascript"
)

// markdownFormat returns the format of .md files. The piece of a block is its fence, with both fence lines.
func (p *Program) markdownFormat() *format {
	body := bytes.TrimPrefix(p.raw, []byte(syntax.BOM))
	f := &format{head: string(p.raw[:len(p.raw)-len(body)]), change: p.changeFence, render: newFence, text: textPiece}
	f.join = func(out *strings.Builder, text string) {
		if s := out.String(); s != "" && s[len(s)-1] != '\n' {
			out.WriteString("\n")
		}
		out.WriteString(text)
	}
	at := 0
	add := func(to int) {
		if at < to {
			f.pieces = append(f.pieces, piece{text: string(body[at:to]), block: prose})
		}
		at = to
	}
	n := 0
	_ = ast.Walk(goldmark.DefaultParser().Parse(gmtext.NewReader(body)),
		func(node ast.Node, entering bool) (ast.WalkStatus, error) {
			c, ok := node.(*ast.FencedCodeBlock)
			if !ok || !entering {
				return ast.WalkContinue, nil
			}
			info := fenceInfo(c, body)
			if info.dialect == "" {
				return ast.WalkSkipChildren, nil
			}
			code := info.code(c, body)
			if len(code) == 0 {
				return ast.WalkSkipChildren, nil
			}
			begin := bytes.LastIndexByte(body[:c.Info.Segment.Start], '\n') + 1
			end := lineEnd(body, c.Lines().At(c.Lines().Len()-1).Stop) // the end of the closing line
			add(begin)
			from, to := code[0].Start-begin, code[len(code)-1].Stop-begin
			q := piece{text: string(body[begin:end]), block: n, from: from, to: from +
				len(strings.TrimRight(string(body[begin+from:begin+to]), "\r\n"))}
			f.pieces, at, n = append(f.pieces, q), end, n+1
			return ast.WalkSkipChildren, nil
		})
	add(len(body))
	return f
}

// lineEnd returns the end of the line that holds an offset, including its line end.
func lineEnd(body []byte, from int) int {
	if i := bytes.IndexByte(body[from:], '\n'); i >= 0 {
		return from + i + 1
	}
	return len(body)
}

// changeFence replaces the code of a fence. Each line starts like the first one, which may be in a quotation or a list.
func (p *Program) changeFence(q piece, was, now Block) string {
	margin := q.text[strings.LastIndexByte(q.text[:q.from], '\n')+1 : q.from]
	head, tail := q.text[:q.from], q.text[q.to:]
	if p.renames(q.block, was, now) || was.Dialect != now.Dialect {
		open := q.text[:strings.IndexByte(q.text, '\n')]
		head = open[:strings.IndexAny(open, "`~")] + openFence(fenceMark(tail, now.Source), now) + "\n" + margin
	}
	return head + strings.ReplaceAll(now.Source, "\n", "\n"+margin) + tail
}

// fenceMark returns the mark that opens and closes a fence around a source. It is the mark that closes the fence
// already, or a mark longer than any in the source.
func fenceMark(tail, source string) string {
	if last := strings.TrimSpace(tail); strings.HasPrefix(last, "~~~") || strings.HasPrefix(last, "```") {
		return last
	}
	mark := "```"
	for strings.Contains(source, mark) {
		mark += "`"
	}
	return mark
}

var plainWord = regexp.MustCompile(`^[\w.-]+$`)

func openFence(mark string, b Block) string {
	open := mark + fenceWord(b)
	switch {
	case b.Title == "" || b.Title == b.defined():
	case plainWord.MatchString(b.Title):
		open += " name=" + b.Title
	default:
		open += fmt.Sprintf(" name=%q", b.Title)
	}
	return open
}

func newFence(b Block, first bool) string {
	mark := fenceMark("", b.Source)
	text := openFence(mark, b) + "\n" + b.Source + "\n" + mark + "\n"
	if first {
		return text
	}
	return "\n" + text
}

func textPiece(t Text, first bool) string {
	text := strings.TrimRight(t.Source, "\n") + "\n"
	switch t.Kind {
	case TextMarkdown:
		text = quotedCode(text)
	case TextOutput:
		mark := fenceMark("", text)
		text = mark + "text\n" + text + mark + "\n"
	}
	if first {
		return text
	}
	return "\n" + text
}

// fenceWord returns the word after the mark of a fence around a block.
func fenceWord(b Block) string {
	switch {
	case b.Dialect == "":
		return string(lang.Default)
	case b.Dialect == syntax.Module && javascript.IsModule([]byte(b.Source)):
		return syntax.JavaScript
	case b.Dialect == syntax.Module:
		return "mjs"
	}
	return b.Dialect
}

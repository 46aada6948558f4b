package patch

import (
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	gmtext "github.com/yuin/goldmark/text"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// TextKind is what a text between blocks is.
type TextKind int

const (
	TextMarkdown TextKind = iota
	TextRaw               // a raw cell of a notebook
	TextOutput            // what a block put out; a file shows it and does not read it as Markdown
)

// Text is a text between the blocks of a file.
type Text struct {
	Kind        TextKind
	Before      int // index of the block that follows; the number of blocks at the end
	Source      string
	Attachments map[string]map[string]string // in a notebook: name → media type → base64
}

// linkedImage matches the destination of an image in Markdown or in HTML.
var linkedImage = regexp.MustCompile(`(!\[[^\]\n]*\]\(\s*<?|<img\b[^>]*?\ssrc=["']?)([^\s"'<>)]+)`)

// MapImages returns a Markdown text with other destinations of its images.
func MapImages(markdown string, to func(destination string) string) string {
	return linkedImage.ReplaceAllStringFunc(markdown, func(s string) string {
		m := linkedImage.FindStringSubmatch(s)
		return m[1] + to(m[2])
	})
}

// quotedCode returns a Markdown text in which fences of code do not count as code of the program.
func quotedCode(text string) string {
	body := []byte(text)
	var out strings.Builder
	at := 0
	_ = ast.Walk(goldmark.DefaultParser().Parse(gmtext.NewReader(body)),
		func(node ast.Node, entering bool) (ast.WalkStatus, error) {
			c, ok := node.(*ast.FencedCodeBlock)
			if !ok || !entering || fenceInfo(c, body).dialect == "" {
				return ast.WalkContinue, nil
			}
			if syntax.Family(fenceInfo(c, body).dialect) == syntax.Python {
				out.WriteString(text[at:c.Info.Segment.Start] + "pycon") // which renderers colour as Python
			} else {
				out.WriteString(text[at:c.Info.Segment.Stop] + " ignore")
			}
			at = c.Info.Segment.Stop
			return ast.WalkSkipChildren, nil
		})
	out.WriteString(text[at:])
	return out.String()
}

package provenance

import (
	"bytes"
	"context"
	"fmt"
	"html/template"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
	"github.com/xstate-engine/xstate/state/query"
)

// PagePart is a block or a text of a page.
type PagePart struct {
	Block *query.BlockView
	HTML  template.HTML // a text, which neither runs nor loads anything
	Text  string        // one that is shown as it is
}

// PageOutput is an output of a block as a page can show it: a picture, HTML that neither runs nor loads anything, or
// else a text.
type PageOutput struct {
	Class string // stdout, stderr, result, display or error
	Image template.URL
	HTML  template.HTML
	Text  string // of a picture: what it is instead
}

// Page returns the program after step n with the texts around its blocks, for a page that needs no other file.
func Page(ctx context.Context, h *query.History, n state.StepNumber, o ExportOptions) (
	*query.Snapshot, []PagePart, error,
) {
	d, err := newDocument(ctx, h, n, o)
	if err != nil {
		return nil, nil, err
	}
	var parts []PagePart
	texts := d.texts
	for k := 0; k <= len(d.Blocks); k++ {
		for ; len(texts) > 0 && texts[0].Before <= k; texts = texts[1:] {
			part, err := d.pageText(&texts[0])
			if err != nil {
				return nil, nil, err
			}
			parts = append(parts, part)
		}
		if k < len(d.Blocks) {
			parts = append(parts, PagePart{Block: &d.Blocks[k]})
		}
	}
	return d.Snapshot, parts, nil
}

// pageText renders a text of the program's file.
func (d *document) pageText(t *patch.Text) (PagePart, error) {
	if t.Kind == patch.TextRaw {
		return PagePart{Text: t.Source}, nil
	}
	text, err := markdownHTML(t.Source, func(src string) string {
		media, data := d.picture(t, src)
		if data == nil {
			return ""
		}
		return Figure{Media: media, Data: data}.URL()
	})
	return PagePart{HTML: text}, err
}

// PageOutputs returns what a block put out, and its error last.
func PageOutputs(b *query.BlockView) ([]PageOutput, error) {
	var list []PageOutput
	for _, o := range output.Visible(b.Outputs) {
		x, err := richHTML(o)
		if err != nil {
			return nil, err
		}
		last := len(list) - 1
		if len(o.Data) == 0 && last >= 0 && list[last].Class == o.Kind {
			list[last].Text += o.Text + o.Note()
			continue
		}
		x.Class = o.Kind
		x.Text += o.Note()
		list = append(list, x)
	}
	if b.Error != nil {
		text := ""
		for _, line := range tracebackLines(b.Error) {
			text += line + "\n"
		}
		list = append(list, PageOutput{Class: "error", Text: text})
	}
	return list, nil
}

// richHTML chooses the richest form of an output that a page can show.
func richHTML(o output.Output) (PageOutput, error) {
	text := o.Text
	if plain, ok := o.Data["text/plain"]; ok {
		text = plain
	}
	none := func(string) string { return "" }
	if page, ok := o.Data["text/html"]; ok {
		return PageOutput{HTML: template.HTML(safeHTML(page, none))}, nil
	}
	if f, ok := figureOf(o); ok {
		return PageOutput{Image: template.URL(f.URL()), Text: text}, nil
	}
	if said, ok := o.Data["text/markdown"]; ok {
		page, err := markdownHTML(said, none)
		return PageOutput{HTML: page}, err
	}
	return PageOutput{Text: text}, nil
}

// markdown renders CommonMark with tables. HTML in it is kept and passes safeHTML with the rest.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))

func markdownHTML(text string, image func(src string) string) (template.HTML, error) {
	var out bytes.Buffer
	if err := markdown.Convert([]byte(text), &out); err != nil {
		return "", fmt.Errorf("render Markdown: %w", err)
	}
	return template.HTML(safeHTML(out.String(), image)), nil
}

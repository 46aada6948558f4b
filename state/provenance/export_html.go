package provenance

import (
	"bytes"
	"fmt"
	"html/template"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state/output"
	"github.com/xstate-engine/xstate/state/query"
)

// pageTemplate needs no other file. Nothing in it runs: what comes from the program is escaped or has passed safeHTML,
// and the policy keeps a browser from running or loading anything should one of them fail.
var pageTemplate = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'">
<meta name="viewport" content="width=device-width">
<meta name="generator" content="xstate">
<title>{{.Title}}</title>
<style>
body { max-width: 60em; margin: 2em auto; padding: 0 1em; font: 16px/1.5 system-ui, sans-serif; color: #222 }
pre { overflow-x: auto; margin: 0; padding: .6em .8em; font: 13px/1.45 ui-monospace, monospace }
.code { background: #f5f6f8; border-left: 3px solid #4a7ab5; margin-top: 1.2em }
.code + .output { margin-top: .3em }
.output { overflow-x: auto; padding-left: 3px }
.stderr pre { background: #fdf3e7 }
.error pre { background: #fbe9e9 }
.name { float: right; color: #789; font: 12px/1.6 system-ui, sans-serif; padding: .3em .6em }
img { max-width: 100% }
table { border-collapse: collapse; font-size: 13px; margin: .4em 0 }
th, td { padding: .25em .6em; border: 1px solid #dde; text-align: right }
footer { margin-top: 3em; color: #789; font-size: 13px }
</style>
</head>
<body>
{{range .Parts}}{{if .Block}}<div class="code"><span class="name">{{.Block.ID}}</span><pre>{{.Block.Source}}</pre></div>
{{range .Outputs}}<div class="output {{.Class}}">{{if .Image}}<img src="{{.Image}}" alt="{{.Text}}">` +
	`{{else if .HTML}}{{.HTML}}{{else}}<pre>{{.Text}}</pre>{{end}}</div>
{{end}}{{else}}<div class="text">{{if .HTML}}{{.HTML}}{{else}}<pre>{{.Text}}</pre>{{end}}</div>
{{end}}{{end}}<footer>{{.Foot}}</footer>
</body>
</html>
`))

// pagePart is a block or a text of a page.
type pagePart struct {
	Block   *query.BlockView
	Outputs []PageOutput
	HTML    template.HTML
	Text    string
}

// PageOutput is an output of a block as a page can show it: a picture, HTML that neither runs nor loads anything, or
// else a text.
type PageOutput struct {
	Class string // stdout, stderr, result, display or error
	Image template.URL
	HTML  template.HTML
	Text  string // of a picture: what it is instead
}

// page writes the program as a page.
func (d *document) page() ([]byte, error) {
	var parts []pagePart
	texts := d.texts
	for k := 0; k <= len(d.Blocks); k++ {
		for ; len(texts) > 0 && texts[0].Before <= k; texts = texts[1:] {
			t := &texts[0]
			if t.Kind == patch.TextRaw {
				parts = append(parts, pagePart{Text: t.Source})
				continue
			}
			text, err := markdownHTML(t.Source, func(src string) string {
				media, data := d.picture(t, src)
				if data == nil {
					return ""
				}
				return Figure{Media: media, Data: data}.URL()
			})
			if err != nil {
				return nil, err
			}
			parts = append(parts, pagePart{HTML: text})
		}
		if k < len(d.Blocks) {
			outputs, err := PageOutputs(&d.Blocks[k])
			if err != nil {
				return nil, err
			}
			parts = append(parts, pagePart{Block: &d.Blocks[k], Outputs: outputs})
		}
	}
	var out bytes.Buffer
	err := pageTemplate.Execute(&out, map[string]any{"Title": d.Session, "Parts": parts,
		"Foot": fmt.Sprintf("session %s after step %d", d.Session, d.Step.Number)})
	return out.Bytes(), err
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

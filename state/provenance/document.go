package provenance

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/patch/syntax"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
	"github.com/xstate-engine/xstate/state/query"
)

// document is a program to be exported.
type document struct {
	*query.Snapshot
	blocks  []patch.Block
	texts   []patch.Text // around the blocks, in order
	options ExportOptions
}

// script writes the blocks as cells, each followed by its outputs as comments.
func (d *document) script() ([]byte, error) {
	for i, b := range d.blocks {
		if b.Dialect != syntax.IPython {
			continue
		}
		if _, err := python.Analyze([]byte(b.Source), python.Plain); err == nil {
			d.blocks[i].Dialect = syntax.Python // in a script a cell has magics only if it does not parse without
		}
	}
	return patch.New(patch.KindCells, d.blocks, d.around(func(b *query.BlockView) []patch.Text {
		return outputText(plainOutputs(b.Outputs, b.Error))
	}))
}

// markdown writes the blocks as fences, each followed by its outputs as fenced text and pictures.
func (d *document) markdown() ([]byte, error) {
	for i := range d.texts {
		d.texts[i].Source = patch.MapImages(d.texts[i].Source, d.linked(&d.texts[i]))
	}
	return patch.New(patch.KindMarkdown, d.blocks, d.around(d.shown))
}

// around returns the texts around the blocks: what each block put out, and then those before the next block.
func (d *document) around(outputs func(*query.BlockView) []patch.Text) []patch.Text {
	var list []patch.Text
	texts := d.texts
	for k := 0; k <= len(d.blocks); k++ {
		if k > 0 {
			for _, t := range outputs(&d.Blocks[k-1]) {
				t.Before = k
				list = append(list, t)
			}
		}
		for ; len(texts) > 0 && texts[0].Before <= k; texts = texts[1:] {
			list = append(list, texts[0])
		}
	}
	return list
}

// shown returns what a block put out as texts of a Markdown document. Pictures go to the folder of images.
func (d *document) shown(b *query.BlockView) []patch.Text {
	var list []patch.Text
	var plain []output.Output // not in list yet
	figures := Figures(b.ID, b.Outputs)
	images := d.options.Images
	for _, o := range output.Visible(b.Outputs) {
		_, isFigure := figureOf(o)
		said, isMarkdown := o.Data["text/markdown"]
		if images == nil || !isFigure && !isMarkdown {
			plain = append(plain, o)
			continue
		}
		list, plain = append(list, outputText(plainOutputs(plain, nil))...), nil
		if isFigure {
			said = fmt.Sprintf("![%s](%s)", figures[0].Name, images.add(figures[0].Name, figures[0].Data))
			figures = figures[1:]
		}
		list = append(list, patch.Text{Source: said})
	}
	return append(list, outputText(plainOutputs(plain, b.Error))...)
}

func outputText(text string) []patch.Text {
	if text == "" {
		return nil
	}
	return []patch.Text{{Kind: patch.TextOutput, Source: text}}
}

// linked returns the function that puts the pictures of a text into the folder of images.
func (d *document) linked(t *patch.Text) func(destination string) string {
	return func(destination string) string {
		images := d.options.Images
		if images == nil {
			return destination
		}
		media, data := d.picture(t, destination)
		if data == nil {
			return destination
		}
		name := path.Base(strings.TrimPrefix(destination, "attachment:"))
		name = strings.TrimSuffix(fileName(name), path.Ext(name))
		return images.add(fmt.Sprintf("text-%d-%s%s", len(images.Files)+1, name, imageEndings[media]), data)
	}
}

// picture returns the picture that a text shows, from its attachments or from a file of the workspace; else nil.
func (d *document) picture(t *patch.Text, destination string) (media string, data []byte) {
	if name, ok := strings.CutPrefix(destination, "attachment:"); ok {
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
		f, _ := figureOf(output.Output{Data: t.Attachments[name]})
		if !isPicture(f.Media, f.Data) {
			return "", nil
		}
		return f.Media, f.Data
	}
	name, err := url.PathUnescape(destination)
	media = mediaOf(name)
	if err != nil || media == "" || strings.Contains(name, ":") || d.options.Open == nil {
		return "", nil
	}
	if data, err = d.options.Open(name); err != nil || !isPicture(media, data) {
		return "", nil
	}
	return media, data
}

// add puts a picture into the folder, and returns its link.
func (f *ImageFolder) add(name string, data []byte) string {
	if f.Files == nil {
		f.Files = map[string][]byte{}
	}
	f.Files[name] = data
	return f.Link + "/" + name
}

// plainOutputs is what a block put out, as text.
func plainOutputs(outputs []output.Output, e *state.ExecError) string {
	var out strings.Builder
	for _, o := range outputs {
		switch text, plain := o.Data["text/plain"]; {
		case len(o.Data) == 0:
			out.WriteString(o.Text + o.Note())
		case plain:
			out.WriteString(text + "\n")
		default:
			out.WriteString(o.Text + "\n")
		}
	}
	if e != nil {
		fmt.Fprintf(&out, "%s: %s\n", e.Type, e.Message)
	}
	return strings.TrimRight(out.String(), "\n")
}

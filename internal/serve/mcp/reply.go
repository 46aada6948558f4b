package mcp

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

// reply is the answer of a tool for a model.
type reply struct {
	parts    []part
	pictures []sdk.Content
	links    []sdk.Content

	pictureBytes int // the size of all pictures, in base64
}

// part is a line of a reply, or a text that may be clipped.
type part struct {
	text string
	body bool
	most int    // the largest size of a body
	link func() // called if a body is clipped
}

// Bounds of what goes with the text. Some clients read no message over HTTP that is longer than 1 MiB.
const (
	mostPictures     = 4
	mostPictureBytes = 700 << 10 // for all, in base64
	mostLinks        = 12
)

// line adds one line, which is never clipped.
func (r *reply) line(format string, values ...any) {
	r.parts = append(r.parts, part{text: fmt.Sprintf(format, values...)})
}

// body adds a text that is clipped to most bytes, and further where the reply would be too long.
func (r *reply) body(text string, most int) { r.linked(text, most, nil) }

// linked is body with what is to be done if the text is clipped.
func (r *reply) linked(text string, most int, link func()) {
	if text = strings.TrimRight(text, "\n"); text != "" {
		r.parts = append(r.parts, part{text: text, body: true, most: most, link: link})
	}
}

// contents are the text, then pictures and links.
func (r *reply) contents() []sdk.Content {
	budget, sizes := textBudget, []int{}
	for _, p := range r.parts {
		if p.body {
			sizes = append(sizes, min(len(p.text), p.most))
		} else {
			budget -= len(p.text) + 1
		}
	}
	given := shares(sizes, max(budget, textBudget/4))
	var b strings.Builder
	for _, p := range r.parts {
		if !p.body {
			b.WriteString(p.text + "\n")
			continue
		}
		if len(p.text) > given[0] && p.link != nil {
			p.link()
		}
		b.WriteString(clip(p.text, given[0]) + "\n")
		given = given[1:]
	}
	whole := clip(b.String(), 2*textBudget) // very many lines
	contents := []sdk.Content{&sdk.TextContent{Text: strings.TrimRight(whole, "\n")}}
	return slices.Concat(contents, r.pictures, r.links)
}

// place is where an output is recorded.
type place struct {
	session string
	step    state.StepNumber
	block   state.BlockID
}

// uri names the resource of one output.
func (p place) uri(index int) string {
	return fmt.Sprintf("%s/output/%d", p.base(), index)
}

// wholeURI names the resource of all texts that the block put out.
func (p place) wholeURI() string { return p.base() + "/text" }

func (p place) base() string {
	return fmt.Sprintf("xstate://session/%s/step/%d/block/%s", url.PathEscape(p.session), p.step,
		url.PathEscape(string(p.block)))
}

// outputs adds what a block put out: its text, its pictures, and links to what is not shown whole.
func (r *reply) outputs(at place, outputs []output.Output, most int) {
	var b strings.Builder
	for i := range outputs {
		o := &outputs[i]
		b.WriteString(textOf(o))
		b.WriteString(o.Note())
		if media, data := pictureOf(o); data != "" {
			fmt.Fprintf(&b, "[picture, %s]\n", media)
			r.picture(media, data, at, i)
		}
	}
	r.linked(b.String(), most, func() {
		for i := range outputs {
			if n := len(textOf(&outputs[i])); n > 1000 {
				r.link(at.uri(i), fmt.Sprintf("%s of block %s", outputs[i].Kind, at.block), "text/plain", n)
			}
		}
	})
}

// textOf is the text of an output. Displayed text ends with a line end, and the text of a picture is left out.
func textOf(o *output.Output) string {
	switch o.Kind {
	case "stdout", "stderr":
		return o.Text
	case "update", "comm": // of what another block shows, and of widgets
		return ""
	}
	text := cmp.Or(o.Text, o.Data["text/plain"], o.Data["text/markdown"])
	if _, data := pictureOf(o); text == "" || data != "" {
		return ""
	}
	return strings.TrimRight(text, "\n") + "\n"
}

// shownMedia are the pictures that models see.
var shownMedia = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// pictureOf is the picture of an output, in base64; no data if there is none.
func pictureOf(o *output.Output) (media, data string) {
	for _, media := range append(slices.Clone(shownMedia), "image/svg+xml") {
		if data := o.Data[media]; data != "" {
			return media, data
		}
	}
	return "", ""
}

// picture adds a picture, or a link to it if there are many or it is large.
func (r *reply) picture(media, data string, at place, index int) {
	raw, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(data, "\n", ""))
	if err != nil || !slices.Contains(shownMedia, media) || !r.room(len(data)) {
		r.link(at.uri(index), "picture of block "+string(at.block), media, len(data))
		return
	}
	r.show(media, raw)
}

// room reports whether a picture of so many bytes in base64 goes into the reply.
func (r *reply) room(bytes int) bool {
	return len(r.pictures) < mostPictures && r.pictureBytes+bytes <= mostPictureBytes
}

func (r *reply) show(media string, data []byte) {
	r.pictures = append(r.pictures, &sdk.ImageContent{MIMEType: media, Data: data})
	r.pictureBytes += base64.StdEncoding.EncodedLen(len(data))
}

// link adds a link to a resource.
func (r *reply) link(uri, name, media string, bytes int) {
	if len(r.links) == mostLinks {
		return
	}
	size := int64(bytes)
	r.links = append(r.links, &sdk.ResourceLink{URI: uri, Name: name, MIMEType: media, Size: &size})
}

// file adds a picture of exec, which is a file, or a link to it; and a link to a text that was clipped.
func (r *reply) file(session string, step state.StepNumber, f *api.ExecFile) {
	at := place{session, step, f.Block}
	index, err := strconv.Atoi(f.URI[strings.LastIndexByte(f.URI, '/')+1:])
	if err != nil {
		r.link(at.wholeURI(), "all that block "+string(f.Block)+" put out", f.Media, f.Bytes)
		return
	}
	if slices.Contains(shownMedia, f.Media) && r.room(f.Bytes*4/3) {
		if data, err := os.ReadFile(f.File); err == nil {
			r.show(f.Media, data)
			return
		}
	}
	r.link(at.uri(index), "picture of block "+string(f.Block), f.Media, f.Bytes)
}

// duration is a number of seconds for a reader.
func duration(seconds float64) string {
	switch {
	case seconds < 0.0005:
		return "<1 ms"
	case seconds < 1:
		return fmt.Sprintf("%.0f ms", seconds*1000)
	}
	return fmt.Sprintf("%.2f s", seconds)
}

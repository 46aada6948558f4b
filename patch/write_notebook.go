package patch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/patch/syntax"
)

// emptyNotebook is a notebook of a kernel: its title, language and name, and the language again.
const emptyNotebook = `{
 "cells": [],
 "metadata": {
  "kernelspec": {
   "display_name": %q,
   "language": %q,
   "name": %q
  },
  "language_info": {
   "name": %q
  }
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
`

// NewNotebook returns the kernel of a new notebook for blocks, and the source of each one's cell. A cell in another
// language than the kernel's begins with a cell magic.
func NewNotebook(blocks []Block) (k lang.Kernel, sources []string) {
	p := &Program{Kind: KindNotebook, main: mainDialect(KindNotebook, blocks)}
	for _, b := range blocks {
		sources = append(sources, p.magic(b)+b.Source)
	}
	return variant(p.main).Kernel, sources
}

// notebookFormat returns the format of .ipynb files of nbformat 4. Its pieces are cells.
func (p *Program) notebookFormat() (*format, error) {
	top := p.top()
	var major int
	if !top["nbformat"].into(&major) || major != 4 {
		return nil, unwritable(p.Kind, "it is older than nbformat 4")
	}
	cells := top["cells"]
	list, _ := cells.array()
	f := &format{head: string(p.raw[:cells.at+1]), foot: string(p.raw[cells.at+len(cells.raw)-1:])}
	style := p.style()
	gap, first := style.end+strings.Repeat(style.unit, 2), true
	if len(list) > 0 {
		end := list[len(list)-1]
		f.head, f.foot = string(p.raw[:list[0].at]), string(p.raw[end.at+len(end.raw):])
		gap = f.head[strings.LastIndexByte(f.head, '[')+1:]
	} else {
		f.head, f.foot = f.head+gap, style.end+style.unit+f.foot
	}
	f.join = func(out *strings.Builder, text string) {
		if !first {
			out.WriteString("," + gap)
		}
		first = false
		out.WriteString(text)
	}
	for i, c := range list {
		q := piece{text: string(c.raw), block: prose}
		if k := slices.Index(p.Cells, i); k >= 0 {
			q.block = k
		}
		f.pieces = append(f.pieces, q)
	}
	f.change = func(q piece, was, now Block) string { return p.changeCell(q, was, now, style) }
	ids := cellIDs{used: map[string]bool{}, texts: map[string]bool{}}
	for i, c := range list {
		for _, id := range idsOf([]value{c}) {
			ids.used[id], ids.texts[id] = true, f.pieces[i].block == prose
		}
	}
	if !hasIDs(top) {
		ids.used = nil
	}
	f.render = func(b Block, _ bool) string { return p.newCell(b, ids, style) }
	return f, nil
}

// changeCell replaces the source of a cell. It removes the outputs, because they belong to the former code.
func (p *Program) changeCell(q piece, was, now Block, style jsonStyle) string {
	style = style.in(3)
	cell := value{raw: json.RawMessage(q.text)}
	fields, _ := cell.object()
	magic := p.magic(now)
	if was.Dialect == now.Dialect {
		source, _, _ := fields["source"].multiline()
		magic, _, _ = cutMagic(source)
	}
	put := map[string]string{"source": style.source(fields["source"], magic+now.Source)}
	if was.Source != now.Source {
		put["outputs"], put["execution_count"] = "[]", "null"
	}
	if p.renames(q.block, was, now) {
		put["metadata"] = style.text(renamed(fields["metadata"], now))
	}
	return withFields(q.text, fields, put)
}

// source returns the JSON of a cell's source in the form that the former one has.
func (s jsonStyle) source(was value, text string) string {
	if len(was.raw) > 0 && was.raw[0] == '"' { // one text, and not a list of lines
		return s.text(text)
	}
	return s.text(sourceLines(text))
}

// withFields returns the JSON of an object, text, with other values of the fields that it has.
func withFields(text string, fields map[string]value, put map[string]string) string {
	var names []string
	for name := range put {
		if fields[name].raw != nil {
			names = append(names, name)
		}
	}
	// from the end, so that offsets stay valid
	slices.SortFunc(names, func(a, b string) int { return fields[b].at - fields[a].at })
	for _, name := range names {
		at := fields[name].at
		text = text[:at] + put[name] + text[at+len(fields[name].raw):]
	}
	return text
}

// magic returns the line that says that a cell is in another language than the notebook.
func (p *Program) magic(b Block) string {
	if p.main != syntax.IPython || syntax.Family(b.Dialect) == syntax.Python {
		return ""
	}
	if magics := variant(b.Dialect).Magics; len(magics) > 0 {
		return magics[0] + "\n"
	}
	return "" // no magic can run it, so it cannot be written
}

// renamed returns a cell's metadata with the name of a block, unless the code shows the name.
func renamed(metadata value, b Block) map[string]any {
	all := decoded(metadata)
	delete(all, "name")
	if b.Title != "" && cellTitle(value{}, b) != b.Title {
		all["name"] = b.Title
	}
	return all
}

// decoded returns a cell's metadata. Anything but an object is replaced by an empty one.
func decoded(metadata value) map[string]any {
	all := map[string]any{}
	if len(metadata.raw) > 0 {
		d := json.NewDecoder(bytes.NewReader(metadata.raw))
		d.UseNumber()
		_ = d.Decode(&all)
	}
	if all == nil {
		all = map[string]any{}
	}
	return all
}

// cell returns the JSON of a cell that has no outputs; without an id if that is "".
func (s jsonStyle) cell(kind, id string, metadata map[string]any, source string) string {
	type field struct {
		name  string
		value any
	}
	fields := []field{{"cell_type", kind}}
	if kind == "code" {
		fields = append(fields, field{"execution_count", nil})
	}
	if id != "" {
		fields = append(fields, field{"id", id})
	}
	fields = append(fields, field{"metadata", metadata})
	if kind == "code" {
		fields = append(fields, field{"outputs", []string{}})
	}
	fields = append(fields, field{"source", sourceLines(source)})
	var out strings.Builder
	s.in(2).list(&out, '{', '}', len(fields), func(in jsonStyle, i int) {
		in.quote(&out, fields[i].name)
		out.WriteString(in.colon)
		in.write(&out, fields[i].value)
	})
	return out.String()
}

// cellID matches the cell ids that nbformat 4.5 allows.
var cellID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// cellIDs are the ids of the cells of a notebook; used is nil if they have none. texts are those of cells that are not
// blocks: a block of that name gets another id.
type cellIDs struct{ used, texts map[string]bool }

func (p *Program) newCell(b Block, ids cellIDs, style jsonStyle) string {
	id := ""
	if ids.used != nil {
		if id = b.ID; !cellID.MatchString(id) {
			id = "cell"
		}
		for stem, n := id, 2; ids.used[id] && (id != b.ID || ids.texts[id]) || !cellID.MatchString(id); n++ {
			id = fmt.Sprintf("%.56s-%d", stem, n)
		}
		ids.used[id] = true
	}
	return style.cell("code", id, renamed(value{}, b), p.magic(b)+b.Source)
}

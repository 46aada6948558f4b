package patch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// piece is a part of a file: a block with what announces it (a cell marker, a fence, the JSON of a cell), or the prose
// before, between and after blocks. The pieces of a file in order are the file.
type piece struct {
	text     string
	block    int // the place of the block in it, or prose
	from, to int // where its source is in text
}

const prose = -1

// format writes one kind of file.
type format struct {
	pieces []piece
	head   string                                  // what stands before the first piece, and
	foot   string                                  // after the last one
	change func(p piece, was, now Block) string    // a block's piece with another block in it
	render func(b Block, first bool) string        // the piece of a new block
	join   func(out *strings.Builder, text string) // adds a piece to those written
	note   func(text string) string                // a piece of prose that shows text as it is
}

// Identify returns, for each of the blocks of a file that was read again, the id that it has in old: "" for one that is not
// there. The ids of old are unique and not empty. It is what Match finds.
func Identify(old, new []Block) []string {
	m := match(old, new)
	ids := make([]string, len(new))
	for j, i := range m.oldOf {
		if i >= 0 {
			ids[j] = old[i].ID
		}
	}
	return ids
}

// With returns the file with another program in it: blocks, in their order. ids are those of the file's own blocks, by
// their place. A block that has one of them takes that place; the file's other blocks go, and new ones are written as the
// kind of file has it. All that is not code stays: prose, other cells, metadata, the shape of what is not changed. What
// is returned reads as blocks; the error says that it cannot be written so.
func (p *Program) With(ids []string, blocks []Block) ([]byte, error) {
	f, err := p.format()
	if err != nil {
		return nil, err
	}
	data := []byte(p.rewrite(f, ids, blocks, nil))
	err = p.reads(data, blocks)
	if err != nil && p.Kind == KindScript {
		return New(KindCells, blocks, nil) // between its blocks a script has blank lines and nothing to keep
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// CodeUnwritable is the code of errors about a program that a kind of file cannot hold.
const CodeUnwritable Code = "unwritable"

func unwritable(kind Kind, why string) error {
	return &ParseError{Code: CodeUnwritable, Message: fmt.Sprintf("the program cannot be written as a %s file: %s", kind, why),
		Hint: "write it into a new file: xstate export --out FILE"}
}

// reads makes sure that data reads as blocks.
func (p *Program) reads(data []byte, blocks []Block) error {
	if len(blocks) == 0 {
		return nil // a file without code is no program, and what a session without blocks is written as
	}
	again, bad := readers[p.Kind](data)
	if bad != nil {
		return unwritable(p.Kind, bad.Message)
	}
	again.dropRepeatedIDs()
	edits := Match(blocks, again.Blocks)
	if len(edits) == 0 {
		return nil
	}
	would := map[Op]string{OpAppend: "would read as two", OpPatch: "would read otherwise", OpMove: "would stand elsewhere", OpDelete: "would be lost"}
	return unwritable(p.Kind, fmt.Sprintf("block %q %s", edits[0].ID, would[edits[0].Op]))
}

var readers = map[Kind]func([]byte) (*Program, *ParseError){
	KindScript: readPython, KindCells: readPython, KindNotebook: readNotebook, KindMarkdown: readMarkdown,
}

func (p *Program) format() (*format, error) {
	switch p.Kind {
	case KindNotebook:
		return p.notebookFormat()
	case KindMarkdown:
		return p.markdownFormat(), nil
	}
	return p.pythonFormat(), nil
}

// rewrite puts blocks into the pieces of a file; a note goes behind each new block that has one, by its place.
func (p *Program) rewrite(f *format, ids []string, blocks []Block, notes []string) string {
	place := map[string]int{}
	for i, id := range ids {
		if id != "" {
			place[id] = i
		}
	}
	stays := staying(place, blocks)
	var out strings.Builder
	out.WriteString(f.head)
	next, written := 0, false
	emit := func(text string) {
		if text != "" {
			f.join(&out, text)
			written = true
		}
	}
	until := func(block int) { // the prose up to the piece of a block, those that go being left out
		for ; next < len(f.pieces) && f.pieces[next].block != block; next++ {
			if q := f.pieces[next]; q.block == prose {
				emit(q.kept(f.pieces, next, stays))
			}
		}
	}
	for k, b := range blocks {
		i, known := place[b.ID]
		if !known || !stays[i] {
			if k == 0 && len(f.pieces) > 0 && f.pieces[0].block == prose {
				emit(f.pieces[0].text) // the file's own head comes first
				next = 1
			}
			emit(f.render(b, !written))
			if f.note != nil && k < len(notes) && notes[k] != "" {
				emit(f.note(notes[k]))
			}
			continue
		}
		until(i)
		text := f.pieces[next].text
		if !b.same(p.Blocks[i]) {
			text = f.change(f.pieces[next], p.Blocks[i], b)
		}
		emit(text)
		next++
	}
	until(len(p.Blocks))
	return out.String() + f.foot
}

// kept is the text of a piece of prose; blank lines before a block that goes, go with it.
func (q piece) kept(all []piece, at int, stays map[int]bool) string {
	if at+1 < len(all) && !stays[all[at+1].block] && strings.TrimSpace(q.text) == "" {
		return ""
	}
	return q.text
}

// staying tells which blocks of a file keep their places: as many as can without changing places among themselves.
func staying(place map[string]int, blocks []Block) map[int]bool {
	var was []int
	for _, b := range blocks {
		if i, ok := place[b.ID]; ok {
			was = append(was, i)
		}
	}
	stays := map[int]bool{}
	order := slices.Sorted(slices.Values(was))
	for _, p := range common(order, was) {
		stays[order[p.i]] = true
	}
	return stays
}

// New returns a file of a kind with blocks in it, and nothing else but notes: texts that are shown behind the blocks, by their
// place, and are no code. A notebook takes none.
func New(kind Kind, blocks []Block, notes []string) ([]byte, error) {
	p := &Program{Kind: kind, gaps: []string{""}}
	switch kind {
	case KindNotebook:
		p.raw = []byte(emptyNotebook)
	case KindMarkdown:
		p.raw = []byte{}
	}
	f, err := p.format()
	if err != nil {
		return nil, err
	}
	data := []byte(p.rewrite(f, nil, blocks, notes))
	return data, p.reads(data, blocks)
}

// pythonFormat is that of .py files.
func (p *Program) pythonFormat() *format {
	end := "\n"
	if i := strings.IndexByte(string(p.Bytes()), '\n'); i > 0 && p.Bytes()[i-1] == '\r' {
		end = "\r\n"
	}
	f := &format{join: func(out *strings.Builder, text string) {
		if s := out.String(); s != "" && s[len(s)-1] != '\n' && text[0] != '\n' && text[0] != '\r' {
			out.WriteString(end)
		}
		out.WriteString(text)
	}}
	for i, b := range p.Blocks {
		lead, mark := cutMarker(p.gaps[i])
		if lead != "" {
			f.pieces = append(f.pieces, piece{text: lead, block: prose})
		}
		f.pieces = append(f.pieces, piece{text: mark + b.Source, block: i, from: len(mark), to: len(mark) + len(b.Source)})
	}
	if last := p.gaps[len(p.Blocks)]; last != "" {
		f.pieces = append(f.pieces, piece{text: last, block: prose})
	} else if len(p.Blocks) == 0 {
		f.foot = end
	}
	f.change = func(q piece, was, now Block) string {
		mark := q.text[:q.from]
		if was.Title != now.Title && p.Kind == KindCells {
			mark = pythonMarker(now) + end
		}
		return mark + now.Source
	}
	f.note = func(text string) string {
		lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
		return end + end + "# %% [markdown]" + end + "# " + strings.Join(lines, end+"# ")
	}
	f.render = func(b Block, first bool) string {
		text := b.Source
		if p.Kind == KindCells {
			text = pythonMarker(b) + end + text
		}
		if first {
			return text
		}
		return end + end + text
	}
	return f
}

// cutMarker cuts the text before a block at the line that starts its cell.
func cutMarker(gap string) (lead, mark string) {
	t := newText([]byte(gap))
	for i := t.lines() - 1; i >= 0; i-- {
		if _, ok := parseMarker(t.line(i)); ok {
			return gap[:t.begin(i)], gap[t.begin(i):]
		}
	}
	return gap, ""
}

// pythonMarker is the line that starts a cell; a name that the code shows is not repeated in it.
func pythonMarker(b Block) string {
	list, _ := stmts([]byte(b.Source))
	if b.Title == "" || b.Title == onlyDefinition(list) {
		return "# %%"
	}
	return "# %% " + b.Title
}

// sourceLines is a text as a notebook has it: a list of lines with their ends.
func sourceLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// encodeJSON writes a value as Jupyter does: indented by one, and nothing escaped that need not be.
func encodeJSON(v any, margin string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(margin, " ")
	if err := e.Encode(v); err != nil {
		panic("patch: internal error: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

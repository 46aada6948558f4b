package patch

import (
	"fmt"
	"slices"
	"strings"
)

// Identify returns, for each block of a file that was read again, its id in old, or "" if old does not have it. The ids
// of old must be unique and not empty. The result is the same as that of Match.
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

// With returns the file with blocks as its program, in their order. ids are the ids of the file's own blocks, by index.
// A block with one of these ids takes the place of that block. The file's other blocks are removed. New blocks are
// written in the style of the file's kind. Everything that is not code stays: prose, other cells, metadata, and the
// layout of unchanged parts. The result parses as blocks. If that is not possible, With fails.
func (p *Program) With(ids []string, blocks []Block) ([]byte, error) {
	f, err := p.format()
	if err != nil {
		return nil, err
	}
	data := []byte(p.rewrite(f, ids, blocks, nil))
	err = p.reads(data, blocks)
	if err != nil && p.Kind == KindScript {
		return New(KindCells, blocks, nil) // between its blocks a script has only blank lines, so nothing is lost
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// reads checks that data parses as blocks.
func (p *Program) reads(data []byte, blocks []Block) error {
	if len(blocks) == 0 {
		return nil // a session without blocks is written as a file without code, which is no program
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
	would := map[Op]string{OpAppend: "would read as two", OpPatch: "would read differently",
		OpMove: "would be at another place", OpDelete: "would be lost"}
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

// rewrite puts blocks into the pieces of a file, and texts between blocks that are new. Texts are in order.
func (p *Program) rewrite(f *format, ids []string, blocks []Block, texts []Text) string {
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
	until := func(block int) { // writes the prose up to the piece of a block, without removed blocks
		for ; next < len(f.pieces) && f.pieces[next].block != block; next++ {
			if q := f.pieces[next]; q.block == prose {
				emit(q.kept(f.pieces, next, stays))
			}
		}
	}
	say := func(before int) { // writes the texts before a block
		for ; f.text != nil && len(texts) > 0 && texts[0].Before <= before; texts = texts[1:] {
			emit(f.text(texts[0], !written))
		}
	}
	for k, b := range blocks {
		say(k)
		i, known := place[b.ID]
		if !known || !stays[i] {
			if k == 0 && len(f.pieces) > 0 && f.pieces[0].block == prose {
				emit(f.pieces[0].text) // the file's own head comes first
				next = 1
			}
			emit(f.render(b, !written))
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
	say(len(blocks))
	until(len(p.Blocks))
	return out.String() + f.foot
}

// kept returns the text of a piece of prose. Blank lines before a removed block are removed with it.
func (q piece) kept(all []piece, at int, stays map[int]bool) string {
	if at+1 < len(all) && !stays[all[at+1].block] && strings.TrimSpace(q.text) == "" {
		return ""
	}
	return q.text
}

// staying returns the blocks of a file that keep their places: as many as possible without reordering them.
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

// New returns a file of a kind that holds only blocks and texts, which are in the order of their places. A notebook
// leaves texts out.
func New(kind Kind, blocks []Block, texts []Text) ([]byte, error) {
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
	data := []byte(p.rewrite(f, nil, blocks, texts))
	return data, p.reads(data, blocks)
}

// pythonFormat returns the format of .py files.
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
		f.pieces = append(f.pieces, piece{text: mark + b.Source, block: i, from: len(mark),
			to: len(mark) + len(b.Source)})
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
	f.text = func(t Text, first bool) string { return commentCell(t, first, end) }
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

// commentCell returns the cell of a text in a script. A line of Markdown that would read as a marker is escaped.
func commentCell(t Text, first bool, end string) string {
	mark := "# %% [markdown]"
	if t.Kind == TextRaw {
		mark = "# %% [raw]"
	}
	if !first {
		mark = end + end + mark
	}
	for line := range strings.SplitSeq(strings.TrimRight(t.Source, "\n"), "\n") {
		line = strings.TrimRight("# "+line, " ")
		if _, ok := parseMarker([]byte(line)); ok && t.Kind == TextMarkdown {
			line = "# \\" + line[2:]
		}
		mark += end + line
	}
	return mark
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

// pythonMarker returns the line that starts a cell. It does not repeat a name that the code shows.
func pythonMarker(b Block) string {
	list, _ := stmts([]byte(b.Source))
	if b.Title == "" || b.Title == onlyDefinition(list) {
		return "# %%"
	}
	return "# %% " + b.Title
}

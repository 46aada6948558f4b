package patch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/patch/diff"
	"github.com/xstate-engine/xstate/patch/syntax"
)

// Identify returns, for each block of a file that was read again, its id in old, or "" if old does not have it. Ids in
// old must be unique and not empty. The result is the same as that of Match.
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
		return nil // a session without blocks is written as a file without code, which is not a program
	}
	again, bad := p.read(data)
	if bad != nil {
		return unwritable(p.Kind, bad.Message)
	}
	again.dropRepeatedIDs()
	settle(again.Blocks, blocks)
	edits := Match(blocks, again.Blocks)
	if len(edits) == 0 {
		return nil
	}
	would := map[Op]string{OpAppend: "would read as two", OpPatch: "would read differently",
		OpMove: "would be at another place", OpDelete: "would be lost"}
	return unwritable(p.Kind, fmt.Sprintf("block %q %s", edits[0].ID, would[edits[0].Op]))
}

// read reads another version of the file.
func (p *Program) read(data []byte) (*Program, *ParseError) {
	switch p.Kind {
	case KindNotebook:
		return readNotebook(data)
	case KindMarkdown:
		return readMarkdown(data)
	}
	return readSource(data, p.ext)
}

// comment returns what begins a comment in a source file.
func (p *Program) comment() string { return syntax.Of(sourceDialect(p.ext)).Comment }

func (p *Program) format() (*format, error) {
	switch p.Kind {
	case KindNotebook:
		return p.notebookFormat()
	case KindMarkdown:
		return p.markdownFormat(), nil
	}
	return p.sourceFormat(), nil
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
	for _, p := range diff.Common(order, was) {
		stays[order[p.I]] = true
	}
	return stays
}

// New returns a file of a kind that holds only blocks and texts, which are in the order of their places. A notebook
// leaves texts out. The language of a source file, and of most cells of a notebook, is that of the blocks.
func New(kind Kind, blocks []Block, texts []Text) ([]byte, error) {
	p := &Program{Kind: kind, gaps: []string{""}}
	main := mainDialect(kind, blocks)
	switch kind {
	case KindNotebook:
		k := variant(main).Kernel
		p.raw, p.main = fmt.Appendf(nil, emptyNotebook, k.Title, k.Language, k.Name, k.Language), main
	case KindMarkdown:
		p.raw = []byte{}
	default:
		p.ext = variant(main).Extension()
	}
	f, err := p.format()
	if err != nil {
		return nil, err
	}
	data := []byte(p.rewrite(f, nil, blocks, texts))
	return data, p.reads(data, blocks)
}

// CheckFile fails if a source file of a name cannot hold blocks, because they are in another language.
func CheckFile(name string, blocks []Block) error {
	own, ok := FileDialect(name, nil)
	typed := map[string]bool{syntax.TypeScript: true, syntax.TSX: true}
	for _, b := range blocks {
		if ok && (syntax.Family(b.Dialect) != syntax.Family(own) || typed[b.Dialect] && !typed[own]) {
			return unwritable(KindCells, fmt.Sprintf("block %q is in %s", b.ID, b.Dialect))
		}
	}
	return nil
}

// sourceFormat returns the format of source files.
func (p *Program) sourceFormat() *format {
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
		lead, mark := cutMarker(p.gaps[i], syntax.Of(b.Dialect))
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
		if p.Kind == KindCells && p.renames(q.block, was, now) {
			mark = markerOf(now) + end
		}
		return mark + now.Source
	}
	f.text = func(t Text, first bool) string { return commentCell(t, first, end, p.comment()) }
	f.render = func(b Block, first bool) string {
		text := b.Source
		if p.Kind == KindCells {
			text = markerOf(b) + end + text
		}
		if first {
			return text
		}
		return end + end + text
	}
	return f
}

// commentCell returns the cell of a text in a script. A line of Markdown that would read as a marker is escaped.
func commentCell(t Text, first bool, end, comment string) string {
	mark := comment + " %% [markdown]"
	if t.Kind == TextRaw {
		mark = comment + " %% [raw]"
	}
	if !first {
		mark = end + end + mark
	}
	for line := range strings.SplitSeq(strings.TrimRight(t.Source, "\n"), "\n") {
		line = strings.TrimRight(comment+" "+line, " ")
		if _, _, ok := anyMarker([]byte(line)); ok && t.Kind == TextMarkdown {
			line = comment + " \\" + line[len(comment)+1:]
		}
		mark += end + line
	}
	return mark
}

// cutMarker cuts the text before a block at the line that starts its cell.
func cutMarker(gap string, s *syntax.Syntax) (lead, mark string) {
	t := syntax.NewText([]byte(gap), s)
	for i := t.Lines() - 1; i >= 0; i-- {
		if _, ok := markerIn(t.Syntax, t.Line(i)); ok {
			return gap[:t.Begin(i)], gap[t.Begin(i):]
		}
	}
	return gap, ""
}

// markerOf returns the line that starts a cell. It does not repeat a name that the code shows.
func markerOf(b Block) string {
	mark := syntax.Of(b.Dialect).Comment + " %%"
	if b.Title == "" || b.Title == b.defined() {
		return mark
	}
	return mark + " " + b.Title
}

// mainDialect returns the dialect of a new file for blocks, or of the cells of a new notebook.
func mainDialect(kind Kind, blocks []Block) string {
	main := string(lang.Default)
	if len(blocks) > 0 {
		main = blocks[0].Dialect
	}
	for _, b := range blocks {
		if kind == KindNotebook && syntax.Family(b.Dialect) != syntax.Family(main) {
			main = syntax.Python // whose cells may name another language, by a magic
		}
	}
	if kind == KindNotebook {
		return string(variant(main).InNotebook().Dialect)
	}
	return main
}

package patch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// inTextCell applies a section that is about a text cell: it changes or deletes one, makes one, makes one of a block,
// or makes a block of one or behind one. done is false if the section is not about any.
func (r *reviser) inTextCell(s Section) (done bool, err error) {
	text := s.Cell != "" && s.Cell != "code"
	if s.Act == ActEmit || s.Act == ActCreate || s.To != "" {
		return false, nil
	}
	if r.file == nil || r.file.Kind != KindNotebook || r.file.major != 4 {
		if text {
			err = noTextCells(r.on.Name, s.Cell)
		}
		return text, err
	}
	if s.Act != ActInsert && s.Name == "" {
		return false, nil
	}
	if err := r.write(); err != nil {
		return true, err
	}
	if s.Act == ActInsert {
		return r.insertCell(s, text)
	}
	at, block, ok := r.cell(s.Name)
	if block && !text || !ok && !text {
		return false, nil
	}
	if !ok {
		return true, r.noBlock(s.Name)
	}
	return true, r.changeCell(at, s)
}

// cell finds a cell by its name: the place that it has now, and whether it is a block. The file is written.
func (r *reviser) cell(name string) (at int, block, ok bool) {
	if id, ok := r.block(name); ok {
		return r.file.Cells[r.at(id)], true, true
	}
	n, counted := countedCell(name)
	cells := r.file.cellList()
	for i, at := range r.file.textsOf(cells) {
		fields, _ := cells[at].object()
		if fields["id"].text() == name || counted && n >= 0 && r.texts[i] == n {
			return at, false, true
		}
	}
	if counted && (name == lastCell || n >= len(r.on.File.cellList())) { // the notebook ends before it
		return len(cells) - 1, false, false
	}
	return -1, false, false
}

// insertCell adds a cell, unless it is a block behind a block.
func (r *reviser) insertCell(s Section, text bool) (done bool, err error) {
	at, block, ok := -1, false, true
	if s.After != "" {
		at, block, ok = r.cell(s.After)
	}
	switch {
	case block && !text:
		return false, nil
	case !ok && at < 0 && text:
		return true, r.noBlock(s.After)
	case !ok && at < 0:
		return false, nil
	}
	f, err := r.file.notebookFormat()
	if err != nil {
		return true, err
	}
	if text {
		id := r.file.newTextID(append(r.file.cellIDs(), r.ids()...))
		fresh := r.file.style().cell(s.Cell, id, map[string]any{}, s.Text)
		return true, r.putCells(f, at+1, 0, fresh)
	}
	r.neighbours().adopt(&s)
	b, err := r.newBlock(s)
	if err != nil {
		return true, err
	}
	return true, r.putCells(f, at+1, 0, f.render(b, false))
}

// changeCell applies a section to the text of a cell at a place.
func (r *reviser) changeCell(at int, s Section) error {
	f, err := r.file.notebookFormat()
	if err != nil {
		return err
	}
	text := f.pieces[at].text
	fields, _ := value{raw: json.RawMessage(text)}.object()
	was, _, _ := fields["source"].multiline()
	one := Patch{Format: r.patch.Format, Sections: []Section{s}}
	done, err := one.Apply(map[string]string{s.Name: was})
	if err != nil {
		return err
	}
	now, there := done.Texts[s.Name]
	kind := fields["cell_type"].text()
	same := there && now == was && kind == cmp.Or(s.Cell, kind)
	switch {
	case !there:
		err = r.putCells(f, at, 1)
	case same:
		r.places = append(r.places, Placement{Format: r.patch.Format})
	default:
		err = r.putCells(f, at, 1, withText(text, fields, cmp.Or(s.Cell, kind), now, r.file.style()))
	}
	if err == nil {
		place := &r.places[len(r.places)-1]
		place.found(done)
		place.Unchanged = same
	}
	return err
}

// putCells puts cells in the place of n cells of the notebook. Reading the notebook decides whether such a cell is a
// block or a text.
func (r *reviser) putCells(f *format, at, n int, fresh ...string) error {
	from := slices.Clone(f.pieces) // the former cell of each; for a fresh one, the cell that it replaces
	texts, k := make([]int, len(from)), 0
	for i := range from {
		if texts[i] = -1; from[i].block == prose {
			texts[i] = r.texts[k]
			k++
		}
	}
	var now []piece
	was := -1
	if n > 0 && texts[at] >= 0 {
		was = texts[at]
	} else if n > 0 {
		was = r.placeOf(from[at].block)
	}
	var places []int
	for _, text := range fresh {
		now, places = append(now, piece{text: text, block: prose}), append(places, was)
	}
	pieces := slices.Replace(from, at, at+n, now...)
	texts = slices.Replace(texts, at, at+n, places...)
	var out strings.Builder
	out.WriteString(f.head)
	for _, q := range pieces {
		f.join(&out, q.text)
	}
	after, err := Parse(r.on.Name, []byte(out.String()+f.foot))
	if err != nil {
		return err
	}
	r.adoptCells(after, pieces, texts)
	return nil
}

// placeOf returns the place that a block has in the file as it was before the patch; -1: it is new.
func (r *reviser) placeOf(block int) int {
	i := slices.IndexFunc(r.on.Blocks, func(b Block) bool { return b.ID == r.blocks[block].ID })
	if i < 0 {
		return -1
	}
	return r.on.File.Cells[i]
}

// adoptCells makes a notebook the file. pieces are its cells with the former blocks, and texts their former places.
func (r *reviser) adoptCells(after *Program, pieces []piece, texts []int) {
	place := Placement{Format: r.patch.Format}
	blocks := make([]Block, len(after.Blocks))
	kept := after.cellIDs()
	for _, q := range pieces {
		if q.block != prose {
			kept = append(kept, r.blocks[q.block].ID)
		}
	}
	for j, b := range after.Blocks {
		q := pieces[after.Cells[j]]
		if q.block != prose {
			blocks[j] = r.blocks[q.block]
			blocks[j].Line = b.Line
			continue
		}
		if b.ID == "" {
			b.ID = Names([]Block{b}, kept...)[0]
		}
		r.taken[b.ID], place.Block, blocks[j] = true, b.ID, b
	}
	r.texts = nil
	for _, at := range after.textPlaces() {
		r.texts = append(r.texts, texts[at])
	}
	r.file, r.blocks, r.stale = after, blocks, false
	r.fileIDs = r.ids()
	r.places = append(r.places, place)
}

// inSomeTextCell applies a section that names no cell to the one text cell that holds the text that it replaces. found
// is false if none does.
func (r *reviser) inSomeTextCell(s Section) (found bool, err error) {
	if s.Act != ActUpdate || r.file.major != 4 || onlyAppends(s.Hunks) {
		return false, nil
	}
	if err := r.write(); err != nil {
		return true, err
	}
	var at []int
	places := r.file.textPlaces()
	for i, b := range r.file.textBlocks() {
		one := Patch{Format: r.patch.Format, Sections: []Section{s}}
		done, err := one.Apply(map[string]string{s.Name: b.Source})
		if err == nil && done.Loosest() < Fuzzy {
			at = append(at, places[i])
		}
	}
	switch len(at) {
	case 0:
		return false, nil
	case 1:
		return true, r.changeCell(at[0], s)
	}
	return true, &ApplyError{Code: CodeAmbiguous, Name: r.on.Name,
		Message: fmt.Sprintf("%d text cells hold this text", len(at)),
		Hint:    "name the cell by its id or its place (`cell-3`), or give more of its text"}
}

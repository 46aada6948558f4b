package patch

import (
	"path"
	"strings"

	"github.com/xstate-engine/xstate/patch/diff"
	"github.com/xstate-engine/xstate/patch/syntax"
)

// section applies one section of the patch.
func (r *reviser) section(s Section) error {
	s.Text = r.ended(s.Text)
	if done, err := r.inTextCell(s); done || err != nil {
		return err
	}
	if s.Act == ActEmit || s.Act == ActInsert || s.Act == ActCreate || s.Act == ActWrite {
		r.neighbours().adopt(&s)
	}
	named := s.Name != "" || r.on.Block != ""
	if s.Act == ActEmit && !named && r.on.Submitted == nil && r.decider.isProse(r.blocks, s) {
		return notCode(s)
	}
	if r.creates(s) {
		if err := r.refuseNewOmission(s); err != nil {
			return err
		}
		return r.create(s)
	}
	switch s.Act {
	case ActEmit:
		return r.emit(s)
	case ActInsert:
		return r.insert(s)
	}
	if s.Name == "" {
		s.Name = r.on.Block
	}
	if id, ok := r.block(s.Name); ok {
		return r.inBlock(id, s)
	}
	if s.Name == "" || r.on.isFile(s.Name) {
		return r.inFile(s)
	}
	if r.patch.Format != FormatCell && (s.Act == ActCreate || s.Act == ActWrite) && path.Ext(s.Name) == "" &&
		!strings.Contains(s.Name, "/") {
		if err := r.refuseNewOmission(s); err != nil {
			return err
		}
		return r.insertAt(len(r.blocks), s)
	}
	return r.noBlock(s.Name)
}

// inFile applies a section to the text of the program's file. For a notebook, or without a file, that text is the cell
// text.
func (r *reviser) inFile(s Section) error {
	if s.Act == ActDelete || s.To != "" {
		return &ApplyError{Code: CodeNoText, Name: s.Name,
			Message: "a patch cannot delete or rename the program's file",
			Hint:    "delete blocks by their ids, or use `xstate fork NEW` for a program with another name"}
	}
	own := r.on.File != nil && r.on.File.Kind != KindNotebook
	if r.on.File != nil && !own && s.Act == ActWrite && isObject(s.Text) {
		return r.inJSON(s)
	}
	text, lines := "", []int(nil)
	var marks []int
	if own {
		if err := r.write(); err != nil {
			return err
		}
		text = string(r.file.Bytes())
		lines = blockOfLine(r.file, text)
	} else {
		text, lines, marks = cellText(r.blocks)
	}
	if err := r.refuseOmissionIn(s, text, s.Dialect); err != nil {
		return err
	}
	const key = "the program"
	s.Name = key
	one := Patch{Format: r.patch.Format, Sections: []Section{s}}
	done, err := one.Apply(map[string]string{key: text})
	if err != nil && !own && r.on.File != nil {
		if c, ok := err.(*ApplyError); ok && c.Code == CodeAbsent {
			if found, bad := r.inSomeTextCell(s); found {
				return bad
			}
		}
		if r.inJSON(s) == nil {
			return nil
		}
	}
	if err != nil {
		if c, ok := err.(*ApplyError); ok {
			c.Name = r.on.Name
		}
		return err
	}
	place := Placement{Format: r.patch.Format, Unchanged: len(done.Done.Sections) == 0}
	place.found(done)
	r.places = append(r.places, place)
	for _, d := range done.Done.Sections {
		lines, marks = carryLines(lines, d.Hunks, commonBlock),
			carryLines(marks, d.Hunks, func([]int) int { return lineFromPatch })
	}
	if !own {
		r.stale = true
		r.identify(readCellText(done.Texts[key], marks, r.neighbours().dialect), lines)
		return nil
	}
	after, err := Parse(r.on.Name, []byte(done.Texts[key]))
	if err != nil {
		return err
	}
	r.identify(after.Blocks, lines)
	r.file, r.fileIDs, r.stale = after, r.ids(), false
	return nil
}

// inJSON applies a section to the JSON of a notebook file, as git shows it.
func (r *reviser) inJSON(s Section) error {
	if err := r.write(); err != nil {
		return err
	}
	one := Patch{Format: r.patch.Format, Sections: []Section{s}}
	done, err := one.Apply(map[string]string{s.Name: string(r.file.Bytes())})
	if err != nil {
		return err
	}
	after, err := Parse(r.on.Name, []byte(done.Texts[s.Name]))
	if err != nil {
		return err
	}
	if s.Act == ActWrite {
		was, _, _ := cellText(r.blocks)
		now, _, _ := cellText(after.Blocks)
		if err := refuseOmission(was, now, after.main); err != nil {
			return err
		}
	}
	place := Placement{Format: r.patch.Format, Unchanged: len(done.Done.Sections) == 0}
	place.found(done)
	r.places = append(r.places, place)
	r.identify(after.Blocks, nil)
	r.file, r.fileIDs, r.stale = after, r.ids(), false
	r.texts = after.textPlaces() // cells are counted in the file that the patch writes
	return nil
}

// identify sets the blocks to those that a text has after a patch. lines gives the former block of each line of the
// text. A block continues the one that most of its lines come from. A block with only new lines is recognised as in
// Match.
func (r *reviser) identify(now []Block, lines []int) {
	var votes []candidate
	for j, b := range now {
		count := map[int]int{}
		for k := range countLines(b.Source) {
			if at := b.Line - 1 + k; at < len(lines) && lines[at] >= 0 {
				count[lines[at]]++
			}
		}
		for i, n := range count {
			votes = append(votes, candidate{i: i, j: j, score: float64(n)})
		}
	}
	m := newBlockMatching(r.blocks, now)
	m.byID()
	m.assign(votes, ByPlace)
	m.rest()
	after := make([]Block, len(now))
	for j, id := range m.ids() {
		after[j] = now[j]
		after[j].ID = id
		if i := m.oldOf[j]; i >= 0 && now[j].Dialect == "" { // a cell text has no dialects
			after[j].Dialect = r.blocks[i].Dialect
			if now[j].Title == cellTextTitle(r.blocks[i]) {
				after[j].Title = r.titled(r.blocks[i], now[j].Source)
			}
		}
		if after[j].Dialect == "" {
			s := Section{Text: now[j].Source}
			r.neighbours().adopt(&s)
			after[j].Dialect, after[j].Source = s.Dialect, s.Text
		}
	}
	r.blocks = after
}

// blockOfLine returns the index of the block that holds each line of a file; -1: none.
func blockOfLine(p *Program, text string) []int {
	lines := make([]int, countLines(text))
	for i := range lines {
		lines[i] = -1
	}
	for i, b := range p.Blocks {
		at := min(b.Line-1, len(lines)) // a lone \r ends a line for Python, but not here
		for k := range lines[at:min(at+countLines(b.Source), len(lines))] {
			lines[at+k] = i
		}
		if p.raw == nil { // the marker of its cell belongs to the block, too
			_, mark := cutMarker(p.gaps[i], syntax.Of(b.Dialect))
			for k := range min(countLines(mark), at) {
				lines[at-1-k] = i
			}
		}
	}
	return lines
}

// carryLines carries a value for each line over to the text after hunks of whole lines. For a new line it calls of with
// the values of the lines that it replaces.
func carryLines(lines []int, hunks []Hunk, of func(old []int) int) []int {
	if lines == nil {
		return nil
	}
	var out []int
	at := 0
	for _, h := range hunks {
		first := h.Line - 1
		out = append(out, lines[at:first]...)
		old, fresh := diff.SplitLines(h.Old), diff.SplitLines(h.New)
		part := make([]int, len(fresh))
		for _, p := range diff.Same(old, fresh) {
			part[p.J] = lines[first+p.I]
		}
		for _, c := range diff.Changes(old, fresh) {
			for k := c.NewStart; k < c.NewEnd; k++ {
				part[k] = of(lines[first+c.OldStart : first+c.OldEnd])
			}
		}
		out = append(out, part...)
		at = first + len(old)
	}
	return append(out, lines[at:]...)
}

// commonBlock returns the one block that all lines belong to; -1: none, or several.
func commonBlock(lines []int) int {
	for _, i := range lines {
		if i != lines[0] {
			return -1
		}
	}
	if len(lines) == 0 {
		return -1
	}
	return lines[0]
}

// creates reports whether a section is the whole text of a file that does not exist yet, of a program without blocks.
func (r *reviser) creates(s Section) bool {
	if r.on.File != nil || r.on.Name == "" || len(r.blocks) > 0 || s.To != "" {
		return false
	}
	return s.Act == ActEmit && s.Name == "" || (s.Act == ActCreate || s.Act == ActWrite) && r.on.isFile(s.Name)
}

// create makes the program that the text of a section is.
func (r *reviser) create(s Section) error {
	made, err := Parse(r.on.Name, []byte(endLast(s.Text)))
	if err != nil {
		return err
	}
	for i, id := range Names(made.Blocks) {
		made.Blocks[i].ID = id
	}
	r.on.File, r.file, r.blocks = made, made, made.Blocks
	r.fileIDs, r.texts = r.ids(), made.textPlaces()
	r.places = append(r.places, Placement{Format: r.patch.Format})
	return nil
}

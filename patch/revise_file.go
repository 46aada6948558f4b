package patch

// inFile does a section to the text of the program's file. Of a notebook, and where there is no file, that is the code as a
// script with cells.
func (r *reviser) inFile(s Section) error {
	if s.Act == ActDelete || s.To != "" {
		return &Misfit{Code: CodeNoText, Name: s.Name, Message: "a patch does not delete or rename the file of the program", Hint: "delete blocks by their ids; xstate fork NEW makes a program of another name"}
	}
	p, name, err := r.text()
	if err != nil {
		return err
	}
	const key = "the program"
	s.Name = key
	one := Patch{Format: r.patch.Format, Sections: []Section{s}}
	done, err := one.Apply(map[string]string{key: string(p.Bytes())})
	if err != nil {
		if c, ok := err.(*Misfit); ok {
			c.Name = r.on.Name
		}
		return err
	}
	place := Placement{Format: r.patch.Format, Unchanged: len(done.Done.Sections) == 0}
	place.found(done)
	r.places = append(r.places, place)
	after, err := Parse(name, []byte(done.Texts[key]))
	if err != nil {
		return err
	}
	r.identify(p, after, done.Done)
	if r.ownText() {
		r.file, r.fileIDs, r.stale = after, r.ids(), false
	} else {
		r.stale = true
	}
	return nil
}

// ownText reports whether the file is patched as it is.
func (r *reviser) ownText() bool { return r.on.File != nil && r.on.File.Kind != KindNotebook }

// text returns the program as the text that is patched, and what that is called.
func (r *reviser) text() (*Program, string, error) {
	if r.ownText() {
		err := r.write()
		return r.file, r.on.Name, err
	}
	const name = "cells.py"
	data, err := New(KindCells, r.blocks, nil)
	if err != nil {
		return nil, "", err
	}
	p, err := Parse(name, data)
	return p, name, err
}

// identify makes the blocks those of a text that was patched. A block is the one that most of its lines were in before; one whose
// lines are all new stands where another stood, or is recognised as Match does it.
func (r *reviser) identify(was, now *Program, done *Patch) {
	lines := blockOfLine(was)
	for _, s := range done.Sections {
		lines = moved(lines, s.Hunks)
	}
	var votes []candidate
	for j, b := range now.Blocks {
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
	m := newMatching(r.blocks, now.Blocks)
	m.assign(votes, ByPlace)
	m.rest()
	after := make([]Block, len(now.Blocks))
	for j, id := range m.ids() {
		b := now.Blocks[j]
		b.ID = id
		if i := m.oldOf[j]; i >= 0 && r.blocks[i].Dialect == IPython && !r.ownText() {
			b.Dialect = IPython
		}
		after[j] = b
	}
	r.blocks = after
}

// blockOfLine tells of every line of a file which block it is in; -1: none.
func blockOfLine(p *Program) []int {
	lines := make([]int, countLines(string(p.Bytes())))
	for i := range lines {
		lines[i] = -1
	}
	for i, b := range p.Blocks {
		at := min(b.Line-1, len(lines)) // a lone \r ends a line for Python, but not here
		for k := range lines[at:min(at+countLines(b.Source), len(lines))] {
			lines[at+k] = i
		}
	}
	return lines
}

// moved carries what is known of lines over to the text after hunks of whole lines. A line that is new, among those that replace
// lines of one block, is of that block.
func moved(lines []int, hunks []Hunk) []int {
	var out []int
	at := 0
	for _, h := range hunks {
		first := h.Line - 1
		out = append(out, lines[at:first]...)
		old, fresh := splitLines(h.Old), splitLines(h.New)
		part := make([]int, len(fresh))
		for k := range part {
			part[k] = -1
		}
		for _, p := range sameLines(old, fresh) {
			part[p.j] = lines[first+p.i]
		}
		for _, c := range changesOf(old, fresh) {
			if c.oldEnd > c.oldStart {
				fill(part[c.newStart:c.newEnd], lines[first+c.oldStart:first+c.oldEnd])
			}
		}
		out = append(out, part...)
		at = first + len(old)
	}
	return append(out, lines[at:]...)
}

// fill says that new lines are of the one block that the lines before them were of.
func fill(fresh, old []int) {
	for _, i := range old {
		if i != old[0] {
			return
		}
	}
	for k := range fresh {
		fresh[k] = old[0]
	}
}

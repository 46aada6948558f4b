package patch

// readPython reads a .py file: as cells if it has markers, else as a script.
func readPython(data []byte) (*Program, *ParseError) {
	if err := checkCookie(data); err != nil {
		return nil, err
	}
	t := newText(data)
	list, broken := stmts(t.code)
	if marks := cellMarkers(t, list, broken); len(marks) > 0 {
		return assemble(KindCells, t, cellRegions(t, marks, list, broken)), nil
	}
	if broken {
		list = recoverStmts(t, list)
	}
	return assemble(KindScript, t, scriptRegions(t, list)), nil
}

// scriptRegions makes a block of every definition, and of every run of other statements without a blank line. Each
// block includes the comments before it.
func scriptRegions(t *text, list []stmt) []region {
	var out []region
	free := 0 // the first line that belongs to no region yet
	for _, it := range items(t, list) {
		if n := len(out); n > 0 {
			prev := &out[n-1]
			if prev.block.Title == "" && it.defines == "" && noBlankBetween(t, prev.last, it.first) {
				prev.last = it.last
				continue
			}
			prev.last = lastLineOf(t, prev, it.first)
			free = prev.last + 1
		}
		first, _, _ := t.trim(free, it.first)
		out = append(out, region{first: first, last: it.last, block: Block{Title: it.defines, Dialect: Python}})
	}
	for i := range out {
		if exported(t.code[t.begin(out[i].first):t.finish(out[i].last)]) {
			out[i].block.Dialect = IPython
		}
	}
	if n := len(out); n > 0 {
		_, out[n-1].last, _ = t.trim(out[n-1].last, t.lines()-1) // only comments can follow the last statement
	}
	return out
}

// item is a group of statements that share lines.
type item struct {
	first, last int    // lines
	defines     string // the name, if it is a definition
}

func items(t *text, list []stmt) []item {
	var out []item
	for _, s := range list {
		it := item{defines: s.defines}
		var ok bool // an error may consist of white space, or start with it
		if it.first, it.last, ok = t.trim(t.lineAt(s.start), t.lineAt(max(s.start, s.end-1))); !ok {
			continue
		}
		if n := len(out) - 1; n >= 0 && it.first <= out[n].last {
			out[n].last = max(out[n].last, it.last)
			continue
		}
		out = append(out, it)
	}
	return out
}

// noBlankBetween reports whether no blank line is between two lines.
func noBlankBetween(t *text, from, to int) bool {
	for i := from + 1; i < to; i++ {
		if t.blank(i) {
			return false
		}
	}
	return true
}

// lastLineOf returns the last line of a region that comments and then a statement on line next follow. Indented
// comments belong to the region. So does a comment directly below a run of statements, if a blank line separates it
// from next.
func lastLineOf(t *text, r *region, next int) int {
	last := r.last
	for i := last + 1; i < next; i++ {
		if t.indented(i) && t.comment(i) {
			last = i
		}
	}
	if r.block.Title != "" || noBlankBetween(t, last, next) {
		return last
	}
	for !t.blank(last + 1) {
		last++
	}
	return last
}

package patch

import (
	"github.com/xstate-engine/xstate/patch/syntax"
	"github.com/xstate-engine/xstate/patch/syntax/javascript"
	"github.com/xstate-engine/xstate/patch/syntax/python"
)

// readSource reads a source file: as cells if it has markers, else as a script.
func readSource(data []byte, ext string) (*Program, *ParseError) {
	dialect := sourceDialect(ext)
	t := syntax.NewText(data, syntax.Of(dialect))
	if t.Python {
		if err := checkCookie(data); err != nil {
			return nil, err
		}
	}
	if ext == ".js" && javascript.IsModule(t.Code) {
		dialect = syntax.Module
	}
	list, broken := t.Statements(t.Code)
	var p *Program
	if marks := cellMarkers(t, list, broken); len(marks) > 0 {
		p = assemble(KindCells, t, cellRegions(t, dialect, marks, list, broken))
	} else {
		if broken {
			list = syntax.Recover(t, list)
		}
		p = assemble(KindScript, t, scriptRegions(t, dialect, list))
	}
	p.ext = ext
	return p, nil
}

// scriptRegions makes a block of every definition, and of every run of other statements without a blank line. Each
// block includes the comments before it.
func scriptRegions(t *syntax.Text, dialect string, list []syntax.Statement) []region {
	var out []region
	free := t.HashBang() // the first line that belongs to no region yet
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
		first, _, _ := t.Trim(free, it.first)
		out = append(out, region{first: first, last: it.last, block: Block{Title: it.defines, Dialect: dialect}})
	}
	for i := range out {
		if t.Python && python.CallsIPython(t.Code[t.Begin(out[i].first):t.Finish(out[i].last)]) {
			out[i].block.Dialect = syntax.IPython
		}
	}
	if n := len(out); n > 0 {
		_, out[n-1].last, _ = t.Trim(out[n-1].last, t.Lines()-1) // only comments can follow the last statement
	}
	return out
}

// item is a group of statements that share lines.
type item struct {
	first, last int    // lines
	defines     string // the name, if it is a definition
}

func items(t *syntax.Text, list []syntax.Statement) []item {
	var out []item
	for _, s := range list {
		it := item{defines: s.Defines}
		var ok bool // an error may consist of white space, or start with it
		if it.first, it.last, ok = t.Trim(t.LineAt(s.Start), t.LineAt(max(s.Start, s.End-1))); !ok {
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
func noBlankBetween(t *syntax.Text, from, to int) bool {
	for i := from + 1; i < to; i++ {
		if t.Blank(i) {
			return false
		}
	}
	return true
}

// lastLineOf returns the last line of a region that comments and then a statement on line next follow. Indented
// comments belong to the region. So does a comment directly below a run of statements, if a blank line separates it
// from next.
func lastLineOf(t *syntax.Text, r *region, next int) int {
	last := r.last
	for i := last + 1; i < next; i++ {
		if t.Indented(i) && t.IsComment(i) {
			last = i
		}
	}
	if r.block.Title != "" || noBlankBetween(t, last, next) {
		return last
	}
	for !t.Blank(last + 1) {
		last++
	}
	return last
}

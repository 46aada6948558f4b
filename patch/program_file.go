package patch

import (
	"bytes"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// Kind is the kind of file that a program comes from.
type Kind string

const (
	KindScript   Kind = "script"   // a source file without cell markers
	KindCells    Kind = "cells"    // a source file with "# %%" or "// %%" cells
	KindNotebook Kind = "notebook" // an .ipynb file
	KindMarkdown Kind = "markdown" // an .md file with fenced code
)

// Program is the content of a file: its blocks in order and everything around them, so that the file can be written
// again.
type Program struct {
	Kind   Kind
	Blocks []Block
	Cells  []int // for a notebook: the index of each block among all cells, from 0, including cells without code

	named []bool // by block: the file says its title, and not its code alone

	gaps []string // for a source file: the text before, between and after the blocks; one more than there are blocks
	ext  string   // for a source file: its extension, which says how it is read
	raw  []byte   // for a notebook or Markdown: the whole file

	major int    // for a notebook: nbformat
	main  string // for a notebook: the dialect of its cells
}

// Bytes returns the file that the program came from, byte for byte.
func (p *Program) Bytes() []byte {
	if p.raw != nil {
		return bytes.Clone(p.raw)
	}
	var out bytes.Buffer
	for i, b := range p.Blocks {
		out.WriteString(p.gaps[i])
		out.WriteString(b.Source)
	}
	out.WriteString(p.gaps[len(p.Blocks)])
	return out.Bytes()
}

// names reports whether the file says the title of a block.
func (p *Program) names(block int) bool { return block < len(p.named) && p.named[block] }

// dropRepeatedIDs keeps an id only for the first block that has it. Copied cells repeat ids.
func (p *Program) dropRepeatedIDs() {
	seen := map[string]bool{}
	for i := range p.Blocks {
		b := &p.Blocks[i]
		if seen[b.ID] {
			b.ID = ""
		}
		seen[b.ID] = true
	}
}

// region is a range of lines that becomes a block.
type region struct {
	first, last int // lines from 0, both inclusive
	block       Block
	named       bool // the file says the title
}

// assemble cuts the text at the regions, which are in order and do not overlap.
func assemble(kind Kind, t *syntax.Text, regions []region) *Program {
	p := &Program{Kind: kind}
	at := 0
	for _, r := range regions {
		start, end := t.Begin(r.first), t.Finish(r.last)
		b := r.block
		b.Source, b.Line = string(t.Data[start:end]), r.first+1
		p.Blocks, p.named = append(p.Blocks, b), append(p.named, r.named)
		p.gaps = append(p.gaps, string(t.Data[at:start]))
		at = end
	}
	p.gaps = append(p.gaps, string(t.Data[at:]))
	return p
}

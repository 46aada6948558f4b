package patch

import (
	"bytes"
	"path"
	"strings"
)

// Kind is the kind of file that a program comes from.
type Kind string

const (
	KindScript   Kind = "script"   // a .py file without cell markers
	KindCells    Kind = "cells"    // a .py file with "# %%" cells
	KindNotebook Kind = "notebook" // an .ipynb file
	KindMarkdown Kind = "markdown" // an .md file with fenced code
)

// Program is the content of a file: its blocks in order and everything around them, so that the file can be written
// again.
type Program struct {
	Kind   Kind
	Blocks []Block
	Cells  []int // for a notebook: the index of each block among all cells, from 0, including cells without code

	gaps []string // for .py: the text before, between and after the blocks; one more than there are blocks
	raw  []byte   // for a notebook or Markdown: the whole file
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

// Parse reads a program from the bytes of a .py, .ipynb, .md or .markdown file. If name has no extension, Parse detects
// the kind from the content. A block that does not parse is a block like any other. Errors are *ParseError.
func Parse(name string, data []byte) (*Program, error) {
	p, err := parse(name, data)
	if err != nil {
		err.Name = name
		return nil, err
	}
	return p, nil
}

func parse(name string, data []byte) (*Program, *ParseError) {
	read, err := reader(name, data)
	if err != nil {
		return nil, err
	}
	if err := checkText(data); err != nil {
		return nil, err
	}
	p, err := read(data)
	if err != nil {
		return nil, err
	}
	if len(p.Blocks) == 0 {
		return nil, empty("there is no code in this file")
	}
	p.dropRepeatedIDs()
	return p, nil
}

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

func empty(message string) *ParseError {
	return &ParseError{Code: CodeEmpty, Message: message, Hint: "write a statement or a code cell and run it again"}
}

// reader returns the reader for a file.
func reader(name string, data []byte) (func([]byte) (*Program, *ParseError), *ParseError) {
	ext := strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/")))
	if ext == "" || ext == "."+strings.TrimPrefix(path.Base(name), ".") {
		ext = guess(data)
	}
	switch ext {
	case ".py", ".pyw":
		return readPython, nil
	case ".ipynb":
		return readNotebook, nil
	case ".md", ".markdown":
		return readMarkdown, nil
	}
	return nil, unsupported(ext)
}

func unsupported(ext string) *ParseError {
	message := "the file has no extension, and its content is of no known kind"
	if ext != "" {
		message = "no reader for " + ext + " files"
	}
	return &ParseError{Code: CodeUnsupported, Message: message, Hint: "give a .py, .ipynb or .md file"}
}

// guess returns the extension that fits the content, or "".
func guess(data []byte) string {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	switch {
	case bytes.HasPrefix(first, []byte("#!")) && bytes.Contains(first, []byte("python")):
		return ".py"
	case bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) && bytes.Contains(data, []byte(`"nbformat"`)):
		return ".ipynb"
	}
	return ""
}

// region is a range of lines that becomes a block.
type region struct {
	first, last int // lines from 0, both inclusive
	block       Block
}

// assemble cuts the text at the regions, which are in order and do not overlap.
func assemble(kind Kind, t *text, regions []region) *Program {
	p := &Program{Kind: kind}
	at := 0
	for _, r := range regions {
		start, end := t.begin(r.first), t.finish(r.last)
		b := r.block
		b.Source, b.Line = string(t.data[start:end]), r.first+1
		p.Blocks = append(p.Blocks, b)
		p.gaps = append(p.gaps, string(t.data[at:start]))
		at = end
	}
	p.gaps = append(p.gaps, string(t.data[at:]))
	return p
}

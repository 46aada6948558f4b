package patch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/patch/syntax"
)

// notebook is the state of reading one .ipynb file.
type notebook struct {
	program *Program
	line    syntax.LineCounter
	major   int    // nbformat
	foreign string // a language other than Python that a cell names (nbformat 2 and 3)
}

// readNotebook reads a notebook of nbformat 2 to 4. Its code cells become blocks.
func readNotebook(data []byte) (*Program, *ParseError) {
	data = bytes.Clone(data)
	body := bytes.TrimPrefix(data, []byte(syntax.BOM))
	if err := checkJSON(data, len(data)-len(body)); err != nil {
		return nil, err
	}
	n := &notebook{program: &Program{Kind: KindNotebook, raw: data}, line: syntax.LineCounter{Data: data}}
	if err := n.read(value{at: len(data) - len(body), raw: json.RawMessage(body)}); err != nil {
		return nil, err
	}
	if n.foreign != "" && len(n.program.Blocks) == 0 {
		return nil, notKnown(n.foreign)
	}
	return n.program, nil
}

// checkJSON refuses data that is not JSON, and gives line and column.
func checkJSON(data []byte, skip int) *ParseError {
	if json.Valid(data[skip:]) {
		return nil
	}
	var raw json.RawMessage
	err := json.Unmarshal(data[skip:], &raw)
	at := len(data)
	if se := (*json.SyntaxError)(nil); errors.As(err, &se) {
		at = min(at, skip+max(0, int(se.Offset)-1))
	}
	if err.Error() == "unexpected end of JSON input" {
		at = len(data)
	}
	line := lineOf(data, at)
	e := &ParseError{
		Code:    CodeNotebook,
		Message: fmt.Sprintf("the notebook is not valid JSON: line %d, column %d: %s", line, columnOf(data, at), err),
		Hint:    "save it again in Jupyter, or restore the file from version control",
		Line:    line,
	}
	if strings.Contains(string(data), "\n<<<<<<<") {
		e.Hint = "resolve the merge conflict in the file"
	}
	return e
}

func (n *notebook) read(doc value) *ParseError {
	top, ok := doc.object()
	if !ok || top["nbformat"].raw == nil {
		return notNotebook("the file is JSON, but not a notebook: it has no nbformat")
	}
	if !top["nbformat"].into(&n.major) || n.major < 2 || n.major > 4 {
		return notNotebook(fmt.Sprintf("nbformat %s is not known", top["nbformat"].raw))
	}
	n.program.major, n.program.main = n.major, syntax.IPython
	l := language(top["metadata"])
	if v, ok := lang.Named(l); ok {
		n.program.main = string(v.InNotebook().Dialect)
	} else if l != "" {
		return notKnown(l)
	}
	cells, err := n.cells(top)
	if err != nil {
		return err
	}
	for i, c := range cells {
		if err := n.add(i, c); err != nil {
			return err
		}
	}
	return nil
}

func notNotebook(message string) *ParseError {
	return &ParseError{Code: CodeNotebook, Message: message, Hint: "save it in Jupyter as nbformat 4"}
}

func notKnown(language string) *ParseError {
	var titles []string
	for _, v := range lang.Offered() {
		titles = append(titles, v.Title)
	}
	return &ParseError{
		Code:    CodeLanguage,
		Message: fmt.Sprintf("the notebook is written in %s, which xstate does not run", language),
		Hint:    "choose a kernel of " + lang.Or(titles) + ", and save the notebook again",
	}
}

// cells returns the cells of the notebook. In nbformat 2 and 3 these are the cells of all worksheets.
func (n *notebook) cells(top map[string]value) ([]value, *ParseError) {
	holders := []map[string]value{top}
	if n.major < 4 {
		sheets, _ := top["worksheets"].array()
		holders = holders[:0]
		for _, s := range sheets {
			o, _ := s.object()
			holders = append(holders, o)
		}
	}
	var all []value
	for _, h := range holders {
		cells, ok := h["cells"].array()
		if !ok {
			return nil, notNotebook("the notebook has no list of cells")
		}
		all = append(all, cells...)
	}
	return all, nil
}

// add makes a block of a code cell that has code.
func (n *notebook) add(place int, c value) *ParseError {
	cell, ok := c.object()
	if !ok {
		return n.bad(place, c.at, "is not an object")
	}
	if cell["cell_type"].text() != "code" {
		return nil
	}
	if l := cell["language"].text(); n.major < 4 && l != "" {
		if v, ok := lang.Named(l); !ok || v.Language.Name != syntax.Python {
			n.foreign = l
			return nil
		}
	}
	source := cell["source"]
	if n.major < 4 {
		source = cell["input"]
	}
	code, at, ok := source.multiline()
	if !ok {
		return n.bad(place, c.at, "has a source that is neither a string nor a list of strings")
	}
	if strings.TrimSpace(code) == "" {
		return nil
	}
	b := Block{ID: cell["id"].text(), Dialect: n.program.main, Source: code, Line: n.line.At(at)}
	if b.Dialect == syntax.IPython {
		if magic, dialect, rest := cutMagic(code); magic != "" {
			b.Dialect, b.Source = dialect, rest
			if lines, ok := source.array(); ok && len(lines) > 1 { // else all of it is on one line of the file
				b.Line = n.line.At(lines[1].at)
			}
		}
	}
	b.Title = cellTitle(cell["metadata"], b)
	n.program.Blocks = append(n.program.Blocks, b)
	n.program.Cells = append(n.program.Cells, place)
	metadata, _ := cell["metadata"].object()
	n.program.named = append(n.program.named, metadata["name"].text() != "")
	return nil
}

func (n *notebook) bad(place, at int, what string) *ParseError {
	e := notNotebook(fmt.Sprintf("cell %d of the notebook %s", place+1, what))
	e.Line = n.line.At(at)
	return e
}

// cellTitle returns the name in a cell's metadata, else the title of a form (Colab), else the name that the cell
// defines.
func cellTitle(metadata value, b Block) string {
	fields, _ := metadata.object()
	if name := fields["name"].text(); name != "" {
		return name
	}
	first, _, _ := strings.Cut(b.Source, "\n")
	for _, prefix := range []string{"#@title ", "# @title "} {
		if title, ok := strings.CutPrefix(first, prefix); ok {
			title, _, _ = strings.Cut(title, " {")
			return strings.TrimSpace(title)
		}
	}
	return b.defined()
}

// language returns the language in a notebook's metadata, or "". The kernel of Deno says "typescript", those of tslab
// say "typescript" (tslab) and "javascript" (jslab), and bash_kernel says "bash".
func language(metadata value) string {
	m, _ := metadata.object()
	spec, _ := m["kernelspec"].object()
	if v, ok := lang.OfKernel(spec["name"].text()); ok {
		return v.Names[0]
	}
	for _, place := range [][2]string{{"language_info", "name"}, {"kernelspec", "language"}} {
		if o, ok := m[place[0]].object(); ok {
			if l := o[place[1]].text(); l != "" {
				return l
			}
		}
	}
	return ""
}

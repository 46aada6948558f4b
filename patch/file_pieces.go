package patch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// piece is a part of a file. It is a block with what announces it (a cell marker, a fence, the JSON of a cell), or the
// prose around blocks. The pieces of a file, in order, are the file.
type piece struct {
	text     string
	block    int // index of its block, or prose
	from, to int // the range of its source in text
}

const prose = -1

// format holds the functions and pieces to write one kind of file.
type format struct {
	pieces []piece
	head   string                                  // the text before the first piece
	foot   string                                  // the text after the last piece
	change func(p piece, was, now Block) string    // returns the piece with another block in it
	render func(b Block, first bool) string        // returns the piece of a new block
	join   func(out *strings.Builder, text string) // adds a piece to the output
	text   func(t Text, first bool) string         // returns the piece of a text between blocks
}

// shows returns the title that the code of a block gives it.
func (p *Program) shows(b Block) string {
	if p.Kind == KindNotebook {
		return cellTitle(value{}, b)
	}
	return b.defined()
}

// renames reports whether a block needs another title in the file: it has changed, or the code shows it no longer.
func (p *Program) renames(block int, was, now Block) bool {
	return was.Title != now.Title || !p.names(block) && now.Title != p.shows(now)
}

// sourceLines returns a text as notebooks store it: a list of lines with their line ends.
func sourceLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// encodeJSON writes a value as Jupyter does: indented by one space, and without unnecessary escapes.
func encodeJSON(v any, margin string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(margin, " ")
	if err := e.Encode(v); err != nil {
		panic("patch: internal error: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// CodeUnwritable is the code of the error for a program that a kind of file, or a change that a format, cannot express.
const CodeUnwritable Code = "unwritable"

func unwritable(kind Kind, why string) error {
	return &ParseError{Code: CodeUnwritable,
		Message: fmt.Sprintf("the program cannot be written as a %s file: %s", kind, why),
		Hint:    "write it into a new file: `xstate export --out FILE`"}
}

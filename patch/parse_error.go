package patch

import (
	"fmt"
	"strings"
)

// Code classifies an error. The values are stable, because scripts branch on them.
type Code string

const (
	CodeBinary      Code = "binary"      // the file holds NUL bytes
	CodeEmpty       Code = "empty"       // the file holds no code
	CodeEncoding    Code = "encoding"    // the file is not UTF-8, or declares another encoding
	CodeNotebook    Code = "notebook"    // the notebook is not valid JSON, or is not a notebook that can be read
	CodeUnsupported Code = "unsupported" // no reader for this kind of file, or no such format
	CodeLanguage    Code = "language"    // the program is written in a language other than Python
)

// ParseError reports why a file is not a program, or why a patch cannot be read: a code, a sentence, and what to do
// next.
type ParseError struct {
	Code    Code
	Name    string // the file, as the caller names it
	Message string // a sentence in lower case, without the file name
	Hint    string // what to do next
	Line    int    // 1-based; 0 if no line is at fault
}

// Error returns "name:line: message". It leaves out the hint.
func (e *ParseError) Error() string {
	var at strings.Builder
	if e.Name != "" {
		at.WriteString(e.Name)
		if e.Line > 0 {
			fmt.Fprintf(&at, ":%d", e.Line)
		}
		at.WriteString(": ")
	}
	return at.String() + e.Message
}

func empty(message string) *ParseError {
	return &ParseError{Code: CodeEmpty, Message: message, Hint: "write a statement or a code cell and run it again"}
}

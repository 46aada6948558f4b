package patch

import (
	"fmt"
	"strings"
)

// Code classes a ParseError. The values are stable: scripts branch on them.
type Code string

const (
	CodeBinary      Code = "binary"      // the file holds NUL bytes
	CodeEmpty       Code = "empty"       // the file holds no code
	CodeEncoding    Code = "encoding"    // the file is not UTF-8, or declares to be something else
	CodeNotebook    Code = "notebook"    // the notebook is not valid JSON, or not a notebook that can be read
	CodeUnsupported Code = "unsupported" // no reader for this kind of file
	CodeLanguage    Code = "language"    // the program is written in another language than Python
)

// ParseError says why a file is not a program: a code, a sentence, and what to do next.
type ParseError struct {
	Code    Code
	Name    string // the file as named by the caller
	Message string // a sentence in lower case without the file name
	Hint    string // what to do next
	Line    int    // 1-based; 0 when no line is to blame
}

// Error returns "name:line: message". The hint is separate.
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

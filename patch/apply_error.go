package patch

import "fmt"

// Codes of patches that are refused.
const (
	CodePatch     Code = "patch-malformed" // it cannot be read
	CodeAbsent    Code = "patch-absent"    // the text that it replaces is not there
	CodeAmbiguous Code = "patch-ambiguous" // the text that it replaces is there several times
	CodeOverlap   Code = "patch-overlap"   // two hunks are about the same lines
	CodeNoText    Code = "patch-no-target" // there is no block or file of that name
	CodeExists    Code = "patch-exists"    // there is a block or file of that name already
)

// ApplyError says why a patch cannot be applied: a code, a sentence, what to do next. Nothing was changed.
type ApplyError struct {
	Code       Code
	Name       string // of the text
	Hunk       int    // which hunk of its section, from 1; 0 when none is to blame
	Message    string
	Hint       string
	Old        string      // what was looked for
	Candidates []Candidate // places that come nearest, the best first
}

// Candidate is a place that a hunk may have meant.
type Candidate struct {
	Line  int     `json:"line"`  // from 1
	Score float64 `json:"score"` // how alike it is, 0 to 1
	Text  string  `json:"text"`
}

func (c *ApplyError) Error() string {
	where := ""
	if c.Hunk > 0 {
		where = fmt.Sprintf("hunk %d: ", c.Hunk)
	}
	if c.Name != "" {
		return c.Name + ": " + where + c.Message
	}
	return where + c.Message
}

// malformed is the error about a patch that cannot be read.
func malformed(line int, hint, format string, args ...any) *ParseError {
	return &ParseError{Code: CodePatch, Name: "patch", Line: line, Message: fmt.Sprintf(format, args...), Hint: hint}
}

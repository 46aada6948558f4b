package patch

import "fmt"

// These codes say why a patch cannot be read or applied.
const (
	CodePatch     Code = "patch-malformed" // it cannot be read
	CodeAbsent    Code = "patch-absent"    // the text to replace is not there
	CodeAmbiguous Code = "patch-ambiguous" // the text to replace is there several times
	CodeOverlap   Code = "patch-overlap"   // two hunks change the same lines
	CodeNoText    Code = "patch-no-target" // no block or file has that name
	CodeExists    Code = "patch-exists"    // a block or file of that name exists already
)

// ApplyError reports why a patch cannot be applied: a code, a sentence, and what to do next. Nothing was changed.
type ApplyError struct {
	Code       Code
	Name       string // the name of the text
	Hunk       int    // the number of the hunk in its section, from 1; 0 if no hunk is at fault
	Message    string
	Hint       string
	Old        string      // the text that was sought
	Candidates []Candidate // the most similar places, best first
}

// Candidate is a place that a hunk may have meant.
type Candidate struct {
	Line  int     `json:"line"`  // from 1
	Score float64 `json:"score"` // similarity, 0 to 1
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

// malformed returns the error for a patch that cannot be read.
func malformed(line int, hint, format string, args ...any) *ParseError {
	return &ParseError{Code: CodePatch, Name: "patch", Line: line, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// notUTF8 returns the error for a patch or code whose bytes are not text.
func notUTF8() *ParseError {
	return &ParseError{Code: CodeEncoding, Name: "patch", Message: "the text is not UTF-8",
		Hint: "give it as UTF-8; in a text of Python, write other bytes as \\xNN"}
}

// cannotExpress returns the error for a change that a format cannot express.
func cannotExpress(f Format, what string) error {
	return &ParseError{Code: CodeUnwritable, Message: fmt.Sprintf("the format %s cannot express that %s", f, what),
		Hint: "choose another `--format`: git and v4a can express the most"}
}

package depgraph

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/xstate-engine/xstate/internal/pytree"
)

// parseError turns what the parser says into a position and a sentence.
func parseError(text string, err error) *SyntaxError {
	var at *pytree.Error
	if !errors.As(err, &at) {
		return &SyntaxError{Line: 1, Column: 1, Msg: err.Error()}
	}
	msg := "invalid syntax"
	start := min(at.Start, len(text))
	if at.Missing {
		msg = "something is missing here"
	} else if line, _, _ := strings.Cut(text[start:min(at.End, len(text))], "\n"); strings.TrimSpace(line) != "" {
		if utf8.RuneCountInString(line) > 40 {
			line = string([]rune(line)[:40]) + "…"
		}
		msg = fmt.Sprintf("invalid syntax near %q", line)
	}
	line := strings.Count(text[:start], "\n") + 1
	from := strings.LastIndexByte(text[:start], '\n') + 1
	return &SyntaxError{Line: line, Column: utf8.RuneCountInString(text[from:start]) + 1, Msg: msg}
}

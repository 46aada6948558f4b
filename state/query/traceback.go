package query

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
)

// CitedLine is how tracebacks, and errors of syntax, cite a line: a margin, the file, the line, the column and the
// function. The bars are those of exception groups.
var CitedLine = regexp.MustCompile(`^([\s|]*)File "([^"\n]+)", line (\d+)(, column \d+)?(?:,? in (.*))?$`)

// Traceback returns the lines of a traceback. Those that cite blocks cite the places of the error's frames instead. An
// error without a frame for each, such as one that was shortened, keeps its lines.
func Traceback(e *state.ExecError) []string {
	lines := slices.Clone(e.Traceback)
	var cited []int
	for i, line := range lines {
		if CitedLine.MatchString(line) {
			cited = append(cited, i)
		}
	}
	if len(cited) != len(e.Frames) {
		return lines
	}
	for n, i := range cited {
		m := CitedLine.FindStringSubmatch(lines[i])
		lines[i] = m[1] + Citation(e.Frames[n], m[4])
	}
	if n := len(lines); n > 0 {
		lines[n-1] = moved(e, lines[n-1])
	}
	return lines
}

// Citation renders the place of a frame: File "p.py", line 12, in clean. Lines of a notebook are those of its cells,
// and those of a block that is not in the file are its own. The column is as the traceback writes it.
func Citation(f state.Frame, column string) string {
	in := f.Function
	if f.Block != "" && in == "<module>" {
		in = string(f.Block)
	}
	var text string
	switch {
	case f.Block != "" && f.Line == 0:
		text = fmt.Sprintf("%s %q, line %d%s", Called(f.File), f.Block, f.BlockLine, column)
		if in == string(f.Block) {
			in = ""
		}
	default:
		text = fmt.Sprintf("File %q, line %d%s", f.File, f.Line, column)
	}
	if in != "" {
		text += ", in " + in
	}
	if _, source := patch.FileDialect(f.File, nil); f.Block != "" && f.Line > 0 && !source {
		text += fmt.Sprintf(" (cell %s, line %d)", f.Block, f.BlockLine)
	}
	return text
}

// Called is what people call a block of a file.
func Called(file string) string {
	if filepath.Ext(file) == ".ipynb" {
		return "Cell"
	}
	return "Block"
}

// inMessage is how CPython cites another line in the message of an error of syntax.
var inMessage = regexp.MustCompile(`\b(on|at) line (\d+)`)

// moved returns the message of an error of syntax with lines of the file in the place of those of the block.
func moved(e *state.ExecError, message string) string {
	if len(e.Frames) != 1 || len(e.Traceback) > 3 || e.Frames[0].Block != e.Block || e.Frames[0].Line == 0 ||
		!strings.HasSuffix(message, e.Message) {
		return message
	}
	down := e.Frames[0].Line - e.Frames[0].BlockLine
	return inMessage.ReplaceAllStringFunc(message, func(cited string) string {
		m := inMessage.FindStringSubmatch(cited)
		line, _ := strconv.Atoi(m[2])
		return fmt.Sprintf("%s line %d", m[1], line+down)
	})
}

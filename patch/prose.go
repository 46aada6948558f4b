package patch

import (
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/patch/diff"
	"github.com/xstate-engine/xstate/patch/syntax"
)

// Prose may be valid code: "Done" is a name of Python and of TypeScript, and "ok, done" two of them.
var (
	proseText = regexp.MustCompile(`^[\pL][\pL\pN' ,;:!?\n-]*$`)
	proseLine = regexp.MustCompile(`^\pL[\pL'’-]*(?:[, ]+[\pL'’-]+){2,}[.:!?]*$`)
	statement = regexp.MustCompile(`^(?:for|while|if|elif|else|def|class|with|try|import|from|return|async|lambda|not` +
		`|del|global|nonlocal|assert|raise|yield|await|match|case|type|print)\b`)
)

// isProse reports whether a text that counts as code is only words, none of which a block binds. Such a text does
// nothing.
func (g *decider) isProse(blocks []Block, s Section) bool {
	text := strings.TrimSpace(unix(s.Text))
	in := syntax.Of(s.Dialect)
	if in == syntax.Of(syntax.Bash) || !proseText.MatchString(text) {
		return false
	}
	names := in.Bindings(text)
	words := 0
	for _, b := range blocks {
		_, was := g.of(b.code())
		if b.Source == text || was.Binds(names.Free) || was.Binds(names.Assigns) {
			return false
		}
	}
	for name := range names.Free {
		if !in.Builtin[name] {
			words++
		}
	}
	return words > 0 && len(names.Imports)+len(names.Defines) == 0
}

// notCode returns the error for prose without code.
func notCode(s Section) error {
	first, _, _ := strings.Cut(strings.TrimSpace(s.Text), "\n")
	return malformed(0, "put code between ```python and ```, or name the block with `--block`",
		"this is prose and no code: %q", first)
}

// ProseAround reports whether a text of Python does not parse because a line of prose is above or below its code.
func ProseAround(text string) bool {
	lines := slices.DeleteFunc(diff.SplitLines(text), blankLine)
	if len(lines) < 2 || syntax.Of(syntax.Python).Parses([]byte(text)) {
		return false
	}
	first, last := 0, len(lines)
	for first < last && isProseLine(lines[first]) {
		first++
	}
	for last > first && isProseLine(lines[last-1]) {
		last--
	}
	return last > first && last-first < len(lines) &&
		syntax.Of(syntax.Python).Parses([]byte(strings.Join(lines[first:last], "")))
}

func isProseLine(line string) bool {
	line = bare(line)
	return proseLine.MatchString(strings.TrimRight(line, " \t")) && !statement.MatchString(line)
}

package patch

import (
	"regexp"
	"strings"
)

// A text that replaces a whole block must be complete. Models leave out unchanged code and say so in a comment, such as
// "# ... existing code ...", "// ... existing code ...", "# rest of the function remains the same" or "pass  #
// unchanged".
var omissionComment = regexp.MustCompile(`(?i)^[ \t]*(?:(?:\.\.\.|pass)[ \t]*#.*\b(?:unchanged|same|existing` +
	`|as before|remains)\b` +
	`|(?:#|//|/\*)[ \t]*(?:\.\.\.|…)[ \t]*$` +
	`|(?:#|//|/\*)[ \t]*(?:\.\.\.|…).*\b(?:existing|rest|remaining|remainder|unchanged|same|previous|other|omitted` +
	`|as before|as above)\b` +
	`|(?:#|//|/\*)[ \t]*[([]?(?:(?:the|your|all|keep)[ \t]+)*(?:rest|remainder|remaining|existing|previous` +
	`|other)[ \t]+(?:of[ \t]+)?(?:(?:the|your|this|helper)[ \t]+)*` +
	`(?:code|functions?|methods?|imports?|script|class(?:es)?|block|program|cell|logic` +
	`|implementations?|definitions?)\b` +
	`.*(?:\b(?:unchanged|same|as before|unmodified|omitted|stays?|remains?|here)\b|(?:\.\.\.|…)[ \t]*[)\]]?$))`)

// refuseOmissions fails on a text that replaces a whole block or program but has a comment that says it leaves out
// code. A comment that the program already has does not count.
func (r *reviser) refuseOmissions(s Section) error {
	text := s.Text
	language := syntaxOf(s.Dialect)
	var known map[string]bool
	in := scanner{code: []byte(text)}
	line, at := 0, 0
	for l := range strings.Lines(text) {
		line++
		start := at
		at += len(l)
		l = strings.TrimSpace(l)
		if len(l) > 200 || !omissionComment.MatchString(l) {
			continue
		}
		if in.to(start); language.python && in.quote != "" || !language.python && language.quoted(in.code, start) {
			continue
		}
		if known == nil {
			known = map[string]bool{}
			for _, b := range r.blocks {
				for had := range strings.Lines(b.Source) {
					known[strings.TrimSpace(had)] = true
				}
			}
		}
		if !known[l] {
			return malformed(line, "give all of the code, or only what changes: a diff, or SEARCH/REPLACE",
				"the code is incomplete: %q", l)
		}
	}
	return nil
}

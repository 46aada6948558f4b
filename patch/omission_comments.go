package patch

import (
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/patch/diff"
	"github.com/xstate-engine/xstate/patch/syntax"
)

// Models leave out unchanged code and say so in a separate line: "# ... existing code ...", "// rest of the function",
// "pass  # unchanged", "<!-- same as before -->", or "..." alone. A text that replaces another must be complete, so
// such a line is refused if code of the old text is missing there. A remark of the old text itself is not an omission.
// A remark is explicit if it can hardly mean anything else. Then one missing line of code is enough. Otherwise ("filter
// as above", "...") that place must have fewer lines of code than before.
var (
	// explicitRemark matches the words of a remark, in lower case and without its marks.
	explicitRemark = regexp.MustCompile(`^(?:` +
		`(?:(?:this|the|all|all of|your|code|everything|else|body|implementation|logic|contents?|rest` +
		`|remainder|function|method|class|block|cell|is|are` +
		`|it|stays?|remains?|left|kept|lines?|here|no change|with) )*` +
		`(?:unchanged|unmodified|untouched|same(?: code| as)?|identical|snip(?:ped)?|elided|truncated|abbreviated` +
		`|as (?:before|above|is|it was|it is)|see above|no changes?|not changed)` +
		`(?: (?:as|from|to|for|the|in|before|above|earlier|previous|previously|version|original|code|block|cell` +
		`|function|here|needed|required|brevity|clarity))*` +
		`|.*\b(?:omitted|skipped|left out|shortened) for (?:brevity|clarity)` +
		`|(?:the |all )?(?:code|lines?|rest|remainder)?(?: (?:is|are))? ?omitted(?: here)?` +
		`|(?:the )?(?:rest|remainder) of (?:(?:the|your|this) )*(?:` + codeNoun + `)` +
		`|(?:(?:the|your|all|keep) )*(?:rest|remainder|remaining|existing|previous|other) (?:of )?` +
		`(?:(?:the|your|this|helper) )*(?:` + codeNoun + `)\b.*` +
		`(?:\b(?:unchanged|same|as before|unmodified|omitted|stays?|remains?|here)\b.*|(?:\.\.\.|…)))$`)
	// afterDots matches the words of a remark that begins with dots.
	afterDots = regexp.MustCompile(`\b(?:existing|rest|remaining|remainder|unchanged|same|previous|other|omitted` +
		`|as before|as above)\b`)
	vagueRemark = regexp.MustCompile(`\b(?:unchanged|unmodified|untouched|omitted|snipped|elided)\b` +
		`|\b(?:as|like|see) (?:before|above|is|earlier)\b|\b(?:stays?|remains?) (?:the same|as)\b` +
		`|^(?:the )?same (?:\w+ )?(?:\w+ )?(?:as (?:before|above|previous.*|earlier)|code|logic)$` +
		`|^(?:please )?(?:keep|leave|retain|preserve|insert|copy|paste)s? (?:\w+ )?(?:existing|rest|as is|original)\b` +
		`|^(?:(?:the|your|all) )*(?:existing|remaining|rest|other|more) (?:of )?(?:the )?(?:` + codeNoun + `)` +
		`(?: (?:goes )?here)?$|\b(?:code|logic|implementation) (?:goes )?here$|^(?:etc|and so on|continued)$`)
	bareDots = regexp.MustCompile(`^[([{<]?(?:\.{3,}|…)[)\]}>]?[,;]?$`)
	// emptyBody matches a line up to a remark in the place of a body: "pass  #", "def f():  #", "f() { /*".
	emptyBody = regexp.MustCompile(`^(?:(?:pass|\.\.\.|:|true|return|.*:(?:\s*(?:\.\.\.|pass))?` +
		`|.*\{(?:\s*:;?)?)\s*(#)|(?:;|return;?|.*\{)\s*(//|/\*))`)
	emptyRemark  = regexp.MustCompile(`^(?:\.\.\.|pass)\s*#.*\b(?:unchanged|same|existing|as before|remains)\b`)
	dotsInBraces = regexp.MustCompile(`\{\s*(?:\.{3}|…)\s*\}[;,]?$`)
	noCode       = regexp.MustCompile(`^(?:#|//|/\*|<!--|pass\b|\.{3}|…|:$|;$|raise NotImplementedError)`)
	bodyOf       = regexp.MustCompile(`^\s*(?:async\s+)?(?:def|class)\s+(\w+)`)
)

const (
	codeNoun    = `code|functions?|methods?|imports?|scripts?|class(?:es)?|block|program|cell|file|logic` + bodyNouns
	bodyNouns   = `|implementations?|definitions?|body`
	maxOmission = 200 // bytes of a line that means omitted lines
	maxWords    = 10  // in a remark
	// In Python libraries, 0.4% of 200,000 comments looked like a vague remark, and most had more words.
	maxVagueWords = 8
	maxOmissions  = 1_000 // in a text; a parser looks at each
)

// certainty says how sure it is that a line means omitted lines.
type certainty uint8

const (
	noOmission certainty = iota
	vague
	explicit
)

// omissionIn returns how sure it is that a line means omitted lines.
func omissionIn(line string, python bool) certainty {
	line = strings.TrimSpace(line)
	switch {
	case line == "" || len(line) > maxOmission:
		return noOmission
	case bareDots.MatchString(line), !python && dotsInBraces.MatchString(line):
		return vague
	case emptyRemark.MatchString(strings.ToLower(line)):
		return explicit
	}
	words := line
	if m := emptyBody.FindStringSubmatchIndex(line); m != nil {
		if words = line[max(m[2], m[4]):]; remarkSays(words) == explicit { // a body may follow
			return explicit
		}
		return noOmission
	}
	if _, ok := lang.Commented(words); ok {
		return remarkSays(words)
	}
	for _, sign := range []string{"/*", "<!--", "{/*", "--"} {
		if strings.HasPrefix(words, sign) {
			return remarkSays(words)
		}
	}
	return noOmission
}

// remarkSays reads the text of a comment.
func remarkSays(text string) certainty {
	const marks = " \t#/*<>!()[]{}=-–—:;,'\"`"
	text = strings.ToLower(strings.Trim(text, marks))
	dots := strings.HasPrefix(text, "...") || strings.HasPrefix(text, "…")
	tail := strings.HasSuffix(text, "...") || strings.HasSuffix(text, "…")
	words := strings.Join(strings.Fields(strings.Trim(text, marks+".…")), " ")
	switch {
	case words == "" && dots:
		return explicit
	case words == "" || strings.Count(words, " ") >= maxWords:
		return noOmission
	case dots && afterDots.MatchString(words), explicitRemark.MatchString(words),
		tail && explicitRemark.MatchString(words+"..."):
		return explicit
	case strings.Count(words, " ") < maxVagueWords && (dots || vagueRemark.MatchString(words)):
		return vague
	}
	return noOmission
}

// omission is a line that means omitted lines.
type omission struct {
	line int // from 1
	text string
	sure certainty
	at   int // its index among the lines that are not blank
}

// omissionsIn returns the lines of a text that mean omitted lines. Lines inside of strings are none, nor are those of
// the old text. in is nil for Markdown, where "# " begins a heading.
func omissionsIn(now, old string, in *syntax.Syntax) (found []omission) {
	var had map[string]int
	s := syntax.Scanner{Code: []byte(now)}
	line, offset, at, fenced := 0, 0, -1, false
	for l := range strings.Lines(now) {
		start := offset
		offset, line = offset+len(l), line+1
		if _, _, ok := fenceLine(l); ok {
			fenced = !fenced
		}
		if !blankLine(l) {
			at++
		}
		l = strings.TrimSpace(l)
		sure := omissionIn(l, in != nil && in.Python)
		if sure == noOmission || in == nil && !fenced && strings.HasPrefix(l, "#") {
			continue
		}
		if had == nil {
			had = map[string]int{}
			for l := range strings.Lines(old) {
				had[strings.TrimSpace(l)]++
			}
		}
		if had[l]--; had[l] >= 0 {
			continue
		}
		if in != nil && in.Python {
			if s.To(start); s.Quote != "" {
				continue
			}
		} else if in != nil && len(found) < maxOmissions && in.Quoted(s.Code, start) {
			continue
		}
		found = append(found, omission{line, l, sure, at})
	}
	return found
}

// omitted returns the first line of a new text that means omitted lines of the old one, if it is that sure.
func omitted(old, now string, in *syntax.Syntax, least certainty) (omission, bool) {
	found := omissionsIn(now, old, in)
	if len(found) == 0 {
		return omission{}, false
	}
	a, b := writtenLines(old), writtenLines(now)
	for _, c := range diff.Changes(trimmed(a), trimmed(b)) {
		lost, wrote := codeLines(a[c.OldStart:c.OldEnd]), codeLines(b[c.NewStart:c.NewEnd])
		for ; len(found) > 0 && found[0].at < c.NewEnd; found = found[1:] {
			o := found[0]
			if o.at >= c.NewStart && o.sure >= least &&
				(lost > 0 && o.sure == explicit || lost > wrote && !isStub(b, o.at, old)) {
				return o, true
			}
		}
	}
	return omission{}, false
}

// writtenLines returns the lines that are not blank.
func writtenLines(text string) []string {
	return slices.DeleteFunc(bares(diff.SplitLines(text)), blankLine)
}

// trimmed returns lines without white space around them.
func trimmed(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.TrimSpace(l)
	}
	return out
}

// codeLines counts the lines that do something.
func codeLines(lines []string) (n int) {
	for _, l := range lines {
		if l = strings.TrimSpace(l); !noCode.MatchString(l) && !bareDots.MatchString(l) {
			n++
		}
	}
	return n
}

// isStub reports whether "..." on a line of Python is all of the body of a function or class that the old text lacks.
// Above it may be a doc string.
func isStub(lines []string, at int, old string) bool {
	depth := indentOf(lines[at])
	if strings.TrimSpace(lines[at]) != "..." || at+1 < len(lines) && indentOf(lines[at+1]) >= depth {
		return false
	}
	head := at - 1
	for head >= 0 && !bodyOf.MatchString(lines[head]) {
		head--
	}
	if head < 0 || indentOf(lines[head]) >= depth {
		return false
	}
	between := strings.Join(lines[head:at], "\n")
	colon := strings.LastIndex(between, ":\n") + 1
	if body := strings.TrimLeft(between[colon:], " \t\nrR"); !strings.HasSuffix(between, ":") &&
		!strings.HasPrefix(body, `"`) && !strings.HasPrefix(body, "'") {
		return false
	}
	name := bodyOf.FindStringSubmatch(lines[head])[1]
	return !slices.ContainsFunc(diff.SplitLines(old), func(l string) bool {
		m := bodyOf.FindStringSubmatch(l)
		return m != nil && m[1] == name
	})
}

// indentOf returns the number of characters before a line's text.
func indentOf(line string) int { return len(marginOf(line)) }

// refuseOmission fails if a text leaves out code of the one that it replaces.
func refuseOmission(old, now, dialect string) error {
	if o, ok := omitted(old, now, syntax.Of(dialect), vague); ok {
		return o.refused()
	}
	return nil
}

// refuseOmissions fails if a change of parts of a text leaves out code of one. Only explicit remarks count there: what
// a part removes is plain to see.
func (s *Section) refuseOmissions(dialect string) error {
	for _, h := range s.Hunks {
		if o, ok := omitted(h.Old, h.New, syntax.Of(dialect), explicit); ok && h.Old != "" {
			o.line = 0
			return o.refused()
		}
	}
	return nil
}

func (o omission) refused() error {
	return malformed(o.line, "give all of the code, or patch only what changes, by a diff or SEARCH/REPLACE; if "+
		"nothing is missing, leave this line out", "the code is incomplete: %q", o.text)
}

// refuseNewOmission fails on a new block or file that says that it leaves out code, unless the program has that line.
func (r *reviser) refuseNewOmission(s Section) error {
	for _, o := range omissionsIn(s.Text, "", syntax.Of(s.Dialect)) {
		known := o.sure != explicit
		for _, b := range r.blocks {
			known = known || containsLines(b.Source, o.text)
		}
		if !known {
			return o.refused()
		}
	}
	return nil
}

// refuseOmissionIn fails if a section leaves out code of the text that it changes.
func (r *reviser) refuseOmissionIn(s Section, old, dialect string) error {
	if s.Act != ActWrite {
		return s.refuseOmissions(dialect)
	}
	in := syntax.Of(dialect)
	if r.on.File != nil && r.on.File.Kind == KindMarkdown && r.on.isFile(s.Name) {
		in = nil
	}
	if o, ok := omitted(old, s.Text, in, vague); ok {
		return o.refused()
	}
	return nil
}

// refuseOmissionBeside fails if a text that becomes a new block leaves out code of a block whose names it binds again.
// Such a text was meant to replace that block. It also fails if the text says that it leaves out code, and is not
// executed: executed code may continue what was executed before.
func (r *reviser) refuseOmissionBeside(s Section) error {
	_, names := r.decider.of(code{syntax.Of(s.Dialect), s.Text})
	for _, b := range r.blocks {
		_, was := r.decider.of(b.code())
		if was.Binds(names.Assigns) || was.Binds(names.Defines) {
			if err := refuseOmission(b.Source, s.Text, s.Dialect); err != nil {
				return err
			}
		}
	}
	if r.on.Submitted != nil {
		return nil
	}
	return r.refuseNewOmission(s)
}

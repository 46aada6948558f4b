package patch

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/xstate-engine/xstate/patch/diff"
)

// One reader serves unified diffs, git's diffs, and Aider's diffs without line numbers. Models miscount lines, so a
// hunk ends where its lines end. The counts in its head have one use: until they are used up, a line "--- x" is a
// removed line.
var (
	hunkHead = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)
	barePath = regexp.MustCompile(`^(?:---|\+\+\+) \S`)
)

const devNull = "/dev/null"

func likeGit(text string) bool     { return hasLine(text, "diff --git ") }
func likeUnified(text string) bool { return hunkHeads(text, true) }
func likeUdiff(text string) bool   { return hunkHeads(text, false) || pathPair(text) }

func hasLine(text, prefix string) bool {
	return strings.HasPrefix(text, prefix) || strings.Contains(text, "\n"+prefix)
}

// hunkHeads reports whether the text holds the head of a hunk. numbers says whether the head must have line numbers.
func hunkHeads(text string, numbers bool) bool {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "@@") && (hunkHead.MatchString(line) || !numbers) {
			return true
		}
	}
	return false
}

// pathPair reports whether a line +++ follows a line ---.
func pathPair(text string) bool {
	before := ""
	for line := range strings.Lines(text) {
		if strings.HasPrefix(before, "--- ") && barePath.MatchString(before) && strings.HasPrefix(line, "+++ ") &&
			barePath.MatchString(line) {
			return true
		}
		before = line
	}
	return false
}

// diffReader reads a diff file by file and hunk by hunk.
type diffReader struct {
	lines    []string
	at       int
	sections []Section
	s        *Section // the last section, which receives the hunks
	headed   bool     // a git header began it, and its paths are still to come
}

func readDiff(text string) ([]Section, *ParseError) {
	r := &diffReader{lines: bares(diff.SplitLines(text))}
	for r.at < len(r.lines) {
		line := r.lines[r.at]
		var bad *ParseError
		switch {
		case strings.HasPrefix(line, "diff --git "):
			bad = r.gitHead()
		case r.paths():
			r.begin(r.path(r.at), r.path(r.at+1))
			r.at += 2
			if r.at < len(r.lines) && isDiffLine(r.lines[r.at]) {
				bad = r.hunk(0, 0, 0)
			}
		case strings.HasPrefix(line, "@@"):
			bad = r.numbered(line)
		default:
			r.at++ // prose, fences, "index 12ab..34cd"
		}
		if bad != nil {
			return nil, bad
		}
	}
	return r.finished(), nil
}

// readUdiff reads a diff and ignores its line numbers.
func readUdiff(text string) ([]Section, *ParseError) {
	sections, bad := readDiff(text)
	for _, s := range sections {
		for k := range s.Hunks {
			h := &s.Hunks[k]
			h.Line, h.End = 0, h.Old == ""
		}
	}
	return sections, bad
}

func (r *diffReader) bad(at int, format string, args ...any) *ParseError {
	return malformed(at+1, "write --- OLD, +++ NEW, then @@ and lines that begin with a space, - or +", format, args...)
}

// paths reports whether the next two lines name the old and the new file.
func (r *diffReader) paths() bool {
	return r.at+1 < len(r.lines) && barePath.MatchString(r.lines[r.at]) && strings.HasPrefix(r.lines[r.at], "---") &&
		strings.HasPrefix(r.lines[r.at+1], "+++ ")
}

func (r *diffReader) path(i int) string { return unquotePath(r.lines[i][4:]) }

// unquotePath reads a path up to the tab before a time stamp. A path in quotes may hold git's escapes.
func unquotePath(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\t")
	if q, err := strconv.Unquote(s); err == nil && strings.HasPrefix(s, `"`) {
		return q
	}
	return s
}

// next starts a section.
func (r *diffReader) next() {
	r.sections = append(r.sections, Section{Act: ActUpdate})
	r.s = &r.sections[len(r.sections)-1]
}

// begin starts a section, unless its git header did.
func (r *diffReader) begin(old, new string) {
	if !r.headed {
		r.next()
	}
	r.headed = false
	name := new
	switch {
	case strings.HasPrefix(old, "a/") && strings.HasPrefix(new, "b/"), old == devNull && strings.HasPrefix(new, "b/"):
		name = new[2:]
	case new == devNull && strings.HasPrefix(old, "a/"):
		name = old[2:]
	case new == devNull:
		name = old
	}
	switch {
	case old == devNull:
		r.s.Act = ActCreate
	case new == devNull:
		r.s.Act = ActDelete
	}
	if r.s.To == "" {
		r.s.Name = name
	}
}

// gitHead reads the header lines that git writes before the hunks of a file.
func (r *diffReader) gitHead() *ParseError {
	r.next()
	r.headed = true
	r.s.Name = gitName(strings.TrimPrefix(r.lines[r.at], "diff --git "))
	for r.at++; r.at < len(r.lines); r.at++ {
		line := r.lines[r.at]
		word := func(prefix string) (string, bool) { return strings.CutPrefix(line, prefix) }
		if name, ok := word("rename from "); ok {
			r.s.Name = unquotePath(name)
		} else if name, ok := word("rename to "); ok {
			r.s.To = unquotePath(name)
		} else if _, ok := word("new file mode "); ok {
			r.s.Act = ActCreate
		} else if _, ok := word("deleted file mode "); ok {
			r.s.Act = ActDelete
		} else if strings.HasPrefix(line, "Binary files ") || strings.HasPrefix(line, "GIT binary patch") ||
			strings.HasPrefix(line, "copy from ") {
			return malformed(r.at+1, "patch text only; write a copy as a new file",
				"this patch cannot be applied to text: %s",
				line)
		} else if !gitWords(line) {
			return nil
		}
	}
	return nil
}

func gitWords(line string) bool {
	for _, w := range []string{"index ", "old mode ", "new mode ", "similarity index ", "dissimilarity index "} {
		if strings.HasPrefix(line, w) {
			return true
		}
	}
	return false
}

// gitName returns the name in "a/NAME b/NAME". The name may hold spaces.
func gitName(s string) string {
	if strings.HasPrefix(s, `"`) {
		if q, err := strconv.QuotedPrefix(s); err == nil {
			return strings.TrimPrefix(unquotePath(q), "a/")
		}
	}
	half := (len(s) - 1) / 2
	if len(s)%2 == 1 && s[half] == ' ' && len(s) > 4 && s[2:half] == s[half+3:] {
		return s[2:half]
	}
	_, name, _ := strings.Cut(s, " b/")
	return name
}

// numbered reads a hunk that begins with @@ and line numbers.
func (r *diffReader) numbered(line string) *ParseError {
	r.at++
	m := hunkHead.FindStringSubmatch(line)
	if m == nil {
		return r.hunk(0, 0, 0)
	}
	number := func(s string, none int) int {
		if n, err := strconv.Atoi(s); err == nil {
			return n
		}
		return none
	}
	from, old, new := number(m[1], 0), number(m[2], 1), number(m[4], 1)
	if old == 0 {
		from++ // for an empty range, diff gives the line before
	}
	return r.hunk(from, old, new)
}

func isDiffLine(line string) bool { return line != "" && strings.Contains(" +-", line[:1]) }

// hunk reads the lines of a hunk. old and new are its expected line counts, as far as the head gives them.
func (r *diffReader) hunk(from, old, new int) *ParseError {
	begun, end := r.at, r.at
	var h hunkText
loop:
	for ; r.at < len(r.lines); r.at++ {
		line := r.lines[r.at]
		switch {
		case line == "":
			h.add(' ', "")
			old, new = old-1, new-1
			if old >= 0 && new >= 0 {
				end = r.at + 1
				h.keep()
			}
			continue // it belongs to the hunk only if a line of the hunk follows
		case strings.HasPrefix(line, `\`):
			h.unended()
		case !isDiffLine(line), old <= 0 && new <= 0 && (r.paths() || line == "-- "): // the second case ends a mail
			break loop
		default:
			h.add(line[0], line[1:])
			if line[0] != '+' {
				old--
			}
			if line[0] != '-' {
				new--
			}
		}
		end = r.at + 1
		h.keep()
	}
	r.at = max(end, begun)
	if h.kept == (hunkSize{}) {
		return r.bad(begun-1, "a hunk has no lines")
	}
	if r.s == nil {
		r.next()
	}
	o, n := h.texts()
	one := Hunk{Old: o, New: n, Line: from}
	one.End = o == "" && from == 0
	r.s.Hunks = append(r.s.Hunks, one)
	return nil
}

// hunkText collects the old and the new lines of a hunk.
type hunkText struct {
	old, new []string
	last     byte // the sign of the last line
	kept     hunkSize
}

type hunkSize struct{ old, new int }

func (h *hunkText) add(sign byte, line string) {
	if sign != '+' {
		h.old = append(h.old, line+"\n")
	}
	if sign != '-' {
		h.new = append(h.new, line+"\n")
	}
	h.last = sign
}

// unended removes the line end of the last line: \ No newline at end of file.
func (h *hunkText) unended() {
	cutEnd := func(lines []string) {
		if n := len(lines); n > 0 {
			lines[n-1] = strings.TrimSuffix(lines[n-1], "\n")
		}
	}
	if h.last != '+' {
		cutEnd(h.old)
	}
	if h.last != '-' {
		cutEnd(h.new)
	}
}

// keep confirms that the lines so far belong to the hunk.
func (h *hunkText) keep() { h.kept = hunkSize{len(h.old), len(h.new)} }

func (h *hunkText) texts() (old, new string) {
	return joinEnded(h.old[:h.kept.old]), joinEnded(h.new[:h.kept.new])
}

// joinEnded joins lines. Only the last one may lack a line end.
func joinEnded(lines []string) string {
	var out strings.Builder
	for i, line := range lines {
		if i < len(lines)-1 {
			line = endLast(line)
			if line == "" {
				line = "\n"
			}
		}
		out.WriteString(line)
	}
	return out.String()
}

// finished turns the hunks of a created or deleted text into that text.
func (r *diffReader) finished() []Section {
	var out []Section
	for _, s := range r.sections {
		for _, h := range s.Hunks {
			switch s.Act {
			case ActCreate:
				s.Text += h.New
			case ActDelete:
				s.Text += h.Old
			}
		}
		if s.Act != ActUpdate {
			s.Hunks = nil
		}
		if s.Act != ActUpdate && s.Name != "" || len(s.Hunks) > 0 || s.To != "" {
			out = append(out, s)
		}
	}
	return out
}

func writeUnified(p *Patch) (string, error) { return p.writeDiff(FormatUnified) }
func writeGit(p *Patch) (string, error)     { return p.writeDiff(FormatGit) }
func writeUdiff(p *Patch) (string, error)   { return p.writeDiff(FormatUdiff) }

func (p *Patch) writeDiff(f Format) (string, error) {
	var out strings.Builder
	for _, s := range p.Sections {
		old, new := "a/"+s.Name, "b/"+s.Name
		switch {
		case s.Act == ActCreate:
			old = devNull
			s.Hunks = []Hunk{{New: s.Text, Line: 1}}
		case s.Act == ActDelete:
			new = devNull
			s.Hunks = []Hunk{{Old: s.Text, Line: 1}}
		case s.Act != ActUpdate:
			return "", cannotExpress(f, "a whole text is replaced, or which block is meant")
		case s.To != "" && f != FormatGit:
			return "", cannotExpress(f, "a text is renamed")
		case s.To != "":
			new = "b/" + s.To
		}
		if f == FormatGit {
			gitHeadOf(&out, &s)
		}
		text := s.Act == ActUpdate && len(s.Hunks) > 0 || s.Text != ""
		if !text && f != FormatGit {
			return "", cannotExpress(f, "a text without lines is created or deleted")
		}
		if text && s.Name != "" {
			fmt.Fprintf(&out, "--- %s\n+++ %s\n", diff.FileName(old), diff.FileName(new))
		}
		shift := 0
		for _, h := range s.Hunks {
			if h.All {
				return "", cannotExpress(f, "every occurrence is replaced")
			}
			if text {
				begun := out.Len()
				h.writeUnified(&out, f, shift)
				if f == FormatUdiff && pathPair(out.String()[begun:]) {
					return "", cannotExpress(f, "lines like --- and +++ are text, not file names")
				}
				shift += countLines(h.New) - countLines(h.Old)
			}
		}
	}
	return out.String(), nil
}

func gitHeadOf(out *strings.Builder, s *Section) {
	to := s.Name
	if s.To != "" {
		to = s.To
	}
	fmt.Fprintf(out, "diff --git a/%s b/%s\n", s.Name, to)
	switch {
	case s.Act == ActCreate:
		out.WriteString("new file mode 100644\n")
	case s.Act == ActDelete:
		out.WriteString("deleted file mode 100644\n")
	case s.To != "":
		fmt.Fprintf(out, "rename from %s\nrename to %s\n", s.Name, s.To)
	}
}

func (h *Hunk) writeUnified(out *strings.Builder, f Format, shift int) {
	old, new := countLines(h.Old), countLines(h.New)
	if f == FormatUdiff || h.Line == 0 {
		out.WriteString("@@ ... @@\n")
	} else {
		from := h.Line - 1
		fmt.Fprintf(out, "@@ -%s +%s @@\n", diff.Span(from, from+old), diff.Span(from+shift, from+shift+new))
	}
	h.writeDiff(out)
}

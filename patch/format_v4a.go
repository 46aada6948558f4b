package patch

import (
	"strings"

	"github.com/xstate-engine/xstate/patch/diff"
)

// This format is that of Codex (V4A). The reader is as lenient as the reference implementation is for every model. It
// accepts white space around markers, a here-document around the patch, a first chunk without @@, and blank lines
// between chunks.
const (
	v4aBegin  = "*** Begin Patch"
	v4aEnd    = "*** End Patch"
	v4aAdd    = "*** Add File: "
	v4aDelete = "*** Delete File: "
	v4aUpdate = "*** Update File: "
	v4aMove   = "*** Move to: "
	v4aEOF    = "*** End of File"
)

func likeV4A(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == v4aBegin || strings.HasPrefix(line, v4aUpdate) ||
			strings.HasPrefix(line, v4aAdd) || strings.HasPrefix(line, v4aDelete) {
			return true
		}
	}
	return false
}

// v4aReader reads a patch line by line.
type v4aReader struct {
	lines []string
	at    int
}

func (r *v4aReader) more() bool   { return r.at < len(r.lines) }
func (r *v4aReader) line() string { return r.lines[r.at] }

func (r *v4aReader) bad(format string, args ...any) *ParseError {
	return malformed(r.at+1, "write *** Update File: NAME, then @@ and lines that begin with a space, - or +", format,
		args...)
}

func readV4A(text string) ([]Section, *ParseError) {
	r := &v4aReader{lines: bares(diff.SplitLines(text))}
	for r.more() && strings.TrimSpace(r.line()) != v4aBegin {
		r.at++ // prose, a fence, apply_patch <<'EOF'
	}
	if !r.more() {
		return nil, r.bad("the first line of a patch must be %q", v4aBegin)
	}
	r.at++
	var sections []Section
	for {
		if !r.more() {
			return nil, r.bad("the patch does not end with a line %q", v4aEnd)
		}
		line := strings.TrimSpace(r.line())
		if line == v4aEnd {
			return sections, nil
		}
		s, bad := r.section(line)
		if bad != nil {
			return nil, bad
		}
		sections = append(sections, s)
	}
}

func (r *v4aReader) section(head string) (Section, *ParseError) {
	if name, ok := strings.CutPrefix(head, v4aDelete); ok {
		r.at++
		return Section{Act: ActDelete, Name: name}, nil
	}
	if name, ok := strings.CutPrefix(head, v4aAdd); ok {
		r.at++
		var text strings.Builder
		for ; r.more() && strings.HasPrefix(r.line(), "+"); r.at++ {
			text.WriteString(r.line()[1:] + "\n")
		}
		return Section{Act: ActWrite, Name: name, Text: text.String()}, nil
	}
	name, ok := strings.CutPrefix(head, v4aUpdate)
	if !ok {
		return Section{}, r.bad("%q does not begin a change of a file", head)
	}
	s := Section{Act: ActUpdate, Name: name}
	begun := r.at
	r.at++
	if r.more() {
		if to, ok := strings.CutPrefix(r.line(), v4aMove); ok {
			s.To = strings.TrimSpace(to)
			r.at++
		}
	}
	for r.more() && !strings.HasPrefix(r.line(), "*") && strings.TrimSpace(r.line()) != v4aEnd {
		if strings.TrimSpace(r.line()) == "" {
			r.at++
			continue
		}
		h, bad := r.chunk(len(s.Hunks) == 0)
		if bad != nil {
			return s, bad
		}
		s.Hunks = append(s.Hunks, h)
	}
	if len(s.Hunks) == 0 {
		r.at = begun
		return s, r.bad("the update of %s is empty", name)
	}
	return s, nil
}

// chunk reads the lines below one or more @@ lines. The first chunk of a file may lack @@.
func (r *v4aReader) chunk(first bool) (Hunk, *ParseError) {
	var h Hunk
	marked := false
	for r.more() {
		line := strings.TrimRight(r.line(), " \t")
		under, ok := strings.CutPrefix(line, "@@ ")
		if !ok && line != "@@" {
			break
		}
		if ok {
			h.Under = append(h.Under, under)
		}
		marked = true
		r.at++
	}
	if !marked && !first {
		return h, r.bad("a chunk begins with @@, not with %q", r.line())
	}
	var old, fresh strings.Builder
	begun := r.at
	for ; r.more(); r.at++ {
		line := r.line()
		switch {
		case line == "":
			line = " "
		case strings.TrimSpace(line) == v4aEOF && r.at > begun:
			h.End = true
			r.at++
			h.Old, h.New = old.String(), fresh.String()
			return h, nil
		}
		switch line[0] {
		case ' ':
			old.WriteString(line[1:] + "\n")
			fresh.WriteString(line[1:] + "\n")
			continue
		case '-':
			old.WriteString(line[1:] + "\n")
			continue
		case '+':
			fresh.WriteString(line[1:] + "\n")
			continue
		}
		break
	}
	if r.at == begun {
		return h, r.bad("a chunk has no lines")
	}
	h.Old, h.New = old.String(), fresh.String()
	h.End = h.Old == "" && len(h.Under) == 0
	return h, nil
}

func writeV4A(p *Patch) (string, error) {
	var out strings.Builder
	out.WriteString(v4aBegin + "\n")
	for _, s := range p.Sections {
		switch s.Act {
		case ActCreate, ActWrite:
			out.WriteString(v4aAdd + s.Name + "\n")
			diff.WriteLines(&out, "+", diff.SplitLines(endLast(s.Text)))
		case ActDelete:
			out.WriteString(v4aDelete + s.Name + "\n")
		case ActUpdate:
			out.WriteString(v4aUpdate + s.Name + "\n")
			if s.To != "" {
				out.WriteString(v4aMove + s.To + "\n")
			}
			for _, h := range s.Hunks {
				h.writeV4A(&out)
			}
		default:
			return "", cannotExpress(FormatV4A, "a block is new, or which block is meant")
		}
	}
	return out.String() + v4aEnd + "\n", nil
}

func (h *Hunk) writeV4A(out *strings.Builder) {
	for _, u := range h.Under {
		out.WriteString("@@ " + u + "\n")
	}
	if len(h.Under) == 0 {
		out.WriteString("@@\n")
	}
	ended := Hunk{Old: endLast(h.Old), New: endLast(h.New)}
	ended.writeDiff(out)
	if h.End && h.Old != "" {
		out.WriteString(v4aEOF + "\n")
	}
}

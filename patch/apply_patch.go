package patch

import (
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/patch/diff"
)

// Result is the outcome of applying a patch to texts.
type Result struct {
	Texts map[string]string
	Done  *Patch  // the exact changes; Done.Invert() undoes them
	Found []Found // where the hunks were found
}

// Found says where a hunk was found.
type Found struct {
	Name string     // the name of the text
	Hunk int        // the number of the hunk in its section, from 1
	Line int        // from 1, in the text at the time of the hunk
	How  Strictness // how exactly it matched
}

// Loosest returns the strictness of the least exact match.
func (r *Result) Loosest() Strictness {
	s := Exact
	for _, f := range r.Found {
		s = max(s, f.How)
	}
	return s
}

// Apply applies a patch to texts, which it finds by name. It applies all sections or none. The error is an *ApplyError.
// Each section must name the text that it changes. ActEmit and ActInsert change blocks, so only Revise accepts them.
func (p *Patch) Apply(texts map[string]string) (*Result, error) {
	r := &Result{Texts: maps.Clone(texts), Done: &Patch{Format: formatDone}}
	if r.Texts == nil {
		r.Texts = map[string]string{}
	}
	for i := range p.Sections {
		if bad := r.section(p.Format, &p.Sections[i]); bad != nil {
			return nil, bad
		}
	}
	return r, nil
}

func (r *Result) section(f Format, s *Section) *ApplyError {
	was, there := r.Texts[s.Name]
	switch s.Act {
	case ActCreate:
		if there {
			return &ApplyError{Code: CodeExists, Name: s.Name, Message: "it exists already",
				Hint: "patch what is there, or choose another name"}
		}
		r.put(s.Name, s.Text)
		return nil
	case ActWrite:
		if there {
			r.done(s.Name, was, []*replacement{{end: len(was), text: s.Text}})
			r.Texts[s.Name] = s.Text
		} else {
			r.put(s.Name, s.Text)
		}
		return nil
	case ActInsert, ActEmit:
		panic("patch: internal error: " + string(s.Act) + " is for blocks")
	}
	if !there && !(s.Act == ActUpdate && s.To == "" && onlyAppends(s.Hunks)) {
		return r.noText(s.Name)
	}
	if s.Act == ActDelete {
		if s.Text != "" && !slices.Equal(bares(diff.SplitLines(s.Text)), bares(diff.SplitLines(was))) {
			return &ApplyError{Code: CodeAbsent, Name: s.Name,
				Message: "its text differs from the text that the patch deletes",
				Hint:    "read its current text (`xstate query --full`) and make the patch again from it"}
		}
		r.drop(s.Name)
		return nil
	}
	if !there {
		r.put(s.Name, "")
	}
	if bad := r.update(f, s, was); bad != nil {
		return bad
	}
	if s.To != "" && s.To != s.Name {
		r.move(s.Name, s.To)
	}
	return nil
}

// onlyAppends reports whether the hunks create a text from nothing.
func onlyAppends(hunks []Hunk) bool {
	return len(hunks) > 0 && !slices.ContainsFunc(hunks, func(h Hunk) bool { return h.Old != "" || !h.End })
}

func (r *Result) noText(name string) *ApplyError {
	c := &ApplyError{Code: CodeNoText, Name: name, Message: "there is no such block or file", Hint: "there are: " +
		strings.Join(slices.Sorted(maps.Keys(r.Texts)), ", ")}
	if name == "" {
		c.Message = "the patch does not say which block or file it is about"
	}
	if len(r.Texts) == 0 || len(r.Texts) > 12 {
		c.Hint = "`xstate query` lists the blocks"
	}
	return c
}

func (r *Result) put(name, text string) {
	r.Texts[name] = text
	r.Done.Sections = append(r.Done.Sections, Section{Act: ActCreate, Name: name, Text: text})
}

func (r *Result) drop(name string) {
	r.Done.Sections = append(r.Done.Sections, Section{Act: ActDelete, Name: name, Text: r.Texts[name]})
	delete(r.Texts, name)
}

// move renames a text. It replaces a text that has the new name.
func (r *Result) move(name, to string) {
	if _, there := r.Texts[to]; there {
		r.drop(to)
	}
	r.Texts[to] = r.Texts[name]
	delete(r.Texts, name)
	r.Done.Sections = append(r.Done.Sections, Section{Act: ActUpdate, Name: name, To: to})
}

// inOrder holds the formats whose hunks all refer to the text before the patch, in its order. In other formats, a hunk
// refers to the text that the earlier hunks left.
var inOrder = map[Format]bool{formatDone: true, FormatUnified: true, FormatGit: true, FormatUdiff: true,
	FormatV4A: true}

// update finds all hunks of a section in the original text in one pass, so the cost grows with the text and the patch.
// A hunk that refers to what earlier hunks wrote is sought there.
func (r *Result) update(f Format, s *Section, was string) *ApplyError {
	u := &editBuffer{result: r, name: s.Name, ordered: inOrder[f]}
	u.read(was)
	for k := range s.Hunks {
		if bad := u.applyHunk(k, &s.Hunks[k]); bad != nil {
			return bad
		}
	}
	u.commit()
	if f == FormatV4A && u.text != "" && !u.ended() && lastLine(u.text) != lastLine(was) {
		u.add(replacement{start: len(u.text), end: len(u.text), text: "\n"}) // the reference implementation does this
		u.commit()
	}
	return nil
}

// lastLine returns the last line of a text, with its line end.
func lastLine(text string) string {
	return text[strings.LastIndexByte(strings.TrimSuffix(text, "\n"), '\n')+1:]
}

// done returns the text with the replacements, which are sorted and do not overlap. It records them as hunks of whole
// lines.
func (r *Result) done(name, was string, spots []*replacement) string {
	if len(spots) == 0 {
		return was
	}
	l := newLineIndex(was)
	var out strings.Builder
	at := 0
	s := Section{Act: ActUpdate, Name: name}
	for _, x := range spots {
		out.WriteString(was[at:x.start] + x.text)
		at = x.end
	}
	out.WriteString(was[at:])
	for i := 0; i < len(spots); {
		h, next := l.exactly(spots, i)
		if h.Old != h.New {
			s.Hunks = append(s.Hunks, h)
		}
		i = next
	}
	if len(s.Hunks) > 0 {
		r.Done.Sections = append(r.Done.Sections, s)
	}
	return out.String()
}

// exactly returns a replacement as a hunk of whole lines. The hunk includes the following replacements that touch its
// lines.
func (l *lineIndex) exactly(spots []*replacement, i int) (Hunk, int) {
	first := l.lineOf(spots[i].start)
	var text strings.Builder
	at := l.from[first]
	for {
		x := spots[i]
		text.WriteString(l.text[at:x.start] + x.text)
		at = x.end
		i++
		after := l.lineAfter(at, text.String())
		if i < len(spots) && l.lineOf(spots[i].start) < after {
			continue
		}
		text.WriteString(l.text[at:l.from[after]])
		return Hunk{Manner: ByText, Old: l.span(first, after), New: text.String(), Line: first + 1}, i
	}
}

// lineOf returns the line that holds an offset. The end of the text belongs to the last line, unless that line has a
// line end.
func (l *lineIndex) lineOf(at int) int {
	i, found := slices.BinarySearch(l.from, at)
	if found && (at < len(l.text) || l.ended()) {
		return i
	}
	return i - 1
}

// lineAfter returns the first line that stays unchanged if written is what comes before offset at.
func (l *lineIndex) lineAfter(at int, written string) int {
	i, found := slices.BinarySearch(l.from, at)
	if found && (written == "" || strings.HasSuffix(written, "\n") || at == len(l.text)) {
		return i
	}
	if found {
		return min(i+1, l.len())
	}
	return i
}

package patch

import (
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/patch/diff"
)

// This format holds SEARCH/REPLACE blocks, as Aider defines them:
//
//	path/of/file.py
//	<<<<<<< SEARCH
//	lines that are there
//	=======
//	lines in their place
//	>>>>>>> REPLACE
//
// Cline writes "------- SEARCH" and "+++++++ REPLACE", and the path in a tag: <path>path/of/file.py</path>.
//
// The path is alone on one of the three lines before; otherwise it is that of the block before. With no lines to search
// for, the new lines go to the end of the text, which may be new.
var (
	searchHead    = regexp.MustCompile(`^(?:<{5,9}|-{5,9}) SEARCH>?\s*$`)
	searchDivider = regexp.MustCompile(`^={5,9}\s*$`)
	searchExact   = regexp.MustCompile(`^={7}\s*$`)
	searchFoot    = regexp.MustCompile(`^(?:>{5,9}|\+{5,9}) REPLACE>?\s*$`)
	pathTag       = regexp.MustCompile(`^\s*<(?:path|file|file_path|filename)>\s*(.*?)\s*</`)
	onlyTag       = regexp.MustCompile(`^\s*</?\w+>\s*$`)
)

func likeSearch(text string) bool {
	for line := range strings.Lines(text) {
		if searchHead.MatchString(line) {
			return true
		}
	}
	return false
}

func readSearch(text string) ([]Section, *ParseError) {
	lines := diff.SplitLines(text)
	var sections []Section
	name := ""
	for i := 0; i < len(lines); i++ {
		if !searchHead.MatchString(lines[i]) {
			continue
		}
		if said := searchName(lines[max(0, i-3):i]); said != "" {
			name = said
		}
		m, err := marksOf(lines, i)
		if err != nil {
			return nil, err
		}
		old, fresh := strings.Join(lines[i+1:m.divider], ""), strings.Join(lines[m.divider+1:m.end], "")
		i = m.end
		h := Hunk{Old: unix(old), New: unix(fresh)}
		h.End = h.Old == ""
		sections = addHunk(sections, name, h)
	}
	return sections, nil
}

// searchMarks are the lines of one block that are marks and not text.
type searchMarks struct{ divider, end int }

// marksOf finds the marks of the block that begins at lines[head]. A line of equals signs may be text, such as the rule
// below a title. If just one of several is a row of seven, that one divides. Otherwise nothing says which of them
// divides, and each choice would be another edit: the block is refused. A divider in place of the foot, or directly
// above it, ends the block.
func marksOf(lines []string, head int) (searchMarks, *ParseError) {
	var rows []int
	i, foot := head+1, false
	for ; i < len(lines) && (len(rows) < 2 || !searchHead.MatchString(lines[i])); i++ {
		if foot = searchFoot.MatchString(lines[i]); foot {
			break
		}
		if searchDivider.MatchString(lines[i]) {
			rows = append(rows, i)
		}
	}
	exact := slices.DeleteFunc(slices.Clone(rows), func(n int) bool {
		return !searchExact.MatchString(lines[n])
	})
	if len(exact) > 0 {
		rows = exact
	}
	last := len(rows) - 1
	switch {
	case last == 0 && foot:
		return searchMarks{rows[0], i}, nil
	case last == 1 && (!foot || strings.TrimSpace(strings.Join(lines[rows[1]+1:i], "")) == ""):
		return searchMarks{rows[0], rows[1]}, nil
	case last > 0:
		return searchMarks{}, malformed(rows[1]+1,
			"use a diff or old_string and new_string, or search for lines without such a row",
			"several rows of = are in one SEARCH block; which one divides is not known")
	}
	return searchMarks{}, malformed(head+1, "end the block with ======= and, after the new lines, >>>>>>> REPLACE",
		"a SEARCH block has no end")
}

// addHunk adds a hunk to the last section if that section changes the same text. Otherwise it starts a section.
func addHunk(sections []Section, name string, h Hunk) []Section {
	if n := len(sections); n > 0 && sections[n-1].Act == ActUpdate && sections[n-1].Name == name {
		sections[n-1].Hunks = append(sections[n-1].Hunks, h)
		return sections
	}
	return append(sections, Section{Act: ActUpdate, Name: name, Hunks: []Hunk{h}})
}

// searchName finds the name of a file or block in the lines before a block of edits, nearest first. A name that does
// not look like a path must be directly above the block.
func searchName(lines []string) string {
	above := true
	for _, line := range slices.Backward(lines) {
		if m := pathTag.FindStringSubmatch(line); m != nil {
			return m[1]
		} else if onlyTag.MatchString(line) {
			continue
		}
		line = strings.TrimSpace(line)
		if _, info, ok := fenceLine(line); ok {
			if looksNamed(info) {
				return info
			}
			continue
		}
		name := strings.Trim(line, "#:`* \t")
		switch {
		case searchFoot.MatchString(line),
			line != "" && !looksNamed(name) && (!above || strings.ContainsAny(name, " \t")):
			return ""
		case name != "":
			return name
		}
		above = false
	}
	return ""
}

// looksNamed reports whether a text is the name of a file rather than a language or a sentence.
func looksNamed(s string) bool {
	i := strings.LastIndexAny(s, "./")
	return i >= 0 && i < len(s)-1 && !strings.ContainsAny(s[i+1:], " \t") && !strings.HasSuffix(s, ":")
}

// unix writes line ends as a single character: those of a patch are not those of the text.
func unix(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

func writeSearch(p *Patch) (string, error) {
	var out strings.Builder
	for i, s := range p.Sections {
		switch {
		case s.Act == ActCreate:
			s.Hunks = []Hunk{{New: s.Text, End: true}}
		case s.Act != ActUpdate || s.To != "":
			return "", cannotExpress(FormatSearch, "a text is renamed, deleted or replaced as a whole")
		}
		for k, h := range s.Hunks {
			if h.Old == "" && !h.End {
				return "", cannotExpress(FormatSearch, "text is inserted at a line")
			}
			if hasMarks(h.Old) || hasMarks(h.New) {
				return "", cannotExpress(FormatSearch, "lines that look like its own marks are text")
			}
			if s.Name != "" && (k == 0 && (i == 0 || p.Sections[i-1].Name != s.Name)) {
				out.WriteString(s.Name + "\n")
			}
			out.WriteString("<<<<<<< SEARCH\n" + endLast(h.Old) + "=======\n" + endLast(h.New) + ">>>>>>> REPLACE\n")
		}
	}
	return out.String(), nil
}

func hasMarks(text string) bool {
	for line := range strings.Lines(text) {
		if searchExact.MatchString(line) || searchFoot.MatchString(line) {
			return true
		}
	}
	return false
}

// endLast ends the last line of a text that has one.
func endLast(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

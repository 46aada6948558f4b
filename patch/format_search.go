package patch

import (
	"regexp"
	"slices"
	"strings"
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
	lines := splitLines(text)
	var sections []Section
	name := ""
	for i := 0; i < len(lines); i++ {
		if !searchHead.MatchString(lines[i]) {
			continue
		}
		if said := searchName(lines[max(0, i-3):i]); said != "" {
			name = said
		}
		head := i
		var old, fresh strings.Builder
		for i++; i < len(lines) && !searchDivider.MatchString(lines[i]); i++ {
			old.WriteString(lines[i])
		}
		for i++; i < len(lines) && !searchFoot.MatchString(lines[i]) && !searchDivider.MatchString(lines[i]); i++ {
			fresh.WriteString(lines[i])
		}
		if i >= len(lines) {
			return nil, malformed(head+1, "end the block with ======= and, after the new lines, >>>>>>> REPLACE",
				"a SEARCH block has no end")
		}
		h := Hunk{Old: unix(old.String()), New: unix(fresh.String())}
		h.End = h.Old == ""
		sections = addHunk(sections, name, h)
	}
	return sections, nil
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
		if searchDivider.MatchString(line) || searchFoot.MatchString(line) {
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

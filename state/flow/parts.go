package flow

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// source is a text that the program took in.
type source struct {
	SourceFlow
	words []uint64
	parts []part
	nodes []string // that read the file, or made the call
	call  int      // the index of the call; -1: it is a file
	kept  bool     // its content is known
}

// part is a range of the words of a source.
type part struct {
	name     string
	from, to int
	looked   int // shingles that are looked for
}

// mostParts bounds the parts of one source.
const mostParts = 10_000

// addPart adds a part with a text.
func (s *source) addPart(name, text string) {
	from := len(s.words)
	s.words = append(s.words, wordsOf(text)...)
	if len(s.words) > from && len(s.parts) < mostParts {
		s.parts = append(s.parts, part{name: name, from: from, to: len(s.words)})
	}
}

// cutFile makes the parts of a file.
func (s *source) cutFile(name string, data []byte) {
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return
	}
	s.kept = true
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json", ".ipynb":
		if v, err := decode(data); err == nil {
			s.cutValue(v)
			return
		}
	case ".jsonl", ".ndjson":
		for i, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
			v, err := decode(line)
			if err != nil {
				v = string(line)
			}
			s.addPart(strconv.Itoa(i+1), textOf(v))
		}
		s.list = true
		return
	case ".csv", ".tsv":
		r := csv.NewReader(bytes.NewReader(data))
		r.FieldsPerRecord, r.LazyQuotes = -1, true
		if filepath.Ext(name) == ".tsv" {
			r.Comma = '\t'
		}
		if rows, err := r.ReadAll(); err == nil && len(rows) > 1 {
			for i, row := range rows[1:] {
				s.addPart(strconv.Itoa(i+1), strings.Join(row, " "))
			}
			s.list = true
			return
		}
	}
	s.cutText(string(data))
}

// cutText makes a part of each line.
func (s *source) cutText(text string) {
	for i, line := range strings.Split(text, "\n") {
		s.addPart(fmt.Sprintf("line %d", i+1), line)
	}
}

// cutValue makes the parts of a value of JSON: the elements of the list that it is, or of the only list that it has.
func (s *source) cutValue(v any) {
	list, ok := v.([]any)
	if m, is := v.(map[string]any); is {
		for _, x := range m {
			if l, is := x.([]any); is && len(l) > len(list) {
				list, ok = l, true
			}
		}
	}
	if !ok || len(list) < 2 {
		s.cutText(textOf(v))
		return
	}
	for i, x := range list {
		s.addPart(strconv.Itoa(i+1), textOf(x))
	}
	s.list = true
}

func decode(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// textOf returns all texts and numbers of a value of JSON, in lines.
func textOf(v any) string {
	var b strings.Builder
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			b.WriteString(v + "\n")
		case json.Number:
			b.WriteString(v.String() + "\n")
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			names := make([]string, 0, len(v))
			for name := range v {
				names = append(names, name)
			}
			slices.Sort(names)
			for _, name := range names {
				walk(v[name])
			}
		}
	}
	walk(v)
	return b.String()
}

// cover is which words of a source a text has.
type cover struct {
	words []bool
	found map[int32]bool // positions of shingles
}

// The least of a source that counts as a passage: a share of it, or words in a row.
const (
	leastShare = 0.25
	leastFound = 8
)

// passage describes what a text has of s; false where that is too little.
func (s *source) passage(c *cover) (p Passage, ok bool) {
	if c == nil {
		return p, false
	}
	p.Source = s.Name
	looked, found := 0, 0
	for i := range s.parts {
		part := &s.parts[i]
		n := part.found(c)
		looked, found = looked+part.looked, found+n
		if s.list && part.has(n) {
			ok = true
			p.Parts = append(p.Parts, part.name)
		}
	}
	ok = ok || looked > 0 && float64(found) >= leastShare*float64(looked) || found >= leastFound
	p.Share = float64(found) / float64(max(looked, 1))
	if at := s.cut(c); at > 0 && !s.list {
		p.Cut = at
	}
	return p, ok
}

// found is how many of the shingles of a part a text has.
func (p *part) found(c *cover) (n int) {
	for at := p.from; at < p.to; at++ {
		if c.found[int32(at)] {
			n++
		}
	}
	return n
}

// has reports whether a text that has n shingles of a part has the part, or some of it.
func (p *part) has(n int) bool {
	return p.looked > 0 && (float64(n) >= leastShare*float64(p.looked) || n >= leastFound)
}

// The least that a text must have of a source from its beginning, and lack at its end, in words, to be cut.
const (
	leastBefore = 20
	leastAfter  = 8
)

// cut returns the word before which the text of s stops in a cover that has it from the beginning; 0: it has all, or
// lacks words before.
func (s *source) cut(c *cover) int {
	last := -1
	for at, has := range c.words {
		if has {
			last = at
		}
	}
	lacked := 0
	for i := range s.parts {
		p := &s.parts[i]
		for at := p.from; at < p.to && at <= last && p.looked > 0; at++ {
			if !c.words[at] {
				lacked++
			}
		}
	}
	if last+1 < leastBefore || len(s.words)-last-1 < leastAfter || lacked*10 > last {
		return 0
	}
	return last + 1
}

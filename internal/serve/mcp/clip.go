package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of a result, in bytes. Hosts cut a result at about 25,000 tokens; text and document together take less than
// half.
const (
	textBudget     = 16 << 10
	documentBudget = 24 << 10
)

// clip keeps the head and the tail of a text that is longer than most bytes, in whole lines if there are any.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	head, tail := s[:most*6/10], s[len(s)-most*3/10:]
	if i := strings.LastIndexByte(head, '\n'); i > len(head)/2 {
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		tail = tail[i+1:]
	}
	for len(head) > 0 && !utf8.RuneStart(s[len(head)]) {
		head = head[:len(head)-1]
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	missing := len(s) - len(head) - len(tail)
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", strings.TrimRight(head, "\n"), missing, tail)
}

// shares divides a budget among texts of these sizes: short ones are whole, and the long ones get equal parts of the
// rest.
func shares(sizes []int, budget int) []int {
	order := make([]int, len(sizes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return sizes[a] - sizes[b] })
	given := make([]int, len(sizes))
	for done, i := range order {
		given[i] = min(sizes[i], budget/(len(order)-done))
		budget -= given[i]
	}
	return given
}

// fit decodes a document and shortens its long texts and lists until it keeps to the budget. cut reports whether it
// did.
func fit(document []byte, picture func(media, data string) string) (value any, cut bool, err error) {
	for strings, lists := 4096, 400; ; strings, lists = strings/2, max(lists/2, 4) {
		d := json.NewDecoder(bytes.NewReader(document))
		d.UseNumber()
		if err := d.Decode(&value); err != nil {
			return nil, false, err
		}
		s := shortener{strings: strings, lists: lists, picture: picture}
		value = s.shorten(value)
		data, err := json.Marshal(value)
		if err != nil || len(data) <= documentBudget || strings < 64 {
			return value, s.cut, err
		}
		value = nil
	}
}

// shortener shortens documents.
type shortener struct {
	strings, lists int // the longest ones that stay whole
	picture        func(media, data string) string
	cut            bool
}

func (s *shortener) shorten(value any) any {
	switch v := value.(type) {
	case string:
		if len(v) > s.strings {
			s.cut = true
			return clip(v, s.strings)
		}
	case []any:
		if len(v) > s.lists {
			s.cut, v = true, v[:s.lists]
		}
		for i := range v {
			v[i] = s.shorten(v[i])
		}
		return v
	case map[string]any:
		for name, inner := range v {
			if data, ok := inner.(string); ok && strings.HasPrefix(name, "image/") && len(data) > s.strings {
				v[name], s.cut = s.picture(name, data), true
				continue
			}
			v[name] = s.shorten(inner)
		}
	}
	return value
}

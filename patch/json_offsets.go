package patch

import (
	"bytes"
	"encoding/json"
	"strings"
)

// value is a JSON value and its place in a document. The zero value is an absent one. With the offset, a part can be
// replaced while all else stays as it was, including unknown fields.
type value struct {
	at  int
	raw json.RawMessage
}

// object returns the fields of an object. Like encoding/json, it uses the last of repeated fields.
func (v value) object() (map[string]value, bool) {
	out := map[string]value{}
	ok := v.items('{', func(name string, item value) { out[name] = item })
	return out, ok
}

// array returns the items of an array.
func (v value) array() ([]value, bool) {
	var out []value
	ok := v.items('[', func(_ string, item value) { out = append(out, item) })
	return out, ok
}

// items calls add for each item of an object or an array. It copies nothing, and looks at each byte once: with
// encoding/json, a notebook of 50 MB took seconds. The document must be valid JSON; reading checks that first.
func (v value) items(open byte, add func(name string, item value)) bool {
	i := skipSpace(v.raw, 0)
	if i == len(v.raw) || v.raw[i] != open {
		return false
	}
	for i = skipSpace(v.raw, i+1); i < len(v.raw) && v.raw[i] != open+2; { // { and } differ by 2, and so do [ and ]
		name := ""
		if open == '{' {
			end := skipJSON(v.raw, i)
			if json.Unmarshal(v.raw[i:end], &name) != nil {
				return false
			}
			i = skipSpace(v.raw, skipSpace(v.raw, end)+1)
		}
		end := skipJSON(v.raw, i)
		if end <= i {
			return false
		}
		add(name, value{at: v.at + i, raw: v.raw[i:end:end]})
		if i = skipSpace(v.raw, end); i < len(v.raw) && v.raw[i] == ',' {
			i = skipSpace(v.raw, i+1)
		}
	}
	return i < len(v.raw)
}

func skipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\r' || raw[i] == '\t') {
		i++
	}
	return min(i, len(raw))
}

// skipJSON returns the end of the value that begins at an offset.
func skipJSON(raw []byte, i int) int {
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			i = skipString(raw, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return i + 1 + min(depth, 0) // the bracket after a number is not part of it
			}
		case ',', ' ', '\n', '\r', '\t', ':':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

// skipString returns the end of the string that begins at an offset.
func skipString(raw []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			return len(raw)
		}
		i += n
		escapes := i
		for raw[escapes-1] == '\\' {
			escapes--
		}
		if (i-escapes)%2 == 0 {
			return i + 1
		}
	}
}

// into decodes a value. It reports whether the value is present and of the right type.
func (v value) into(to any) bool { return v.raw != nil && json.Unmarshal(v.raw, to) == nil }

// text returns a string, or "" for any other value.
func (v value) text() string {
	var s string
	if !v.into(&s) {
		return ""
	}
	return s
}

// multiline returns a text that is a string or an array of strings, and the offset of its first line. An absent text is
// "".
func (v value) multiline() (string, int, bool) {
	if v.raw == nil || string(v.raw) == "null" {
		return "", v.at, true
	}
	var s string
	if v.into(&s) {
		return s, v.at, true
	}
	lines, ok := v.array()
	if !ok {
		return "", v.at, false
	}
	var out strings.Builder
	at := v.at
	for i, l := range lines {
		if !l.into(&s) {
			return "", l.at, false
		}
		if i == 0 {
			at = l.at
		}
		out.WriteString(s)
	}
	return out.String(), at, true
}

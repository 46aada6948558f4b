package patch

import (
	"bytes"
	"encoding/json"
	"strings"
)

// value is a JSON value and its place in a document. The zero value stands for an absent one. With the offset, a part
// of a document can be replaced while all else stays as it was, including unknown fields.
type value struct {
	at  int
	raw json.RawMessage
}

// object returns the fields of an object. Like encoding/json, it uses the last of repeated fields.
func (v value) object() (map[string]value, bool) {
	dec, ok := v.enter('{')
	if !ok {
		return nil, false
	}
	out := map[string]value{}
	for dec.More() {
		key, err := dec.Token()
		name, ok := key.(string)
		item, good := v.next(dec)
		if err != nil || !ok || !good {
			return nil, false
		}
		out[name] = item
	}
	return out, true
}

// array returns the items of an array.
func (v value) array() ([]value, bool) {
	dec, ok := v.enter('[')
	if !ok {
		return nil, false
	}
	var out []value
	for dec.More() {
		item, ok := v.next(dec)
		if !ok {
			return nil, false
		}
		out = append(out, item)
	}
	return out, true
}

func (v value) enter(open json.Delim) (*json.Decoder, bool) {
	dec := json.NewDecoder(bytes.NewReader(v.raw))
	t, err := dec.Token()
	return dec, err == nil && t == open
}

func (v value) next(dec *json.Decoder) (value, bool) {
	var raw json.RawMessage
	if dec.Decode(&raw) != nil {
		return value{}, false
	}
	return value{at: v.at + int(dec.InputOffset()) - len(raw), raw: raw}, true
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

package patch

import (
	"bytes"
	"encoding/json"
	"strings"
)

// value is a JSON value and where it lies in its document. The zero value stands for one that is not there. Offsets are
// kept so that a part of a document can be replaced while the rest stays as it was, fields that nobody knows included.
type value struct {
	at  int
	raw json.RawMessage
}

// object returns the fields of an object; of a repeated field, as encoding/json has it, the last.
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

// array returns the items of a list.
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

// into decodes a value and reports whether it is there and of the right type.
func (v value) into(to any) bool { return v.raw != nil && json.Unmarshal(v.raw, to) == nil }

// text returns a string, or "" for anything else.
func (v value) text() string {
	var s string
	if !v.into(&s) {
		return ""
	}
	return s
}

// multiline returns a text given as a string or as a list of strings, and where its first line lies. No text is "".
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

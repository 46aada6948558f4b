package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"

	"github.com/xstate-engine/xstate/state"
)

// Canonical returns JSON in one form for each value, after RFC 8785: no spaces, members sorted by their UTF-16 names,
// numbers as ECMAScript prints them. Whole numbers beyond 2^53 keep their digits, so that no two of them are one. A
// number that is written with a fraction or an exponent keeps a fraction: Python and tools distinguish 1.0 from 1.
func Canonical(data []byte) ([]byte, error) { return canonical(data, false) }

// canonical returns the canonical form. If equal is set, numbers that are equal have one form: 1.0 is 1.
func canonical(data []byte, equal bool) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("this is no JSON: %w", err)
	}
	if d.More() {
		return nil, fmt.Errorf("this is more than one JSON value")
	}
	return appendCanonical(nil, v, equal)
}

func appendCanonical(b []byte, v any, equal bool) (_ []byte, err error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case string:
		return appendText(b, v), nil
	case json.Number:
		return appendNumber(b, v, equal)
	case []any:
		b = append(b, '[')
		for i, x := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendCanonical(b, x, equal); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case map[string]any:
		b = append(b, '{')
		for i, name := range sortedNames(v) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, name), ':')
			if b, err = appendCanonical(b, v[name], equal); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
	panic(fmt.Sprintf("journal: internal error: %T in JSON", v))
}

func appendNumber(b []byte, n json.Number, equal bool) ([]byte, error) {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return strconv.AppendInt(b, i, 10), nil
	}
	f, err := n.Float64()
	if err != nil || math.IsInf(f, 0) {
		if isWhole(string(n)) {
			return append(b, n...), nil
		}
		return nil, fmt.Errorf("the number %s is too large", n)
	}
	if isWhole(string(n)) { // beyond int64: as it was written
		return append(b, n...), nil
	}
	if f == 0 && equal {
		return append(b, '0'), nil
	}
	text, err := json.Marshal(f) // as ECMAScript prints it, but for -0
	if !equal && isWhole(string(text)) {
		text = append(text, ".0"...)
	}
	return append(b, text...), err
}

func isWhole(n string) bool { return !bytes.ContainsAny([]byte(n), ".eE") }

// appendText quotes a string. Beside what RFC 8785 escapes, U+2028 and U+2029 are escaped.
func appendText(b []byte, s string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic("journal: internal error: " + err.Error())
	}
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}

// sortedNames returns the names of members as RFC 8785 orders them: by their UTF-16 code units.
func sortedNames(m map[string]any) []string {
	names := slices.Collect(maps.Keys(m))
	units := make(map[string][]uint16, len(names))
	for _, n := range names {
		units[n] = utf16.Encode([]rune(n))
	}
	slices.SortFunc(names, func(a, b string) int { return slices.Compare(units[a], units[b]) })
	return names
}

// Key names a call by content, see the package's documentation. args are canonical. A model is named by its version,
// which includes its address: its name in a file of settings says nothing. The version of a tool with effects is left
// out: a new version must not repeat what has happened. An answer is one to the code that asked.
func Key(kind Kind, t Tool, args []byte, sample int, after state.Digest) state.Digest {
	name, version := t.Name, t.Version
	if t.Class.Effects() && kind != KindAsk {
		version = ""
	}
	switch kind {
	case KindModel:
		name = ""
	case KindTool:
		name = t.Source + "." + t.Name
	}
	return state.DigestOf(fmt.Appendf(nil, "call 1\nkind %s\ntool %q\nversion %q\nargs %s\nsample %d\nafter %s\n",
		kind, name, version, args, sample, after))
}

// identity returns the arguments that distinguish the calls of a tool, as canonical JSON: all, unless the tool declares
// some. Without an effect a call is what it says, whatever was declared. Calls with effects are equal if their numbers
// are: what happened for 1 must not happen again for 1.0.
func (t Tool) identity(args []byte) ([]byte, error) {
	if !t.Class.Effects() {
		return args, nil
	}
	if len(t.Identity) == 0 {
		return canonical(args, true)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(args, &all); err != nil {
		return nil, err
	}
	named := map[string]json.RawMessage{}
	for _, name := range t.Identity {
		if value, is := all[name]; is {
			named[name] = value
		}
	}
	text, err := json.Marshal(named)
	if err != nil {
		return nil, err
	}
	if text, err = canonical(text, true); err != nil {
		return nil, err
	}
	return append([]byte("identity "), text...), nil
}

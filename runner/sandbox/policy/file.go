package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/xstate-engine/xstate/state"
)

// Codes of errors about policies.
const (
	CodeInvalid       state.Code = "policy-invalid"       // a file cannot be understood, or contradicts itself
	CodeUnenforceable state.Code = "policy-unenforceable" // this system cannot enforce what it asks for
)

// Setting is one value of a policy file.
type Setting struct {
	Field  string `json:"field"` // such as "files.read"
	Value  string `json:"value"` // as it is written; of a list one element
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	// Ignored says why the setting has no effect; "" where it has.
	Ignored string `json:"ignored,omitempty"`

	path string // the path that it means, where it is one
}

// Place says where a setting stands: FILE:LINE:COLUMN.
func (s *Setting) Place() string { return fmt.Sprintf("%s:%d:%d", s.File, s.Line, s.Column) }

// refuse is an error about a setting.
func (s *Setting) refuse(code state.Code, hint, format string, args ...any) error {
	return &state.Error{Code: code, Message: s.Place() + ": " + fmt.Sprintf(format, args...), Hint: hint}
}

// settings returns what a policy file says, in order. name is the file's name in errors.
func settings(name string, data []byte) ([]Setting, error) {
	var any map[string]any
	// It finds what a parser of single lines does not: keys given twice.
	if err := toml.Unmarshal(data, &any); err != nil {
		return nil, malformed(name, data, err)
	}
	r := reader{name: name}
	r.parser.Reset(data)
	var table []string
	for r.parser.NextExpression() {
		e := r.parser.Expression()
		if e.Kind == unstable.KeyValue {
			if err := r.keyValue(table, e); err != nil {
				return nil, err
			}
			continue
		}
		var err error
		if table, err = r.header(e); err != nil {
			return nil, err
		}
	}
	return r.found, r.parser.Error()
}

// malformed is the error of a file that is no TOML.
func malformed(name string, data []byte, err error) error {
	place, said := name, strings.TrimPrefix(err.Error(), "toml: ")
	var at *toml.DecodeError
	if errors.As(err, &at) {
		line, column := at.Position()
		place = fmt.Sprintf("%s:%d:%d", name, line, column)
	}
	return &state.Error{
		Code:    CodeInvalid,
		Message: place + ": this is not TOML: " + said,
		Hint:    "a line is KEY = VALUE, with texts in quotes, below a [table]: docs/sandbox.md has an example",
	}
}

type reader struct {
	name   string
	parser unstable.Parser
	found  []Setting
}

// at begins a setting at a node.
func (r *reader) at(n *unstable.Node) Setting {
	start := r.parser.Shape(n.Raw).Start
	return Setting{File: r.name, Line: start.Line, Column: start.Column}
}

// keys returns the parts of the key of a node, and where it stands.
func (r *reader) keys(n *unstable.Node) (parts []string, at Setting) {
	for it := n.Key(); it.Next(); {
		if k := it.Node(); parts == nil {
			at = r.at(k)
		}
		parts = append(parts, string(it.Node().Data))
	}
	return parts, at
}

// header reads the name of a table.
func (r *reader) header(e *unstable.Node) ([]string, error) {
	parts, at := r.keys(e)
	name := strings.Join(parts, ".")
	switch {
	case e.Kind == unstable.ArrayTable:
		return nil, at.refuse(CodeInvalid, "write ["+name+"] once", "[[%s]] is a list of tables", name)
	case !slices.Contains(tables, name):
		return nil, at.refuse(CodeInvalid, nearest(name, tables, "the tables are "), "there is no table [%s]", name)
	}
	return parts, nil
}

// keyValue reads a line of a table, or several that stand in braces.
func (r *reader) keyValue(table []string, e *unstable.Node) error {
	parts, at := r.keys(e)
	parts = slices.Concat(table, parts)
	at.Field = strings.Join(parts, ".")
	value := e.Value()
	if value.Kind == unstable.InlineTable && slices.Contains(tables, at.Field) {
		for it := value.Children(); it.Next(); {
			if err := r.keyValue(parts, it.Node()); err != nil {
				return err
			}
		}
		return nil
	}
	f, known := fields[at.Field]
	if !known {
		return at.refuse(CodeInvalid, nearestField(at.Field), "there is no key %s", at.Field)
	}
	if (f.kind == words) != (value.Kind == unstable.Array) {
		if value.Raw.Length > 0 { // that of a list is not known
			at.Line, at.Column = r.at(value).Line, r.at(value).Column
		}
		return r.wrongType(at, f)
	}
	if f.kind != words {
		return r.value(at, f, value)
	}
	for it := value.Children(); it.Next(); {
		if it.Node().Kind == unstable.Comment {
			continue
		}
		if err := r.value(at, f, it.Node()); err != nil {
			return err
		}
	}
	return nil
}

// value reads one value of a field.
func (r *reader) value(at Setting, f field, n *unstable.Node) error {
	at.Line, at.Column = r.at(n).Line, r.at(n).Column
	want := unstable.String
	if f.kind == count {
		want = unstable.Integer
	}
	if n.Kind != want {
		return r.wrongType(at, f)
	}
	at.Value = string(n.Data)
	if f.kind == count {
		number := strings.ReplaceAll(at.Value, "_", "")
		if v, err := strconv.ParseInt(number, 0, 32); err != nil || v < 1 {
			return at.refuse(CodeInvalid, "write a whole number from 1 to 2147483647", "%s = %s", at.Field, at.Value)
		}
	} else if f.check != nil {
		if err := f.check(at.Value); err != nil {
			return at.refuse(CodeInvalid, f.hint, "%s %q: %v", at.Field, at.Value, err)
		}
	}
	r.found = append(r.found, at)
	return nil
}

func (r *reader) wrongType(at Setting, f field) error {
	_, key, _ := strings.Cut(at.Field, ".")
	return at.refuse(CodeInvalid, "write "+key+" = "+f.kind.example(), "%s is %s", at.Field, f.kind)
}

// nearestField says which field was probably meant.
func nearestField(name string) string {
	table, _, _ := strings.Cut(name, ".")
	known := slices.Sorted(maps.Keys(fields))
	inTable := slices.DeleteFunc(slices.Clone(known), func(f string) bool { return !strings.HasPrefix(f, table+".") })
	if hint := nearest(name, known, ""); hint != "" {
		return hint
	}
	if len(inTable) > 0 {
		return "the keys of [" + table + "] are " + strings.Join(withoutTable(inTable), ", ")
	}
	return "keys stand in a table: " + strings.Join(tables, ", ")
}

func withoutTable(names []string) (keys []string) {
	for _, name := range names {
		_, key, _ := strings.Cut(name, ".")
		keys = append(keys, key)
	}
	return keys
}

// nearest names the known word that resembles a word most, or lists all after a text; "" without a text.
func nearest(word string, known []string, all string) string {
	best, least := "", len(word)/3+2
	for _, k := range known {
		d := distance(word, k)
		if _, key, ok := strings.Cut(k, "."); ok { // the table may be what is wrong
			_, last, _ := strings.Cut("."+word, ".")
			if i := strings.LastIndexByte(last, '.'); i >= 0 {
				last = last[i+1:]
			}
			if last == key {
				d = min(d, 1)
			}
		}
		if d < least {
			best, least = k, d
		}
	}
	switch {
	case best != "":
		return "did you mean " + best + "?"
	case all == "":
		return ""
	}
	return all + strings.Join(known, ", ")
}

// distance is the number of characters to insert, delete or replace that makes one word of the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}

package policy

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
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

// Place is a position in a file.
type Place struct {
	File         string `json:"file,omitempty"`
	Line, Column int    `json:"-"`
}

// String is FILE:LINE:COLUMN; of what the user said on the command line, the flag.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Setting is one value of a policy file.
type Setting struct {
	Field  string `json:"field"` // such as "files.read"
	Value  string `json:"value"` // as it is written; of a list one element
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	// Ignored says why the setting has no effect; "" if it has one.
	Ignored string `json:"ignored,omitempty"`

	path  string   // the path that it means, if it is one
	field string   // the name that Field has in fields
	begin Place    // start of the text of a string
	parts []string // the parts of Field
}

// Place returns the position of a setting: FILE:LINE:COLUMN.
func (s *Setting) Place() string { return fmt.Sprintf("%s:%d:%d", s.File, s.Line, s.Column) }

// TrustHint says how the user trusts a folder.
func TrustHint(folder string) string {
	return "`xstate policy trust " + folder + "` shows what that grants, and asks"
}

// refuse is an error about a setting.
func (s *Setting) refuse(code state.Code, hint, format string, args ...any) error {
	return &state.Error{Code: code, Message: s.Place() + ": " + fmt.Sprintf(format, args...), Hint: hint}
}

// untrusted is why a setting has no effect in the file of a folder.
func (s *Setting) untrusted() string {
	return fmt.Sprintf("the folder %s is not trusted", filepath.Dir(s.File))
}

// settings returns what a policy file says, in order. name is the file's name in errors.
func settings(name string, data []byte) ([]Setting, error) {
	var any map[string]any
	// It finds what a parser of single lines does not: keys given twice.
	if err := toml.Unmarshal(data, &any); err != nil {
		return nil, malformed(name, data, err)
	}
	r := reader{name: name, lists: map[string]int{}}
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
	for i := range r.begun { // a table that says nothing is probably not finished
		b := &r.begun[i]
		if !slices.ContainsFunc(r.found, func(s Setting) bool { return strings.HasPrefix(s.Field, b.Field+".") }) {
			return nil, b.refuse(CodeInvalid, keysOf(b.parts), "[%s] says nothing", b.Field)
		}
	}
	return r.found, r.parser.Error()
}

// malformed is the error of a file that is not TOML.
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
	lists  map[string]int // how many tables of a list there are so far
	begun  []Setting      // tables such as [mcp.NAME]
}

// at begins a setting at a node.
func (r *reader) at(n *unstable.Node) Setting {
	start := r.parser.Shape(n.Raw).Start
	return Setting{File: r.name, Line: start.Line, Column: start.Column}
}

// keys returns the parts of the key of a node, and its position.
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
	name := keyText(parts)
	found := named(slices.Values(tables), parts)
	switch {
	case e.Kind == unstable.ArrayTable && slices.Contains(tables, parts[0]+".#") && len(parts) == 1:
		r.lists[name]++
		return []string{name, strconv.Itoa(r.lists[name])}, nil
	case e.Kind == unstable.ArrayTable:
		return nil, at.refuse(CodeInvalid, "write ["+name+"] once", "[[%s]] is a list of tables", name)
	case slices.Contains(tables, name+".#"):
		return nil, at.refuse(CodeInvalid, "write [["+name+"]]", "[%s] is no list of tables", name)
	case found == "":
		return nil, at.refuse(CodeInvalid, nearest(name, alike(tables, parts), "the tables are "),
			"there is no table [%s]", name)
	}
	if strings.HasSuffix(found, ".*") {
		at.Field, at.parts = name, parts
		r.begun = append(r.begun, at)
	}
	return parts, nil
}

// keyText is a key of several parts as a file has it.
func keyText(parts []string) string {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteByte('.')
		}
		if strings.Trim(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || p == "" {
			p = strconv.Quote(p)
		}
		b.WriteString(p)
	}
	return b.String()
}

// alike returns names of fields or tables with the names that a key has where its author chooses.
func alike(names []string, parts []string) (all []string) {
	for _, name := range names {
		want := strings.Split(name, ".")
		for i, w := range want {
			switch {
			case w != "*" && w != "#":
			case i < len(parts) && want[0] == parts[0]:
				want[i] = parts[i]
			default:
				want[i] = "NAME"
			}
		}
		all = append(all, keyText(want))
	}
	return all
}

// keyValue reads a line of a table, or several in braces.
func (r *reader) keyValue(table []string, e *unstable.Node) error {
	parts, at := r.keys(e)
	parts = slices.Concat(table, parts)
	at.Field, at.parts = keyText(parts), parts
	value := e.Value()
	if value.Kind == unstable.InlineTable && named(slices.Values(tables), parts) != "" {
		for it := value.Children(); it.Next(); {
			if err := r.keyValue(parts, it.Node()); err != nil {
				return err
			}
		}
		return nil
	}
	at.field = named(maps.Keys(fields), parts)
	f, known := fields[at.field]
	if !known {
		return at.refuse(CodeInvalid, nearestField(at.Field, parts), "there is no key %s", at.Field)
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
	switch {
	case f.kind == money && n.Kind == unstable.Float:
		want = unstable.Float
	case f.kind == count, f.kind == money:
		want = unstable.Integer
	case f.kind == flag:
		want = unstable.Bool
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
	if at.begin = (Place{at.File, at.Line, at.Column + 1}); n.Kind == unstable.String {
		raw := string(r.parser.Raw(n.Raw))
		if strings.HasPrefix(raw, `"""`) || strings.HasPrefix(raw, "'''") {
			at.begin.Column += 2
			if rest := strings.TrimPrefix(raw[3:], "\r"); strings.HasPrefix(rest, "\n") {
				at.begin = Place{at.File, at.Line + 1, 1}
			}
		}
	}
	r.found = append(r.found, at)
	return nil
}

func (r *reader) wrongType(at Setting, f field) error {
	key := keyText(at.parts[len(at.parts)-1:])
	return at.refuse(CodeInvalid, "write "+key+" = "+f.kind.example(), "%s is %s", at.Field, f.kind)
}

// nearestField says which field was probably meant.
func nearestField(name string, parts []string) string {
	if hint := nearest(name, alike(slices.Sorted(maps.Keys(fields)), parts), ""); hint != "" {
		return hint
	}
	if hint := keysOf(parts[:max(1, len(parts)-1)]); hint != "" {
		return hint
	}
	return "keys stand in a table: " + strings.Join(tables, ", ")
}

// keysOf lists the keys of a table; "" if it has none.
func keysOf(table []string) string {
	var keys []string
	for _, name := range alike(slices.Sorted(maps.Keys(fields)), table) {
		if key, ok := strings.CutPrefix(name, keyText(table)+"."); ok {
			keys = append(keys, key)
		}
	}
	if keys == nil {
		return ""
	}
	return "the keys of [" + keyText(table) + "] are " + strings.Join(keys, ", ")
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

package depgraph

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// names numbers the names of one block, so that scopes can be tables of integers.
type names struct {
	ids   map[string]int32
	texts []string
	kinds []nameKind
}

// nameKind is what a name may need watching for, wherever it stands.
type nameKind uint8

const (
	keywordName nameKind = 1 << iota // no identifier at all, though the grammar takes it for one
	effectName                       // part of the name of something with an effect
	dynamicName                      // part of the name of something that reads or binds names
	aliasName                        // bound by an import of the block
	superName
	badName    // holds a character that no name can hold
	superClass = "__class__"
)

// special holds the kinds of the names that have any from the start.
var special = func() map[string]nameKind {
	m := make(map[string]nameKind)
	for _, k := range []string{"False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
		"del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
		"not", "or", "pass", "raise", "return", "try", "while", "with", "yield"} {
		m[k] |= keywordName
	}
	m["super"] |= superName
	for _, name := range effectNames() {
		m[name] |= effectName
	}
	for _, name := range dynamicNames() {
		m[name] |= dynamicName
	}
	return m
}()

func newNames(size int) *names {
	return &names{ids: make(map[string]int32, size/64+16)}
}

// id returns the number of a name; grown tells that it is new.
func (n *names) id(text string) (id int32, grown bool) {
	if id, ok := n.ids[text]; ok {
		return id, false
	}
	id = int32(len(n.texts))
	n.ids[text] = id
	n.texts = append(n.texts, text)
	kind := special[text]
	if !isName(text) {
		kind |= badName
	}
	n.kinds = append(n.kinds, kind)
	return id, true
}

// mangle returns the name that CPython gives text inside a class (language reference 6.2.1, private name mangling).
func mangle(class, text string) string {
	if class == "" || !strings.HasPrefix(text, "__") || strings.HasSuffix(text, "__") || strings.Contains(text, ".") {
		return text
	}
	class = strings.TrimLeft(class, "_")
	if class == "" {
		return text
	}
	return "_" + class + text
}

// isName tells the names of Python (language reference 2.3) from what the grammar lets pass.
func isName(text string) bool {
	for i, r := range text {
		switch {
		case r < utf8.RuneSelf: // the grammar is exact there
		case unicode.IsLetter(r), unicode.Is(unicode.Nl, r), unicode.Is(unicode.Other_ID_Start, r):
		case i > 0 && unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue):
		default:
			return false
		}
	}
	return true
}

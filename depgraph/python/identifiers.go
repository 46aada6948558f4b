package python

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

// nameKind says why a name needs attention wherever it occurs.
type nameKind uint8

const (
	keywordName nameKind = 1 << iota // a keyword that the grammar takes for an identifier
	effectName                       // part of the name of an effect
	dynamicName                      // part of the name of a dynamic construct
	aliasName                        // an import of the block binds it
	superName
	badName // holds a character that no name may hold
	oddName // normalisation may change it
)

// superClass is the name through which super finds its class.
const superClass = "__class__"

// special holds the names that have a kind in every block.
var special = func() map[string]nameKind {
	m := make(map[string]nameKind)
	for _, k := range []string{"False", "None", "True", "and", "as", "assert", "async", "await", "break", "class",
		"continue", "def",
		"del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
		"nonlocal",
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

// id returns the number of a name. grown reports that the name is new.
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
	if !isNormal(text) {
		kind |= oddName
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

// isName reports whether a text is a Python name (language reference 2.3). The grammar accepts more.
func isName(text string) bool {
	for i, r := range text {
		switch {
		case r < utf8.RuneSelf: // the grammar is exact for ASCII
		case unicode.IsLetter(r), unicode.Is(unicode.Nl, r), unicode.Is(unicode.Other_ID_Start, r):
		case i > 0 && unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue):
		default:
			return false
		}
	}
	return true
}

// normal holds letters beyond ASCII that NFKC leaves unchanged, also next to each other. CPython normalises every name
// to NFKC. The full Unicode tables are not worth their size here. So a name with any other letter (µ, ﬁ, a combining
// accent) is marked dynamic: it may equal a name that is spelled differently.
var normal = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0xc0, Hi: 0xd6, Stride: 1}, {Lo: 0xd8, Hi: 0xf6, Stride: 1}, {Lo: 0xf8, Hi: 0x131, Stride: 1},
	{Lo: 0x134, Hi: 0x13e, Stride: 1}, {Lo: 0x141, Hi: 0x148, Stride: 1}, {Lo: 0x14a, Hi: 0x17e, Stride: 1},
	{Lo: 0x388, Hi: 0x3ce, Stride: 1}, {Lo: 0x400, Hi: 0x45f, Stride: 1}, {Lo: 0x5d0, Hi: 0x5ea, Stride: 1},
	{Lo: 0x621, Hi: 0x64a, Stride: 1}, {Lo: 0x3041, Hi: 0x3096, Stride: 1}, {Lo: 0x30a1, Hi: 0x30fa, Stride: 1},
	{Lo: 0x4e00, Hi: 0x9fff, Stride: 1}, {Lo: 0xac00, Hi: 0xd7a3, Stride: 1},
}, LatinOffset: 2}

func isNormal(text string) bool {
	for _, r := range text {
		if r >= utf8.RuneSelf && !unicode.Is(normal, r) {
			return false
		}
	}
	return true
}

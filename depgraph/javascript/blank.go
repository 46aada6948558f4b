package javascript

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/xstate-engine/xstate/depgraph"
	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

// NotErasable reports a construct that is more than a type: to leave it out would change the program.
type NotErasable struct {
	// What is "enum", "namespace", "parameter property", "import =", "export =", "decorator", "accessor", "JSX" or
	// "<T>".
	What         string
	Line, Column int // from 1; Column in runes
}

func (e *NotErasable) Error() string {
	return fmt.Sprintf("line %d, column %d: %s is more than a type", e.Line, e.Column, e.What)
}

// Blank returns TypeScript with all types replaced by blanks: JavaScript in which each character keeps its line and
// column, counted in units of UTF-16. A semicolon replaces the first character of a type where JavaScript would
// otherwise join two lines. The error is a *NotErasable or a *depgraph.SyntaxError. A name that an import brings in
// only for its type stays, unless it is imported with the word type.
func Blank(source []byte, dialect depgraph.Dialect) ([]byte, error) {
	tree, err := parse(source, dialect)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	b := &blanker{walker: newWalker(string(source), tree.Nodes), open: map[uint32]bool{}}
	b.typed = true
	b.children(0)
	if b.refused != nil {
		return nil, b.refused
	}
	return b.blanked(), nil
}

// blanker collects the ranges of a text that are types.
type blanker struct {
	*walker
	cuts    []cutout
	open    map[uint32]bool // where statements end that have no semicolon
	refused *NotErasable
}

// cutout is a range to blank. first and last, unless 0, replace its first and last character.
type cutout struct {
	start, end  uint32
	first, last byte
}

// erase blanks a range. At the end of a statement without a semicolon, the range becomes one.
func (b *blanker) erase(start, end uint32) {
	c := cutout{start: start, end: end}
	if b.open[end] {
		c.first = ';'
	}
	b.cuts = append(b.cuts, c)
}

// eraseWhole blanks a statement or a member, and keeps what is around it apart.
func (b *blanker) eraseWhole(i uint32) {
	b.cuts = append(b.cuts, cutout{start: b.nodes[i].Start, end: b.nodes[i].End, first: ';'})
}

func (b *blanker) refuse(i uint32, what string) {
	if b.refused == nil {
		at := syntaxError(b.text, int(b.nodes[i].Start), "")
		b.refused = &NotErasable{what, at.Line, at.Column}
	}
}

func (b *blanker) children(i uint32) {
	for c := i + 1; c < b.end(i); c = b.next(c) {
		b.visit(i, c)
	}
}

// visit blanks the types at node i, a child of parent.
func (b *blanker) visit(parent, i uint32) {
	k, n := b.kind(i), &b.nodes[i]
	switch {
	case k == js.Token:
		if b.typeWord(parent, i, b.src(i)) {
			b.erase(n.Start, n.End)
		}
		return
	case b.isTypeOnly(i) || isType(k) && isStatement(k):
		b.eraseWhole(i)
		return
	case k == js.ImplementsClause || isType(k) || k == js.AccessibilityModifier || k == js.OverrideModifier:
		b.erase(n.Start, n.End)
		return
	}
	if what := b.valueConstruct(i); what != "" {
		b.refuse(i, what)
		return
	}
	if text := strings.TrimSpace(b.src(i)); endsOpen(k) && !strings.HasSuffix(text, ";") {
		b.open[n.Start+uint32(len(text))] = true
	}
	switch k {
	case js.AsExpression, js.SatisfiesExpression:
		b.visit(i, i+1)
		b.erase(b.nodes[i+1].End, n.End)
		return
	case js.TypeAssertion:
		b.assertion(parent, i)
		return
	case js.ImportSpecifier, js.ExportSpecifier:
		if b.typeSpecifier(i) {
			b.eraseListed(parent, i)
			return
		}
	case js.RequiredParameter, js.OptionalParameter:
		if b.kind(i+1) == js.This {
			b.eraseListed(parent, i)
			return
		}
	case js.ArrowFunction:
		b.arrow(i)
		return
	case js.MethodDefinition, js.PublicFieldDefinition:
		b.classMember(i)
		return
	}
	b.children(i)
}

// endsOpen reports whether a node of a kind may end at a line end instead of a semicolon.
func endsOpen(k js.Kind) bool {
	switch k {
	case js.ExpressionStatement, js.VariableDeclaration, js.LexicalDeclaration, js.ReturnStatement, js.ThrowStatement,
		js.ExportStatement, js.PublicFieldDefinition:
		return true
	}
	return false
}

// valueConstruct names what makes node i more than a type, or returns "".
func (b *blanker) valueConstruct(i uint32) string {
	switch b.kind(i) {
	case js.EnumDeclaration:
		return "enum"
	case js.InternalModule, js.Module:
		return "namespace"
	case js.ImportAlias:
		return "import ="
	case js.ImportRequireClause:
		return "import ="
	case js.ExportStatement:
		if b.has(i, "=") {
			return "export ="
		}
	case js.Decorator:
		return "decorator"
	case js.JSXElement, js.JSXSelfClosingElement:
		return "JSX"
	case js.RequiredParameter, js.OptionalParameter:
		if b.find(i, js.AccessibilityModifier) != 0 || b.find(i, js.OverrideModifier) != 0 || b.has(i, "readonly") {
			return "parameter property"
		}
	case js.PublicFieldDefinition:
		if b.has(i, "accessor") {
			return "accessor"
		}
	}
	return ""
}

// eraseListed blanks an item of a list with the comma after it.
func (b *blanker) eraseListed(list, i uint32) {
	end := b.nodes[i].End
	if next := b.next(i); next < b.end(list) && b.src(next) == "," {
		end = b.nodes[next].End
	}
	b.cuts = append(b.cuts, cutout{start: b.nodes[i].Start, end: end})
}

// assertion blanks <T> before a value. Where the value could then be taken for something else, it is refused.
func (b *blanker) assertion(parent, i uint32) {
	value := b.end(i) - 1
	for c := i + 1; c < b.end(i); c = b.next(c) {
		value = c
	}
	types, text := b.nodes[i], b.text[b.nodes[value].Start:b.nodes[value].End]
	gap := b.text[types.Start:b.nodes[value].Start]
	if strings.ContainsAny(gap, "\n\r") || b.kind(parent) == js.ExpressionStatement || strings.HasPrefix(text, "{") ||
		strings.HasPrefix(text, "function") || strings.HasPrefix(text, "class") {
		b.refuse(i, "<T>")
		return
	}
	b.cuts = append(b.cuts, cutout{start: types.Start, end: b.nodes[value].Start})
	b.visit(i, value)
}

// arrow blanks the types of an arrow function. No line may end before the arrow, nor after async: then a bracket moves
// over the type.
func (b *blanker) arrow(i uint32) {
	params := b.field(i, js.FieldParameters)
	result, generic := b.field(i, js.FieldReturnType), b.field(i, js.FieldTypeParameters)
	for c := i + 1; c < b.end(i); c = b.next(c) {
		if c != params && c != result && c != generic {
			b.visit(i, c)
		}
	}
	if params == 0 {
		return
	}
	first, last := b.nodes[params].Start, b.nodes[params].End
	moveOpen := generic != 0 && b.has(i, "async") && strings.ContainsAny(b.text[b.nodes[generic].Start:first], "\n\r")
	switch {
	case moveOpen:
		b.cuts = append(b.cuts, cutout{start: b.nodes[generic].Start, end: first + 1, first: '('})
	case generic != 0:
		b.cuts = append(b.cuts, cutout{start: b.nodes[generic].Start, end: b.nodes[generic].End})
	}
	moveClose := false
	if result != 0 {
		end := b.nodes[result].End
		moveClose = strings.ContainsAny(b.text[last:end], "\n\r")
		if moveClose {
			b.cuts = append(b.cuts, cutout{start: last - 1, end: end, last: ')'})
		} else {
			b.cuts = append(b.cuts, cutout{start: b.nodes[result].Start, end: end})
		}
	}
	b.children(params)
}

// classMember blanks the types of a member. A modifier that is blanked must not let the line before continue.
func (b *blanker) classMember(i uint32) {
	first := len(b.cuts)
	b.children(i)
	if len(b.cuts) == first || b.cuts[first].start != b.nodes[i].Start {
		return
	}
	for c := i + 1; c < b.end(i); c = b.next(c) {
		if text := b.src(c); b.kind(c) == js.ComputedPropertyName || text == "*" || text == "in" ||
			text == "instanceof" {
			b.cuts[first].first = ';'
			return
		}
		if b.kind(c) != js.Token && b.kind(c) != js.AccessibilityModifier && b.kind(c) != js.OverrideModifier {
			return
		}
		if text := b.src(c); text == "static" || text == "async" || text == "get" || text == "set" {
			return
		}
	}
}

// blanked returns the text without the ranges.
func (b *blanker) blanked() []byte {
	slices.SortStableFunc(b.cuts, func(x, y cutout) int { return cmp.Compare(x.start, y.start) })
	var out strings.Builder
	at := uint32(0)
	for _, c := range b.cuts {
		if c.end <= at {
			continue
		}
		start := max(c.start, at)
		out.WriteString(b.text[at:start])
		at = c.end
		for n, r := range b.text[start:c.end] {
			switch here := start + uint32(n); {
			case r == '\n' || r == '\r' || r == 0x2028 || r == 0x2029:
				out.WriteRune(r)
			case here == c.start && c.first != 0:
				out.WriteByte(c.first)
			case here == c.end-1 && c.last != 0:
				out.WriteByte(c.last)
			default:
				out.WriteString("  "[:utf16.RuneLen(r)])
			}
		}
	}
	out.WriteString(b.text[at:])
	return []byte(out.String())
}

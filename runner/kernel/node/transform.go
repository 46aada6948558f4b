package node

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	source "github.com/xstate-engine/xstate/depgraph/javascript"
	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

// plan is a text as the driver executes it: a script in which names of the program are properties of the global object.
type plan struct {
	Code   string `json:"code"`
	Prefix int    `json:"prefix"` // UTF-16 units that the first line has in front of the text's own
	Async  bool   `json:"async"`  // the script is a promise of its value
	Strict bool   `json:"strict"`
	// Functions are declared by the text. Each is an assignment and runs as a separate script, before the others.
	Functions []function `json:"functions,omitempty"`
	Lexical   []string   `json:"lexical,omitempty"` // names of let, const and class
	Constants []string   `json:"constants,omitempty"`
	Vars      []string   `json:"vars,omitempty"`
	Assigned  []string   `json:"assigned,omitempty"` // names that an assignment or update has as its target, anywhere
	Sets      []string   `json:"sets,omitempty"`     // names by which it may set what a package holds
	Returns   bool       `json:"returns,omitempty"`  // it has a return outside of functions
	Dialect   string     `json:"dialect,omitempty"`
}

// function is a function declaration, as an assignment.
type function struct {
	Name   string `json:"name"`
	Code   string `json:"code"`
	Text   string `json:"text"`   // the declaration itself
	Line   int    `json:"line"`   // 0-based, of the text
	Column int    `json:"column"` // that the code begins at, so that the body keeps its place in the text
}

// edit replaces a range of the text.
type edit struct {
	start, end int
	text       string
}

// transformer makes the plan of one text.
type transformer struct {
	text  string
	nodes []js.Node
	edits []edit
	plan  plan
	head  strings.Builder       // what imports become
	wrap  bool                  // the text becomes the body of a function
	bad   *depgraph.SyntaxError // the first thing that JavaScript refuses and the plan would not
}

// transform returns the plan of a text without types.
func transform(text string, dialect depgraph.Dialect, strict bool) (*plan, error) {
	grammar := js.JavaScript
	if dialect == source.TSX {
		grammar = js.TSX
	}
	tree, err := js.Parse([]byte(text), grammar)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	if tree.Broken != nil {
		return nil, tree.Broken
	}
	t := &transformer{text: text, nodes: tree.Nodes}
	t.plan.Strict = strict || dialect != source.JavaScript
	var last uint32
	for c := uint32(1); c < t.end(0); c = t.nodes[c].Next {
		if t.kind(c) != js.EmptyStatement && t.kind(c) != js.Token {
			last = c
		}
	}
	t.everywhere()
	t.captures()
	for c := uint32(1); c < t.end(0); c = t.nodes[c].Next {
		t.statement(c)
	}
	if t.bad != nil {
		return nil, t.bad
	}
	return t.finish(last), nil
}

func (t *transformer) kind(i uint32) js.Kind { return t.nodes[i].Kind }
func (t *transformer) end(i uint32) uint32   { return t.nodes[i].Next }
func (t *transformer) start(i uint32) int    { return int(t.nodes[i].Start) }
func (t *transformer) stop(i uint32) int     { return int(t.nodes[i].End) }
func (t *transformer) src(i uint32) string   { return t.text[t.nodes[i].Start:t.nodes[i].End] }

func (t *transformer) field(i uint32, f js.Field) uint32 {
	for c := i + 1; c < t.end(i); c = t.nodes[c].Next {
		if t.nodes[c].Field == f {
			return c
		}
	}
	return 0
}

func (t *transformer) find(i uint32, k js.Kind) uint32 {
	for c := i + 1; c < t.end(i); c = t.nodes[c].Next {
		if t.kind(c) == k {
			return c
		}
	}
	return 0
}

// token returns the child that is a token with a text, or 0.
func (t *transformer) token(i uint32, text string) uint32 {
	for c := i + 1; c < t.end(i); c = t.nodes[c].Next {
		if t.kind(c) == js.Token && t.src(c) == text {
			return c
		}
	}
	return 0
}

func (t *transformer) replace(start, end int, text string) {
	t.edits = append(t.edits, edit{start, end, text})
}

func (t *transformer) insert(at int, text string) { t.replace(at, at, text) }

// blank replaces a range by spaces, and keeps its lines.
func (t *transformer) blank(start, end int) { t.replace(start, end, blanked(t.text[start:end])) }

func blanked(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' {
			return r
		}
		return ' '
	}, text)
}

func isFunction(k js.Kind) bool {
	switch k {
	case js.FunctionDeclaration, js.GeneratorFunctionDeclaration, js.FunctionExpression, js.GeneratorFunction,
		js.ArrowFunction, js.MethodDefinition, js.ClassStaticBlock:
		return true
	}
	return false
}

func isFunctionDeclaration(k js.Kind) bool {
	return k == js.FunctionDeclaration || k == js.GeneratorFunctionDeclaration
}

// everywhere makes the edits that do not depend on the scope: imports by calls, and what reaches private fields.
func (t *transformer) everywhere() {
	for i := uint32(1); i < uint32(len(t.nodes)); i++ {
		switch t.kind(i) {
		case js.CallExpression:
			if f := t.field(i, js.FieldFunction); f != 0 && t.kind(f) == js.Import {
				t.replace(t.start(f), t.stop(f), "__xs_import")
			}
		case js.MetaProperty:
			if strings.HasPrefix(t.src(i), "import") {
				t.replace(t.start(i), t.stop(i), "__xs_meta")
			}
		case js.MemberExpression: // the grammar has import.meta so as well
			if o := t.field(i, js.FieldObject); o != 0 && t.kind(o) == js.Import {
				t.replace(t.start(i), t.stop(i), "__xs_meta")
			}
		case js.ClassBody:
			t.private(i)
			t.bare(i)
		case js.AssignmentExpression, js.AugmentedAssignmentExpression:
			t.assigned(t.field(i, js.FieldLeft))
		case js.UpdateExpression:
			t.assigned(t.field(i, js.FieldArgument))
		case js.ForInStatement:
			if t.field(i, js.FieldKind) == 0 {
				t.assigned(t.field(i, js.FieldLeft))
			}
		}
	}
	slices.Sort(t.plan.Assigned)
	t.plan.Assigned = slices.Compact(t.plan.Assigned)
}

func (t *transformer) assigned(i uint32) {
	if i == 0 {
		return
	}
	switch t.kind(i) {
	case js.MemberExpression, js.SubscriptExpression:
		return
	}
	for c := i; c < max(t.end(i), i+1); c++ {
		switch t.kind(c) {
		case js.Identifier, js.ShorthandPropertyIdentifierPattern:
			t.plan.Assigned = append(t.plan.Assigned, t.src(c))
		}
	}
}

// private injects a static block that lets the driver read and set the private fields of a class.
func (t *transformer) private(body uint32) {
	var own, static []string
	for c := body + 1; c < t.end(body); c = t.nodes[c].Next {
		if k := t.kind(c); k != js.FieldDefinition && k != js.PublicFieldDefinition {
			continue
		}
		name := t.find(c, js.PrivatePropertyIdentifier)
		switch {
		case name == 0:
		case t.token(c, "static") != 0:
			static = append(static, t.src(name))
		default:
			own = append(own, t.src(name))
		}
	}
	if len(own)+len(static) == 0 {
		return
	}
	members := func(of string, names []string) string {
		var b strings.Builder
		for i, n := range names {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(of + "." + n)
		}
		return b.String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "static{__xs_private(this,%q", strings.Join(own, ","))
	if len(own) > 0 {
		fmt.Fprintf(&b, ",o=>%s in o,o=>[%s],(o,v)=>{[%s]=v}", own[0], members("o", own), members("o", own))
	} else {
		b.WriteString(",o=>false,o=>[],(o,v)=>{}")
	}
	if len(static) > 0 {
		fmt.Fprintf(&b, ",%q,()=>[%s],v=>{[%s]=v}", strings.Join(static, ","), members("this", static),
			members("this", static))
	}
	b.WriteString(")}")
	t.insert(t.start(body)+1, b.String())
}

// bare makes constructors and initializers of fields do nothing while the driver makes an object for its private
// fields.
func (t *transformer) bare(body uint32) {
	derived := t.heritage(body)
	for c := body + 1; c < t.end(body); c = t.nodes[c].Next {
		switch t.kind(c) {
		case js.MethodDefinition:
			name, block := t.field(c, js.FieldName), t.field(c, js.FieldBody)
			if name == 0 || block == 0 || t.src(name) != "constructor" || t.token(c, "static") != 0 {
				continue
			}
			text := "if(__xs_bare)return;"
			if derived {
				text = "if(__xs_bare){super();return}"
			}
			t.insert(t.start(block)+1, text)
		case js.FieldDefinition, js.PublicFieldDefinition:
			value := t.field(c, js.FieldValue)
			if value == 0 || t.token(c, "static") != 0 || t.evaluatesNothing(value) {
				continue
			}
			t.insert(t.start(value), "__xs_bare?void 0:(")
			t.insert(t.stop(value), "/*@xb*/)")
		}
	}
}

// heritage reports whether the class of a body extends another.
func (t *transformer) heritage(body uint32) bool {
	for i := body; i > 0; i-- {
		if k := t.kind(i - 1); (k == js.ClassDeclaration || k == js.Class) && t.end(i-1) >= t.end(body) {
			return t.find(i-1, js.ClassHeritage) != 0
		}
	}
	return false
}

// evaluatesNothing reports whether an initializer is a literal or makes a function.
func (t *transformer) evaluatesNothing(i uint32) bool {
	switch t.kind(i) {
	case js.Number, js.String, js.True, js.False, js.Null, js.Undefined, js.Regex, js.ArrowFunction,
		js.FunctionExpression, js.GeneratorFunction, js.Class:
		return true
	case js.Array, js.Object:
		return i+2 >= t.end(i)-1
	}
	return false
}

// statement transforms a statement at top level.
func (t *transformer) statement(i uint32) {
	switch k := t.kind(i); k {
	case js.HashBangLine:
		t.blank(t.start(i), t.stop(i))
	case js.ImportStatement:
		t.importStatement(i)
	case js.ExportStatement:
		t.exportStatement(i)
	case js.LexicalDeclaration, js.VariableDeclaration:
		t.declaration(i, false)
	case js.FunctionDeclaration, js.GeneratorFunctionDeclaration:
		t.functionDeclaration(i)
	case js.ClassDeclaration:
		t.classDeclaration(i)
	default:
		t.inner(i)
	}
}

func (t *transformer) classDeclaration(i uint32) {
	name := t.field(i, js.FieldName)
	if name == 0 {
		return
	}
	t.plan.Lexical = append(t.plan.Lexical, t.src(name))
	t.insert(t.start(i), ";"+t.src(name)+"=")
	t.insert(t.stop(i), ";")
	t.inner(i)
}

// inner finds what belongs to the top level inside of a statement: var, await, and functions in blocks.
func (t *transformer) inner(i uint32) {
	for c := i; c < t.end(i); {
		k := t.kind(c)
		if k == js.AwaitExpression || k == js.ForInStatement && t.token(c, "await") != 0 {
			t.plan.Async = true
		}
		switch {
		case k == js.ReturnStatement:
			t.plan.Returns = true
		case k == js.VariableDeclaration:
			t.declaration(c, t.nodes[c].Field == js.FieldInitializer)
			c = t.end(c)
			continue
		case k == js.ForInStatement:
			if kind := t.field(c, js.FieldKind); kind != 0 && t.src(kind) == "var" {
				t.names(t.field(c, js.FieldLeft), &t.plan.Vars)
				t.blank(t.start(kind), t.stop(kind))
			}
		case isFunctionDeclaration(k):
			if name := t.field(c, js.FieldName); name != 0 && !t.plan.Strict {
				t.wrap = true
				t.plan.Vars = append(t.plan.Vars, t.src(name))
				t.insert(t.stop(c), ";globalThis."+t.src(name)+"="+t.src(name)+";")
			}
		}
		if isFunction(k) {
			c = t.functionParts(c)
			continue
		}
		c++
	}
}

// functionParts skips a function. An await inside it is not one at the top level.
func (t *transformer) functionParts(c uint32) uint32 { return t.end(c) }

// names appends the names that a pattern binds.
func (t *transformer) names(i uint32, to *[]string) {
	switch t.kind(i) {
	case js.Identifier, js.ShorthandPropertyIdentifierPattern, js.Undefined:
		*to = append(*to, t.src(i))
	case js.ObjectPattern, js.ArrayPattern, js.RestPattern:
		for c := i + 1; c < t.end(i); c = t.nodes[c].Next {
			t.names(c, to)
		}
	case js.PairPattern:
		if v := t.field(i, js.FieldValue); v != 0 {
			t.names(v, to)
		}
	case js.AssignmentPattern, js.ObjectAssignmentPattern:
		t.names(i+1, to)
	}
}

// declaration makes assignments of a declaration. inFor: it is the first part of the head of a loop.
func (t *transformer) declaration(i uint32, inFor bool) {
	var names []string
	kind := i + 1
	word := t.src(kind)
	for c := i + 1; c < t.end(i); c = t.nodes[c].Next {
		if t.kind(c) != js.VariableDeclarator {
			continue
		}
		pattern, value := c+1, t.field(c, js.FieldValue)
		t.names(pattern, &names)
		if value == 0 {
			t.uninitialised(pattern, word)
		}
		switch {
		case value == 0 && word == "var":
			t.replace(t.start(pattern), t.stop(pattern), "0"+strings.Repeat(" ", t.stop(pattern)-t.start(pattern)-1))
		case value == 0:
			t.insert(t.stop(pattern), "=void 0")
		case t.kind(pattern) != js.Identifier:
			t.insert(t.start(c), "(")
			t.insert(t.stop(c), ")")
		}
		t.inner(c)
	}
	blank := blanked(word)
	if !inFor {
		blank = ";" + blank[1:]
	}
	t.replace(t.start(kind), t.stop(kind), blank)
	switch word {
	case "var":
		t.plan.Vars = append(t.plan.Vars, names...)
	case "const":
		t.plan.Constants = append(t.plan.Constants, names...)
		fallthrough
	default:
		t.plan.Lexical = append(t.plan.Lexical, names...)
	}
}

// uninitialised refuses a declaration without a value where JavaScript does: as an assignment it would have one.
func (t *transformer) uninitialised(pattern uint32, word string) {
	what := ""
	switch {
	case t.kind(pattern) == js.ObjectPattern || t.kind(pattern) == js.ArrayPattern:
		what = "destructuring"
	case word == "const":
		what = "const"
	}
	if what == "" || t.bad != nil {
		return
	}
	t.bad = &depgraph.SyntaxError{Line: strings.Count(t.text[:t.start(pattern)], "\n") + 1,
		Msg: "Missing initializer in " + what + " declaration"}
}

// functionDeclaration takes a function out of the text. As an assignment of an anonymous function it has its name, and
// its own name inside of it is the global one, as in a declaration.
func (t *transformer) functionDeclaration(i uint32) {
	name := t.field(i, js.FieldName)
	if name == 0 {
		return
	}
	text := t.src(name)
	from := strings.LastIndexByte(t.text[:t.start(i)], '\n') + 1
	own := t.slice(i)
	rel := func(at int) int { return at - t.start(i) }
	code := apply(t.src(i), append(own, edit{rel(t.start(name)), rel(t.stop(name)), ""}))
	t.plan.Functions = append(t.plan.Functions, function{
		Name: text, Code: text + "=" + code, Text: t.src(i),
		Line:   strings.Count(t.text[:t.start(i)], "\n"),
		Column: len(t.text[from:t.start(i)]) - 1, // less the name before, and more for the name taken out
	})
	t.blank(t.start(i), t.stop(i))
}

// slice takes the edits within a node away, and returns them relative to it.
func (t *transformer) slice(i uint32) []edit {
	var own []edit
	t.edits = slices.DeleteFunc(t.edits, func(e edit) bool {
		if e.start < t.start(i) || e.end > t.stop(i) {
			return false
		}
		own = append(own, edit{e.start - t.start(i), e.end - t.start(i), e.text})
		return true
	})
	return own
}

// apply makes edits of a text. Insertions at one place keep their order.
func apply(text string, edits []edit) string {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		if e.start < at {
			continue // within a range that is replaced
		}
		b.WriteString(text[at:e.start])
		b.WriteString(e.text)
		at = e.end
	}
	b.WriteString(text[at:])
	return b.String()
}

// finish puts the code together. last is the last statement, or 0.
func (t *transformer) finish(last uint32) *plan {
	p := &t.plan
	prefix := ""
	if p.Strict {
		prefix = `"use strict";`
	}
	if p.Async || t.wrap {
		if last != 0 && t.kind(last) == js.ExpressionStatement {
			value := last + 1
			t.insertBefore(t.start(value), "return (")
			t.insert(t.stop(value), ")")
		}
		arrow := "(()=>{"
		if p.Async {
			arrow = "(async()=>{"
		}
		prefix += arrow + t.head.String()
		p.Code = prefix + apply(t.text, t.edits) + "\n})()"
	} else {
		p.Code = prefix + apply(t.text, t.edits)
	}
	p.Prefix = len(prefix)
	for _, list := range []*[]string{&p.Lexical, &p.Constants, &p.Vars} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return p
}

// insertBefore inserts in front of other insertions at a place.
func (t *transformer) insertBefore(at int, text string) {
	t.edits = slices.Insert(t.edits, 0, edit{at, at, text})
}

package javascript

import (
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

// Outline returns the outline of a block or file. The error is a *depgraph.SyntaxError if the text does not parse.
func Outline(source []byte, dialect depgraph.Dialect) (*depgraph.Outline, error) {
	f, err := Analyze(source, dialect)
	if err != nil {
		return nil, err
	}
	tree, err := parse(source, dialect)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	o := &outliner{walker: newWalker(string(source), tree.Nodes), at: map[string]int{}}
	o.typed = dialect == TypeScript || dialect == TSX
	for i := range f.Nodes {
		for _, name := range f.Nodes[i].Defines {
			o.add(depgraph.Definition{Name: name, Signature: name})
		}
	}
	o.suite(0)
	return &o.out, nil
}

// outliner walks the statements that run when the text runs. It does not enter the bodies of functions.
type outliner struct {
	*walker
	out depgraph.Outline
	at  map[string]int // name → index in out
}

func (o *outliner) add(d depgraph.Definition) {
	if i, known := o.at[d.Name]; known {
		o.out.Definitions[i] = d
		return
	}
	o.at[d.Name] = len(o.out.Definitions)
	o.out.Definitions = append(o.out.Definitions, d)
}

// suite walks the statements below node i.
func (o *outliner) suite(i uint32) {
	for c := i + 1; c < o.end(i); c = o.next(c) {
		if o.isTypeOnly(c) {
			continue
		}
		d := o.declaredBy(c)
		switch k := o.kind(d); k {
		case js.FunctionDeclaration, js.GeneratorFunctionDeclaration, js.ClassDeclaration, js.AbstractClassDeclaration,
			js.FunctionExpression, js.GeneratorFunction, js.Class:
			if name := o.field(d, js.FieldName); name != 0 {
				o.define(d, c, o.src(name), "")
			}
		case js.LexicalDeclaration, js.VariableDeclaration:
			o.variables(d)
		case js.ExpressionStatement:
			if o.asserts(d) {
				o.out.Asserts = append(o.out.Asserts, o.line(o.nodes[c].Start))
			}
		case js.IfStatement, js.ElseClause, js.TryStatement, js.CatchClause, js.FinallyClause, js.StatementBlock,
			js.ForStatement, js.ForInStatement, js.WhileStatement, js.DoStatement, js.LabeledStatement,
			js.SwitchStatement, js.SwitchBody, js.SwitchCase, js.SwitchDefault:
			o.suite(d)
		}
	}
}

// variables adds functions and classes that are values of const, let or var.
func (o *outliner) variables(i uint32) {
	for c := i + 1; c < o.end(i); c = o.next(c) {
		if o.kind(c) != js.VariableDeclarator || o.kind(c+1) != js.Identifier {
			continue
		}
		if value := o.field(c, js.FieldValue); value != 0 && (isFunction(o.kind(value)) || o.kind(value) == js.Class) {
			o.define(value, c, o.src(c+1), o.src(c+1)+" = ")
		}
	}
}

// asserts reports whether a statement is a call of assert, or of a member of it.
func (o *outliner) asserts(i uint32) bool {
	call := i + 1
	if o.kind(call) == js.AwaitExpression {
		call = o.inner(call)
	}
	if call == 0 || o.kind(call) != js.CallExpression {
		return false
	}
	name := o.src(o.field(call, js.FieldFunction))
	return name == "assert" || strings.HasPrefix(name, "assert.") || name == "console.assert"
}

// define adds the definition at node i, whose whole text is that of node whole. A function's signature is all but its
// body; a class's is its head and its constructor.
func (o *outliner) define(i, whole uint32, name, before string) {
	d := depgraph.Definition{Name: name, Line: o.line(o.nodes[whole].Start), End: o.line(o.nodes[whole].End)}
	body := o.field(i, js.FieldBody)
	if body == 0 {
		return
	}
	d.Signature = before + o.phrase(i, body)
	k := o.kind(i)
	if d.Class = isClassDeclaration(k) || k == js.Class; !d.Class {
		o.add(d)
		return
	}
	at := len(o.out.Definitions)
	if known, ok := o.at[name]; ok {
		at = known
	}
	o.add(d)
	for c := body + 1; c < o.end(body); c = o.next(c) {
		member := o.field(c, js.FieldName)
		if member == 0 {
			member = o.field(c, js.FieldProperty)
		}
		if member == 0 || o.isTypeOnly(c) {
			continue
		}
		full := name + "." + o.src(member)
		if o.kind(c) != js.MethodDefinition {
			o.add(depgraph.Definition{Name: full, Signature: full})
			continue
		}
		o.define(c, c, full, "")
		if o.src(member) == "constructor" {
			d.Signature += ": " + o.out.Definitions[o.at[full]].Signature
		}
	}
	o.out.Definitions[at] = d
}

// phrase returns the text of node i up to node end, token by token, with one blank between two words.
func (o *outliner) phrase(i, end uint32) string {
	var b strings.Builder
	last := ""
	for c := i; c < end; {
		k := o.kind(c)
		if o.next(c) > c+1 && k != js.TemplateString {
			c++
			continue
		}
		token := o.src(c)
		if last != "" && token != "" && (wordByte(last[len(last)-1]) && wordByte(token[0]) ||
			last == "," || last == "=" || token == "=" || token == "=>") {
			b.WriteByte(' ')
		}
		b.WriteString(token)
		if token != "" {
			last = token
		}
		c = o.next(c)
	}
	return b.String()
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '"' ||
		c == '\''
}

package python

import (
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/python/pytree"
)

// Outline returns the outline of a block or file. The error is a *depgraph.SyntaxError if the text does not parse.
func Outline(src []byte, dialect depgraph.Dialect) (*depgraph.Outline, error) {
	f, err := facts(src, dialect, eachStatement)
	if err != nil {
		return nil, err
	}
	tree, err := pytree.Parse(f.Code)
	if err != nil {
		return nil, parseError(string(f.Code), err)
	}
	defer tree.Close()
	o := &outliner{walker: newWalker(string(f.Code), tree.Nodes), at: map[string]int{}}
	for i := range f.Nodes {
		for _, name := range f.Nodes[i].Defines {
			o.add(depgraph.Definition{Name: name, Signature: name})
		}
	}
	o.suite(0, "")
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

// suite walks everything below node i. prefix is the enclosing class and a dot, or "".
func (o *outliner) suite(i uint32, prefix string) {
	for c := o.child(i); c < o.end(i); c = o.next(c) {
		switch o.sym(c) {
		case pytree.FunctionDefinition, pytree.ClassDefinition:
			o.define(c, c, prefix, "")
		case pytree.DecoratedDefinition:
			if def := o.lastChild(c); def > c {
				o.define(def, c, prefix, o.wrappers(c))
			}
		case pytree.AssertStatement:
			o.out.Asserts = append(o.out.Asserts, o.line(o.nodes[c].Start))
		case pytree.ExpressionStatement:
			if a := o.child(c); prefix != "" && a < o.end(c) && o.sym(a) == pytree.Assignment &&
				o.sym(o.child(a)) == pytree.Identifier {
				name := prefix + o.src(o.child(a))
				o.add(depgraph.Definition{Name: name, Signature: name})
			}
		default:
			o.suite(c, prefix) // if, try, with: their definitions count
		}
	}
}

// wrappers returns the decorators that change how a function is called.
func (o *outliner) wrappers(i uint32) string {
	text := ""
	for c := o.child(i); c < o.end(i); c = o.next(c) {
		if o.sym(c) == pytree.Decorator && o.plainDecorator(o.lastChild(c)) {
			text += "@" + o.src(o.lastChild(c)) + " "
		}
	}
	return text
}

// define adds the definition at node i. Its decorators begin at node all.
func (o *outliner) define(i, all uint32, prefix, wrappers string) {
	name, body := o.end(i), o.end(i)
	for c := o.child(i); c < o.end(i); c = o.next(c) {
		switch o.sym(c) {
		case pytree.Identifier:
			name = min(name, c)
		case pytree.Block:
			body = c
		}
	}
	if name >= o.end(i) {
		return
	}
	d := depgraph.Definition{
		Name: prefix + o.src(name), Class: o.sym(i) == pytree.ClassDefinition,
		Line: o.line(o.nodes[all].Start), End: o.line(o.nodes[i].End),
	}
	at := len(o.out.Definitions)
	if known, ok := o.at[d.Name]; ok {
		at = known
	}
	o.add(d)
	d.Signature = wrappers + strings.TrimSuffix(o.phrase(i, body), ":")
	if o.sym(i) == pytree.ClassDefinition && body < o.end(i) {
		o.suite(body, d.Name+".")
		d.Signature += o.constructor(d.Name, body)
	}
	o.out.Definitions[at] = d
}

// constructor returns how a class is called: the signature of its __init__ or, without one, its annotated fields.
func (o *outliner) constructor(class string, body uint32) string {
	if i, ok := o.at[class+".__init__"]; ok {
		return ": " + o.out.Definitions[i].Signature
	}
	var fields []string
	for c := o.child(body); c < o.end(body); c = o.next(c) {
		if o.sym(c) != pytree.ExpressionStatement {
			continue
		}
		if a := o.child(c); a < o.end(c) && o.sym(a) == pytree.Assignment &&
			o.find(a, o.child(a), pytree.Type) < o.end(a) {
			fields = append(fields, o.phrase(a, o.end(a)))
		}
	}
	if fields == nil {
		return ""
	}
	return ": " + strings.Join(fields, "; ")
}

// phrase returns the text of node i up to node end, token by token, with conventional spacing.
func (o *outliner) phrase(i, end uint32) string {
	var b strings.Builder
	last := ""
	for c := i; c < min(end, o.end(i)); {
		if o.sym(c) != pytree.String && o.next(c) > c+1 {
			c++
			continue
		}
		token := o.src(c)
		if spaced(last, token) {
			b.WriteByte(' ')
		}
		b.WriteString(token)
		last, c = token, o.next(c)
	}
	return b.String()
}

// spaced reports whether a blank separates two tokens.
func spaced(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	switch {
	case a == "->" || b == "->" || a == "," || a == ":" && b != ")" && b != "]":
		return b != ")" && b != "]"
	}
	return nameByte(a[len(a)-1]) && nameByte(b[0])
}

func nameByte(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '"' ||
		c == '\''
}

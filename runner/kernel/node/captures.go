package node

import (
	"fmt"
	"slices"
	"strings"

	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

// scope is a range of the text with variables of its own. That of the program is the first: its variables are global.
type scope struct {
	node     uint32
	parent   int
	function int             // the function that it belongs to: an index of transformer scopes, 0 for the program
	own      bool            // it is the scope of a function
	declared map[string]bool // name → whether it is constant
	captured []string
	number   int    // of those with captured variables, from 1
	reads    []int  // of a function: the scopes that it captures
	unknown  bool   // of a function: it captures what no accessor reaches
	body     uint32 // where the accessor goes
	this     bool   // of a function: it is an arrow, or else has its own this
}

// capturer finds which variables functions capture.
type capturer struct {
	*transformer
	sets   []setting
	scopes []scope
	at     map[uint32]int // node → scope
	inside []int          // node → innermost scope
}

// captures marks every function, and puts an accessor into every scope whose variables one captures: with it the driver
// reads and sets them, see closures.js.
func (t *transformer) captures() {
	c := &capturer{transformer: t, at: map[uint32]int{}, inside: make([]int, len(t.nodes))}
	c.scopes = []scope{{own: true, declared: map[string]bool{}}}
	c.open(1, t.end(0), 0)
	for i := uint32(1); i < uint32(len(t.nodes)); i++ {
		switch t.kind(i) {
		case js.Identifier, js.ShorthandPropertyIdentifier, js.ShorthandPropertyIdentifierPattern:
			c.reference(c.inside[i], t.src(i))
		case js.This, js.Super:
			c.receiver(c.inside[i], t.kind(i) == js.Super)
		case js.CallExpression:
			if f := t.field(i, js.FieldFunction); f != 0 && t.src(f) == "eval" && c.inside[i] != 0 {
				c.unknown(c.inside[i])
			}
		}
	}
	c.sets = c.settings()
	t.plan.Sets = within(c.sets, 0, len(t.text))
	number := 0
	for i := range c.scopes {
		if s := &c.scopes[i]; len(s.captured) > 0 {
			number++
			s.number = number
		}
	}
	for i := 1; i < len(c.scopes); i++ {
		c.inject(i)
	}
	for i := 1; i < len(c.scopes); i++ {
		c.mark(i)
	}
}

// open finds the scopes among nodes, within a scope.
func (c *capturer) open(i, end uint32, in int) {
	for i < end {
		c.inside[i] = in
		k := c.kind(i)
		c.declare(i, in)
		if k == js.PropertyIdentifier || k == js.StatementIdentifier || i+1 == c.end(i) {
			i++
			continue
		}
		if inner, opens := c.opened(i, in); opens {
			c.open(i+1, c.end(i), inner)
			i = c.end(i)
			continue
		}
		i++
	}
}

// opened adds the scope that a node is.
func (c *capturer) opened(i uint32, in int) (int, bool) {
	s := scope{node: i, parent: in, function: c.scopes[in].function, declared: map[string]bool{}}
	switch k := c.kind(i); {
	case isFunction(k):
		s.own, s.function = true, len(c.scopes)
		s.this = k == js.ArrowFunction
		s.body = c.field(i, js.FieldBody)
		if k == js.FunctionExpression || k == js.GeneratorFunction {
			if name := c.field(i, js.FieldName); name != 0 {
				s.declared[c.src(name)] = false
			}
		}
		if p := c.field(i, js.FieldParameter); p != 0 {
			s.declared[c.src(p)] = false
		}
	case k == js.StatementBlock:
		if c.at[i] != 0 {
			return c.at[i], true
		}
		s.body = i
	case k == js.ForStatement, k == js.ForInStatement, k == js.CatchClause:
		s.body = c.field(i, js.FieldBody)
	case k == js.ClassDeclaration, k == js.Class, k == js.FieldDefinition, k == js.PublicFieldDefinition:
		if k == js.ClassDeclaration || k == js.Class {
			if name := c.field(i, js.FieldName); name != 0 && !(k == js.ClassDeclaration) {
				s.declared[c.src(name)] = false
			}
		}
	case k == js.SwitchBody:
	default:
		return 0, false
	}
	c.scopes = append(c.scopes, s)
	n := len(c.scopes) - 1
	if s.own && s.body != 0 && c.kind(s.body) == js.StatementBlock {
		c.at[s.body] = n // the body has the scope of its function
	}
	return n, true
}

// declare adds what a node declares to the scope that it belongs to.
func (c *capturer) declare(i uint32, in int) {
	add := func(s int, names []string, constant bool) {
		for _, n := range names {
			c.scopes[s].declared[n] = constant
		}
	}
	var names []string
	switch c.kind(i) {
	case js.FormalParameters:
		for p := i + 1; p < c.end(i); p = c.nodes[p].Next {
			c.names(p, &names)
		}
		add(in, names, false)
	case js.LexicalDeclaration, js.VariableDeclaration:
		for d := i + 1; d < c.end(i); d = c.nodes[d].Next {
			if c.kind(d) == js.VariableDeclarator {
				c.names(d+1, &names)
			}
		}
		word := c.src(i + 1)
		if word == "var" {
			in = c.scopes[in].function
		}
		add(in, names, word == "const")
	case js.ForInStatement:
		// its own scope is opened after this, so its names are declared by catchParameter below
	case js.FunctionDeclaration, js.GeneratorFunctionDeclaration, js.ClassDeclaration:
		if name := c.field(i, js.FieldName); name != 0 {
			add(in, []string{c.src(name)}, false)
		}
	}
	if f := c.nodes[i].Field; f == js.FieldLeft || f == js.FieldParameter {
		p := c.scopes[in].node
		switch {
		case in == 0:
		case c.kind(p) == js.ForInStatement && f == js.FieldLeft && c.field(p, js.FieldKind) != 0 && c.field(p,
			js.FieldLeft) == i:
			c.names(i, &names)
			if kind := c.src(c.field(p, js.FieldKind)); kind == "var" {
				in = c.scopes[in].function
			}
			add(in, names, false)
		case c.kind(p) == js.CatchClause && c.field(p, js.FieldParameter) == i:
			c.names(i, &names)
			add(in, names, false)
		}
	}
}

// reference notes that a name is mentioned in a scope: functions between it and its declaration capture it.
func (c *capturer) reference(in int, name string) {
	at := in
	for at != 0 {
		if _, ok := c.scopes[at].declared[name]; ok {
			break
		}
		at = c.scopes[at].parent
	}
	if at == 0 || c.scopes[at].function == c.scopes[in].function && !c.fieldBetween(in, at) {
		return
	}
	if k := c.kind(c.scopes[at].node); k == js.Class || k == js.FunctionExpression && c.ownName(at, name) {
		return // it is in the text of the function itself
	}
	if !slices.Contains(c.scopes[at].captured, name) {
		c.scopes[at].captured = append(c.scopes[at].captured, name)
	}
	c.captures(in, at)
}

func (c *capturer) ownName(at int, name string) bool {
	n := c.field(c.scopes[at].node, js.FieldName)
	return n != 0 && c.src(n) == name
}

// fieldBetween reports whether the initializer of a field, which runs later, lies between two scopes.
func (c *capturer) fieldBetween(in, at int) bool {
	for ; in != at; in = c.scopes[in].parent {
		if k := c.kind(c.scopes[in].node); k == js.FieldDefinition || k == js.PublicFieldDefinition {
			return true
		}
	}
	return false
}

// captures notes that the functions and classes from one scope up to another use the variables of the latter.
func (c *capturer) captures(in, at int) {
	for s := in; s != at; s = c.scopes[s].parent {
		k := c.kind(c.scopes[s].node)
		if c.scopes[s].own || k == js.Class || k == js.ClassDeclaration {
			if !slices.Contains(c.scopes[s].reads, at) {
				c.scopes[s].reads = append(c.scopes[s].reads, at)
			}
		}
	}
}

// receiver notes a mention of this, which arrows capture from the function around them.
func (c *capturer) receiver(in int, super bool) {
	at := in
	for at != 0 && !(c.scopes[at].own && !c.scopes[at].this) {
		if k := c.kind(c.scopes[at].node); k == js.FieldDefinition || k == js.PublicFieldDefinition {
			break
		}
		at = c.scopes[at].parent
	}
	if at == 0 || c.scopes[in].function == at {
		return
	}
	field := !c.scopes[at].own
	captures := false
	for s := in; s != at; s = c.scopes[s].parent {
		if !c.scopes[s].own {
			continue
		}
		captures = true
		if field || super || c.kind(c.scopes[at].node) == js.ClassStaticBlock || c.derived(at) {
			c.scopes[s].unknown = true
		} else if !slices.Contains(c.scopes[s].reads, at) {
			c.scopes[s].reads = append(c.scopes[s].reads, at)
		}
	}
	if captures && !field && !super && !slices.Contains(c.scopes[at].captured, "this") {
		c.scopes[at].captured = append(c.scopes[at].captured, "this")
	}
}

// derived reports whether a function is a constructor, in which this may have no value yet.
func (c *capturer) derived(at int) bool {
	n := c.field(c.scopes[at].node, js.FieldName)
	return c.kind(c.scopes[at].node) == js.MethodDefinition && n != 0 && c.src(n) == "constructor"
}

// unknown notes that functions around a scope may capture anything: a text that eval runs does so.
func (c *capturer) unknown(in int) {
	for s := in; s != 0; s = c.scopes[s].parent {
		c.scopes[s].unknown = true
	}
}

// inject puts the accessor of a scope into it.
func (c *capturer) inject(i int) {
	s := &c.scopes[i]
	if len(s.captured) == 0 {
		return
	}
	var b strings.Builder
	name := fmt.Sprintf("__xs%d", s.number)
	fmt.Fprintf(&b, "const %s=(k,v,w)=>{switch(k){", name)
	for n, v := range s.captured {
		if v == "this" {
			fmt.Fprintf(&b, "case %d:return this;", n)
		} else {
			fmt.Fprintf(&b, "case %d:return w?%s=v:%s;", n, v, v)
		}
	}
	fmt.Fprintf(&b, "default:return[%q,%s]}};", strings.Join(s.captured, ","), name)
	switch {
	case s.body == 0:
		c.lost(i)
	case c.kind(s.body) == js.StatementBlock:
		c.insert(c.afterDirectives(s.body), b.String())
	case s.own: // an arrow whose body is an expression
		c.insert(c.start(s.body), "{"+b.String()+"return(")
		c.insert(c.stop(s.body), "/*@xb*/)}")
	default:
		c.insert(c.start(s.body), "{"+b.String())
		c.insert(c.stop(s.body), "}")
	}
}

// lost notes that no accessor reaches the variables of a scope.
func (c *capturer) lost(at int) {
	for i := range c.scopes {
		if slices.Contains(c.scopes[i].reads, at) {
			c.scopes[i].unknown = true
		}
	}
}

// afterDirectives returns where the statements of a block begin.
func (c *capturer) afterDirectives(block uint32) int {
	at := c.start(block) + 1
	for s := block + 1; s < c.end(block); s = c.nodes[s].Next {
		if c.kind(s) == js.Token || c.kind(s) == js.ExpressionStatement && c.kind(s+1) == js.String {
			if c.kind(s) != js.Token {
				at = c.stop(s)
			}
			continue
		}
		break
	}
	return at
}

// mark puts a comment into a function or class of the program. It says which scopes the function captures, and by which
// names it may set what a package holds.
func (c *capturer) mark(i int) {
	s := &c.scopes[i]
	k := c.kind(s.node)
	class := k == js.Class || k == js.ClassDeclaration
	if !s.own && !class || k == js.ClassStaticBlock {
		return
	}
	var list []string
	if s.unknown {
		list = append(list, "!")
	}
	slices.Sort(s.reads)
	for _, r := range s.reads {
		list = append(list, fmt.Sprint(c.scopes[r].number))
	}
	said := strings.Join(list, ",")
	if sets := within(c.sets, c.start(s.node), c.stop(s.node)); len(sets) > 0 {
		said += ";" + strings.Join(sets, ",")
	}
	text := "/*@xs" + said + "*/"
	body := c.field(s.node, js.FieldBody)
	switch {
	case body == 0:
	case k == js.ArrowFunction && c.kind(body) != js.StatementBlock && !c.makesFunctions(s.node+1, body):
		c.insertBefore(c.start(body), "/*@xe"+said+"*/")
	case k == js.ArrowFunction && c.kind(body) != js.StatementBlock: // what marks it must be the last mark in its text
		c.insertBefore(c.start(body), "{return(")
		c.insert(c.stop(body), "/*@xb*/)"+text+"}")
	default:
		c.insert(c.stop(body)-1, text)
	}
}

// makesFunctions reports whether a function or class is among nodes.
func (c *capturer) makesFunctions(i, end uint32) bool {
	for ; i < end; i++ {
		if k := c.kind(i); isFunction(k) || k == js.Class {
			return true
		}
	}
	return false
}

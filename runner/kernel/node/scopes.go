package node

import js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"

// scope is a range of the text that has its variables. That of the program is the first: its variables are global.
type scope struct {
	node     uint32
	parent   int
	function int             // the function that it belongs to: an index of transformer scopes, 0 for the program
	own      bool            // it is the scope of a function
	declared map[string]bool // name → whether it is constant
	captured []string
	number   int    // numbers those with captured variables, from 1
	reads    []int  // the scopes that a function captures
	unknown  bool   // a function captures what no accessor reaches
	body     uint32 // where the accessor goes
	this     bool   // for a function: it is an arrow, or else has its own this
}

// setting is an expression that may set what a package holds.
type setting struct {
	at   int
	name string // the first name of what it calls, or see sets.go
}

// capturer finds which variables functions capture, and what may set a package.
type capturer struct {
	*transformer
	sets   []setting
	scopes []scope
	at     map[uint32]int // node → scope
	inside []int          // node → innermost scope
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

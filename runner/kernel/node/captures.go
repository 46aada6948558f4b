package node

import (
	"fmt"
	"slices"
	"strings"

	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

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

// inject puts the accessor of a scope into it. No variable of the program has the name of one of its parameters.
func (c *capturer) inject(i int) {
	s := &c.scopes[i]
	if len(s.captured) == 0 {
		return
	}
	var b strings.Builder
	name := fmt.Sprintf("__xs%d", s.number)
	fmt.Fprintf(&b, "const %s=(__xs_k,__xs_v,__xs_w)=>{switch(__xs_k){", name)
	for n, v := range s.captured {
		if v == "this" {
			fmt.Fprintf(&b, "case %d:return this;", n)
		} else {
			fmt.Fprintf(&b, "case %d:return __xs_w?%s=__xs_v:%s;", n, v, v)
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

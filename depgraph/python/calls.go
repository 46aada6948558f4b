package python

import (
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	p "github.com/xstate-engine/xstate/depgraph/python/pytree"
)

// Calls returns the calls that the text of a block shows. code is Facts.Code: Python, without magics. imported has what
// earlier blocks imported, name → dotted name, and receives the imports of this one. Text that does not parse has no
// calls.
//
// It is a separate walk, because Analyze is on the path of each edit, and only reports need calls.
func Calls(code []byte, imported map[string]string) depgraph.Calls {
	tree, err := p.Parse(code)
	if err != nil {
		return depgraph.Calls{}
	}
	defer tree.Close()
	c := &caller{walker: newWalker(string(code), tree.Nodes), imported: imported, assigned: map[string]int{}}
	c.out.Constants = map[string]string{}
	for i := range tree.Nodes {
		c.imports(uint32(i))
	}
	c.walk(0, surroundings{})
	maps.DeleteFunc(c.out.Constants, func(name, _ string) bool { return c.assigned[name] != 1 })
	return c.out
}

// caller collects calls.
type caller struct {
	*walker
	imported map[string]string // name → dotted name
	assigned map[string]int    // name → how often
	out      depgraph.Calls
}

// surroundings are the definitions around a part of the text.
type surroundings struct {
	function, class string
	loop            depgraph.Loop
}

// imports notes the names that an import statement binds.
func (c *caller) imports(i uint32) {
	switch c.sym(i) {
	case p.ImportStatement:
		for n := c.child(i) + 1; n < c.end(i); n = c.next(n) {
			switch c.sym(n) {
			case p.DottedName:
				top, _, _ := strings.Cut(c.src(n), ".")
				c.imported[top] = top
			case p.AliasedImport:
				c.imported[c.src(c.lastChild(n))] = c.src(c.child(n))
			}
		}
	case p.ImportFromStatement:
		module := c.child(i) + 1
		if c.sym(module) != p.DottedName {
			return // a relative import: a module of the workspace
		}
		for n := c.next(module); n < c.end(i); n = c.next(n) {
			switch c.sym(n) {
			case p.DottedName:
				c.imported[c.src(n)] = c.src(module) + "." + c.src(n)
			case p.AliasedImport:
				c.imported[c.src(c.lastChild(n))] = c.src(module) + "." + c.src(c.child(n))
			}
		}
	}
}

// walk visits node i and all below it.
func (c *caller) walk(i uint32, around surroundings) {
	if !c.deeper(i) {
		return
	}
	defer func() { c.depth-- }()
	switch c.sym(i) {
	case p.FunctionDefinition, p.ClassDefinition:
		c.definition(i, around)
		return
	case p.WhileStatement:
		if around.loop = max(around.loop, depgraph.Repeated); c.endless(i) {
			around.loop = depgraph.Forever
		}
	case p.ForStatement, p.ForInClause:
		around.loop = max(around.loop, depgraph.Repeated)
	case p.ListComprehension, p.SetComprehension, p.DictionaryComprehension, p.GeneratorExpression:
		around.loop = max(around.loop, depgraph.Repeated)
	case p.Assignment:
		c.assignment(i)
	case p.Call:
		c.call(i, around)
	}
	for n := c.child(i); n < c.end(i); n = c.next(n) {
		c.walk(n, around)
	}
}

// definition visits a function or a class. A function inside of another counts as the outer one, which calls it.
func (c *caller) definition(i uint32, around surroundings) {
	name := c.src(c.find(i, c.child(i), p.Identifier))
	inner := around
	switch {
	case c.sym(i) == p.ClassDefinition:
		inner.class = name + "."
	case around.function == "":
		inner = surroundings{function: around.class + name, class: around.class}
		c.out.Functions = append(c.out.Functions,
			depgraph.Function{Name: inner.function, Line: c.line(c.nodes[i].Start)})
	}
	for n := c.child(i); n < c.end(i); n = c.next(n) {
		if c.sym(n) == p.Block {
			c.walk(n, inner)
		} else {
			c.walk(n, around) // defaults and decorators run with the definition
		}
	}
}

// endless reports whether the condition of a while statement is a constant that is true.
func (c *caller) endless(i uint32) bool {
	condition := strings.Trim(c.src(c.child(i)+1), "() \t")
	return condition == "True" || condition == "1"
}

// assignment notes names that are assigned, and those that are assigned a text.
func (c *caller) assignment(i uint32) {
	left, right := c.child(i), c.lastChild(i)
	if c.sym(left) != p.Identifier {
		return
	}
	name := c.src(left)
	if c.assigned[name]++; c.sym(right) == p.String {
		if a := c.value(right); a.Text != "" && !a.Begin {
			c.out.Constants[name] = a.Text
		}
	}
}

func (c *caller) call(i uint32, around surroundings) {
	name := c.callee(c.child(i))
	if name == "" {
		return
	}
	call := depgraph.Call{Name: name, Line: c.line(c.nodes[i].Start), In: around.function, Loop: around.loop}
	if rest, method := strings.CutPrefix(name, "self."); method {
		call.Name = around.class + rest
	}
	args := c.next(c.child(i))
	if args < c.end(i) && c.sym(args) == p.ArgumentList {
		first, mode := true, ""
		for n := c.child(args); n < c.end(args); n = c.next(n) {
			switch s := c.sym(n); {
			case s == p.KeywordArgument:
				if call.Named == nil {
					call.Named = map[string]depgraph.Argument{}
				}
				call.Named[c.src(c.child(n))] = c.value(c.lastChild(n))
			case s == p.LeftParen || s == p.RightParen || s == p.Comma || s == p.Comment:
			case first:
				call.First, first = c.value(n), false
			case mode == "" && s == p.String:
				mode = c.value(n).Text
			}
		}
		c.effect(&call, c.child(i), mode)
	}
	c.out.Calls = append(c.out.Calls, call)
}

// effect notes the effect of a call, if it is known. mode is its second argument, if that is a text.
func (c *caller) effect(call *depgraph.Call, callee uint32, mode string) {
	kind, known := effectOf(call.Name, c.written(callee), true)
	if !known {
		return
	}
	if call.Effect = kind; kind != depgraph.EffectFile {
		return
	}
	if base := c.base(callee); c.sym(base) == p.Call && strings.HasSuffix(c.src(c.child(base)), "Path") {
		if args := c.next(c.child(base)); args+2 < c.end(base) { // after the bracket
			mode = call.First.Text
			call.First = c.value(args + 2)
		}
	}
	last := call.Name[strings.LastIndexByte(call.Name, '.')+1:]
	_, call.Mode = fileAccess(last, "x")
	if last == "open" {
		if named := call.Named["mode"]; named.Text != "" {
			mode = named.Text
		}
		switch {
		case strings.ContainsAny(mode, "+"):
			call.Mode = depgraph.Updates
		case strings.ContainsAny(mode, "wax"):
			call.Mode = depgraph.Writes
		default:
			call.Mode = depgraph.Reads
		}
	}
}

// base returns what a chain of attributes begins with.
func (c *caller) base(i uint32) uint32 {
	for c.sym(i) == p.Attribute {
		i = c.child(i)
	}
	return i
}

// callee returns the dotted name of a function, with imported names in full. A call in it reads as what is called:
// xstate.tool("a")(b) is a call of xstate.tool.
func (c *caller) callee(i uint32) string {
	switch c.sym(i) {
	case p.Identifier, p.Attribute:
	default:
		return ""
	}
	written := c.written(i)
	root, rest, dotted := strings.Cut(written, ".")
	if full, known := c.imported[root]; known {
		root = full
	} else if full, known := commonAliases[root]; known && dotted {
		root = full
	}
	if !dotted {
		return root
	}
	return root + "." + rest
}

// value returns what the text shows of an argument.
func (c *caller) value(i uint32) depgraph.Argument {
	switch c.sym(i) {
	case p.Identifier:
		return depgraph.Argument{Name: c.src(i)}
	case p.Attribute:
		if isDotted(c.src(i)) {
			return depgraph.Argument{Name: c.src(i)}
		}
	case p.BinaryOperator: // a text and what is added to it
		if left := c.value(c.child(i)); left.Text != "" || left.Name != "" {
			left.Begin = true
			return left
		}
	case p.String:
		text := c.src(i)
		at := strings.IndexAny(text, "'\"")
		if at < 0 || !strings.ContainsAny(text[:at], "fF") {
			return depgraph.Argument{Text: literal(text)}
		}
		plain := strings.Trim(text[:at], "fF") + text[at:]
		begin, _, is := strings.Cut(literal(plain), "{")
		return depgraph.Argument{Text: begin, Begin: is}
	}
	return depgraph.Argument{}
}

// Recursive returns the functions that call themselves, directly or through others, by name.
func Recursive(calls []depgraph.Call) []string {
	callees := map[string][]string{}
	for _, c := range calls {
		if c.In != "" {
			callees[c.In] = append(callees[c.In], c.Name)
		}
	}
	var found []string
	for _, name := range slices.Sorted(maps.Keys(callees)) {
		seen, next := map[string]bool{}, slices.Clone(callees[name])
		for len(next) > 0 {
			at := next[0]
			if next = next[1:]; !seen[at] {
				seen[at] = true
				next = append(next, callees[at]...)
			}
		}
		if seen[name] {
			found = append(found, name)
		}
	}
	return found
}

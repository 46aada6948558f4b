package javascript

import (
	"github.com/xstate-engine/xstate/depgraph/javascript/jstree"
	"github.com/xstate-engine/xstate/patch/syntax"
)

// tree is the tree of a text of JavaScript or TypeScript.
type tree struct {
	*jstree.Tree
	code []byte
}

// parse returns the tree of a text, or nil for a text of 2 GB and more.
func parse(code []byte, l jstree.Language) *tree {
	parsed, err := jstree.Parse(code, l)
	if err != nil {
		return nil
	}
	return &tree{parsed, code}
}

// children returns the children of a node.
func (t *tree) children(i uint32) []uint32 {
	var out []uint32
	for c := i + 1; c < t.Nodes[i].Next; c = t.Nodes[c].Next {
		out = append(out, c)
	}
	return out
}

// field returns the child of a node in a field; ok is false if there is none.
func (t *tree) field(i uint32, f jstree.Field) (child uint32, ok bool) {
	for c := i + 1; c < t.Nodes[i].Next; c = t.Nodes[c].Next {
		if t.Nodes[c].Field == f {
			return c, true
		}
	}
	return 0, false
}

func (t *tree) text(i uint32) string { return string(t.code[t.Nodes[i].Start:t.Nodes[i].End]) }

// statements returns the statements of a text of JavaScript or TypeScript.
func statements(code []byte, l jstree.Language) (list []syntax.Statement, broken bool) {
	t := parse(code, l)
	if t == nil {
		return []syntax.Statement{{End: len(code), Broken: true}}, true
	}
	defer t.Close()
	overload := ""
	for _, c := range t.children(0) {
		n := &t.Nodes[c]
		if n.Kind == jstree.HashBangLine || n.Start == n.End {
			continue
		}
		s := syntax.Statement{Start: int(n.Start), End: int(n.End), Broken: n.Broken() || n.Kind == jstree.Error ||
			n.Kind == jstree.Token, Defines: t.defines(c)}
		if last := len(list) - 1; overload != "" && overload == s.Defines {
			list[last].End, list[last].Broken = s.End, list[last].Broken || s.Broken
		} else {
			list = append(list, s)
		}
		overload = t.overloads(c)
	}
	return list, t.Broken != nil
}

// defines returns the name of the function, class or type that a statement defines, or "". A constant whose value is a
// function or a class is one.
func (t *tree) defines(i uint32) string {
	n := &t.Nodes[i]
	switch n.Kind {
	case jstree.FunctionDeclaration, jstree.GeneratorFunctionDeclaration, jstree.ClassDeclaration,
		jstree.AbstractClassDeclaration, jstree.FunctionSignature, jstree.InterfaceDeclaration,
		jstree.TypeAliasDeclaration, jstree.EnumDeclaration, jstree.Module, jstree.InternalModule:
		if name, ok := t.field(i, jstree.FieldName); ok {
			return t.text(name)
		}
	case jstree.ExportStatement, jstree.AmbientDeclaration, jstree.ExpressionStatement:
		for _, c := range t.children(i) {
			if k := t.Nodes[c].Kind; k == jstree.InternalModule || n.Kind != jstree.ExpressionStatement {
				if name := t.defines(c); name != "" {
					return name
				}
			}
		}
	case jstree.LexicalDeclaration, jstree.VariableDeclaration:
		return t.definedConstant(i)
	}
	return ""
}

// definedConstant returns the name of a declaration that declares one function or class.
func (t *tree) definedConstant(i uint32) string {
	found := ""
	for _, c := range t.children(i) {
		if t.Nodes[c].Kind != jstree.VariableDeclarator {
			continue
		}
		name, named := t.field(c, jstree.FieldName)
		if found != "" || !named || t.Nodes[name].Kind != jstree.Identifier || !t.isFunction(c) {
			return ""
		}
		found = t.text(name)
	}
	return found
}

// isFunction reports whether the value of a declarator is a function or a class.
func (t *tree) isFunction(declarator uint32) bool {
	value, ok := t.field(declarator, jstree.FieldValue)
	if !ok {
		return false
	}
	switch t.Nodes[value].Kind {
	case jstree.ArrowFunction, jstree.FunctionExpression, jstree.GeneratorFunction, jstree.Class:
		return true
	}
	return false
}

// overloads returns the name of the function whose signature a statement is, or "". Its definition follows.
func (t *tree) overloads(i uint32) string {
	if t.Nodes[i].Kind == jstree.FunctionSignature {
		return t.defines(i)
	}
	if t.Nodes[i].Kind != jstree.ExportStatement {
		return ""
	}
	for _, c := range t.children(i) {
		if name := t.overloads(c); name != "" {
			return name
		}
	}
	return ""
}

// IsModule reports whether the top level of a text of JavaScript imports or exports.
func IsModule(code []byte) bool {
	t := parse(code, jstree.JavaScript)
	if t == nil {
		return false
	}
	defer t.Close()
	for _, c := range t.children(0) {
		if k := t.Nodes[c].Kind; k == jstree.ImportStatement || k == jstree.ExportStatement {
			return true
		}
	}
	return false
}

// quoted reports whether an offset of a text is inside of a string or a template.
func quoted(code []byte, at int, l jstree.Language) bool {
	t := parse(code, l)
	if t == nil {
		return false
	}
	defer t.Close()
	for _, n := range t.Nodes {
		if (n.Kind == jstree.TemplateString || n.Kind == jstree.String) && int(n.Start) < at && at < int(n.End) {
			return true
		}
	}
	return false
}

package syntax

import "github.com/xstate-engine/xstate/depgraph/javascript/jstree"

// scriptTree is the tree of a text of JavaScript or TypeScript.
type scriptTree struct {
	*jstree.Tree
	code []byte
}

// parseScript returns the tree of a text, or nil for a text of 2 GB and more.
func parseScript(code []byte, l jstree.Language) *scriptTree {
	tree, err := jstree.Parse(code, l)
	if err != nil {
		return nil
	}
	return &scriptTree{tree, code}
}

// children returns the children of a node.
func (t *scriptTree) children(i uint32) []uint32 {
	var out []uint32
	for c := i + 1; c < t.Nodes[i].Next; c = t.Nodes[c].Next {
		out = append(out, c)
	}
	return out
}

// field returns the child of a node in a field; ok is false if there is none.
func (t *scriptTree) field(i uint32, f jstree.Field) (child uint32, ok bool) {
	for c := i + 1; c < t.Nodes[i].Next; c = t.Nodes[c].Next {
		if t.Nodes[c].Field == f {
			return c, true
		}
	}
	return 0, false
}

func (t *scriptTree) text(i uint32) string { return string(t.code[t.Nodes[i].Start:t.Nodes[i].End]) }

// scriptStmts returns the statements of a text of JavaScript or TypeScript.
func scriptStmts(code []byte, l jstree.Language) (list []Statement, broken bool) {
	t := parseScript(code, l)
	if t == nil {
		return []Statement{{End: len(code), Broken: true}}, true
	}
	defer t.Close()
	overload := ""
	for _, c := range t.children(0) {
		n := &t.Nodes[c]
		if n.Kind == jstree.HashBangLine || n.Start == n.End {
			continue
		}
		s := Statement{Start: int(n.Start), End: int(n.End), Broken: n.Broken() || n.Kind == jstree.Error ||
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
func (t *scriptTree) defines(i uint32) string {
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
func (t *scriptTree) definedConstant(i uint32) string {
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
func (t *scriptTree) isFunction(declarator uint32) bool {
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
func (t *scriptTree) overloads(i uint32) string {
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
	t := parseScript(code, jstree.JavaScript)
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

// quotedInScript reports whether an offset of a text is inside of a string or a template.
func quotedInScript(code []byte, at int, l jstree.Language) bool {
	t := parseScript(code, l)
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

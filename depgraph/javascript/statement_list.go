package javascript

import (
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

// Statement is one statement at the top level of a text, or a range of it that does not parse.
type Statement struct {
	Start, End    int      // byte range in the text
	Line, EndLine int      // from 1
	Name          string   // the one function or class that it defines, also as const f = () => 1; else ""
	Defines       []string // names that it declares at top level, sorted
	Broken        bool
}

// Statements returns the statements of a text in order, without comments. It reads texts that do not parse as well:
// then broken is true.
func Statements(source []byte, dialect depgraph.Dialect) (list []Statement, broken bool) {
	if err := checkText(source); err != nil {
		return []Statement{{End: len(source), Line: 1, EndLine: 1, Broken: true}}, true
	}
	tree, err := parseMended(source, dialect)
	if err != nil {
		return []Statement{{End: len(source), Line: 1, EndLine: 1, Broken: true}}, true
	}
	defer tree.Close()
	w := newWalker(string(source), tree.Nodes)
	w.strict, w.typed = true, dialect == TypeScript || dialect == TSX
	for c := uint32(1); c < w.end(0); c = w.next(c) {
		n := &w.nodes[c]
		if k := n.Kind; k == js.HashBangLine || k == js.EmptyStatement || n.Start == n.End ||
			k == js.Token && w.src(c) == ";" {
			continue
		}
		s := Statement{Start: int(n.Start), End: int(n.End), Line: w.line(n.Start), EndLine: w.line(n.End - 1)}
		s.Broken = n.Broken() || n.Kind == js.Error || w.kind(0) == js.Error
		s.Name = w.definedName(w.declaredBy(c))
		w.declareStatement(c)
		w.declareVars(c, w.end(c))
		for _, sym := range w.syms {
			s.Defines = append(s.Defines, w.texts[sym.name])
		}
		slices.Sort(s.Defines)
		w.forget()
		list = append(list, s)
	}
	return list, tree.Broken != nil
}

// forget removes all names, before the next statement is looked at alone.
func (w *walker) forget() {
	for _, s := range w.syms {
		w.tree[s.name] = noIndex
	}
	w.syms = w.syms[:0]
}

// definedName returns the name of the function or class that a statement defines, or "".
func (w *walker) definedName(i uint32) string {
	name := uint32(0)
	switch k := w.kind(i); k {
	case js.LexicalDeclaration, js.VariableDeclaration:
		d := w.find(i, js.VariableDeclarator)
		if d == 0 || w.has(i, ",") {
			return ""
		}
		value := w.field(d, js.FieldValue)
		if value == 0 || w.kind(d+1) != js.Identifier || !isFunction(w.kind(value)) && w.kind(value) != js.Class {
			return ""
		}
		name = d + 1
	case js.ClassDeclaration, js.AbstractClassDeclaration, js.FunctionDeclaration, js.GeneratorFunctionDeclaration,
		js.Class, js.FunctionExpression, js.GeneratorFunction, js.InterfaceDeclaration, js.TypeAliasDeclaration,
		js.EnumDeclaration, js.FunctionSignature:
		name = w.field(i, js.FieldName)
	}
	if name == 0 {
		return ""
	}
	return w.src(name)
}

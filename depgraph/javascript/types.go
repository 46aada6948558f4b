package javascript

import js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"

// isType reports whether a node of a kind is a type, or leaves nothing when types are erased, in any position.
func isType(k js.Kind) bool {
	switch k {
	case js.TypeAnnotation, js.TypeArguments, js.TypeParameters, js.TypePredicateAnnotation, js.AssertsAnnotation,
		js.ImplementsClause, js.InterfaceDeclaration,
		js.TypeAliasDeclaration, js.AmbientDeclaration, js.FunctionSignature, js.MethodSignature,
		js.AbstractMethodSignature, js.IndexSignature, js.OmittingTypeAnnotation, js.AddingTypeAnnotation,
		js.OptingTypeAnnotation:
		return true
	}
	return false
}

// typeOperand reports whether child c of node i is a type by its position, and not a token.
func (w *walker) typeOperand(i, c uint32) bool {
	switch k := w.kind(c); k {
	case js.AccessibilityModifier, js.OverrideModifier: // before a parameter it makes a field
		return w.kind(i) != js.RequiredParameter && w.kind(i) != js.OptionalParameter
	}
	switch w.kind(i) {
	case js.AsExpression, js.SatisfiesExpression:
		return c != i+1
	case js.ImportSpecifier, js.ExportSpecifier:
		return w.typeSpecifier(i)
	case js.RequiredParameter, js.OptionalParameter:
		return w.kind(c) == js.This
	}
	return false
}

// typeSpecifier reports whether a name in an import or export list is a type.
func (w *walker) typeSpecifier(i uint32) bool {
	return w.kind(i+1) == js.Token && (w.src(i+1) == "type" || w.src(i+1) == "typeof")
}

// typeWord reports whether a token is part of a type.
func (w *walker) typeWord(i, c uint32, text string) bool {
	switch w.kind(i) {
	case js.AsExpression, js.SatisfiesExpression, js.NonNullExpression, js.TypeAssertion:
		return true
	case js.ImportSpecifier, js.ExportSpecifier:
		return w.typeSpecifier(i)
	case js.OptionalParameter:
		return text == "?"
	case js.PublicFieldDefinition:
		return text == "?" || text == "!" || text == "readonly" || text == "declare" || text == "abstract"
	case js.MethodDefinition:
		return text == "?"
	case js.VariableDeclarator:
		return text == "!"
	case js.AbstractClassDeclaration:
		return text == "abstract"
	}
	return false
}

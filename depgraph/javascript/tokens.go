package javascript

import (
	"strings"

	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

// Tokens are what remains of a text without layout, comments and types. A NUL follows each token and each marker. The
// parser has decided where statements end, so a marker says that, whether a semicolon or a line end does:
//
//	\x01  end of a statement or a member of a class
//
// A template and an element of JSX are one token as written, because their layout is data. Commas and parentheses stay,
// although some of them are redundant: to drop the wrong pair would be worse than to run a block again.
const endStatement = "\x01\x00"

// tokens returns the tokens of a range of statements.
func (w *walker) tokens(s span) string {
	var out []byte
	for i := s.first; i <= s.last; i++ {
		out = w.appendTokens(out, w.statements[i].tree)
	}
	return string(out)
}

// appendTokens appends the tokens of node i.
func (w *walker) appendTokens(out []byte, i uint32) []byte {
	k := w.kind(i)
	if w.typed && (isType(k) || w.isTypeOnly(i)) {
		return out
	}
	if i+1 == w.end(i) || k == js.TemplateString || isElement(k) {
		if k == js.EmptyStatement {
			return append(out, endStatement...)
		}
		if n := &w.nodes[i]; n.Start == n.End {
			return out
		}
		out = append(out, w.src(i)...)
		out = append(out, 0)
		if isMember(k) {
			out = append(out, endStatement...)
		}
		return out
	}
	for c := i + 1; c < w.end(i); c = w.next(c) {
		if w.dropsToken(i, c) {
			continue
		}
		out = w.appendTokens(out, c)
	}
	if isStatement(k) || isMember(k) {
		out = append(out, endStatement...)
	}
	return out
}

// dropsToken reports whether child c of node i says nothing beyond what markers say, or is part of a type.
func (w *walker) dropsToken(i, c uint32) bool {
	if w.kind(c) != js.Token {
		return w.typed && w.typeOperand(i, c)
	}
	text := w.src(c)
	if text == ";" || strings.TrimSpace(text) == "" { // a mended line end
		return isStatement(w.kind(i)) || w.kind(i) == js.ClassBody
	}
	return w.typed && w.typeWord(i, c, text)
}

func isElement(k js.Kind) bool { return k == js.JSXElement || k == js.JSXSelfClosingElement }

// isStatement reports whether a node of a kind is a statement or the like.
func isStatement(k js.Kind) bool {
	switch k {
	case js.ExpressionStatement, js.VariableDeclaration, js.LexicalDeclaration, js.FunctionDeclaration,
		js.GeneratorFunctionDeclaration, js.ClassDeclaration, js.AbstractClassDeclaration, js.StatementBlock,
		js.IfStatement, js.ForStatement, js.ForInStatement, js.WhileStatement, js.DoStatement, js.SwitchStatement,
		js.TryStatement, js.LabeledStatement, js.WithStatement, js.ReturnStatement, js.ThrowStatement,
		js.BreakStatement, js.ContinueStatement, js.ImportStatement, js.ExportStatement, js.EnumDeclaration, js.Module,
		js.InternalModule, js.ImportAlias, js.EmptyStatement, js.DebuggerStatement:
		return true
	}
	return false
}

// isMember reports whether a node of a kind is a member of a class.
func isMember(k js.Kind) bool {
	switch k {
	case js.FieldDefinition, js.PublicFieldDefinition, js.MethodDefinition, js.ClassStaticBlock:
		return true
	}
	return false
}

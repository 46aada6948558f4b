package python

import (
	"bytes"
	"context"
	"strings"

	sitter "github.com/smacker/go-tree-sitter"
	"github.com/smacker/go-tree-sitter/python"
	"github.com/xstate-engine/xstate/patch/syntax"
)

// statements returns the statements of a Python text.
func statements(code []byte) (list []syntax.Statement, broken bool) {
	if stallsParser(code) {
		return []syntax.Statement{{End: len(code), Broken: true}}, true
	}
	tree, cursor := parse(code)
	defer tree.Close()
	defer cursor.Close()
	for ok := cursor.GoToFirstChild(); ok; ok = cursor.GoToNextSibling() {
		n := cursor.CurrentNode()
		if t := n.Type(); t != "comment" && t != ";" && n.EndByte() > n.StartByte() {
			list = append(list, newStmt(n, code))
		}
	}
	root := tree.RootNode()
	return list, root.HasError() || root.IsError()
}

// parse returns the tree of a text, and a cursor at its root. The caller closes both.
func parse(code []byte) (*sitter.Tree, *sitter.TreeCursor) {
	parser := sitter.NewParser()
	defer parser.Close()
	parser.SetLanguage(python.GetLanguage())
	tree, err := parser.ParseCtx(context.Background(), nil, code)
	if err != nil { // the parser fails only on a time-out or a limit, and none is set
		panic("python: internal error: " + err.Error())
	}
	return tree, sitter.NewTreeCursor(tree.RootNode())
}

// stallsParser reports whether a text has 1,000 consecutive lines with only a backslash. The parser's time is quadratic
// in their number: 300 kB of them take 200 s.
func stallsParser(code []byte) bool {
	run := 0
	for line := range bytes.Lines(code) {
		if run++; string(bytes.TrimSpace(line)) != `\` {
			run = 0
		}
		if run == 1000 {
			return true
		}
	}
	return false
}

func newStmt(n *sitter.Node, code []byte) syntax.Statement {
	s := syntax.Statement{Start: int(n.StartByte()), End: int(n.EndByte())}
	s.Broken = n.HasError() || !isStatement(n.Type()) // a root that is itself an error has bare tokens as children
	s.Compound = compound[n.Type()]
	if d := definition(n); d != nil {
		if name := d.ChildByFieldName("name"); name != nil {
			s.Defines = name.Content(code)
		}
	}
	return s
}

var compound = map[string]bool{
	"if_statement": true, "for_statement": true, "while_statement": true, "with_statement": true, "try_statement": true,
	"match_statement": true, "function_definition": true, "class_definition": true, "decorated_definition": true,
}

func isStatement(kind string) bool {
	return strings.HasSuffix(kind, "_statement") || strings.HasSuffix(kind, "_definition")
}

// definition returns the function or class that a statement defines, or nil.
func definition(n *sitter.Node) *sitter.Node {
	switch n.Type() {
	case "function_definition", "class_definition":
		return n
	case "decorated_definition":
		return n.ChildByFieldName("definition")
	}
	return nil
}

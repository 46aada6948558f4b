package bash

import (
	"bytes"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// ordered puts marks between the commands of lists in which one writes to the standard error by its redirection. At a
// mark the shell waits until the driver has read what was printed. So the texts of both streams come in the order in
// which they were printed. The streams are two files, which record no order.
//
// Lines stay. A list is left as it is where one of its commands asks for the exit code of the one before it, and in
// functions: a program can see their text.
func ordered(text string) string {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(bytes.NewReader([]byte(text)), "")
	if err != nil || strings.Contains(text, "$?") || strings.Contains(text, "PIPESTATUS") ||
		strings.Contains(text, "$_") {
		return text
	}
	at := map[int]bool{}
	syntax.Walk(file, func(n syntax.Node) bool {
		var list []*syntax.Stmt
		switch n := n.(type) {
		case *syntax.FuncDecl:
			return false
		case *syntax.Block:
			list = n.Stmts
		case *syntax.ForClause:
			list = n.Do
		case *syntax.WhileClause:
			list = n.Do
		case *syntax.IfClause:
			list = n.Then
		}
		if !writesErrors(list) {
			return true
		}
		for _, s := range list {
			at[int(s.Pos().Offset())] = true
		}
		return true
	})
	if len(at) == 0 {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		if at[i] {
			b.WriteString("__xs_m; ")
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// writesErrors reports whether a command of a list writes to the standard error.
func writesErrors(list []*syntax.Stmt) bool {
	for _, s := range list {
		for _, r := range s.Redirs {
			if (r.Op == syntax.DplOut || r.Op == syntax.DplIn) && r.Word.Lit() == "2" {
				return true
			}
		}
	}
	return false
}

package bash

import (
	"bytes"
	"strings"

	shell "mvdan.cc/sh/v3/syntax"

	"github.com/xstate-engine/xstate/depgraph/bash/nesting"
	"github.com/xstate-engine/xstate/patch/syntax"
)

// parse returns the statements of a text of Bash up to the first one that does not parse.
func parse(code []byte) (list []*shell.Stmt, broken bool) {
	if at, _ := nesting.TooDeep(code); at >= 0 {
		return nil, true
	}
	for s, err := range shell.NewParser(shell.Variant(shell.LangBash)).StmtsSeq(bytes.NewReader(code)) {
		if err != nil {
			return list, true
		}
		list = append(list, s)
	}
	return list, false
}

// statements returns the statements of a text of Bash. The rest from the first error on is one broken statement.
func statements(code []byte) (list []syntax.Statement, broken bool) {
	parsed, broken := parse(code)
	at := 0
	for _, p := range parsed {
		s := syntax.Statement{Start: int(p.Pos().Offset()), End: endOf(p, code)}
		if f, ok := p.Cmd.(*shell.FuncDecl); ok {
			s.Defines = f.Name.Value
		}
		list = append(list, s)
		at = s.End
	}
	if rest := bytes.TrimLeft(code[min(at, len(code)):], " \t\r\n;"); broken && len(rest) > 0 {
		list = append(list, syntax.Statement{Start: len(code) - len(rest), End: len(code), Broken: true})
	}
	return list, broken
}

// endOf returns where a statement ends, with the here-documents that follow it.
func endOf(s *shell.Stmt, code []byte) int {
	end := min(int(s.End().Offset()), len(code))
	shell.Walk(s, func(n shell.Node) bool {
		if r, ok := n.(*shell.Redirect); ok && (r.Op == shell.Hdoc || r.Op == shell.DashHdoc) {
			end = max(end, endOfHereDocument(r, code, end))
		}
		return true
	})
	return end
}

// endOfHereDocument returns where the line ends that closes a here-document. Of several on one line, each begins where
// the one before it ends.
func endOfHereDocument(r *shell.Redirect, code []byte, before int) int {
	from := int(r.End().Offset())
	if r.Hdoc != nil {
		from = int(r.Hdoc.End().Offset())
	} else if bytes.IndexByte(code[from:max(from, before)], '\n') >= 0 {
		from = before
	}
	word := unquoted(r.Word)
	for at := from; at < len(code); {
		if at > 0 && code[at-1] == '\n' {
			line, _, _ := strings.Cut(string(code[at:]), "\n")
			bare := strings.TrimRight(line, "\r")
			if r.Op == shell.DashHdoc {
				bare = strings.TrimLeft(bare, "\t")
			}
			if bare == word {
				return at + len(strings.TrimRight(line, "\r"))
			}
		}
		next := bytes.IndexByte(code[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	return min(from, len(code))
}

// unquoted returns the text of the word that ends a here-document.
func unquoted(w *shell.Word) string {
	var out strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *shell.Lit:
			out.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
		case *shell.SglQuoted:
			out.WriteString(p.Value)
		case *shell.DblQuoted:
			for _, q := range p.Parts {
				if l, ok := q.(*shell.Lit); ok {
					out.WriteString(l.Value)
				}
			}
		}
	}
	return out.String()
}

// quoted reports whether an offset of a text is inside of quotation marks or a here-document.
func quoted(code []byte, at int) bool {
	parsed, _ := parse(code)
	found := false
	for _, s := range parsed {
		shell.Walk(s, func(n shell.Node) bool {
			switch n := n.(type) {
			case *shell.SglQuoted, *shell.DblQuoted:
				found = found || int(n.Pos().Offset()) < at && at < int(n.End().Offset())
			case *shell.Redirect:
				found = found || n.Hdoc != nil && int(n.Hdoc.Pos().Offset()) <= at && at < int(n.Hdoc.End().Offset())
			}
			return !found
		})
	}
	return found
}

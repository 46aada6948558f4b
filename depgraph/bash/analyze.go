package bash

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/bash/nesting"
)

// Analyze returns the facts of a block. Facts.Code is the source itself. The error is a *depgraph.SyntaxError if the
// text does not parse.
func Analyze(source []byte, _ depgraph.Dialect) (*depgraph.Facts, error) {
	f := &depgraph.Facts{Code: source}
	err := eachNode(source, func(list []*syntax.Stmt, end int) {
		f.Nodes = append(f.Nodes, newNode(source, list, end))
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Needs is what a kernel needs to know about a node, besides its facts, to name what the node depends on.
type Needs struct {
	// Kinds are names of Node.Uses that the node assigns before it reads them. Their values do not count, but whether
	// they are arrays, and their attributes: an assignment to an array changes one element.
	Kinds []string
	// Numbers are variables whose values are arithmetic expressions for the node, or for the functions it defines.
	// Where the value is more than a number, it may read and assign other variables.
	Numbers []string
	// Parameters are the special parameters that the node reads: "?", "@", "1", "!".
	Parameters []string
}

// Needed returns the needs of each node of facts that Analyze returned.
func Needed(f *depgraph.Facts) (list []Needs) {
	_ = eachNode(f.Code, func(stmts []*syntax.Stmt, _ int) { // Analyze has parsed it
		w := newWalker(f.Code)
		w.stmts(stmts)
		n := Needs{Numbers: w.numbers.sorted(), Parameters: w.special.sorted()}
		for _, name := range w.kinds.sorted() {
			if !w.uses[name] {
				n.Kinds = append(n.Kinds, name)
			}
		}
		list = append(list, n)
	})
	return list
}

// eachNode calls visit with the statements of each node of a text, and their end.
func eachNode(source []byte, visit func(list []*syntax.Stmt, end int)) error {
	file, err := parse(source, false)
	if err != nil {
		return err
	}
	for i := 0; i < len(file.Stmts); {
		end, n := 0, 1
		for k := 0; k < n; k++ {
			end = max(end, extent(source, file.Stmts[i+k]))
			for i+n < len(file.Stmts) && int(file.Stmts[i+n].Pos().Offset()) < end {
				n++
			}
			n = max(n, k+1+untilWait(file.Stmts[i+k:]))
		}
		visit(file.Stmts[i:i+n], end)
		i += n
	}
	return nil
}

// untilWait returns how many of the statements after the first one belong to its node: where that leaves jobs in the
// background, all up to the first command that waits. A store cannot hold a job, so a node that leaves one would run
// again whenever a node after it does.
func untilWait(list []*syntax.Stmt) int {
	if starts, waits := jobs(list[0]); !starts || waits {
		return 0
	}
	for i, s := range list[1:] {
		if _, waits := jobs(s); waits {
			return i + 1
		}
	}
	return 0
}

// jobs reports whether a statement starts a job in the background, and whether it waits for jobs. To wait for the next
// one is not enough.
func jobs(s *syntax.Stmt) (starts, waits bool) {
	syntax.Walk(s, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			return false
		case *syntax.Stmt:
			starts = starts || n.Background
		case *syntax.CallExpr:
			waits = waits || len(n.Args) > 0 && n.Args[0].Lit() == "wait" &&
				!slices.ContainsFunc(n.Args, func(w *syntax.Word) bool { return w.Lit() == "-n" })
		}
		return true
	})
	return starts, waits
}

// parse reads a text. A panic of the parser would end the session, so it is an error.
func parse(source []byte, comments bool) (file *syntax.File, err error) {
	if at := bytes.IndexByte(source, 0); at >= 0 {
		return nil, syntaxError(source, at, "a null byte")
	}
	if at, why := nesting.TooDeep(source); at >= 0 {
		return nil, syntaxError(source, at, why)
	}
	defer func() {
		if bad := recover(); bad != nil {
			file, err = nil, &depgraph.SyntaxError{Line: 1, Column: 1, Msg: "the text cannot be read"}
		}
	}()
	p := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(comments))
	file, err = p.Parse(bytes.NewReader(source), "")
	var bad syntax.ParseError
	var other syntax.LangError
	switch {
	case errors.As(err, &bad):
		return nil, syntaxError(source, int(bad.Pos.Offset()), bad.Text)
	case errors.As(err, &other):
		return nil, syntaxError(source, int(other.Pos.Offset()), other.Feature+" is no feature of Bash")
	case err != nil:
		return nil, &depgraph.SyntaxError{Line: 1, Column: 1, Msg: err.Error()}
	}
	return file, nil
}

// syntaxError makes the error of an offset. Positions of the parser overflow in long lines, offsets do not.
func syntaxError(source []byte, at int, text string) *depgraph.SyntaxError {
	before := source[:min(at, len(source))]
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	return &depgraph.SyntaxError{
		Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(line) + 1, Msg: text,
	}
}

// extent returns the end of a statement, with its here-documents and the lines that end them.
func extent(source []byte, s *syntax.Stmt) int {
	end, bodies := int(s.End().Offset()), 0
	lineEnd := func(from int) int {
		if at := bytes.IndexByte(source[min(from, len(source)):], '\n'); at >= 0 {
			return from + at + 1
		}
		return len(source)
	}
	syntax.Walk(s, func(n syntax.Node) bool {
		inner, ok := n.(*syntax.Stmt)
		if !ok {
			return true
		}
		for _, r := range inner.Redirs {
			switch {
			case r.Op != syntax.Hdoc && r.Op != syntax.DashHdoc:
				continue
			case r.Hdoc != nil:
				bodies = lineEnd(int(r.Hdoc.End().Offset()))
			default: // it is empty
				bodies = lineEnd(max(bodies, lineEnd(int(inner.End().Offset()))))
			}
			end = max(end, bodies)
		}
		return true
	})
	return min(end, len(source))
}

func newNode(source []byte, list []*syntax.Stmt, end int) depgraph.Node {
	start := int(list[0].Pos().Offset())
	n := depgraph.Node{
		Start: start, End: end, Line: bytes.Count(source[:start], []byte("\n")) + 1,
		EndLine: bytes.Count(bytes.TrimRight(source[:end], "\n"), []byte("\n")) + 1,
		Tokens:  tokens(list),
	}
	if _, is := list[0].Cmd.(*syntax.FuncDecl); is && len(list) == 1 && plain(list[0]) {
		n.Kind = depgraph.KindDef
	}
	w := newWalker(source)
	w.stmts(list)
	w.fill(&n)
	return n
}

// plain reports whether nothing is around the command of a statement.
func plain(s *syntax.Stmt) bool { return !s.Negated && !s.Background && len(s.Redirs) == 0 }

// Comments returns the comments of a block in order, as they are written.
func Comments(f *depgraph.Facts) (found []string) {
	file, err := parse(f.Code, true)
	if err != nil {
		return nil
	}
	at := map[uint]string{}
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Comment); ok {
			at[c.Hash.Offset()] = "#" + strings.TrimRight(c.Text, " \t\r")
		}
		return true
	})
	for _, offset := range slices.Sorted(maps.Keys(at)) {
		found = append(found, at[offset])
	}
	return found
}

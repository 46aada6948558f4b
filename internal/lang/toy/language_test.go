package toy

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/patch/syntax"
	"github.com/xstate-engine/xstate/runner/kernel"
)

const sums = "sums"

func init() {
	lang.Register(&lang.Language{Name: sums, Space: sums, Comment: ";", Widest: sums, Variants: []lang.Variant{{
		Dialect: sums, Title: "Sums", Names: []string{sums, "sum"}, Extensions: []string{".sums"},
		Programs: []string{sums}, Kernel: lang.Kernel{Title: "Sums", Language: sums, Name: sums},
	}}})
	syntax.Register(sums, &syntax.Syntax{
		Statements: statements, Bindings: bindings, Quoted: func([]byte, int) bool { return false },
		Head: regexp.MustCompile(`^(\w+) =`), Follows: regexp.MustCompile(`^\+`),
		Imports: regexp.MustCompile(`^import `),
	})
	depgraph.Register(sums, depgraph.Analyser{Analyze: analyze, Outline: outline, Comments: comments})
	kernel.Register(kernel.Entry{Name: sums, Locate: locate, Identify: identify})
}

// line is a line of a program that is neither blank nor a comment.
type line struct {
	number     int // from 1
	start, end int
	target     string // "": the line prints
	terms      []string
	broken     bool
}

var (
	lineForm = regexp.MustCompile(`^(?:(\pL+)[ \t]*=|print\b)[ \t]*(\w+(?:[ \t]*\+[ \t]*\w+)*)[ \t]*$`)
	plus     = regexp.MustCompile(`[ \t]*\+[ \t]*`)
)

func parse(code []byte) (list []line) {
	at, number := 0, 0
	for text := range bytes.Lines(code) {
		number++
		bare := bytes.TrimRight(text, "\r\n")
		if len(bytes.TrimSpace(bare)) > 0 && bare[0] != ';' {
			l := line{number: number, start: at, end: at + len(bare)}
			if m := lineForm.FindSubmatch(bare); m != nil {
				l.target, l.terms = string(m[1]), plus.Split(string(m[2]), -1)
			} else {
				l.broken = true
			}
			list = append(list, l)
		}
		at += len(text)
	}
	return list
}

// names are the terms that are not numbers.
func (l line) names() (found []string) {
	for _, t := range l.terms {
		if t[0] < '0' || t[0] > '9' {
			found = append(found, t)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func statements(code []byte) (list []syntax.Statement, broken bool) {
	for _, l := range parse(code) {
		list = append(list, syntax.Statement{Start: l.start, End: l.end, Broken: l.broken})
		broken = broken || l.broken
	}
	return list, broken
}

func bindings(code string) *syntax.Bindings {
	b := syntax.NewBindings()
	for _, l := range parse([]byte(code)) {
		for _, name := range l.names() {
			if !b.Assigns[name] {
				b.Free[name], b.Reads[name] = true, true
			}
		}
		if l.target != "" {
			b.Assigns[l.target] = true
		}
	}
	return b
}

func analyze(code []byte, _ depgraph.Dialect) (*depgraph.Facts, error) {
	f := &depgraph.Facts{Code: code}
	for _, l := range parse(code) {
		if l.broken {
			return nil, &depgraph.SyntaxError{Line: l.number, Column: 1, Msg: "this is not a sum"}
		}
		n := depgraph.Node{Start: l.start, End: l.end, Line: l.number, EndLine: l.number, Uses: l.names(),
			Tokens: fmt.Sprintf("%q %q\n", l.target, l.terms)}
		if l.target != "" {
			n.Defines, n.Certain = []string{l.target}, []string{l.target}
		}
		f.Nodes = append(f.Nodes, n)
	}
	return f, nil
}

func outline(code []byte, dialect depgraph.Dialect) (*depgraph.Outline, error) {
	f, err := analyze(code, dialect)
	if err != nil {
		return nil, err
	}
	o := &depgraph.Outline{}
	for _, n := range f.Nodes {
		for _, name := range n.Defines {
			o.Definitions = append(o.Definitions, depgraph.Definition{Name: name, Signature: name})
		}
	}
	return o, nil
}

func comments(f *depgraph.Facts) (found []string) {
	for l := range strings.Lines(string(f.Code)) {
		if strings.HasPrefix(l, ";") {
			found = append(found, strings.TrimRight(l, "\r\n"))
		}
	}
	return found
}

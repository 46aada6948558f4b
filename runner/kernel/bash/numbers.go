package bash

import (
	"regexp"
	"strconv"

	"mvdan.cc/sh/v3/syntax"
)

// The value of a variable that is read as a number is an expression: after b=a, $((b)) reads a, and then what a names.
// So the names in the value before the node count as read, and those in what the node itself may assign before it
// computes: the words of its text, the values of variables that it copies, and the value after it. The output of a
// program that is in such a variable only until the end of the node is not seen.

// flows are what a text may assign to variables: by name, the names of others, and of words that are none.
type flows map[string]map[string]bool

var nameInText = regexp.MustCompile(`[A-Za-z_]\w*`)

// arguments represents the arguments of functions and of the program.
const arguments = "@"

// flowName returns the name under which the flows of a parameter are kept.
func flowName(parameter string) string {
	if parameter == "*" || parameter != "" && parameter[0] <= '9' {
		return arguments
	}
	return parameter
}

// flowsOf collects what a text assigns.
func flowsOf(file *syntax.File) flows {
	f := flows{}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil && n.Value != nil {
				f.add(n.Name.Value, n.Value)
			}
			if n.Name != nil && n.Array != nil {
				f.add(n.Name.Value, n.Array)
			}
		case *syntax.WordIter:
			for _, item := range n.Items {
				f.add(n.Name.Value, item)
			}
		case *syntax.ParamExp:
			if n.Param != nil && n.Exp != nil && n.Exp.Word != nil {
				f.add(flowName(n.Param.Value), n.Exp.Word)
			}
		case *syntax.CallExpr:
			for i, arg := range n.Args {
				if f.add(arguments, arg); i > 0 && n.Args[i-1].Lit() == "-v" { // printf -v name
					f.take(arg.Lit(), arguments)
				}
			}
		}
		return true
	})
	return f
}

// add notes that a value is made of what a part of a text has. That of an expression is a number, and what commands put
// out is not known.
func (f flows) add(name string, part syntax.Node) {
	syntax.Walk(part, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ArithmExp, *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.Lit:
			f.take(name, nameInText.FindAllString(n.Value, -1)...)
		case *syntax.SglQuoted:
			f.take(name, nameInText.FindAllString(n.Value, -1)...)
		case *syntax.ParamExp:
			if n.Param != nil && !n.Length {
				f.take(name, flowName(n.Param.Value))
			}
		}
		return true
	})
}

func (f flows) take(name string, words ...string) {
	for _, word := range words {
		if f[name] == nil {
			f[name] = map[string]bool{}
		}
		f[name][word] = true
	}
}

// isInteger reports whether a variable, read as a number, reads no other.
func isInteger(d declaration) bool {
	text, plain := d.scalar()
	if d.value == "" || plain && text == "" {
		return true
	}
	_, err := strconv.ParseInt(text, 0, 64)
	return plain && err == nil
}

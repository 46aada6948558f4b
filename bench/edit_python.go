package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xstate-engine/xstate/depgraph/python/pytree"
	"github.com/xstate-engine/xstate/patch"
)

// parsedSource is the text of a block with its syntax tree.
type parsedSource struct {
	src    []byte
	nodes  []pytree.Node
	parent []int // parent of each node; -1 for the root
}

// textChange replaces the bytes from start to end.
type textChange struct {
	start, end int
	text       string
}

// parse returns nil for text that is not plain Python: magics, syntax errors.
func parse(b patch.Block) *parsedSource {
	src := []byte(b.Source)
	tree, err := pytree.Parse(src)
	if err != nil {
		return nil
	}
	defer tree.Close()
	t := &parsedSource{src: src, nodes: slices.Clone(tree.Nodes), parent: make([]int, len(tree.Nodes))}
	var open []int
	for i := range t.nodes {
		for len(open) > 0 && int(t.nodes[open[len(open)-1]].Next) <= i {
			open = open[:len(open)-1]
		}
		t.parent[i] = -1
		if len(open) > 0 {
			t.parent[i] = open[len(open)-1]
		}
		open = append(open, i)
	}
	return t
}

func (t *parsedSource) sym(i int) pytree.Symbol {
	if i < 0 {
		return 0
	}
	return t.nodes[i].Sym
}

func (t *parsedSource) textOf(i int) string { return string(t.src[t.nodes[i].Start:t.nodes[i].End]) }

// constants returns a change for each number below a node. It skips subscripts, and 0 and 1 as keyword arguments:
// these are seldom quantities.
func (t *parsedSource) constants(root int) []textChange {
	var found []textChange
	for i := root; i < int(t.nodes[root].Next); i++ {
		n, parent := t.nodes[i], t.sym(t.parent[i])
		if n.Sym != pytree.Integer && n.Sym != pytree.Float || parent == pytree.Subscript || parent == pytree.Slice {
			continue
		}
		was := t.textOf(i)
		if parent == pytree.KeywordArgument && (was == "0" || was == "1") {
			continue
		}
		now := ""
		if x, err := strconv.ParseInt(strings.ReplaceAll(was, "_", ""), 10, 62); n.Sym == pytree.Integer && err == nil {
			now = strconv.FormatInt(x+1, 10)
		} else if x, err := strconv.ParseFloat(strings.ReplaceAll(was, "_", ""), 64); err == nil &&
			n.Sym == pytree.Float {
			if now = strconv.FormatFloat(x*1.25+0.001, 'g', 6, 64); !strings.ContainsAny(now, ".e") {
				now += ".0"
			}
		}
		if now != "" && now != was {
			found = append(found, textChange{int(n.Start), int(n.End), now})
		}
	}
	return found
}

// otherOperator maps an operator to its replacement.
var otherOperator = map[string]string{
	"+":  "-",
	"-":  "+",
	"*":  "+",
	"<":  "<=",
	"<=": "<",
	">":  ">=",
	">=": ">",
	"==": "!=",
	"!=": "==",
}

// operators returns a change for each operator below a node: comparisons, and sums and products with a number. Other
// operands of + may be text or lists, which do not support -.
func (t *parsedSource) operators(root int) []textChange {
	var found []textChange
	for i := root; i < int(t.nodes[root].Next); i++ {
		p := t.parent[i]
		now := otherOperator[t.textOf(i)]
		if now == "" || int(t.nodes[i].Next) != i+1 ||
			t.sym(p) != pytree.ComparisonOperator &&
				(t.sym(p) != pytree.BinaryOperator || !t.isNumber(i-1) && !t.isNumber(i+1)) {
			continue
		}
		found = append(found, textChange{int(t.nodes[i].Start), int(t.nodes[i].End), now})
	}
	return found
}

func (t *parsedSource) isNumber(i int) bool {
	return i < len(t.nodes) && (t.nodes[i].Sym == pytree.Integer || t.nodes[i].Sym == pytree.Float)
}

// functions returns the function definitions.
func (t *parsedSource) functions() []int {
	var found []int
	for i := range t.nodes {
		if t.nodes[i].Sym == pytree.FunctionDefinition {
			found = append(found, i)
		}
	}
	return found
}

// statement returns a change that adds a statement at the beginning of a function's body.
func (t *parsedSource) statement(f, number int) []textChange {
	for i := f + 1; i < int(t.nodes[f].Next); i++ {
		if t.nodes[i].Sym == pytree.Block && t.parent[i] == f {
			at := int(t.nodes[i].Start)
			line := strings.LastIndexByte(string(t.src[:at]), '\n') + 1
			end := "; "
			if margin := string(t.src[line:at]); strings.TrimSpace(margin) == "" {
				end = "\n" + margin
			}
			return []textChange{{at, at, fmt.Sprintf("_edited = %d%s", number, end)}}
		}
	}
	return nil
}

// rename renames a local variable of function f. It leaves parameters alone, because callers may pass them by name.
func (t *parsedSource) rename(f int, intN func(int) int) (string, bool) {
	taken, fixed := map[string]bool{}, map[string]bool{}
	var locals []string
	end := int(t.nodes[f].Next)
	for i := f + 1; i < end; i++ {
		parent := t.sym(t.parent[i])
		switch t.nodes[i].Sym {
		case pytree.ClassDefinition: // a class body resolves names differently
			return "", false
		case pytree.Identifier:
			name := t.textOf(i)
			taken[name] = true
			switch {
			case t.inside(i, f, pytree.Parameters) || parent == pytree.GlobalStatement ||
				parent == pytree.NonlocalStatement || parent == pytree.LambdaParameters:
				fixed[name] = true
			case t.parent[i] == i-1 && (parent == pytree.Assignment || parent == pytree.AugmentedAssignment):
				locals = append(locals, name)
			}
		}
	}
	locals = slices.DeleteFunc(locals, func(n string) bool { return fixed[n] })
	if len(locals) == 0 {
		return "", false
	}
	slices.Sort(locals)
	was := locals[intN(len(locals))]
	now := was + "_"
	for taken[now] {
		now += "_"
	}
	var b strings.Builder
	last := 0
	for i := f + 1; i < end; i++ {
		n, p := t.nodes[i], t.parent[i]
		if n.Sym != pytree.Identifier || t.textOf(i) != was || t.sym(p) == pytree.Attribute && i != p+1 ||
			t.sym(p) == pytree.KeywordArgument && i == p+1 {
			continue
		}
		b.Write(t.src[last:n.Start])
		b.WriteString(now)
		last = int(n.End)
	}
	b.Write(t.src[last:])
	return b.String(), true
}

// inside reports whether node i has an ancestor of a kind below root.
func (t *parsedSource) inside(i, root int, kind pytree.Symbol) bool {
	for p := t.parent[i]; p > root; p = t.parent[p] {
		if t.nodes[p].Sym == kind {
			return true
		}
	}
	return false
}

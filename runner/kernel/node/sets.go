package node

import (
	"regexp"
	"slices"

	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

// What a package holds is no value of the program and no walk reaches it: a locale, plugins, default options. That a
// statement may set it shows in its text, see doc.go.

// changesNothing are the names of functions that call back or print, and set nothing of the package that they are in.
var changesNothing = regexp.MustCompile(
	`^(each\w*|for(Each|In|Own)\w*|times|log|info|warn|error|debug|trace|print\w*)$`)

// setting is a statement that may set what a package holds.
type setting struct {
	at   int
	name string // the first name of what it calls or assigns to
}

// settings returns the statements that assign to a property, or call a function and use no result.
func (t *transformer) settings() []setting {
	var found []setting
	for i := uint32(1); i < uint32(len(t.nodes)); i++ {
		if t.kind(i) != js.ExpressionStatement {
			continue
		}
		for _, name := range t.sets(i + 1) {
			found = append(found, setting{t.start(i), name})
		}
	}
	return found
}

// sets returns the first names of what an expression whose value is not used may set.
func (t *transformer) sets(i uint32) []string {
	switch t.kind(i) {
	case js.AwaitExpression, js.ParenthesizedExpression, js.SequenceExpression, js.UnaryExpression, js.BinaryExpression,
		js.TernaryExpression, js.NonNullExpression:
		var found []string
		for c := i + 1; c < t.end(i); c = t.nodes[c].Next {
			found = append(found, t.sets(c)...)
		}
		return found
	case js.AssignmentExpression, js.AugmentedAssignmentExpression:
		return t.property(t.field(i, js.FieldLeft))
	case js.UpdateExpression:
		return t.property(t.field(i, js.FieldArgument))
	case js.MemberExpression, js.SubscriptExpression: // of delete
		return t.property(i)
	case js.CallExpression:
		return t.called(i)
	}
	return nil
}

// property returns the first name of a property that is set.
func (t *transformer) property(i uint32) []string {
	if i == 0 || t.kind(i) == js.Identifier {
		return nil
	}
	return t.root(i)
}

// called returns the first name of a function that is called, and of the first argument of one of Object or Reflect.
func (t *transformer) called(i uint32) []string {
	f := t.field(i, js.FieldFunction)
	if f == 0 {
		return nil
	}
	if p := t.field(f, js.FieldProperty); p != 0 && changesNothing.MatchString(t.src(p)) {
		return nil
	}
	found := t.root(f)
	if len(found) == 1 && (found[0] == "Object" || found[0] == "Reflect") {
		if list := t.field(i, js.FieldArguments); list != 0 && list+2 < t.end(list) {
			return t.root(list + 2) // behind the parenthesis
		}
	}
	return found
}

// root returns the name that a chain of properties and calls begins with.
func (t *transformer) root(i uint32) []string {
	for {
		switch t.kind(i) {
		case js.Identifier:
			return []string{t.src(i)}
		case js.MemberExpression, js.SubscriptExpression, js.CallExpression, js.NonNullExpression,
			js.ParenthesizedExpression, js.AwaitExpression:
			for i++; t.kind(i) == js.Token; i++ {
			}
		default:
			return nil
		}
	}
}

// within returns the names of the settings in a range of the text, sorted.
func within(all []setting, start, end int) []string {
	var found []string
	for _, s := range all {
		if s.at >= start && s.at < end {
			found = append(found, s.name)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

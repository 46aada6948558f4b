package node

import (
	"regexp"
	"slices"
	"strings"

	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

// What a package holds is no value of the program and no walk reaches it: a locale, plugins, default options. That a
// node may set it shows in the text of the node and of functions that it calls, see doc.go.

// Names of functions, by what a call of one is taken for.
var (
	// It calls back, prints or asserts, and sets nothing of the package that it is in.
	changesNothing = regexp.MustCompile(`^(each\w*|for(Each|In|Own)\w*|times|log|info|warn|error|debug|trace|` +
		`(print|assert|expect)\w*|to[A-Z]\w*|ok|equal|deepEqual|throws)$`)
	// It changes or checks the object that it is called of, whatever that holds.
	changesObject = regexp.MustCompile(`^(push|pop|shift|unshift|splice|sort|reverse|fill|copyWithin|set|add|delete|` +
		`clear|(parse|validate|check|verify)\w*|(is|has|get)[A-Z]\w*)$`)
	// It sets something, also where its result is used.
	setsByName = regexp.MustCompile(`^(locale|use|extend|mixin|plugin|install|` +
		`(config|init|register|define|enable|disable|default|change|override)\w*|(set|add|load)[A-Z]\w*)$`)
)

// A setting whose first name has one of these in front or in its place.
const (
	onlyItself = "=" // in front: it sets the package of which the value of the name is a part, and none that this holds
	anyRead    = "?" // in place: a variable of a function, which may be any package that the node has read
	onlyLoaded = "+" // in front of a specifier: a module is loaded, and what it exports is not used
)

// settings returns the expressions that assign to a property, or call a function and use no result, or one whose name
// says that it sets something.
func (c *capturer) settings() []setting {
	var found []setting
	for i := uint32(1); i < uint32(len(c.nodes)); i++ {
		switch c.kind(i) {
		case js.ImportStatement:
			if from := c.field(i, js.FieldSource); from != 0 && c.find(i, js.ImportClause) == 0 {
				found = append(found, setting{c.start(i), onlyLoaded + unquoted(c.src(from))})
			}
		case js.ExpressionStatement:
			found = append(found, c.unused(i+1)...)
		case js.CallExpression:
			f, list := c.field(i, js.FieldFunction), c.field(i, js.FieldArguments)
			if f == 0 || list == 0 || list+3 > c.end(list)-1 { // it has no arguments
				continue
			}
			p := c.field(f, js.FieldProperty)
			if p == 0 {
				continue
			}
			name := c.first(f)
			switch text := c.src(p); {
			case setsByName.MatchString(text) && name == "":
				found = append(found, setting{c.start(i), anyRead})
			case setsByName.MatchString(text):
				found = append(found, setting{c.start(i), name})
			case text == "set" && name != "":
				found = append(found, setting{c.start(i), onlyItself + name})
			}
		}
	}
	return found
}

// unused returns the settings in an expression whose value is not used.
func (c *capturer) unused(i uint32) []setting {
	switch c.kind(i) {
	case js.AwaitExpression, js.ParenthesizedExpression, js.SequenceExpression, js.UnaryExpression, js.BinaryExpression,
		js.TernaryExpression, js.NonNullExpression:
		var found []setting
		for p := i + 1; p < c.end(i); p = c.nodes[p].Next {
			found = append(found, c.unused(p)...)
		}
		return found
	case js.AssignmentExpression, js.AugmentedAssignmentExpression:
		return c.named(c.field(i, js.FieldLeft), onlyItself)
	case js.UpdateExpression:
		return c.named(c.field(i, js.FieldArgument), onlyItself)
	case js.MemberExpression, js.SubscriptExpression: // of delete
		return c.named(i, onlyItself)
	case js.CallExpression:
		return c.called(i)
	}
	return nil
}

// named returns the setting of a property.
func (c *capturer) named(i uint32, how string) []setting {
	if i == 0 || how == onlyItself && c.kind(i) == js.Identifier {
		return nil
	}
	if name := c.first(i); name != "" {
		return []setting{{c.start(i), how + name}}
	}
	return nil
}

// called returns the setting that a call is.
func (c *capturer) called(i uint32) []setting {
	f, how := c.field(i, js.FieldFunction), ""
	if f == 0 {
		return nil
	}
	list := c.field(i, js.FieldArguments)
	if k := c.kind(f); list != 0 && (k == js.Import || c.src(f) == "require") {
		if c.kind(list+2) == js.String {
			return []setting{{c.start(i), onlyLoaded + unquoted(c.src(list+2))}}
		}
		return nil
	}
	last := f // what is called, without what it is a property of
	if p := c.field(f, js.FieldProperty); p != 0 {
		last = p
	}
	switch text := c.src(last); {
	case changesNothing.MatchString(text):
		return nil
	case last != f && changesObject.MatchString(text):
		how = onlyItself
	}
	if name := c.first(f); name == "Object" || name == "Reflect" {
		if list != 0 && list+2 < c.end(list) {
			return c.named(list+2, how) // behind the parenthesis
		}
	}
	return c.named(f, how)
}

// first returns the name of the program that a chain of properties and calls begins with, or "".
func (c *capturer) first(i uint32) string {
	for {
		switch c.kind(i) {
		case js.Identifier:
			if c.isLocal(i) {
				return ""
			}
			return c.src(i)
		case js.MemberExpression, js.SubscriptExpression, js.CallExpression, js.NonNullExpression,
			js.ParenthesizedExpression, js.AwaitExpression:
			for i++; c.kind(i) == js.Token; i++ {
			}
		default:
			return ""
		}
	}
}

// isLocal reports whether a name is one of a variable of a function or block.
func (c *capturer) isLocal(i uint32) bool {
	for at := c.inside[i]; at != 0; at = c.scopes[at].parent {
		if _, is := c.scopes[at].declared[c.src(i)]; is {
			return true
		}
	}
	return false
}

func unquoted(text string) string { return strings.Trim(text, "\"'`") }

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

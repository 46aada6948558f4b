package node

import (
	"regexp"
	"slices"
	"strings"

	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

// The content of a package is not a value of the program, and no walk reaches it: a locale, plugins, default options.
// The text of a node and of functions that it calls shows whether it may set that, see doc.go.

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

// ofPackage matches the specifiers of modules of packages, and some of Node's. Others would not do in a comment.
var ofPackage = regexp.MustCompile(`^@?[\w-][\w./@-]*$`)

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
			if c.find(i, js.ImportClause) == 0 {
				found = append(found, c.loaded(c.field(i, js.FieldSource))...)
			}
		case js.ExpressionStatement:
			found = append(found, c.unused(i+1)...)
		case js.CallExpression:
			f := c.field(i, js.FieldFunction)
			p := c.field(f, js.FieldProperty)
			if f == 0 || p == 0 || c.argument(i) == 0 {
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
		return c.property(c.field(i, js.FieldLeft))
	case js.UpdateExpression:
		return c.property(c.field(i, js.FieldArgument))
	case js.MemberExpression, js.SubscriptExpression: // the operand of delete
		return c.property(i)
	case js.CallExpression:
		return c.called(i)
	}
	return nil
}

// property returns the setting that an assignment to i is.
func (c *capturer) property(i uint32) []setting {
	if i == 0 || c.kind(i) == js.Identifier {
		return nil
	}
	return c.named(i, onlyItself)
}

// named returns the setting of what a chain begins with.
func (c *capturer) named(i uint32, how string) []setting {
	if name := c.first(i); name != "" {
		return []setting{{c.start(i), how + name}}
	}
	return nil
}

// loaded returns the setting that a load is, by the text of a specifier: that of a module of a package may be one.
func (c *capturer) loaded(i uint32) []setting {
	if i == 0 || c.kind(i) != js.String {
		return nil
	}
	specifier := strings.Trim(c.src(i), `"'`)
	if !ofPackage.MatchString(specifier) {
		return nil
	}
	return []setting{{c.start(i), onlyLoaded + specifier}}
}

// argument returns the first argument of a call, or 0.
func (c *capturer) argument(i uint32) uint32 {
	list := c.field(i, js.FieldArguments)
	if list == 0 || list+2 >= c.end(list) || c.kind(list+2) == js.Token {
		return 0
	}
	return list + 2 // behind the parenthesis
}

// called returns the setting that a call is.
func (c *capturer) called(i uint32) []setting {
	f, how := c.field(i, js.FieldFunction), ""
	if f == 0 {
		return nil
	}
	if c.kind(f) == js.Import || c.src(f) == "require" {
		return c.loaded(c.argument(i))
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
		if first := c.argument(i); first != 0 {
			return c.named(first, how)
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

package python

import (
	"strings"

	sitter "github.com/smacker/go-tree-sitter"
	"github.com/xstate-engine/xstate/patch/syntax"
)

func bindings(code string) *syntax.Bindings {
	w := &bindingWalk{Names: syntax.NewNames(), code: []byte(code)}
	if stallsParser(w.code) {
		return w.All()
	}
	tree, cursor := parse(w.code)
	defer tree.Close()
	defer cursor.Close()
	w.children(cursor, 0)
	return w.All()
}

// bindingWalk walks the tree with a cursor, because asking a node for its children one by one takes quadratic time.
type bindingWalk struct {
	*syntax.Names
	code   []byte
	recent []string // bound by the present statement, or by its head
}

func (w *bindingWalk) children(c *sitter.TreeCursor, depth int) {
	if depth > 500 || !c.GoToFirstChild() {
		return
	}
	defer c.GoToParent()
	for {
		w.node(c, depth)
		if w.bindsBefore(c) {
			w.bind()
		}
		if !c.GoToNextSibling() {
			return
		}
	}
}

func (w *bindingWalk) node(c *sitter.TreeCursor, depth int) {
	n := c.CurrentNode()
	kind := n.Type()
	if kind == "identifier" {
		w.identifier(n, c.CurrentFieldName())
		return
	}
	if kind == "function_definition" || kind == "class_definition" || kind == "lambda" {
		if name := n.ChildByFieldName("name"); name != nil && w.Inner == 0 {
			w.Defines[name.Content(w.code)] = true
			w.recent = append(w.recent, name.Content(w.code))
		}
		w.Inner++
		w.children(c, depth+1)
		w.Inner--
		return
	}
	if w.Inner == 0 {
		w.change(n, kind)
	}
	if strings.HasSuffix(kind, "_comprehension") || kind == "generator_expression" {
		w.comprehension(n)
	}
	w.children(c, depth+1)
}

// comprehension binds the names of a comprehension, which its text uses before it binds them.
func (w *bindingWalk) comprehension(n *sitter.Node) {
	var bind func(n *sitter.Node, depth int)
	bind = func(n *sitter.Node, depth int) {
		if n.Type() == "identifier" && w.Inner == 0 {
			w.recent = append(w.recent, n.Content(w.code))
		}
		for i := 0; depth < 20 && i < int(n.NamedChildCount()); i++ {
			bind(n.NamedChild(i), depth+1)
		}
	}
	for i := range int(n.NamedChildCount()) {
		if clause := n.NamedChild(i); clause.Type() == "for_in_clause" {
			if left := clause.ChildByFieldName("left"); left != nil {
				bind(left, 0)
			}
		}
	}
	w.bind()
}

// bindsBefore reports whether what the node at c binds is bound for the text after it: a statement, or the head of one.
func (w *bindingWalk) bindsBefore(c *sitter.TreeCursor) bool {
	switch kind := c.CurrentNode().Type(); kind {
	case "with_clause", "as_pattern":
		return true
	default:
		field := c.CurrentFieldName()
		return strings.HasSuffix(kind, "_statement") || strings.HasSuffix(kind, "_definition") ||
			field == "right" && c.CurrentNode().Parent().Type() == "for_statement" || field == "condition"
	}
}

// bind ends a statement: what it bound is bound for the next.
func (w *bindingWalk) bind() {
	w.Has(w.recent...)
	w.recent = w.recent[:0]
}

// change records the name whose value a statement changes in place.
func (w *bindingWalk) change(n *sitter.Node, kind string) {
	var on *sitter.Node
	switch kind {
	case "assignment", "augmented_assignment":
		on = n.ChildByFieldName("left")
	case "delete_statement":
		on = n.NamedChild(0)
	case "expression_statement":
		if call := n.NamedChild(0); call != nil && call.Type() == "call" {
			on = call.ChildByFieldName("function")
		}
	}
	depth := 0
	for ; on != nil && depth < 100 && on.Type() != "identifier"; depth++ {
		switch on.Type() {
		case "attribute":
			on = on.ChildByFieldName("object")
		case "subscript":
			on = on.ChildByFieldName("value")
		default:
			return
		}
	}
	if on != nil && depth > 0 {
		w.Changes[on.Content(w.code)] = true
	}
}

// identifier records a name as bound or used, depending on its place in the tree.
func (w *bindingWalk) identifier(n *sitter.Node, field string) {
	name := n.Content(w.code)
	switch parent := n.Parent(); role(n, parent, field) {
	case binds:
		if parent.Type() == "augmented_assignment" {
			w.Read(name)
		}
		w.Bind(name)
		if w.Inner == 0 {
			w.recent = append(w.recent, name)
			if !w.Defines[name] {
				w.Assigns[name] = true
			}
		}
	case imported:
		w.Bind(name)
		if w.Inner == 0 {
			w.recent = append(w.recent, name)
			w.Imports[name] = true
		}
	case defined:
		w.Bind(name)
	case uses:
		w.Use(name)
	}
}

// These are the roles of an identifier.
const (
	uses = iota
	binds
	imported // bound by an import
	defined  // the name of a definition or a parameter
	noRole   // the name of an attribute or an argument
)

func role(n, parent *sitter.Node, field string) int {
	if parent == nil {
		return uses
	}
	switch parent.Type() {
	case "function_definition", "class_definition":
		if field == "name" {
			return defined
		}
	case "parameters", "lambda_parameters", "default_parameter", "typed_parameter", "typed_default_parameter",
		"list_splat_pattern", "dictionary_splat_pattern":
		if field != "value" && field != "type" {
			return defined
		}
	case "keyword_argument":
		if field == "name" {
			return noRole
		}
	case "attribute":
		if field == "attribute" {
			return noRole
		}
	case "dotted_name", "aliased_import":
		return importRole(n, parent, field)
	case "assignment", "augmented_assignment", "for_statement", "for_in_clause":
		if field == "left" {
			return binds
		}
	case "named_expression":
		if field == "name" {
			return binds
		}
	case "as_pattern_target", "pattern_list", "tuple_pattern", "list_pattern":
		return binds
	}
	return uses
}

// importRole returns the role of a name in an import. The import binds the alias if there is one, else the module's
// first name, else the imported name.
func importRole(n, parent *sitter.Node, field string) int {
	if parent.Type() == "aliased_import" {
		return imported
	}
	up := parent.Parent()
	if up == nil {
		return uses
	}
	switch up.Type() {
	case "aliased_import":
		return noRole
	case "import_statement":
		if n.StartByte() == parent.StartByte() {
			return imported
		}
		return noRole
	case "import_from_statement":
		if m := up.ChildByFieldName("module_name"); m != nil && m.StartByte() == parent.StartByte() {
			return noRole
		}
		return imported
	}
	return uses
}

// builtins has the builtins that unrelated code has in common.
var builtins = syntax.Words(`print len range list dict set tuple str int float bool sum min max abs round
	sorted reversed enumerate zip map filter any all open input type isinstance issubclass getattr setattr hasattr
	repr format iter next id dir vars help bytes complex divmod pow chr ord bin hex oct hash object super property
	staticmethod classmethod slice frozenset callable globals locals eval exec compile display
	Exception ValueError TypeError KeyError IndexError RuntimeError AssertionError ZeroDivisionError
	AttributeError NameError ImportError FileNotFoundError OSError StopIteration NotImplementedError`)

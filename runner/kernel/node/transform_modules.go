package node

import (
	"encoding/json"
	"strings"

	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

// importStatement makes assignments of an import, which run before the text.
func (t *transformer) importStatement(i uint32) {
	t.plan.Async = true
	module := t.field(i, js.FieldSource)
	t.blank(t.start(i), t.stop(i))
	if module == 0 {
		return
	}
	call := "await __xs_import(" + t.src(module) + t.attributes(i) + ")"
	clause := t.find(i, js.ImportClause)
	var pairs, names []string
	whole := ""
	if clause != 0 {
		for c := clause + 1; c < t.end(clause); c = t.nodes[c].Next {
			switch t.kind(c) {
			case js.Identifier:
				pairs, names = append(pairs, "default:"+t.src(c)), append(names, "default")
				t.plan.Lexical = append(t.plan.Lexical, t.src(c))
			case js.NamespaceImport:
				whole = t.src(t.find(c, js.Identifier))
				t.plan.Lexical = append(t.plan.Lexical, whole)
			case js.NamedImports:
				t.specifiers(c, &pairs, &names)
			}
		}
	}
	if whole != "" {
		t.head.WriteString(whole + "=" + call + ";")
	}
	if len(pairs) > 0 {
		list, _ := json.Marshal(names)
		t.head.WriteString("({" + strings.Join(pairs, ",") + "}=__xs_need(" + call + "," + string(list) + "," +
			t.src(module) + "));")
	}
	if whole == "" && len(pairs) == 0 {
		t.head.WriteString(call + ";")
	}
}

// attributes returns the second argument of a call of import for the attributes of an import.
func (t *transformer) attributes(i uint32) string {
	a := t.find(i, js.ImportAttribute)
	if a == 0 {
		return ""
	}
	if o := t.find(a, js.Object); o != 0 {
		return ",{with:" + t.src(o) + "}"
	}
	return ""
}

func (t *transformer) specifiers(list uint32, pairs, names *[]string) {
	for k := list + 1; k < t.end(list); k = t.nodes[k].Next {
		if t.kind(k) != js.ImportSpecifier {
			continue
		}
		name := t.field(k, js.FieldName)
		exported, local := t.src(name), t.src(name)
		if alias := t.field(k, js.FieldAlias); alias != 0 {
			local = t.src(alias)
		}
		*pairs = append(*pairs, exported+":"+local)
		*names = append(*names, strings.Trim(exported, `'"`))
		t.plan.Lexical = append(t.plan.Lexical, local)
	}
}

// exportStatement leaves what is exported, for no module imports a program. A module that is exported from is imported.
func (t *transformer) exportStatement(i uint32) {
	if module := t.field(i, js.FieldSource); module != 0 {
		t.plan.Async = true
		t.blank(t.start(i), t.stop(i))
		t.head.WriteString("await __xs_import(" + t.src(module) + ");")
		return
	}
	d := t.field(i, js.FieldDeclaration)
	if d == 0 {
		d = t.field(i, js.FieldValue)
	}
	if d == 0 {
		t.blank(t.start(i), t.stop(i))
		return
	}
	t.blank(t.start(i), t.start(d))
	switch k := t.kind(d); {
	case k == js.FunctionExpression || k == js.GeneratorFunction:
		if t.field(d, js.FieldName) != 0 {
			t.functionDeclaration(d)
			return
		}
		t.insert(t.start(d), ";(")
		t.insert(t.stop(d), ");")
	case k == js.Class:
		if t.field(d, js.FieldName) != 0 {
			t.classDeclaration(d)
			return
		}
		t.insert(t.start(d), ";(")
		t.insert(t.stop(d), ");")
	case t.nodes[d].Field == js.FieldDeclaration:
		t.statement(d)
	default:
		t.insert(t.start(d), ";(")
		t.insert(t.stop(d), ");")
		t.inner(d)
	}
}

package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// TypeScript declares tools as programs in TypeScript see them: the object tools, with one method each. A part of a
// schema that TypeScript has no type for is unknown.
func TypeScript(tools []Tool) string {
	var b strings.Builder
	b.WriteString("declare const tools: {\n")
	for _, t := range tools {
		if t.Kind == KindModel {
			continue
		}
		if text := strings.TrimSpace(t.Description); text != "" {
			fmt.Fprintf(&b, "  /** %s */\n", strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "*/", "* /"))
		}
		args, optional := argumentsType(t.Input)
		mark := ""
		if optional {
			mark = "?"
		}
		fmt.Fprintf(&b, "  %s(args%s: %s): Promise<%s>;\n", property(t.Name), mark, args, typeOf(t.Output, 0))
	}
	b.WriteString("};\n")
	return b.String()
}

// argumentsType returns the type of a tool's arguments. optional: none of them is needed.
func argumentsType(schema json.RawMessage) (text string, optional bool) {
	var s objectSchema
	if len(schema) == 0 || json.Unmarshal(schema, &s) != nil {
		return "Record<string, unknown>", true
	}
	if len(s.Properties) == 0 {
		return "Record<string, unknown>", len(s.Required) == 0
	}
	return typeOf(schema, 0), len(s.Required) == 0
}

// objectSchema is the part of a JSON Schema that has a type in TypeScript.
type objectSchema struct {
	Type       json.RawMessage            `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Additional json.RawMessage            `json:"additionalProperties"`
	Items      json.RawMessage            `json:"items"`
	Enum       []json.RawMessage          `json:"enum"`
	Const      json.RawMessage            `json:"const"`
	AnyOf      []json.RawMessage          `json:"anyOf"`
	OneOf      []json.RawMessage          `json:"oneOf"`
}

// deepestType bounds how deep types are nested; what lies deeper is unknown.
const deepestType = 12

// typeOf returns the type of the values of a JSON Schema.
func typeOf(schema json.RawMessage, depth int) string {
	var s objectSchema
	if len(schema) == 0 || depth > deepestType || json.Unmarshal(schema, &s) != nil {
		return "unknown"
	}
	switch {
	case len(s.Const) > 0:
		return literal(s.Const)
	case len(s.Enum) > 0:
		var found []string
		for _, e := range s.Enum {
			found = append(found, literal(e))
		}
		return strings.Join(found, " | ")
	case len(s.AnyOf)+len(s.OneOf) > 0:
		return union(slices.Concat(s.AnyOf, s.OneOf), depth)
	}
	var one string
	var several []string
	if json.Unmarshal(s.Type, &several) == nil {
		var found []string
		for _, t := range several {
			found = append(found, s.typed(t, depth))
		}
		return strings.Join(found, " | ")
	}
	_ = json.Unmarshal(s.Type, &one) // anything else is unknown
	return s.typed(one, depth)
}

func union(schemas []json.RawMessage, depth int) string {
	var found []string
	for _, x := range schemas {
		if t := typeOf(x, depth+1); !slices.Contains(found, t) {
			found = append(found, t)
		}
	}
	return strings.Join(found, " | ")
}

// typed returns the type of those values of a schema that have a type of JSON.
func (s *objectSchema) typed(name string, depth int) string {
	switch name {
	case "string", "boolean", "null":
		return name
	case "integer", "number":
		return "number"
	case "array":
		return "Array<" + typeOf(s.Items, depth+1) + ">"
	case "object":
		return s.object(depth)
	}
	if len(s.Properties) > 0 {
		return s.object(depth)
	}
	return "unknown"
}

func (s *objectSchema) object(depth int) string {
	if len(s.Properties) == 0 {
		if len(s.Additional) > 0 && s.Additional[0] == '{' {
			return "Record<string, " + typeOf(s.Additional, depth+1) + ">"
		}
		return "Record<string, unknown>"
	}
	var fields []string
	for _, name := range ordered(s) {
		mark := "?"
		if slices.Contains(s.Required, name) {
			mark = ""
		}
		fields = append(fields, fmt.Sprintf("%s%s: %s", property(name), mark, typeOf(s.Properties[name], depth+1)))
	}
	return "{ " + strings.Join(fields, "; ") + " }"
}

// ordered returns the names of properties: those that are required first, then the others, each by name.
func ordered(s *objectSchema) []string {
	var names []string
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		x, y := slices.Contains(s.Required, a), slices.Contains(s.Required, b)
		if x != y {
			if x {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	return names
}

var identifier = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

func property(name string) string {
	if identifier.MatchString(name) {
		return name
	}
	return literal(must(name))
}

func must(text string) json.RawMessage {
	data, err := json.Marshal(text)
	if err != nil {
		panic("journal: internal error: " + err.Error()) // a text has a form
	}
	return data
}

// literal returns a value of JSON as a type. Objects and lists have none.
func literal(value json.RawMessage) string {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || value[0] == '{' || value[0] == '[' {
		return "unknown"
	}
	return string(value)
}

package mcp

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// schemaDepth is how many levels of a document a schema describes, if a tool has one document. A deeper value is any
// object: hosts load the schemas of all tools, and some give them to the model.
const schemaDepth = 2

// outputSchema describes the documents that a tool answers with. Of several documents it has one level.
func outputSchema(documents []any) map[string]any {
	if len(documents) == 1 {
		return schemaOf(reflect.TypeOf(documents[0]), schemaDepth)
	}
	var all []any
	for _, d := range documents {
		all = append(all, schemaOf(reflect.TypeOf(d), 1))
	}
	return map[string]any{"type": "object", "anyOf": all}
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// schemaOf describes what encoding/json makes of a type, with two differences: a list is never null, which complete
// sees to, and an object may have more fields, because documents may get more.
func schemaOf(t reflect.Type, depth int) map[string]any {
	switch {
	case t.Kind() == reflect.Pointer:
		s := schemaOf(t.Elem(), depth)
		if of, ok := s["type"].(string); ok {
			s["type"] = []any{of, "null"}
		}
		return s
	case t.Implements(textMarshaler):
		return map[string]any{"type": "string"}
	case t.Implements(jsonMarshaler):
		return map[string]any{}
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice, reflect.Array:
		if depth == 0 {
			return map[string]any{"type": "array"}
		}
		return map[string]any{"type": "array", "items": schemaOf(t.Elem(), depth)}
	case reflect.Map:
		return map[string]any{"type": "object"}
	case reflect.Struct:
		return objectSchema(t, depth)
	case reflect.Interface:
		return map[string]any{}
	}
	return map[string]any{"type": "integer"}
}

func objectSchema(t reflect.Type, depth int) map[string]any {
	if depth == 0 {
		return map[string]any{"type": "object"}
	}
	properties, required := map[string]any{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || name == "" || hidden(t, f) {
			continue
		}
		properties[name] = schemaOf(f.Type, depth-1)
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") && always(t, f) {
			required = append(required, name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// hidden reports whether a field of an embedded struct gives way to one of the same name further out.
func hidden(t reflect.Type, f reflect.StructField) bool {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	for _, other := range reflect.VisibleFields(t) {
		same, _, _ := strings.Cut(other.Tag.Get("json"), ",")
		if same == name && len(other.Index) < len(f.Index) {
			return true
		}
	}
	return false
}

// always reports whether a field is there whatever the value: not if it belongs to an embedded pointer, which may be
// nil.
func always(t reflect.Type, f reflect.StructField) bool {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
		if t.Kind() == reflect.Pointer {
			return false
		}
	}
	return true
}

// complete makes a document conform to the schema where Go's nil is more than the schema allows: a list is empty.
func complete(schema map[string]any, value any) any {
	if value == nil && schema["type"] == "array" {
		return []any{}
	}
	if all, ok := schema["anyOf"].([]any); ok {
		for _, s := range all {
			value = complete(s.(map[string]any), value)
		}
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for name, s := range properties {
			if inner, ok := v[name]; ok {
				v[name] = complete(s.(map[string]any), inner)
			}
		}
	case []any:
		if items, ok := schema["items"].(map[string]any); ok {
			for i := range v {
				v[i] = complete(items, v[i])
			}
		}
	}
	return value
}

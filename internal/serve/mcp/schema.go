package mcp

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaDepth is how many levels of a document a schema describes, if a tool has one document. A deeper value is any
// object: hosts load the schemas of all tools, and some give them to the model.
const schemaDepth = 2

// outputSchema describes the documents that a tool answers with. Of several documents it has one level.
func outputSchema(documents []any) *jsonschema.Schema {
	if len(documents) == 1 {
		return schemaOf(reflect.TypeOf(documents[0]), schemaDepth)
	}
	s := &jsonschema.Schema{Type: "object"}
	for _, d := range documents {
		s.AnyOf = append(s.AnyOf, schemaOf(reflect.TypeOf(d), 1))
	}
	return s
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// anything lists all types: some clients refuse the schema true, which jsonschema writes for none.
var anything = &jsonschema.Schema{Types: []string{"null", "boolean", "number", "string", "array", "object"}}

// schemaOf describes what encoding/json makes of a type. It differs from what jsonschema infers: types may marshal
// themselves, a list is never null, which complete sees to, and an object may have more fields, because documents may
// get more.
func schemaOf(t reflect.Type, depth int) *jsonschema.Schema {
	kind := t.Kind()
	switch {
	case t.Implements(textMarshaler):
		return &jsonschema.Schema{Type: "string"}
	case t.Implements(jsonMarshaler), kind == reflect.Interface:
		return anything
	case kind == reflect.Map, kind == reflect.Struct && depth == 0:
		return &jsonschema.Schema{Type: "object"}
	case kind == reflect.Slice && depth == 0:
		return &jsonschema.Schema{Type: "array"}
	case kind == reflect.Slice:
		return &jsonschema.Schema{Type: "array", Items: schemaOf(t.Elem(), depth)}
	case kind == reflect.Struct:
		return inferred(t, fieldSchemas(t, depth))
	}
	return inferred(t, nil)
}

// fieldSchemas are the schemas of the types of a struct's fields. Those of an embedded pointer are not required: they
// are missing if it is nil.
func fieldSchemas(t reflect.Type, depth int) map[reflect.Type]*jsonschema.Schema {
	schemas := map[reflect.Type]*jsonschema.Schema{}
	for _, f := range reflect.VisibleFields(t) {
		of, pointer := f.Type, f.Type.Kind() == reflect.Pointer
		if pointer {
			of = of.Elem()
		}
		switch {
		case !f.Anonymous:
			schemas[of] = schemaOf(of, depth-1)
		case pointer:
			schemas[f.Type] = &jsonschema.Schema{Type: "object", Properties: schemaOf(of, depth).Properties}
		}
	}
	return schemas
}

// inferred is the schema of a type whose parts have these schemas.
func inferred(t reflect.Type, parts map[reflect.Type]*jsonschema.Schema) *jsonschema.Schema {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: parts})
	if err != nil {
		panic(fmt.Sprintf("mcp: internal error: %v has no schema: %v", t, err))
	}
	s.AdditionalProperties, s.Minimum, s.Maximum = nil, nil, nil
	return s
}

// encoded is the JSON of a schema, which takes long to encode: clients list the tools often.
func encoded(s *jsonschema.Schema) json.RawMessage {
	data, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("mcp: internal error: a schema has no JSON: %v", err))
	}
	return data
}

// complete makes a document conform to the schema where Go's nil is more than the schema allows: a list is empty.
func complete(schema *jsonschema.Schema, value any) any {
	if value == nil && schema.Type == "array" {
		return []any{}
	}
	for _, s := range schema.AnyOf {
		value = complete(s, value)
	}
	switch v := value.(type) {
	case map[string]any:
		for name, s := range schema.Properties {
			if inner, ok := v[name]; ok {
				v[name] = complete(s, inner)
			}
		}
	case []any:
		if schema.Items != nil {
			for i := range v {
				v[i] = complete(schema.Items, v[i])
			}
		}
	}
	return value
}

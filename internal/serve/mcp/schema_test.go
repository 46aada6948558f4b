package mcp

import (
	"encoding/json"
	"testing"
)

// TestSchemasAreObjects: a property or an item is described by an object. The official SDK for TypeScript refuses the
// list of tools if one is described by true, which jsonschema writes for a type without a restriction.
func TestSchemasAreObjects(t *testing.T) {
	for _, tool := range tools {
		for _, schema := range []json.RawMessage{
			encoded(inputSchema(tool.arguments)), encoded(outputSchema(tool.documents)),
		} {
			var root any
			if err := json.Unmarshal(schema, &root); err != nil {
				t.Fatalf("%s: %v", tool.name, err)
			}
			if n := objectSchemas(t, tool.name, root); n < 2 {
				t.Errorf("%s has %d schemas, want those of its properties", tool.name, n)
			}
		}
	}
}

// objectSchemas counts a schema and those within it.
func objectSchemas(t *testing.T, path string, schema any) int {
	t.Helper()
	s, ok := schema.(map[string]any)
	if !ok {
		t.Errorf("the schema %s is %v, want an object", path, schema)
		return 0
	}
	n := 1
	properties, _ := s["properties"].(map[string]any)
	for name, p := range properties {
		n += objectSchemas(t, path+"."+name, p)
	}
	if items, ok := s["items"]; ok {
		n += objectSchemas(t, path+"[]", items)
	}
	all, _ := s["anyOf"].([]any)
	for _, one := range all {
		n += objectSchemas(t, path, one)
	}
	return n
}

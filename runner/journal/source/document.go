package source

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// document is an OpenAPI document.
type document struct {
	doc     *openapi3.T
	schemas map[string]any // components.schemas, as JSON Schema
}

// parseDocument reads a document in JSON or YAML. It follows no references to other files or addresses: a document
// from elsewhere could name any.
func parseDocument(data []byte) (*document, error) {
	doc, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.") {
		return nil, fmt.Errorf("its version is %q, want 3", doc.OpenAPI)
	}
	d := &document{doc: doc, schemas: map[string]any{}}
	if doc.Components != nil {
		for name, s := range doc.Components.Schemas {
			// Not the reference, if it is one: that would lead to itself.
			if d.schemas[name], err = jsonSchema(s.Value); err != nil {
				return nil, fmt.Errorf("the schema %s: %w", name, err)
			}
		}
	}
	return d, nil
}

// base is the address that the paths of a document begin at.
func (d *document) base(c policy.OpenAPI) (string, error) {
	if c.Base != "" {
		return strings.TrimSuffix(c.Base, "/"), nil
	}
	if len(d.doc.Servers) == 0 || d.doc.Servers[0] == nil {
		return "", errors.New("it names no server: set base in xstate.toml")
	}
	s := d.doc.Servers[0]
	address := s.URL
	for name, v := range s.Variables {
		address = strings.ReplaceAll(address, "{"+name+"}", v.Default)
	}
	if isAddress(c.Document) {
		if from, err := url.Parse(c.Document); err == nil {
			if full, err := from.Parse(address); err == nil {
				address = full.String()
			}
		}
	}
	if !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://") {
		return "", fmt.Errorf("its server %q is no address: set base in xstate.toml", address)
	}
	return strings.TrimSuffix(address, "/"), nil
}

func isAddress(text string) bool { return strings.Contains(text, "://") }

// operations returns what a document offers. An operation that needs a body of a kind that JSON cannot describe, or a
// cookie, is none.
func (d *document) operations(base string) (all []*operation) {
	if d.doc.Paths == nil {
		return nil
	}
	for _, path := range slices.Sorted(maps.Keys(d.doc.Paths.Map())) {
		item := d.doc.Paths.Map()[path]
		if item == nil {
			continue
		}
		methods := item.Operations()
		for _, method := range slices.Sorted(maps.Keys(methods)) {
			if op := d.operation(base, path, method, item, methods[method]); op != nil {
				all = append(all, op)
			}
		}
	}
	return all
}

// operation makes a tool of an operation; nil where that cannot be.
func (d *document) operation(base, path, method string, item *openapi3.PathItem, from *openapi3.Operation) *operation {
	op := &operation{method: method, path: path}
	properties, required, order := map[string]any{}, []string{}, []string{}
	for _, p := range parametersOf(item, from) {
		schema, err := parameterSchema(p)
		switch {
		case p.In == "cookie" && !p.Required:
			continue
		case p.In == "cookie" || err != nil:
			return nil
		}
		q := parameter{argument: p.Name, name: p.Name, in: p.In, deep: p.Style == "deepObject",
			explode: p.Explode == nil && p.In == "query" || p.Explode != nil && *p.Explode}
		if _, clash := properties[q.argument]; clash || q.argument == bodyArgument {
			q.argument += "_" + p.In
		}
		properties[q.argument] = described(schema, p.Description)
		order = append(order, q.argument)
		if p.Required {
			required = append(required, q.argument)
		}
		op.parameters = append(op.parameters, q)
	}
	if from.RequestBody != nil && from.RequestBody.Value != nil {
		body := from.RequestBody.Value
		kind, schema := bodySchema(body.Content)
		if kind == "" && body.Required {
			return nil
		}
		if op.bodyKind = kind; kind != "" {
			properties[bodyArgument] = described(schema, body.Description)
			order = append(order, bodyArgument)
			if body.Required {
				required = append(required, bodyArgument)
			}
		}
	}
	input := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		input["required"] = required
	}
	if op = d.finish(op, base, from, input); op != nil {
		op.tool.Order = order
	}
	return op
}

// finish describes the tool of an operation.
func (d *document) finish(op *operation, base string, from *openapi3.Operation, input map[string]any) *operation {
	var err error
	t := journal.Tool{Name: from.OperationID, Class: classOf(op.method),
		Description: strings.TrimSpace(cmp.Or(from.Summary, from.Description))}
	if t.Name == "" {
		t.Name = strings.ToLower(op.method) + "_" + strings.Trim(noName.ReplaceAllString(op.path, "_"), "_")
	}
	if t.Input, err = d.schema(input); err != nil {
		return nil
	}
	if out := outputSchema(from); out != nil {
		if t.Output, err = d.schema(out); err != nil {
			return nil
		}
	}
	version := ""
	if d.doc.Info != nil {
		version = d.doc.Info.Version
	}
	digest := state.DigestOf(fmt.Appendf(nil, "%s %q %q\ninput %s\noutput %s\n", op.method, base, op.path, t.Input,
		t.Output))
	t.Version = strings.TrimSpace(version + " " + string(digest[:min(16, len(digest))]))
	op.tool = t
	return op
}

var noName = regexp.MustCompile(`[^A-Za-z0-9]+`)

// classOf is what a method does (RFC 9110, 9.2).
func classOf(method string) journal.Class {
	switch method {
	case "GET", "HEAD", "OPTIONS", "TRACE":
		return journal.Read
	case "PUT", "DELETE":
		return journal.Idempotent
	}
	return journal.Irreversible
}

// parametersOf returns the parameters of an operation. Its own replace those of its path.
func parametersOf(item *openapi3.PathItem, from *openapi3.Operation) (all []*openapi3.Parameter) {
	for _, p := range slices.Concat(from.Parameters, item.Parameters) {
		if p == nil || p.Value == nil || slices.ContainsFunc(all, func(q *openapi3.Parameter) bool {
			return q.Name == p.Value.Name && q.In == p.Value.In
		}) {
			continue
		}
		all = append(all, p.Value)
	}
	return all
}

func parameterSchema(p *openapi3.Parameter) (any, error) {
	if p.Schema == nil {
		if len(p.Content) > 0 {
			return nil, errors.New("a parameter with a content type of its own is not understood")
		}
		return map[string]any{}, nil
	}
	return jsonSchema(p.Schema)
}

// described adds a description to a schema that has none.
func described(schema any, text string) any {
	m, ok := schema.(map[string]any)
	if text == "" || !ok || m["description"] != nil || m["$ref"] != nil {
		return schema
	}
	m = maps.Clone(m)
	m["description"] = text
	return m
}

// bodySchema chooses the content type of a body: JSON before forms before texts.
func bodySchema(content openapi3.Content) (kind string, schema any) {
	kinds := slices.Sorted(maps.Keys(content))
	for _, fits := range []func(string) bool{
		isJSON,
		func(k string) bool { return k == formType },
		func(k string) bool { return strings.HasPrefix(k, "text/") },
	} {
		for _, k := range kinds {
			plain, _, _ := strings.Cut(k, ";")
			if !fits(strings.TrimSpace(plain)) {
				continue
			}
			if content[k] == nil || content[k].Schema == nil {
				return k, map[string]any{}
			}
			if s, err := jsonSchema(content[k].Schema); err == nil {
				return k, s
			}
		}
	}
	return "", nil
}

// outputSchema is the schema of the answer; nil where a document allows several, or others than JSON.
func outputSchema(from *openapi3.Operation) any {
	if from.Responses == nil {
		return nil
	}
	var found any
	for code, r := range from.Responses.Map() {
		if !strings.HasPrefix(code, "2") && code != "default" || r == nil || r.Value == nil {
			continue
		}
		if code == "default" && from.Responses.Len() > 1 { // it describes errors
			continue
		}
		if found != nil || len(r.Value.Content) != 1 {
			return nil
		}
		for kind, c := range r.Value.Content {
			if !isJSON(kind) || c == nil || c.Schema == nil {
				return nil
			}
			s, err := jsonSchema(c.Schema)
			if err != nil {
				return nil
			}
			found = s
		}
	}
	return found
}

// jsonSchema is a schema of a document as JSON Schema has it.
func jsonSchema(schema any) (any, error) {
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return translate(v), nil
}

// componentSchemas is where the schemas of a document are.
const componentSchemas = "#/components/schemas/"

// notes are keywords that check nothing.
var notes = []string{"example", "examples", "xml", "externalDocs", "discriminator", "deprecated", "readOnly",
	"writeOnly"}

// translate makes JSON Schema of the words that OpenAPI 3.0 alone has: nullable, and exclusive bounds that are true.
func translate(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = translate(v[i])
		}
		return v
	case map[string]any:
		return translateObject(v)
	}
	return v
}

func translateObject(m map[string]any) any {
	for k, x := range m {
		switch k {
		case "properties", "$defs", "patternProperties": // names of members are not keywords
			if named, ok := x.(map[string]any); ok {
				for name := range named {
					named[name] = translate(named[name])
				}
			}
		case "enum", "const", "default", "required":
		default:
			m[k] = translate(x)
		}
	}
	if ref, ok := m["$ref"].(string); ok {
		if name, is := strings.CutPrefix(ref, componentSchemas); is {
			m["$ref"] = "#/$defs/" + name
		}
	}
	for _, k := range notes {
		delete(m, k)
	}
	for k, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if is, ok := m[k].(bool); ok {
			if delete(m, k); is && m[bound] != nil {
				m[k] = m[bound]
				delete(m, bound)
			}
		}
	}
	nullable, _ := m["nullable"].(bool)
	delete(m, "nullable")
	if !nullable {
		return m
	}
	return map[string]any{"anyOf": []any{m, map[string]any{"type": "null"}}}
}

// schema writes a schema with those that it refers to.
func (d *document) schema(v any) (json.RawMessage, error) {
	needed := map[string]any{}
	if err := d.collect(v, needed); err != nil {
		return nil, err
	}
	if len(needed) > 0 {
		m, ok := v.(map[string]any)
		if !ok || m["$ref"] != nil { // keep keywords beside a reference apart from it
			m = map[string]any{"allOf": []any{v}}
		}
		m = maps.Clone(m)
		m["$defs"] = needed
		v = m
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return journal.Canonical(data)
}

// collect adds the schemas that a schema refers to.
func (d *document) collect(v any, needed map[string]any) error {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			if err := d.collect(x, needed); err != nil {
				return err
			}
		}
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			name, is := strings.CutPrefix(ref, "#/$defs/")
			found := d.schemas[name]
			switch {
			case !is || found == nil:
				return fmt.Errorf("it has no schema %q", ref)
			case needed[name] == nil:
				needed[name] = found
				return d.collect(found, needed)
			}
		}
		for _, x := range v {
			if err := d.collect(x, needed); err != nil {
				return err
			}
		}
	}
	return nil
}

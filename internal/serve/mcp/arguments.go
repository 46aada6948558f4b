package mcp

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// kind is the type of an argument, as a JSON schema names it.
type kind string

const (
	text    kind = "string"
	integer kind = "integer"
	number  kind = "number"
	boolean kind = "boolean"
)

// argument is one argument of a tool.
type argument struct {
	name     string
	kind     kind
	required bool
	about    string
	oneOf    []string // the values that it may have; nil: all
}

// input are the arguments of a call that were given: string, int, float64 or bool.
type input map[string]any

func (in input) text(name string) string { s, _ := in[name].(string); return s }
func (in input) has(name string) bool    { _, ok := in[name]; return ok }

// inputSchema describes arguments to a client.
func inputSchema(arguments []argument) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}, // there are none
	}
	for _, a := range arguments {
		p := &jsonschema.Schema{Type: string(a.kind), Description: a.about}
		for _, value := range a.oneOf {
			p.Enum = append(p.Enum, value)
		}
		if a.kind == integer {
			p.Minimum = jsonschema.Ptr(0.0)
		}
		s.Properties[a.name] = p
		if a.required {
			s.Required = append(s.Required, a.name)
		}
	}
	return s
}

// value reads one value; ok is false if it is not of the argument's kind.
func (a *argument) value(raw json.RawMessage) (value any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if d.Decode(&value) != nil {
		return nil, false
	}
	switch v := value.(type) {
	case string:
		return v, a.kind == text && (a.oneOf == nil || slices.Contains(a.oneOf, v))
	case bool:
		return v, a.kind == boolean
	case float64:
		if a.kind == integer {
			return int(v), v == math.Trunc(v) && v >= 0 && v <= math.MaxInt32
		}
		return v, a.kind == number && v >= 0
	}
	return nil, false
}

// want says what an argument may be.
func (a *argument) want() string {
	switch {
	case a.oneOf != nil:
		return "one of " + strings.Join(a.oneOf, ", ")
	case a.kind == integer:
		return "a whole number, 0 or more"
	case a.kind == number:
		return "a number, 0 or more"
	case a.kind == boolean:
		return "true or false"
	}
	return "a string"
}

// withValue is a flag of a verb with its value. Both are one word, so no value is taken for a flag.
func withValue(name, value string) string { return "--" + name + "=" + value }

// flags are those of the named arguments that were given. An argument's name has an underscore where its flag has a
// hyphen.
func (in input) flags(names ...string) (args []string) {
	for _, name := range names {
		long := strings.ReplaceAll(name, "_", "-")
		switch v := in[name].(type) {
		case string:
			args = append(args, withValue(long, v))
		case int:
			args = append(args, withValue(long, strconv.Itoa(v)))
		case float64: // seconds
			args = append(args, withValue(long, strconv.FormatFloat(v, 'f', -1, 64)+"s"))
		case bool:
			if v {
				args = append(args, "--"+long)
			}
		}
	}
	return args
}

package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
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

// input is a call of a tool.
type input struct {
	given  map[string]any // the arguments that it has: string, int, float64 or bool
	client string         // the name of the program that calls
}

func (in *input) text(name string) string { s, _ := in.given[name].(string); return s }
func (in *input) is(name string) bool     { b, _ := in.given[name].(bool); return b }
func (in *input) has(name string) bool    { _, ok := in.given[name]; return ok }

// number is a whole number; nil if it is not given.
func (in *input) number(name string) *int {
	if n, ok := in.given[name].(int); ok {
		return &n
	}
	return nil
}

// step is the number of a step; nil if it is not given.
func (in *input) step(name string) *state.StepNumber {
	if n := in.number(name); n != nil {
		step := state.StepNumber(*n)
		return &step
	}
	return nil
}

// timeout is the longest time that a part of a block may take; 0 if it is not given.
func (in *input) timeout() time.Duration {
	seconds, _ := in.given["timeout"].(float64)
	return time.Duration(min(seconds*float64(time.Second), math.MaxInt64/2))
}

// origin is who makes a step, and why.
func (in *input) origin() state.Origin {
	return state.Origin{Agent: in.text("agent"), Reason: in.text("reason"), CallID: in.text("call_id"),
		Client: in.client}
}

// session is the name of the session that a call is about.
func (in *input) session() string { return cmp.Or(in.text("session"), "main") }

// about is the session that a call is about.
func (in *input) about() verb.InSession { return verb.In(in.session()) }

// moment is the step that a call names.
func (in *input) moment() verb.Moment { return verb.Moment{AtStep: in.step("at_step")} }

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

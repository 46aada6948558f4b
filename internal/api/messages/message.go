package main

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/artifact"
	"github.com/xstate-engine/xstate/state/inspect"
	"github.com/xstate-engine/xstate/state/provenance"
	"github.com/xstate-engine/xstate/state/query"
)

// message is the protobuf form of a Go type.
type message struct {
	name   string
	of     reflect.Type
	fields []field
}

// field is a field of a message: its name is the one in JSON, its kind the type with its label.
type field struct {
	name, kind string
	absent     bool // JSON leaves it out if it has no value
	null       bool // it is null if it has no value
}

// messages are messages by name.
type messages map[string]*message

// open are types with a JSON form that is not their fields.
var open = map[reflect.Type]string{
	reflect.TypeFor[state.Origin]():         "google.protobuf.Struct",
	reflect.TypeFor[provenance.Statement](): "google.protobuf.Struct",
	reflect.TypeFor[json.RawMessage]():      "google.protobuf.Value",
	reflect.TypeFor[any]():                  "google.protobuf.Value",
	reflect.TypeFor[time.Time]():            "string",
	reflect.TypeFor[state.StepNumber]():     "int32", // it counts from 1
	reflect.TypeFor[state.CallID]():         "int32", // so does it
}

// renamed are the types whose name another one has.
var renamed = map[reflect.Type]string{
	reflect.TypeFor[state.Placement](): "StepPlacement",
	reflect.TypeFor[artifact.View]():   "ArtifactView",

	// Without the name of their package these would say too little.
	reflect.TypeFor[inspect.Description](): "ValueDescription",
	reflect.TypeFor[inspect.Table]():       "ValueTable",
	reflect.TypeFor[inspect.Column]():      "ValueColumn",
	reflect.TypeFor[inspect.Row]():         "ValueRow",
	reflect.TypeFor[inspect.Count]():       "ValueCount",
	reflect.TypeFor[inspect.Histogram]():   "ValueHistogram",
	reflect.TypeFor[inspect.Array]():       "ValueArray",
	reflect.TypeFor[inspect.Tree]():        "ValueTree",
	reflect.TypeFor[inspect.Item]():        "ValueItem",
	reflect.TypeFor[inspect.Image]():       "ValueImage",
}

// missing are the embedded types that a document may be without. Others are pointers only to save a copy.
var missing = map[reflect.Type]bool{
	reflect.TypeFor[query.Impact]():   true, // in a plan that changes nothing
	reflect.TypeFor[patch.Decision](): true, // in a placement that needed no decision
}

// messageName returns the name of a struct's message.
func messageName(t reflect.Type) string {
	if name := renamed[t]; name != "" {
		return name
	}
	return strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
}

// add adds the message of a struct, and those of its parts.
func (all messages) add(t reflect.Type) error {
	name := messageName(t)
	if m := all[name]; m != nil {
		if m.of != t {
			return fmt.Errorf("%v and %v would be one message, %s", m.of, t, m.name)
		}
		return nil
	}
	m := &message{name: name, of: t}
	all[m.name] = m
	for _, f := range jsonFields(t, 0) {
		kind, err := all.kind(f.of, f.name)
		if err != nil {
			return fmt.Errorf("%v: %s: %w", t, f.name, err)
		}
		if !snake.MatchString(f.name) {
			return fmt.Errorf("%v: the name %s is not in snake case", t, f.name)
		}
		m.fields = append(m.fields, field{f.name, kind, f.absent, !f.absent && f.of.Kind() == reflect.Pointer})
	}
	return nil
}

var snake = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// jsonField is a field of an object that encoding/json writes.
type jsonField struct {
	name   string
	of     reflect.Type
	depth  int  // 0: of the struct itself, 1: of one that it embeds
	absent bool // it is left out if it has no value
}

// jsonFields returns the fields of a struct's object. A field hides those of the same name in embedded types.
func jsonFields(t reflect.Type, depth int) (fields []jsonField) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "":
			inner := f.Type
			pointer := inner.Kind() == reflect.Pointer
			if pointer {
				inner = inner.Elem()
			}
			for _, g := range jsonFields(inner, depth+1) {
				g.absent = g.absent || pointer && missing[inner]
				fields = append(fields, g)
			}
		case f.IsExported():
			fields = append(fields, jsonField{cmp.Or(name, f.Name), f.Type, depth, strings.Contains(options, "omit")})
		}
	}
	return slices.DeleteFunc(slices.Clone(fields), func(f jsonField) bool {
		return slices.ContainsFunc(fields, func(o jsonField) bool { return o.name == f.name && o.depth < f.depth })
	})
}

// kind returns the type of a field with its label, and adds the messages that it needs.
func (all messages) kind(t reflect.Type, name string) (string, error) {
	switch {
	case t.Kind() == reflect.Pointer:
		kind, err := all.single(t.Elem(), name)
		if scalar(kind) {
			kind = "optional " + kind
		}
		return kind, err
	case open[t] != "":
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		kind, err := all.single(t.Elem(), name)
		return "repeated " + kind, err
	case t.Kind() == reflect.Map:
		if t.Key().Kind() != reflect.String {
			return "", fmt.Errorf("%v has keys that are not strings", t)
		}
		kind, err := all.single(t.Elem(), name)
		return "map<string, " + kind + ">", err
	}
	return all.single(t, name)
}

// single returns the type of one value.
func (all messages) single(t reflect.Type, name string) (string, error) {
	if kind := open[t]; kind != "" {
		return kind, nil
	}
	if t.Kind() == reflect.Pointer {
		return all.single(t.Elem(), name)
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) {
		return "", fmt.Errorf("%v writes its own JSON", t)
	}
	if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return "string", nil
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String:
		return t.Kind().String(), nil
	case reflect.Int, reflect.Int32, reflect.Uint8, reflect.Uint16:
		if strings.Contains(name, "bytes") {
			return "double", nil
		}
		return "int32", nil
	case reflect.Int64, reflect.Uint64, reflect.Float64:
		return "double", nil
	case reflect.Struct:
		return messageName(t), all.add(t)
	}
	return "", fmt.Errorf("%v has no protobuf type", t)
}

// scalar reports whether a type is not a message's, so that only a label distinguishes zero from absent.
func scalar(kind string) bool {
	return slices.Contains([]string{"bool", "string", "int32", "double"}, kind)
}

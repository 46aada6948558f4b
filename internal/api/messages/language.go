package main

import (
	"fmt"
	"strings"
)

// language is how a language writes the type of a value.
type language struct {
	types      map[string]string // of protobuf's own
	list, dict string            // formats for the type of an element
	null       string            // follows a type that may be null
}

// in returns the type of a field's value.
func (f field) in(l language) string {
	one := func(kind string) string {
		if name, ok := l.types[kind]; ok {
			return name
		}
		return kind
	}
	kind := strings.TrimPrefix(f.kind, "optional ")
	switch element, repeated := strings.CutPrefix(kind, "repeated "); {
	case repeated:
		kind = fmt.Sprintf(l.list, one(element))
	case strings.HasPrefix(kind, "map<string, "):
		kind = fmt.Sprintf(l.dict, one(strings.TrimSuffix(strings.TrimPrefix(kind, "map<string, "), ">")))
	default:
		kind = one(kind)
	}
	if f.null {
		kind += l.null
	}
	return kind
}

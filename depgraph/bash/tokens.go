package bash

import (
	"reflect"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// tokens writes the trees of statements without positions and comments: two texts have equal tokens if and only if they
// parse alike. A printer of programs would keep some line ends. Where the parser says something by a position alone, it
// counts whether there is one: "for x" reads the arguments and "for x in" nothing; $((a[1])) is not $(($a[1])).
func tokens(list []*syntax.Stmt) string {
	var b strings.Builder
	for _, s := range list {
		writeTree(&b, reflect.ValueOf(s))
	}
	return b.String()
}

var (
	typeOfPos      = reflect.TypeFor[syntax.Pos]()
	typeOfComments = reflect.TypeFor[[]syntax.Comment]()
)

func writeTree(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteByte(0)
			return
		}
		writeTree(b, v.Elem())
	case reflect.Slice:
		b.WriteByte('[')
		for i := range v.Len() {
			writeTree(b, v.Index(i))
		}
		b.WriteByte(']')
	case reflect.Struct:
		writeFields(b, v)
	case reflect.String:
		b.WriteString(v.String())
		b.WriteByte(0)
	case reflect.Bool:
		if v.Bool() {
			b.WriteByte(1)
		} else {
			b.WriteByte(2)
		}
	default: // an operator
		b.WriteString(reflect.ValueOf(v.Interface()).Type().Name())
		b.WriteRune(rune(v.Convert(reflect.TypeFor[uint32]()).Uint()) + 3)
	}
}

func writeFields(b *strings.Builder, v reflect.Value) {
	t := v.Type()
	b.WriteString(t.Name())
	b.WriteByte('{')
	for i := range t.NumField() {
		field := t.Field(i)
		switch {
		case field.Name == "InPos" || field.Name == "Dollar" && field.Type == typeOfPos:
			if v.Field(i).Interface().(syntax.Pos).IsValid() {
				b.WriteByte('@')
			}
		case field.Type == typeOfPos || field.Type == typeOfComments:
		default:
			writeTree(b, v.Field(i))
		}
	}
	b.WriteByte('}')
}

package bash

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// assignment walks x=value, x+=value, x[i]=value and x=(values) of a command that is nothing else.
func (w *walker) assignment(a *syntax.Assign) {
	w.value(a)
	if a.Append || a.Index != nil {
		w.change(a.Name.Value)
		return
	}
	w.assign(a.Name.Value)
}

// value walks what is right of an assignment, and the index.
func (w *walker) value(a *syntax.Assign) {
	if a.Index != nil && !isKeys(a.Index) {
		w.arithm(a.Index)
	}
	w.word(a.Value)
	if a.Array == nil {
		return
	}
	for _, e := range a.Array.Elems {
		if e.Index != nil && !isKeys(e.Index) {
			w.arithm(e.Index)
		}
		w.arg(e.Value)
	}
}

// declare walks declare, typeset, local, export, readonly and nameref.
func (w *walker) declare(variant string, list []*syntax.Assign) {
	w.use(Function(variant))
	letters, some := "", false
	for _, a := range list {
		if a.Name != nil {
			some = true
			w.value(a)
			w.declared(variant, letters, a.Name.Value, a, a.Value)
			continue
		}
		text, rest := literalPrefix(a.Value.Parts, false)
		name, value, assigns := strings.Cut(text, "=")
		name, _, _ = strings.Cut(strings.TrimSuffix(name, "+"), "[")
		switch {
		case len(rest) == 0 && strings.HasPrefix(text, "-"):
			letters += text[1:]
			continue
		case len(rest) == 0 && strings.HasPrefix(text, "+"):
			continue
		case variantLetters(variant, letters, "fF"):
			w.arg(a.Value)
			w.declaredFunction(variant, letters, text, len(rest) == 0)
		case isName(name) && (assigns || len(rest) == 0): // export "x=$y"
			w.word(a.Value)
			w.declared(variant, letters, name, &syntax.Assign{
				Naked: !assigns, Append: strings.Contains(text, "+=") || strings.Contains(text, "["),
			}, &syntax.Word{Parts: append([]syntax.WordPart{&syntax.Lit{Value: value}}, rest...)})
		default:
			w.arg(a.Value)
			w.dyn(variant, true)
		}
		some = true
	}
	switch {
	case some || variant == "local":
	case variant == "export" && !strings.ContainsAny(letters, "fF"):
		w.use(Exports)
	default:
		w.dyn(variant, false)
	}
}

func variantLetters(variant, letters, any string) bool {
	return strings.ContainsAny(letters, any) && variant != "local"
}

// declaredFunction notes an argument of declare -f and its like.
func (w *walker) declaredFunction(variant, letters, name string, literal bool) {
	switch {
	case !literal:
		w.dyn(variant, true)
	case variant == "export" || strings.Contains(letters, "x"):
		w.branch(func() { w.change(Function(name)); w.change(Exports) })
	case variant == "readonly" || strings.Contains(letters, "r"):
		w.branch(func() { w.change(Function(name)) })
	default:
		w.use(Function(name))
	}
}

// declared notes a variable that is declared, with a value or without.
func (w *walker) declared(variant, letters, name string, a *syntax.Assign, value *syntax.Word) {
	if strings.ContainsAny(letters, "fF") && variant != "local" {
		w.declaredFunction(variant, letters, name, true)
		return
	}
	if strings.Contains(letters, "p") && variant != "export" && variant != "readonly" {
		w.use(name)
		return
	}
	local := w.function > 0 && variant != "export" && variant != "readonly" && !strings.Contains(letters, "g")
	if local && w.maybe == 0 {
		w.local[name] = true
	}
	if strings.Contains(letters, "I") {
		delete(w.local, name)
	}
	if variant == "nameref" || strings.Contains(letters, "n") && variant != "export" {
		w.nameref(name, value, a.Naked)
	}
	if strings.Contains(letters, "i") && value != nil {
		w.branch(func() { w.arithmWord(value) })
	}
	if variant == "export" || strings.Contains(letters, "x") {
		w.branch(func() { w.change(Exports) })
	}
	w.branch(func() { // the command may fail, and may be a function
		if a.Naked || a.Append || a.Index != nil {
			w.change(name)
			return
		}
		w.assign(name)
	})
}

// nameref notes that a name is an alias of another one from now on.
func (w *walker) nameref(name string, value *syntax.Word, naked bool) {
	target, literal := literalWord(value)
	target, index, _ := strings.Cut(target, "[")
	if naked || !literal || !isName(target) {
		w.dynAt("nameref", true, true)
		return
	}
	w.inFunction(func() {
		w.expression(strings.TrimSuffix(index, "]"))
		w.change(target)
	})
}

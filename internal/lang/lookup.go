package lang

import (
	"path"
	"strings"
)

// Of returns the variant of a dialect; ok is false if none has it.
func Of(d Dialect) (v *Variant, ok bool) {
	if d == "" {
		d = Default
	}
	v, ok = known.byDialect[d]
	return v, ok
}

// All returns the languages in the order of their registration. It must not be changed.
func All() []*Language { return known.languages }

// Offered returns the variants that are offered to people, in order.
func Offered() (found []*Variant) {
	each(func(v *Variant) {
		if v.Title != "" {
			found = append(found, v)
		}
	})
	return found
}

// Dialects returns those of all languages, in order.
func Dialects() (found []Dialect) {
	each(func(v *Variant) { found = append(found, v.Dialect) })
	return found
}

// Extensions returns the extensions of source files.
func Extensions() (found []string) {
	each(func(v *Variant) { found = append(found, v.Extensions...) })
	return found
}

// Named returns the variant that fences, notebooks, comments and users call by a name: "js", "TypeScript", "sh".
func Named(name string) (v *Variant, ok bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	if v, ok = known.byName[name]; ok {
		return v, true
	}
	bare := strings.TrimRight(name, "0123456789.")
	if v, ok = known.byName[bare]; ok && v.Versioned == bare {
		return v, true
	}
	return nil, false
}

// WithExtension returns the variant of the files with an extension, in any case: ".py".
func WithExtension(ext string) (v *Variant, ok bool) {
	v, ok = known.byExtension[strings.ToLower(ext)]
	return v, ok
}

// Extension returns the extension of a new file for the dialect.
func (v *Variant) Extension() string {
	if len(v.Extensions) > 0 {
		return v.Extensions[0]
	}
	return v.Language.Variants[0].Extensions[0]
}

// RunBy returns the variant that the program of a line "#!" runs.
func RunBy(program string) (v *Variant, ok bool) {
	each(func(x *Variant) {
		for _, pattern := range x.Programs {
			if is, err := path.Match(pattern, program); v == nil && err == nil && is {
				v = x
			}
		}
	})
	return v, v != nil
}

// InNotebook returns the variant of the cells of a notebook with blocks of this one.
func (v *Variant) InNotebook() *Variant { return known.byDialect[v.cell()] }

// OfKernel returns the variant that the name of a notebook's kernel alone decides.
func OfKernel(name string) (v *Variant, ok bool) {
	v, ok = known.byKernel[name]
	return v, ok
}

// OfMagic returns the variant of the cells of a cell magic, its words separated by a blank.
func OfMagic(line string) (v *Variant, ok bool) {
	v, ok = known.byMagic[line]
	return v, ok
}

// Commented returns the first language in which a line begins with a comment. If several signs fit, the longest counts.
func Commented[T string | []byte](line T) (l *Language, ok bool) {
	for _, x := range known.languages {
		if n := len(x.Comment); len(line) >= n && string(line[:n]) == x.Comment && (l == nil || n > len(l.Comment)) {
			l = x
		}
	}
	return l, l != nil
}

// InSpace returns the language whose names lie in a space.
func InSpace(space string) (l *Language, ok bool) {
	for _, x := range known.languages {
		if x.Space == space {
			return x, true
		}
	}
	return nil, false
}

// each calls f for the variants of all languages, in order.
func each(f func(v *Variant)) {
	for _, l := range known.languages {
		for i := range l.Variants {
			f(&l.Variants[i])
		}
	}
}

// Or joins words as a choice: "a, b or c".
func Or(words []string) string {
	if n := len(words) - 1; n > 0 {
		return strings.Join(words[:n], ", ") + " or " + words[n]
	}
	return strings.Join(words, "")
}

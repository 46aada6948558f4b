package lang

import "fmt"

// index holds the languages in the order of their registration, and finds their variants.
type index struct {
	languages   []*Language
	byDialect   map[Dialect]*Variant
	byName      map[string]*Variant
	byExtension map[string]*Variant
	byKernel    map[string]*Variant
	byMagic     map[string]*Variant
}

// known is the table of the process.
var known = newIndex()

func newIndex() *index {
	return &index{byDialect: map[Dialect]*Variant{}, byName: map[string]*Variant{}, byExtension: map[string]*Variant{},
		byKernel: map[string]*Variant{}, byMagic: map[string]*Variant{}}
}

func init() {
	for i := range table {
		Register(&table[i])
	}
}

// Register adds a language, which must not be changed afterwards. Only init functions may call it. It panics if the row
// lacks something, or repeats what another has.
func Register(l *Language) {
	if err := known.add(l); err != nil {
		panic("lang: internal error: " + err.Error())
	}
}

func (x *index) add(l *Language) error {
	if err := l.check(); err != nil {
		return err
	}
	for _, other := range x.languages {
		if other.Name == l.Name || other.Space == l.Space {
			return fmt.Errorf("%s and %s have one name or space", other.Name, l.Name)
		}
	}
	x.languages = append(x.languages, l)
	for i := range l.Variants {
		if err := x.enter(l, &l.Variants[i]); err != nil {
			return err
		}
	}
	for i := range l.Variants {
		v := &l.Variants[i]
		if cell := x.byDialect[v.cell()]; cell == nil || cell.Kernel.Name == "" {
			return fmt.Errorf("notebooks with %s have no kernel", v.Dialect)
		}
	}
	return nil
}

// check reports what a row lacks.
func (l *Language) check() error {
	if l.Name == "" || l.Comment == "" || len(l.Variants) == 0 {
		return fmt.Errorf("the row %q lacks its name, its comment sign or its variants", l.Name)
	}
	if first := l.Variants[0]; string(first.Dialect) != l.Name || len(first.Extensions) == 0 {
		return fmt.Errorf("the first variant of %s is not of this name, or has no extension", l.Name)
	}
	for _, v := range l.Variants {
		if v.Dialect == l.Widest {
			return nil
		}
	}
	return fmt.Errorf("%s has no variant %q, which is its widest", l.Name, l.Widest)
}

// enter makes a variant of a language known by all that finds it.
func (x *index) enter(l *Language, v *Variant) error {
	v.Language = l
	err := put(x.byDialect, v, v.Dialect)
	for _, of := range []struct {
		known map[string]*Variant
		keys  []string
	}{
		{x.byName, v.Names}, {x.byExtension, v.Extensions}, {x.byKernel, v.Kernels}, {x.byMagic, v.Magics},
	} {
		if err == nil {
			err = put(of.known, v, of.keys...)
		}
	}
	return err
}

func put[K comparable](known map[K]*Variant, v *Variant, keys ...K) error {
	for _, k := range keys {
		if other := known[k]; other != nil {
			return fmt.Errorf("%s and %s both have %v", other.Dialect, v.Dialect, k)
		}
		known[k] = v
	}
	return nil
}

package mixed

import (
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/runner/kernel"
)

// space is a language's space of names. Names of the engine have it in front, those of the language do not.
type space string

// out returns the engine's name for a name of the language.
func (s space) out(name string) string {
	if s == "" {
		return name
	}
	return string(s) + ":" + name
}

// in returns the language's name for a name of the engine. ok is false for a name of another language.
func (s space) in(name string) (own string, ok bool) {
	if s == "" {
		return name, spaceOf(name) == ""
	}
	return strings.CutPrefix(name, string(s)+":")
}

// spaceOf returns the space of an engine's name.
func spaceOf(name string) space {
	if of, _, named := strings.Cut(name, ":"); named {
		if _, ok := lang.InSpace(of); ok {
			return space(of)
		}
	}
	return ""
}

func (s space) allOut(names []string) []string {
	if s == "" || names == nil {
		return names
	}
	found := make([]string, 0, len(names))
	for _, n := range names {
		found = append(found, s.out(n))
	}
	return found
}

// allIn returns those of the engine's names that are the language's.
func (s space) allIn(names []string) []string {
	if names == nil {
		return nil
	}
	found := []string{}
	for _, n := range names {
		if own, ok := s.in(n); ok {
			found = append(found, own)
		}
	}
	return found
}

// marked applies a function to names that may have a mark in front.
func marked(mark string, names []string, f func(string) string) []string {
	found := make([]string, 0, len(names))
	for _, n := range names {
		if bare, is := strings.CutPrefix(n, mark); is {
			found = append(found, mark+f(bare))
		} else {
			found = append(found, f(n))
		}
	}
	return found
}

// keysOut returns maps with names or keys of the language as the engine names them.
func keysOut[V any](m map[string]V, f func(string) string) map[string]V {
	if m == nil {
		return nil
	}
	found := make(map[string]V, len(m))
	for n, v := range m {
		found[f(n)] = v
	}
	return found
}

func keysIn[V any](s space, m map[string]V) map[string]V {
	if m == nil {
		return nil
	}
	found := map[string]V{}
	for n, v := range m {
		if own, ok := s.in(n); ok {
			found[own] = v
		}
	}
	return found
}

// started are hidden keys that have one value for the program, as it was started; no node changes them.
var started = map[string]bool{"conf:argv": true, "conf:folder": true}

// key returns the engine's key for hidden state of the language.
func (s space) key(k string) string {
	if started[k] {
		return k
	}
	return string(depgraph.Key(k).In(string(s)))
}

func (s space) keys(keys []string) []string {
	found := make([]string, 0, len(keys))
	for _, k := range keys {
		found = append(found, s.key(k))
	}
	return found
}

func (s space) pairs(shares [][3]string) [][3]string {
	found := make([][3]string, 0, len(shares))
	for _, p := range shares {
		found = append(found, [3]string{s.out(p[0]), s.out(p[1]), p[2]})
	}
	return found
}

// features returns those features that the language has: the engine collects them from blocks of all languages.
func (s space) features(all []string) (own []string) {
	for _, f := range all {
		if (f == "use strict") == (s != "") {
			own = append(own, f)
		}
	}
	return own
}

// node returns a node as the language is to execute it.
func (s space) node(n kernel.Node) kernel.Node {
	n.Future = s.features(n.Future)
	n.Uses, n.Certain, n.Unbound = s.allIn(n.Uses), s.allIn(n.Certain), s.allIn(n.Unbound)
	n.Imported, n.Order = s.allIn(n.Imported), s.allIn(n.Order)
	reach := map[string][]string{}
	for code, names := range n.Reach {
		if own, ok := s.in(code); ok {
			reach[own] = s.allIn(names)
		}
	}
	n.Reach = reach
	if s != "" {
		n.Submodules = nil // only packages of Python have them
	}
	return n
}

// observation makes an observation of the language that of the engine.
func (s space) observation(o *kernel.Observation) {
	if s == "" {
		return
	}
	if o.Failure != nil && o.Failure.Name != "" {
		o.Failure.Name = s.out(o.Failure.Name)
	}
	s.reads(&o.Reads)
	s.changes(&o.Changes)
	o.Hidden, o.Environ = keysOut(o.Hidden, s.key), keysOut(o.Environ, s.out)
	o.LibraryEnviron, o.Registered = s.allOut(o.LibraryEnviron), s.allOut(o.Registered)
	o.ModuleState, o.Quiet = keysOut(o.ModuleState, s.out), keysOut(o.Quiet, s.out)
	o.Again, o.Restored, o.Dropped = s.allOut(o.Again), s.allOut(o.Restored), s.allOut(o.Dropped)
	o.Unloaded = s.allOut(o.Unloaded)
	o.Imports.Libraries, o.Imports.Loads = keysOut(o.Imports.Libraries, s.out), keysOut(o.Imports.Loads, s.out)
	o.Imports.Modules = s.allOut(o.Imports.Modules)
}

func (s space) reads(r *kernel.Reads) {
	r.Names, r.Absent, r.Comembers = s.allOut(r.Names), s.allOut(r.Absent), s.allOut(r.Comembers)
	r.HiddenReads, r.EnvironReads = s.keys(r.HiddenReads), marked("=", r.EnvironReads, s.out)
}

func (s space) changes(c *kernel.Changes) {
	for i := range c.Writes {
		w := &c.Writes[i]
		w.Name, w.Deps, w.Code = s.out(w.Name), s.allOut(w.Deps), s.allOut(w.Code)
		w.ModuleParts = s.allOut(w.ModuleParts)
	}
	c.Deleted, c.BindOrder = s.allOut(c.Deleted), marked("-", c.BindOrder, s.out)
	c.Altered, c.AliasSensitive = s.allOut(c.Altered), s.allOut(c.AliasSensitive)
	c.AliasesAfter = s.pairs(c.AliasesAfter)
}

// unloaded makes what the language holds no more that of the engine.
func (s space) unloaded(u kernel.Unloaded) kernel.Unloaded {
	u.Modules, u.Dropped = s.allOut(u.Modules), s.allOut(u.Dropped)
	return u
}

// spaceNamed returns the space of the language of a dialect.
func spaceNamed(d depgraph.Dialect) (space, error) {
	e, err := kernel.Lookup(d)
	if err != nil {
		return "", err
	}
	return space(e.Space()), nil
}

func merged[V any](a, b map[string]V) map[string]V {
	if len(a) == 0 {
		return b
	}
	for k, v := range b {
		a[k] = v
	}
	return a
}

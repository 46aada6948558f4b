package mixed

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
)

// Languages finds the languages of a program among those that are registered. It is a kernel.Languages.
type Languages struct {
	find func(e kernel.Entry) (kernel.Language, error)

	mu    sync.Mutex
	found map[string]finding
}

type finding struct {
	kernel.Language
	err error
}

var _ kernel.Languages = (*Languages)(nil)

// New returns the languages that find leads to. find is called once for a language, when one of its blocks is met.
func New(find func(e kernel.Entry) (kernel.Language, error)) *Languages {
	return &Languages{find: find, found: map[string]finding{}}
}

// Only returns one language.
func Only(l kernel.Language) *Languages {
	return New(func(e kernel.Entry) (kernel.Language, error) {
		if e.Name == l.Name() {
			return l, nil
		}
		return nil, kernel.Unknown(depgraph.Dialect(e.Name))
	})
}

// Of returns the language of a dialect, with its names in its space. "" is the dialect of a block that names none.
func (ls *Languages) Of(d depgraph.Dialect) (kernel.Language, error) {
	e, err := kernel.Lookup(d)
	if err != nil {
		return nil, err
	}
	return ls.entry(e)
}

// in returns the language of a space.
func (ls *Languages) in(s space) (kernel.Language, error) {
	e, err := kernel.LookupSpace(string(s))
	if err != nil {
		return nil, err
	}
	return ls.entry(e)
}

func (ls *Languages) entry(e kernel.Entry) (kernel.Language, error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	f, known := ls.found[e.Name]
	if !known {
		l, err := ls.find(e)
		if f = (finding{err: err}); err == nil {
			f.Language = named{Language: l, space: space(e.Space())}
		}
		ls.found[e.Name] = f
	}
	return f.Language, f.err
}

// Found returns a language that was found, by its name; nil when it was not.
func (ls *Languages) Found(name string) kernel.Language {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l, is := ls.found[name].Language.(named); is {
		return l.Language
	}
	return nil
}

// Same reports whether the languages that both have found are the same.
func (ls *Languages) Same(other *Languages) bool {
	for name := range ls.found {
		if a, b := ls.Found(name), other.Found(name); a != nil && b != nil && a != b {
			return false
		}
	}
	return true
}

// String names the interpreters that were found, in the order of the languages' names.
func (ls *Languages) String() string {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(ls.found)) {
		if l := ls.found[name].Language; l != nil {
			texts = append(texts, l.String())
		}
	}
	return strings.Join(texts, ", ")
}

// Environ returns the environment of the program, which all of its languages have.
func (ls *Languages) Environ(lines []string) map[string]string { return kernel.Environ(lines) }

// Start returns a kernel that starts the interpreter of a language when it is first needed. Where all blocks of the
// program are in one language, it is started now.
func (ls *Languages) Start(ctx context.Context, l kernel.Launch) (kernel.Kernel, error) {
	u := &union{languages: ls, launch: l, kernels: map[space]kernel.Kernel{}, parked: map[kernel.Group]space{},
		open: map[space]map[string][]string{}}
	spaces := map[space]bool{}
	for _, d := range l.Dialects {
		if e, err := kernel.Lookup(d); err == nil {
			spaces[space(e.Space())] = true
		}
	}
	if len(spaces) != 1 {
		return u, nil
	}
	for s := range spaces {
		if _, err := u.need(ctx, s); err != nil {
			return nil, err
		}
	}
	return u, nil
}

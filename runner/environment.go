package runner

import (
	"context"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// environment gives the kernel the variables of the environment that p has. lost is a node that wrote a value which is
// gone, or -1.
func (w *walk) environment(ctx context.Context, p *programState) (lost int, err error) {
	set, first, lost, err := w.variables(p, &w.e.kernelState)
	if err != nil || lost >= 0 || len(set)+len(first) == 0 {
		return lost, err
	}
	return -1, w.e.kernel.SetEnviron(ctx, set, first)
}

// variables returns what a kernel in the state m is to be given so that it has the environment that p has. It notes in
// m that the kernel has it.
func (w *walk) variables(
	p *programState, m *kernelState,
) (set map[string]*string, first map[string]kernel.FirstImport, lost int, err error) {
	set = map[string]*string{}
	for k := range m.environ {
		if _, ok := p.keys.find(k); !ok { // back to the base
			name := k.Name()
			set[name] = nil
			if v, ok := w.e.base(name); ok {
				set[name] = &v
			}
			delete(m.environ, k)
		}
	}
	for k, e := range p.keys.in("env") {
		if now, ok := m.environ[k]; ok && w.e.environDigest(now) == e.digest {
			continue
		}
		value, ok, err := w.variable(k.Name(), e.digest)
		if err != nil || !ok {
			return nil, nil, e.writer, err
		}
		set[k.Name()] = value
		m.environ[k] = value
	}
	first, lost, err = w.firstImports(p, m)
	return set, first, lost, err
}

// firstImports returns, for libraries that the kernel does not have at p and was not given, the environment that their
// first import found, as far as that import itself changed it. See first_imports.py.
func (w *walk) firstImports(
	p *programState, m *kernelState,
) (first map[string]kernel.FirstImport, lost int, err error) {
	first = map[string]kernel.FirstImport{}
	for _, k := range p.loads() {
		by := p.keys.of(k).writer
		out := w.outcomes[by]
		if _, there := m.loads[k]; there || out.t == nil || out.Trace != "" && m.first[k] == out.Trace {
			continue
		}
		set := map[string]*string{}
		for _, a := range out.t.Reads {
			if !p.ownChange(a, by) {
				continue
			}
			value, ok, err := w.variable(a.Key.Name(), a.Digest)
			if err != nil || !ok {
				return nil, by, err
			}
			set[a.Key.Name()] = value
		}
		if m.first[k] = out.Trace; len(set) > 0 {
			first[k.Name()] = kernel.FirstImport{Node: string(out.t.Identity()), Environ: set}
		}
	}
	return first, -1, nil
}

// base returns what a variable of a language's environment has before the first node.
func (e *Engine) base(name string) (value string, ok bool) {
	_, plain := depgraph.Key("env:" + name).Cut()
	value, ok = e.environ[plain.Name()]
	return value, ok
}

// variable returns the value of a variable of the environment, nil if it is unset. The digest is that of the base or of
// what a node has set.
func (w *walk) variable(name string, d state.Digest) (value *string, ok bool, err error) {
	if d == state.Absent {
		return nil, true, nil
	}
	if base, set := w.e.base(name); set && w.e.environDigest(&base) == d {
		return &base, true, nil
	}
	data, ok, err := w.e.cfg.Store.Blob(d)
	if err != nil || !ok {
		return nil, false, err
	}
	text := string(data[len("env "):])
	return &text, true, nil
}

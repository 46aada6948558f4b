package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// CodeNotKept is the code of errors about a value that would have to be computed to be seen.
const CodeNotKept state.Code = "value-not-kept"

// errNotKept says that a statement of the program would have to run.
var errNotKept = errors.New("a statement would have to run")

// errForeign says that what was stored, or what it needs, comes back as something else.
var errForeign = errors.New("it comes back as something else")

// Value returns what repr tells of the variable name after the last of blocks, as their recorded outcomes have it. The value is
// loaded by an interpreter of its own; what it needs of the program's imports, functions and classes is run again for it,
// and nothing else. Neither the store nor a file is written.
func (e *Engine) Value(ctx context.Context, blocks []Block, name string) (string, error) {
	w := &walk{e: e, o: RunOptions{Discard: true}, looks: true}
	w.dialects = dialectsOf(blocks)
	e.world.begin()
	w.units, w.nodes = e.analyse(blocks)
	w.outcomes = make([]NodeOutcome, len(w.nodes))
	if err := w.recall(); err != nil {
		return "", err
	}
	at, err := w.storedAt(name)
	if err != nil {
		return "", err
	}
	w.pos = w.positionAt(at)
	for range 2*len(w.nodes) + 8 {
		if err := e.need(ctx, w); err != nil {
			return "", err
		}
		missing, err := w.bindAll(ctx, w.pos, at, []string{name})
		if err == nil && missing >= 0 {
			err = w.rebuild(ctx, missing)
		}
		switch {
		case errors.Is(err, errNotKept):
			return "", notKept(name, "it, or what it is made of, was not stored")
		case errors.Is(err, errForeign):
			return "", &state.Error{Code: CodeNotKept, Message: fmt.Sprintf("the value of %s does not come back as it was from %s", name, e.cfg.Language.Command()),
				Hint: "name the interpreter that the program ran with: --python PATH; xstate log --json tells its version"}
		case err != nil:
			return "", err
		case missing < 0:
			return e.kernel.Inspect(ctx, name)
		}
	}
	return "", notKept(name, "what it needs does not settle")
}

// storedAt returns a place after which name has the value that it has at the end, and where that was stored: with all that it
// shares objects with there. A frame is stored when it is made; a view of it that a later block takes makes another group of
// both, which may not be. Where none was stored it is the end.
func (w *walk) storedAt(name string) (int, error) {
	k := depgraph.Var(name)
	want := w.positionAt(len(w.nodes)).keys[k].digest
	p := newPosition(w.e.world.get)
	at, tried := len(w.nodes), map[joint]bool{}
	for i := range w.nodes {
		if t := w.outcomes[i].t; t != nil && t.Err == nil {
			p.apply(i, t)
		}
		if p.keys[k].digest != want {
			continue
		}
		j, _ := p.joint(name)
		if tried[j] {
			continue
		}
		tried[j] = true
		v, ok, err := w.e.value(j)
		if err != nil {
			return 0, err
		}
		if ok && v.Blob != "" {
			at = i + 1
		}
	}
	return at, nil
}

func notKept(name, why string) error {
	return &state.Error{Code: CodeNotKept, Message: fmt.Sprintf("the value of %s is not kept: %s", name, why),
		Hint: "xstate fork NEW.py --at-step N makes a program that prints it when it is run"}
}

// recall takes the recorded traces of the blocks for their outcomes.
func (w *walk) recall() error {
	for i, n := range w.nodes {
		b := n.unit.Before
		if b == nil || b.RanAt < b.Edited || n.at >= len(b.Nodes) || b.Nodes[n.at].Trace == "" {
			continue
		}
		t, ok, err := w.e.cfg.Store.Trace(b.Nodes[n.at].Trace)
		if err != nil {
			return err
		}
		if ok {
			w.outcomes[i].NodeResult, w.outcomes[i].t = b.Nodes[n.at], &t
		}
	}
	return nil
}

// Recorded calls yield with the name of every value that was stored of the variables of blocks, as they are after the last
// of them by their recorded outcomes, and of hidden state.
func Recorded(store *state.Store, blocks []Block, yield func(state.Value) error) error {
	p := newPosition(func(depgraph.Key) state.Digest { return state.Absent })
	seen := map[state.Digest]bool{}
	each := func(d state.Digest) error {
		if seen[d] || d == state.Absent {
			return nil
		}
		seen[d] = true
		v, ok, err := store.Value(d)
		if err != nil || !ok || v.Blob == "" {
			return err
		}
		return yield(v)
	}
	n := 0
	for _, b := range blocks {
		if b.Before == nil || b.Before.RanAt < b.Before.Edited {
			continue
		}
		for _, r := range b.Before.Nodes {
			t, ok, err := store.Trace(r.Trace)
			if err != nil {
				return err
			}
			if n++; !ok || t.Err != nil {
				continue
			}
			p.apply(n, &t)
			for _, a := range t.Writes { // values in between are what a block edited later starts from
				d := a.Digest
				if a.Key.Space() == "var" && d != state.Absent {
					j, _ := p.joint(a.Key.Name())
					d = state.Digest(j)
				}
				if err := each(d); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// scratchDir is where the engine keeps what passes between it and the kernel.
func (e *Engine) scratchDir() string { return cmp.Or(e.cfg.Scratch, e.cfg.Store.Dir()) }

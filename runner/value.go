package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/inspect"
)

// CodeNotKept is the code of errors about a value that would have to be computed again to be shown.
const CodeNotKept state.Code = "value-not-kept"

// CodeForeignValue is the code of errors about a value that is not shown, because code of another store would have to
// run.
const CodeForeignValue state.Code = "value-foreign"

// errNotKept reports that a statement of the program would have to run.
var errNotKept = errors.New("a statement would have to run")

// errForeign reports that a stored value, or what it needs, comes back as something else.
var errForeign = errors.New("it comes back as something else")

// errForeignCode reports that code of a foreign session would have to run.
var errForeignCode = errors.New("code of a foreign session would have to run")

// Value returns repr of the variable name after the last of blocks, by their recorded outcomes. With a place it returns
// that of the part there, and a description. It loads the value into a separate interpreter. That runs the program's
// imports, functions and classes that the value needs, and nothing else. For a foreign session it runs nothing. Neither
// the store nor a file is written.
func (e *Engine) Value(
	ctx context.Context, blocks []state.ProgramBlock, name string, at *inspect.Place,
) (kernel.Inspected, error) {
	if err := e.makeValue(ctx, blocks, name); err != nil {
		return kernel.Inspected{}, err
	}
	found, err := e.kernel.Inspect(ctx, name, at)
	found.Text = e.cfg.Secrets.Scrub(found.Text)
	if found.Description != nil {
		found.Description.Clip(inspect.Standard, e.cfg.Secrets.ScrubClipped)
	}
	return found, err
}

// makeValue loads the value of a variable into the interpreter, see Value.
func (e *Engine) makeValue(ctx context.Context, blocks []state.ProgramBlock, name string) error {
	w := e.walkOfRecord(blocks)
	if err := w.loadOutcomes(); err != nil {
		return err
	}
	at, err := w.storedAt(name)
	if err != nil {
		return err
	}
	w.pos = w.stateAt(at)
	for range 2*len(w.nodes) + 8 {
		if err := e.need(ctx, w); err != nil {
			return err
		}
		missing, err := -1, w.makeWay(ctx, w.pos) // a definition that was run for the value may have changed it
		if err == nil {
			missing, err = w.bindAll(ctx, w.pos, at, []string{name})
		}
		if err == nil && missing >= 0 {
			err = w.rebuild(ctx, missing)
		}
		switch {
		case errors.Is(err, errForeignCode), errors.Is(err, errForeign) && w.e.cfg.Store.Foreign():
			return &state.Error{
				Code: CodeForeignValue,
				Message: fmt.Sprintf("the value of %s is not shown: a value of a foreign store that is more than data",
					name),
				Hint: "if you would run its program, `xstate run FILE --fresh` computes it here; if you know who " +
					"made " +
					"it, `xstate import ARCHIVE --trust` believes it",
			}
		case errors.Is(err, errNotKept):
			return notKept(name, "it, or what it is made of, was not stored")
		case errors.Is(err, errForeign):
			return &state.Error{
				Code: CodeNotKept,
				Message: fmt.Sprintf("the value of %s does not come back as it was from %s", name,
					e.interpreterOf(w.units)),
				Hint: "name the interpreter that the program ran with: `--python PATH`; `xstate log --json` tells " +
					"its " +
					"version",
			}
		case err != nil:
			return err
		case missing < 0:
			if _, bound := e.kernelState.bound[name]; !bound {
				return notKept(name, "it uses an open file")
			}
			return nil
		}
	}
	return notKept(name, "what it needs has no stable state")
}

// walkOfRecord returns a walk that looks at the recorded outcomes of blocks, see loadOutcomes.
func (e *Engine) walkOfRecord(blocks []state.ProgramBlock) *walk {
	w := &walk{e: e, o: RunOptions{Discard: true}, readOnly: true, asks: true, dialects: dialectsOf(blocks)}
	e.baseState.Begin()
	w.analyse(blocks)
	w.outcomes = make([]NodeOutcome, len(w.nodes))
	return w
}

// interpreterOf names the interpreter of the program's first block.
func (e *Engine) interpreterOf(units []*unit) string {
	for _, u := range units {
		if u.language != nil {
			return u.language.Command()
		}
	}
	return "the interpreter"
}

// storedAt returns a place after which name has its final value, and where its group was stored. A frame is stored when
// it is made. A later view of it makes another group of both, which may not be stored. Where no group was stored,
// storedAt returns the end.
func (w *walk) storedAt(name string) (int, error) {
	k := depgraph.Var(name)
	want := w.stateAt(len(w.nodes)).keys.of(k).digest
	p := newProgramState(w.e.baseState.Get)
	at, tried := len(w.nodes), map[groupDigest]bool{}
	for i := range w.nodes {
		if t := w.outcomes[i].t; t != nil && t.Err == nil {
			p.apply(i, t)
		}
		if p.keys.of(k).digest != want {
			continue
		}
		j, _ := p.groupDigest(name)
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
		Hint: "`xstate fork NEW.py --at-step N` makes a program that prints it when it is run"}
}

// loadOutcomes reads the recorded traces of the blocks as their outcomes.
func (w *walk) loadOutcomes() error {
	for i, n := range w.nodes {
		b := n.unit.Before
		if b == nil || b.RanAt < b.Edited || n.at >= len(b.Nodes) {
			continue
		}
		if b.Nodes[n.at].Trace == "" {
			w.outcomes[i].Status = b.Nodes[n.at].Status
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

// StoredValues calls yield for every stored value of the variables of blocks, and of hidden state, after each of their
// nodes by the recorded outcomes.
func StoredValues(store *state.Store, blocks []state.ProgramBlock, yield func(state.Value) error) error {
	p := newProgramState(func(depgraph.Key) state.Digest { return state.Absent })
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
			for _, d := range groupsWritten(p, &t) { // in between, too: a block that is edited later starts from them
				if err := each(d); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// groupsWritten returns the digests under which values that t wrote are stored, if they are. p is the state after it.
func groupsWritten(p *programState, t *state.Trace) (groups []state.Digest) {
	digests := groupDigests{of: p}
	for _, a := range t.Writes {
		d := a.Digest
		if a.Key.Space() == "var" && d != state.Absent {
			d = state.Digest(digests.get(a.Key.Name()))
		}
		groups = append(groups, d)
	}
	return groups
}

// scratchDir returns the folder for what passes between engine and kernel.
func (e *Engine) scratchDir() string { return cmp.Or(e.cfg.Scratch, e.cfg.Store.Dir()) }

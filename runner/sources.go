package runner

import (
	"context"
	"errors"

	"github.com/xstate-engine/xstate/runner/kernel"
)

// compiled asks the language for its verdict on all blocks, once a pass.
func (w *walk) compiled(ctx context.Context) (bool, error) {
	if w.compileAsked {
		return true, nil
	}
	w.compileAsked = true
	if w.readOnly { // they were run before, and the verdict could not be kept
		return true, nil
	}
	ok, err := w.e.compile(ctx, w.units)
	if errors.Is(err, kernel.ErrDied) {
		return true, nil // what killed it will be met again by the node that runs it
	}
	return ok, err
}

// sources gives the kernel the text of every block, once a pass, so that tracebacks can cite it.
func (w *walk) sources(ctx context.Context) error {
	if w.cited {
		return nil
	}
	texts, futures := map[string]string{}, map[string][]string{}
	for _, u := range w.units {
		if u.facts != nil {
			texts[u.filename()] = string(u.facts.Code)
		}
		if len(u.nodes) > 0 && len(u.nodes[0].future) > 0 {
			futures[u.filename()] = u.nodes[0].future
		}
	}
	w.cited = true
	return w.e.kernel.Cite(ctx, kernel.Citations{Texts: texts, Futures: futures})
}

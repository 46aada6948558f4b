package runner

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
)

// worded starts the interpreter of a program with blocks that do not parse, so that it says why in its own words. Where
// it does not start, the words are those of the analysis.
func (w *walk) worded(ctx context.Context) error {
	unknown := func(u *unit) bool { return u.unparsed != nil && !u.compileChecked }
	if w.readOnly || !slices.ContainsFunc(w.units, unknown) || w.e.need(ctx, w) != nil {
		return ctx.Err()
	}
	if ok, err := w.compiled(ctx); err != nil || !ok {
		return cmp.Or(err, errRestart)
	}
	return nil
}

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

// sources gives the kernel the texts of the blocks, once a pass, so that tracebacks can cite them.
func (w *walk) sources(ctx context.Context) error {
	if err := ctx.Err(); w.cited || err != nil {
		return err
	}
	had, has := w.e.kernelState.texts, map[string]citation{}
	c := kernel.Citations{Texts: map[string]string{}, Futures: map[string][]string{},
		Dialects: map[string]depgraph.Dialect{}}
	for _, u := range w.units {
		if u.facts == nil {
			continue
		}
		var future []string
		if len(u.nodes) > 0 {
			future = u.nodes[0].future
		}
		name := u.filename()
		has[name] = citation{string(u.facts.Code), strings.Join(future, " ")}
		if old, ok := had[name]; ok && old == has[name] {
			continue
		}
		c.Dialects[name] = u.Dialect
		if c.Texts[name] = has[name].text; len(future) > 0 {
			c.Futures[name] = future
		}
	}
	for name := range had {
		if _, kept := has[name]; !kept {
			c.Gone = append(c.Gone, name)
		}
	}
	err := w.e.kernel.Cite(ctx, c)
	if w.cited, w.e.kernelState.texts = true, has; err != nil {
		w.e.dropKernel() // it may have some of them
	}
	return err
}

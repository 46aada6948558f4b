package node

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
	"github.com/xstate-engine/xstate/runner/kernel"
)

// nodeKernel is a kernel whose driver executes plans of texts, see transform.
type nodeKernel struct {
	*kernel.Driven
	dialects []depgraph.Dialect // the dialects of the program's blocks
}

// Execute runs the plan of a node.
func (k *nodeKernel) Execute(ctx context.Context, n kernel.Node, sink kernel.Sink) (kernel.Observation, error) {
	if n.Dialect != "xstate/give" && n.Dialect != "xstate/take" {
		if n.Dialect == "" && len(k.dialects) > 0 {
			n.Dialect = string(k.dialects[0])
		}
		p, err := planOf(n.Text, depgraph.Dialect(n.Dialect), slices.Contains(n.Future, "use strict"))
		if err != nil {
			return kernel.Observation{}, err
		}
		if n.Text, err = json.Marshal(p); err != nil {
			return kernel.Observation{}, err
		}
	}
	return k.Driven.Execute(ctx, n, sink)
}

// Check returns Node's verdicts on the plans of blocks.
func (k *nodeKernel) Check(ctx context.Context, blocks []kernel.Source) ([]kernel.Verdict, error) {
	asked := slices.Clone(blocks)
	for i, b := range blocks {
		d := b.Dialect
		if d == "" && len(k.dialects) > 0 {
			d = k.dialects[0]
		}
		p, err := planOf(b.Text, d, slices.Contains(b.Future, "use strict"))
		var found any = p
		if err != nil {
			found = map[string]any{"error": position(string(b.Text), err)}
		}
		if asked[i].Text, err = json.Marshal(found); err != nil {
			return nil, err
		}
	}
	return k.Driven.Check(ctx, asked)
}

// position returns the fields of a verdict for a text that does not parse.
func position(text string, err error) map[string]any {
	var bad *depgraph.SyntaxError
	if errors.As(err, &bad) {
		return map[string]any{"message": bad.Msg, "line": bad.Line, "column": bad.Column}
	}
	var broken *js.SyntaxError
	if errors.As(err, &broken) {
		line := 1
		for _, r := range text[:min(broken.Start, len(text))] {
			if r == '\n' {
				line++
			}
		}
		return map[string]any{"message": "invalid syntax", "line": line, "column": 0}
	}
	return map[string]any{"message": err.Error(), "line": 1, "column": 0}
}

// planOf returns the plan of a text in a dialect.
func planOf(text []byte, dialect depgraph.Dialect, strict bool) (*plan, error) {
	plain, err := withoutTypes(text, dialect)
	if err != nil {
		return nil, err
	}
	p, err := transform(plain, dialect, strict)
	if p != nil {
		p.Dialect = string(dialect)
	}
	return p, err
}

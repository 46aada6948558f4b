package xstate

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

// CodeNoValue is the code of errors about a name that has no value after a step.
const CodeNoValue state.Code = "no-value"

// ValueView is what a variable had after a step.
type ValueView struct {
	Name   string `json:"name"`
	Digest Digest `json:"digest"`
	By     string `json:"by"` // the node that wrote it
	Type   string `json:"type,omitempty"`
	Shape  string `json:"shape,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
	Text   string `json:"text"`   // what repr returns
	Loaded bool   `json:"loaded"` // an interpreter was started to unpickle it
}

// Value returns what a variable had after step n, as the blocks of that step left it when they were run last. A value whose
// recorded description is complete (None, a number, a short text, a small container of them) is told from that; any other is
// loaded from its blob by an interpreter of its own. Nothing of the program is executed but the imports, functions and
// classes that the value needs. Where it was not stored, the error has runner.CodeNotKept.
func (s *Session) Value(ctx context.Context, n StepNumber, name string) (*ValueView, error) {
	d, err := s.Dependencies(ctx, n)
	if err != nil {
		return nil, err
	}
	v, err := d.value(name)
	if err != nil {
		return nil, err
	}
	if text, ok := complete(v); ok {
		v.Text = text
		return v, nil
	}
	v.Loaded = true
	v.Text, err = s.load(ctx, n, name)
	return v, err
}

// value finds who wrote a name last.
func (d *Dependencies) value(name string) (*ValueView, error) {
	found, err := d.Symbol(name)
	if err != nil {
		return nil, err
	}
	at := d.Snapshot.Step.Number
	for _, w := range slices.Backward(found.Writers) {
		p := d.named(w.Node)
		switch {
		case w.Evidence == depgraph.Observed.String() && w.Digest == "":
			return nil, &Error{Code: CodeNoValue, Message: fmt.Sprintf("%s has no value after step %d: %s deletes it", name, at, w.Node), Hint: "xstate query --symbol " + name + " tells who binds it"}
		case w.Evidence == depgraph.Observed.String():
			v := &ValueView{Name: name, Digest: w.Digest, By: w.Node}
			if w.Value != nil {
				v.Type, v.Shape, v.Bytes, v.Text = w.Value.Type, w.Value.Shape, w.Value.Bytes, w.Value.Repr
			}
			return v, nil
		case p != nil && p.block.Status == "new":
			hint := "xstate run runs it"
			if d.Snapshot.NextRun > 0 {
				hint = fmt.Sprintf("ask for it at the next run: --at-step %d", d.Snapshot.NextRun)
			}
			return nil, &Error{Code: CodeNoValue, Message: fmt.Sprintf("%s has no value after step %d: block %s, which binds it, was not run yet", name, at, p.block.ID), Hint: hint}
		case p != nil && (p.block.Status == "failed" || p.block.Status == "blocked"):
			return nil, &Error{Code: CodeNoValue, Message: fmt.Sprintf("%s has no value after step %d: block %s, which binds it, %s", name, at, p.block.ID, p.block.Status), Hint: "xstate why " + string(p.block.ID)}
		}
	}
	return nil, &Error{Code: CodeNoValue, Message: fmt.Sprintf("no block gives %s a value after step %d", name, at), Hint: "xstate query --symbol " + name + " tells who reads it"}
}

func (d *Dependencies) named(node string) *nodePlace {
	for _, p := range d.nodes {
		if p.name == node {
			return p
		}
	}
	return nil
}

var plainTypes = []string{"NoneType", "bool", "int", "float", "complex", "str", "bytes", "list", "tuple", "set", "frozenset", "dict"}

// complete returns the recorded description of a value if it is all of its repr: reprlib puts "..." where it left out, and "<"
// begins what it could not print.
func complete(v *ValueView) (string, bool) {
	ok := v.Text != "" && slices.Contains(plainTypes, v.Type) && !strings.Contains(v.Text, "...") && !strings.HasPrefix(v.Text, "<")
	return v.Text, ok
}

// load asks an interpreter of its own for a stored value.
func (s *Session) load(ctx context.Context, n StepNumber, name string) (text string, err error) {
	blocks, err := s.ProgramAt(ctx, n)
	if err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp("", "xstate-*")
	if err != nil {
		return "", fmt.Errorf("make a folder for a value: %w", err)
	}
	defer os.RemoveAll(scratch)
	cfg, err := s.config(ctx)
	if err != nil {
		return "", err
	}
	cfg.Scratch = scratch
	engine, err := runner.New(cfg)
	if err != nil {
		return "", err
	}
	defer engine.Close()
	return engine.Value(ctx, blocks, name)
}

package xstate

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state/query"
)

// Value returns what a variable had after step n, as the blocks of that step left it when they were run last. A value whose
// recorded description is complete (None, a number, a short text, a small container of them) is told from that; any other is
// loaded from its blob by an interpreter of its own. Nothing of the program is executed but the imports, functions and
// classes that the value needs. Where it was not stored, the error has runner.CodeNotKept.
func (s *Session) Value(ctx context.Context, n StepNumber, name string) (*query.ValueView, error) {
	d, err := s.history.Dependencies(ctx, n)
	if err != nil {
		return nil, err
	}
	v, err := d.Variable(name)
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

var plainTypes = []string{"NoneType", "bool", "int", "float", "complex", "str", "bytes", "list", "tuple", "set", "frozenset", "dict"}

// complete returns the recorded description of a value if it is all of its repr: reprlib puts "..." where it left out, and "<"
// begins what it could not print.
func complete(v *query.ValueView) (string, bool) {
	ok := v.Text != "" && slices.Contains(plainTypes, v.Type) && !strings.Contains(v.Text, "...") && !strings.HasPrefix(v.Text, "<")
	return v.Text, ok
}

// load asks an interpreter of its own for a stored value.
func (s *Session) load(ctx context.Context, n StepNumber, name string) (text string, err error) {
	blocks, err := s.history.ProgramAt(ctx, n)
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

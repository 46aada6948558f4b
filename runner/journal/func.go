package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Func makes a source of a function of the harness. The source is named Tool.Source, or "go". An error of the function
// says that no answer came, unless it is a Refusal.
func Func(t Tool, call func(ctx context.Context, args json.RawMessage) (any, error)) Source {
	return &function{t, call}
}

// Refusal is the error of a tool that answers that it cannot. Programs get the text.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// function is a source of one function.
type function struct {
	tool Tool
	call func(ctx context.Context, args json.RawMessage) (any, error)
}

func (f *function) Name() string                          { return cmp.Or(f.tool.Source, "go") }
func (f *function) Tools(context.Context) ([]Tool, error) { return []Tool{f.tool}, nil }
func (f *function) Close() error                          { return nil }

// Call calls the function. Its result is anything that encoding/json can write.
func (f *function) Call(ctx context.Context, a Attempt) (answer Answer, err error) {
	defer func() { // the harness survives a panic of its tool
		if p := recover(); p != nil {
			err = fmt.Errorf("the function panics: %v", p)
		}
	}()
	result, err := f.call(ctx, a.Args)
	var refusal Refusal
	if errors.As(err, &refusal) {
		result, answer.Refused, err = string(refusal), true, nil
	}
	if err != nil {
		return Answer{}, err
	}
	answer.Result, err = json.Marshal(result)
	return answer, err
}

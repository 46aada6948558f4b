package rpc

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/runner/journal"
)

// maxAnswer is the largest document that a method answers with, and the longest event.
const maxAnswer = 64 << 20

// lines hands over each line that is written to it. It keeps at most one. The writer does not learn of an error: what
// becomes of its output is not its concern.
type lines struct {
	rest   []byte
	any    bool // a line came
	to     func(line []byte) error
	err    error // the first of to; then nothing is handed over any more
	failed func(error)
}

func (l *lines) Write(p []byte) (int, error) {
	if l.err == nil {
		if l.err = l.take(p); l.err != nil {
			l.rest = nil
			l.failed(l.err)
		}
	}
	return len(p), nil
}

func (l *lines) take(p []byte) error {
	for part := range bytes.Lines(p) {
		if len(l.rest)+len(part) > maxAnswer {
			return fail(api.CodeTooLarge, "ask for less: one block, or with a limit",
				"the answer has more than %d bytes", maxAnswer)
		}
		l.rest = append(l.rest, part...)
		if !bytes.HasSuffix(part, []byte("\n")) {
			return nil
		}
		line := bytes.TrimSpace(l.rest)
		l.rest = nil
		if len(line) > 0 {
			l.any = true
			if err := l.to(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// tail keeps the end of what is written to it: the remarks of a verb, for when it answers nothing.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	const most = 4 << 10
	t.text = slices.Concat(t.text, p)
	t.text = t.text[max(0, len(t.text)-most):]
	return len(p), nil
}

// do carries out a command, hands over each line that it prints, and returns the exit code. It returns when the call
// has ended.
//
// A client that goes away cancels ctx, and so the call. A line that is not taken cancels it, too. A detached command
// continues in both cases.
func (s *Service) do(ctx context.Context, c *command, format string, to func(line []byte) error) (exit int, err error) {
	call, err := c.call(ctx, s, format)
	if err == nil && len(c.tools) > 0 && format != "json-lines" {
		err = errors.New("only a stream can offer tools: ExecStream or RunStream")
	}
	if err != nil {
		return 0, misused(err)
	}
	if len(c.tools) > 0 {
		to = oneByOne(to)
		call.Tools = []journal.Source{&harness{tools: c.tools, pending: &s.pending, send: to, gone: ctx.Done()}}
	}
	if c.detach {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if s.Life != nil {
		defer context.AfterFunc(s.Life, func() { cancel(context.Cause(s.Life)) })()
	}
	out := &lines{to: to, failed: func(err error) {
		if !c.detach {
			cancel(err)
		}
	}}
	var remarks tail
	call.Stdout, call.Stderr = out, &remarks
	exit = s.Do.Do(ctx, call)
	switch {
	case out.err != nil:
		return exit, out.err
	case !out.any || len(out.rest) > 0:
		return exit, broken(exit, &remarks)
	}
	return exit, nil
}

// oneByOne lets several goroutines hand over lines.
func oneByOne(to func([]byte) error) func([]byte) error {
	var mu sync.Mutex
	return func(line []byte) error {
		mu.Lock()
		defer mu.Unlock()
		return to(line)
	}
}

// broken is the failure of a verb that did not answer as it must.
func broken(exit int, remarks *tail) *failure {
	return fail(api.CodeInternal, "this should not happen; please report it with the request",
		"the verb ended with %d without an answer, and said: %s", exit, bytes.TrimSpace(remarks.text))
}

// answer carries out a command that prints one document, and returns it. A verb that fails after its document prints a
// failure, too, which then is the answer.
func (s *Service) answer(ctx context.Context, c *command) ([]byte, error) {
	var text []byte
	exit, err := s.do(ctx, c, "json", func(line []byte) error {
		text = line
		return nil
	})
	if err != nil {
		return nil, err
	}
	if f := failureIn(text, exit); f != nil {
		return nil, f
	}
	return text, nil
}

// events hands over the events of a command, until done.
func (s *Service) events(ctx context.Context, c *command, to func(line []byte) error) error {
	var f *failure
	_, err := s.do(ctx, c, "json-lines", func(line []byte) error {
		if f = failureIn(line, 1); f != nil {
			return nil
		}
		return to(line)
	})
	if err == nil && f != nil {
		err = f
	}
	return err
}

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

// TestFailureAtOnce: on a terminal the error of a block is shown when it fails, on a line of its own, and not again at
// the end. The progress line shares no line with output.
func TestFailureAtOnce(t *testing.T) {
	var screen bytes.Buffer
	u := term.New(caller{}.env, 0, &screen, &screen)
	u.OutTerminal, u.ErrTerminal = true, true
	p := newProgress(u)
	p.places["a"], p.places["b"] = 0, 1
	a := &app{printer: printer{ui: u}}
	open := output.Output{Kind: "stdout", Text: "half a line"}
	e := &state.ExecError{Type: "ValueError", Message: "no"}
	p.event(runner.Event{Block: "a", Kind: "begin"})
	p.draw()
	p.event(runner.Event{Block: "a", Kind: "output", Output: open})
	p.draw() // nothing behind half a line
	p.event(runner.Event{Block: "a", Kind: "end", Status: state.StatusFailed})
	p.event(runner.Event{Block: "a", Kind: "failed", Failure: e})
	p.event(runner.Event{Block: "b", Kind: "begin"})
	p.event(runner.Event{Block: "b", Kind: "output", Output: open})
	p.stop()
	early := screen.String()
	line := early[:strings.Index(early, "\r")]
	if !strings.HasPrefix(line, "xstate: [1/2] a runs, ") {
		t.Errorf("the screen begins with %q, want the progress line", line)
	}
	want := "\r\x1b[K[1] a\nhalf a line\nValueError: no\n[2] b\nhalf a line\n"
	if d := cmp.Diff(want, early[len(line):]); d != "" {
		t.Errorf("during the run (-want +got):\n%s", d)
	}
	screen.Reset()
	b := &runner.BlockOutcome{}
	b.ID, b.Status, b.Outputs, b.Err = "a", state.StatusFailed, []output.Output{open}, e
	a.printBlock(0, b, p)
	if got := screen.String(); strings.Contains(got, "no") || strings.Contains(got, "half") ||
		!strings.Contains(got, "failed") {
		t.Errorf("at the end %q, want that the block failed, and neither its error nor its output again", got)
	}
	screen.Reset()
	a.printBlock(0, b, newProgress(u))
	if got := screen.String(); !strings.Contains(got, "ValueError: no") {
		t.Errorf("at the end of a run that showed nothing %q, want the error", got)
	}
}

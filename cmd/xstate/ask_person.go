package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	terminal "golang.org/x/term"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
)

// executeAsking executes, asks the person at the terminal about calls that wait, and then continues. Without a terminal
// it does not ask.
func (a *app) executeAsking(
	ctx context.Context, store *xstate.Store, session *xstate.Session, file string, edits []xstate.Step, f runFlags,
) (*api.Run, error) {
	for later := []state.CallID{}; ; {
		d, err := a.execute(ctx, store, session, file, edits, f)
		if d == nil || len(d.Waiting) == 0 || !a.hasPerson() {
			return d, err
		}
		decided := false
		for i := range d.Waiting {
			w := &d.Waiting[i]
			if slices.Contains(later, w.Call) {
				continue
			}
			yes, bad := a.askPerson(ctx, store, w)
			if bad != nil {
				return d, bad
			}
			if decided = decided || yes; !yes {
				later = append(later, w.Call)
			}
		}
		if !decided {
			return d, err
		}
		edits, f.Fresh = nil, false
	}
}

// hasPerson reports whether a person at a terminal can be asked.
func (a *app) hasPerson() bool {
	in, ok := a.call.Stdin.(term.Descriptor)
	return ok && a.ui.ErrTerminal && !a.ui.JSON && terminal.IsTerminal(int(in.Fd()))
}

// askPerson asks about a call until the answer is one of its choices, and records it. It reports false if the person
// decides later.
func (a *app) askPerson(ctx context.Context, store *xstate.Store, w *state.WaitingCall) (decided bool, err error) {
	c, err := store.State().Call(ctx, w.Call)
	if err != nil {
		return false, err
	}
	args, err := store.State().Read(c.Args)
	if err != nil {
		return false, err
	}
	text := fmt.Sprintf("call %d of %s %s: %s", w.Call, w.Tool, term.Cut(string(args), callArguments), w.Question)
	if w.Why != "" {
		text += " (" + w.Why + ")"
	}
	a.ui.Talk("%s", text)
	choices := "a text"
	if len(w.Choices) > 0 {
		choices = strings.Join(w.Choices, ", ")
	}
	for {
		a.ui.Say(choices + ", or nothing to decide later: ")
		line, err := readLine(ctx, a.call.Stdin)
		if line == "" || err != nil {
			return false, err
		}
		if len(w.Choices) == 0 || slices.Contains(w.Choices, line) {
			_, err := a.decide(ctx, store, w.Call, verb.Approve{Choice: line})
			return err == nil, err
		}
	}
}

// callArguments is how many characters of arguments a person is shown.
const callArguments = 400

// readLine reads a line from a terminal; "" at its end.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type answer struct {
		line string
		err  error
	}
	got := make(chan answer, 1)
	go func() { // a read of a terminal cannot be interrupted
		line, err := bufio.NewReader(in).ReadString('\n')
		got <- answer{line, err}
	}()
	select {
	case x := <-got:
		if x.line != "" || errors.Is(x.err, io.EOF) {
			x.err = nil
		}
		return strings.TrimSpace(x.line), x.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

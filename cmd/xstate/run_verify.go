package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/patch/diff"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
)

func (a *app) verify(
	ctx context.Context,
	s *xstate.Session,
	step xstate.StepNumber,
	have *xstate.Outcome,
	f runFlags,
) (*api.Verified, error) {
	if a.ui.ErrTerminal && !a.ui.Quiet && !a.ui.JSON {
		a.ui.Progress("xstate: runs everything from scratch, to verify")
	}
	found, err := replay.Verify(ctx, s.Subject(), have, runner.RunOptions{Timeout: f.Timeout})
	if ctx.Err() != nil {
		return nil, &state.Error{
			Code:    api.CodeInterrupted,
			Message: fmt.Sprintf("interrupted while verifying; the run is kept as step %d", step),
			Hint:    "run it again with `--verify`",
		}
	}
	if err != nil {
		return nil, err
	}
	if found, err = replay.Attribute(ctx, s.Subject(), step, found); err != nil {
		return nil, err
	}
	alone, differs, err := replay.CompareAlone(ctx, s.Subject(), have)
	if err != nil {
		return nil, err
	}
	if differs != nil {
		found = append(found, *differs)
	}
	v := &api.Verified{Alone: alone, Blocks: len(have.Blocks),
		Differences: []replay.Difference{}, Explained: []replay.Difference{}}
	for _, d := range found {
		if len(d.Marks) > 0 {
			v.Explained = append(v.Explained, d)
		} else {
			v.Differences = append(v.Differences, d)
		}
	}
	v.Equal = len(v.Differences) == 0
	said, err := replay.Confirm(ctx, s.Subject(), step, found, f.Origin.WithoutCost())
	if err != nil {
		return nil, err
	}
	v.Step = said.Number
	if !a.ui.JSON {
		a.printVerified(v)
	}
	return v, nil
}

func (w *printer) printVerified(v *api.Verified) {
	for _, d := range v.Explained {
		w.ui.Talk(
			"block %s, %s: differs from a run from scratch, as a volatile block may (%s)",
			d.Block,
			d.What,
			strings.Join(d.Marks, ", "),
		)
	}
	if len(v.Differences) == 0 {
		text := "equal to a run from scratch"
		if v.Alone.Compared {
			text += ", and to what " + v.Alone.Command + " prints alone"
		}
		if len(v.Explained) > 0 {
			text += " but for what is volatile"
		}
		w.ui.Talk("verified: %s (%s)", text, term.Plural(v.Blocks, "block"))
		if v.Alone.Script && !v.Alone.Compared {
			w.ui.Talk("not compared with the interpreter alone: %s", v.Alone.Why)
		}
		return
	}
	d := v.Differences[0]
	where := d.What
	if d.Block != "" {
		where = "block " + string(d.Block) + ", " + d.What
	}
	than := "a run from scratch"
	if d.Alone {
		than = "the interpreter alone"
	}
	w.ui.Say("xstate: not equal to " + than + ": " + where + "\n")
	w.ui.Write(differenceText(d))
	if n := len(v.Differences) - 1; n > 0 {
		w.ui.Say("xstate: and " + term.Plural(n, "more difference") + " (--json has them all)\n")
	}
	w.ui.Say("hint: --fresh runs everything again; unless a child process showed time or chance, please report it\n")
}

// differenceText renders a difference as a unified diff from the run from scratch to the incremental one.
func differenceText(d replay.Difference) string {
	return diff.Unified("from scratch", "incremental", line(d.Want), line(d.Have), 3)
}

func line(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

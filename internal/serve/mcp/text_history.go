package mcp

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
)

// historyReply lists steps, newest first.
func historyReply(d *api.Log) *reply {
	r := &reply{}
	r.line("session %s, newest first", d.Session)
	for i := range d.Steps {
		line := entry(&d.Steps[i].Entry)
		if forks := d.Steps[i].Forks; len(forks) > 0 {
			line += "; forked into " + strings.Join(forks, ", ")
		}
		r.line("%s", line)
	}
	if d.Next > 0 {
		r.line("older steps: history with after %d", d.Next)
	}
	return r
}

// flowReply says what reached each call, and what to look at.
func flowReply(d *api.Flow) *reply {
	r := &reply{}
	for _, x := range d.Findings {
		r.line("%s: %s", x.Code, x.Text)
	}
	if len(d.Findings) == 0 {
		r.line("nothing was left out, given twice, cut or dropped, as far as words show")
	}
	for i := range d.Calls {
		c := &d.Calls[i]
		r.line("call %d, %s of %s", c.ID, c.Tool, c.Node)
		for _, p := range c.Given {
			r.line("  was given %s", p.Text())
		}
		for _, name := range c.Unseen {
			r.line("  was not given %s, on which what it was given depends", name)
		}
		for _, p := range c.Answer {
			r.line("  its answer is in %s", p.Text())
		}
	}
	return r
}

// undoReply says what was taken back.
func undoReply(d *api.Undo) *reply {
	r := &reply{}
	var steps []string
	for _, n := range d.Undone {
		steps = append(steps, fmt.Sprint(n))
	}
	verb := "took back"
	if d.DryRun {
		verb = "would take back"
	}
	r.line("%s the edits of steps %s", verb, strings.Join(steps, ", "))
	for _, c := range d.Changes {
		r.line("%s %s", cmp.Or(c.Op, "change"), c.ID)
		r.body(c.Diff, textBudget/4)
	}
	if d.File != "" {
		r.line("wrote %s", d.File)
	}
	if len(d.Steps) > 0 {
		r.line("step %d; nothing ran: run brings results up to date", d.Steps[len(d.Steps)-1].Step)
	}
	return r
}

// forkReply says where a session begins.
func forkReply(d *api.Fork) *reply {
	r := &reply{}
	from := ""
	if d.From != nil {
		from = fmt.Sprintf(" after step %d of %s", d.From.Step, d.From.Session)
	}
	r.line("session %s begins%s; give it as session to the other tools", d.Session, from)
	if d.Folder != "" {
		r.line("its folder is %s", d.Folder)
	} else if d.File != "" {
		r.line("wrote %s", d.File)
	}
	return r
}

// replayReply says whether recorded runs produced the same again.
func replayReply(d *api.Replay) *reply {
	r := &reply{}
	if d.Report == nil {
		return r
	}
	executed, served := 0, 0
	for i := range d.Runs {
		executed, served = executed+d.Runs[i].Executed, served+len(d.Runs[i].Served)
	}
	r.line("%s: %s of session %s, %s executed, %d took their recorded result, %s", d.Result,
		term.Plural(len(d.Runs), "run"), d.Session, term.Plural(executed, "part"), served, duration(d.Seconds))
	for i := range d.Runs {
		x := &d.Runs[i]
		r.line("step %d: %s", x.Step, x.Result)
		for _, v := range x.Divergences {
			r.line("step %d, block %s: %s differs, cause %s: %s", v.Step, v.Block, v.What, v.Cause, v.Detail)
			r.line("recorded:")
			r.body(v.Recorded, 1000)
			r.line("replayed:")
			r.body(v.Replayed, 1000)
		}
	}
	for _, m := range d.Missing {
		r.line("missing: %s (%s)", m.What, m.Why)
	}
	return r
}

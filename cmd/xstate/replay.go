package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	verb.Replay
	report, calls string
	bisect        bisectFlags
	verify        verb.Verify
}

// Values of --calls: calls are served, or those of tools without effects are also made again.
const (
	callsServe = "serve"
	callsAgain = "again"
)

func (a *app) replayVerb() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "execute recorded runs again, compare, and report divergences with their causes",
		Long: `Replay executes the runs of a session again, each in a clean interpreter and a clean copy of the
workspace. It compares every part with the record: status, output, error, values, files, and reads. It reports that they
are equal, or the first divergence with its cause: code, input, file, interpreter, package, environment, randomness,
clock, network, subprocess, process, race or record. A part that diverged then gets the recorded result, so that the
rest is tested, too. Code that changed between runs is no divergence: each run has the program that it had.

Replay records nothing and writes no file of the workspace. Parts that used the network, started processes or changed
files elsewhere are not executed; they get the recorded results. Files are the recorded ones where the store has them
(up to 1 MB each, and all that the program writes to), otherwise those that are there now. A part is executed once for
each code and inputs, however many runs have it.

Calls of tools and models are served from the record. With --calls again, tools of the classes pure and read are also
called again, with the recorded arguments. Another answer is a divergence of the cause call; the program still gets the
recorded one. A tool that cannot be asked is named. Rules and budgets hold.

` + bisectLong + "\n\n" + verifyLong,
		Example: `  xstate replay
  xstate replay --step 14 --report replay.html
  xstate replay --step 14 --calls again
  xstate replay --from 20 --until-divergence --jobs 4
  xstate replay --block report --json
  xstate replay --bisect report
  xstate replay --block fit --times 10`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ofRuns := []string{"from", "to", "step", "cached", "calls", "until-divergence", "jobs", "report"}
			err := cmp.Or(alone(cmd, "bisect", append(ofRuns, "block", "times")...), alone(cmd, "times", ofRuns...),
				needs(cmd, "block", "times"), needs(cmd, "bisect", "value", "good", "bad", "recorded"),
				needs(cmd, "times", "agent", "reason", "call-id", "origin"))
			switch {
			case err != nil:
				return err
			case cmd.Flags().Changed("bisect"):
				f.bisect.o.Timeout, f.bisect.python = f.Timeout, f.Python
				return a.bisect(cmd.Context(), f.bisect)
			case cmd.Flags().Changed("times"):
				f.verify.Block, f.verify.Timeout, f.verify.Python = f.Block, f.Timeout, f.Python
				return a.verifyBlock(cmd.Context(), f.verify)
			}
			return a.replay(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(stepFlag{&f.From}, "from", "replay the runs from this `STEP` on")
	flags.Var(stepFlag{&f.To}, "to", "replay the runs up to this `STEP`")
	flags.Var(stepFlag{&f.Step}, "step", "replay the run that is this `STEP`")
	flags.StringVar(&f.Block, "block", "", "replay this `BLOCK` with everything it needs, in the last of the runs")
	flags.BoolVar(&f.Cached, "cached", false, "execute nothing: verify the digests of the record")
	flags.StringVar(&f.calls, "calls", callsServe, "`HOW` calls are answered: serve, or again, which makes those "+
		"without effects\nagain and compares the answers")
	flags.BoolVar(&f.UntilDivergence, "until-divergence", false, "stop after the first run that diverged")
	flags.IntVar(&f.Jobs, "jobs", 1, "replay this `NUMBER` of runs at once")
	flags.StringVar(&f.report, "report", "", "write a report to this `FILE`: .html (with code, data and agents) or .md")
	flags.DurationVar(&f.Timeout, "timeout", 0, "stop a part of a block that runs longer than this `DURATION`")
	flags.Var(a.pythonPath(&f.Python), "python", "the interpreter's `PATH`, as for run")
	flags.StringVar(&f.bisect.block, "bisect", "",
		"find the edit since which this `BLOCK` fails, or does what it does now")
	f.bisect.add(flags)
	flags.IntVar(&f.verify.Times, "times", 0, "execute the BLOCK of --block this `NUMBER` of times from the same state")
	a.completeBlockFlags(cmd, "block", "bisect")
	a.originFlags(cmd, &f.verify.Origin)
	_ = cmd.RegisterFlagCompletionFunc("calls",
		cobra.FixedCompletions([]string{callsServe, callsAgain}, cobra.ShellCompDirectiveNoFileComp))
	return a.ofSession(cmd)
}

func (f *replayFlags) check() error {
	switch {
	case f.Step != nil && (f.From != nil || f.To != nil):
		return &usageError{
			err:  errors.New("--step is one run, --from and --to are several"),
			hint: "`xstate replay --step STEP`, or `xstate replay --from STEP --to STEP`",
		}
	case f.Step != nil && *f.Step == 0:
		return &usageError{err: errors.New("there is no step 0"), hint: "`xstate log` lists the steps"}
	case f.Jobs < 1 || f.Jobs > mostJobs:
		return &usageError{err: fmt.Errorf("`--jobs` must be 1 to %d", mostJobs), hint: "`xstate replay --jobs 4`"}
	case f.Timeout < 0:
		return &usageError{err: errors.New("`--timeout` must not be negative"), hint: "`xstate replay --timeout 30s`"}
	case f.calls != callsServe && f.calls != callsAgain:
		return &usageError{err: fmt.Errorf("`--calls` is serve or again, not %q", f.calls),
			hint: "`xstate replay --calls again`"}
	case f.calls == callsAgain && f.Cached:
		return &usageError{err: errors.New("`--cached` executes nothing, and `--calls again` makes calls"),
			hint: "use one of them"}
	case f.report != "" && reportFormat(f.report) == "":
		return &usageError{
			err:  fmt.Errorf("a report is .html or .md, not %q", f.report),
			hint: "`xstate replay --report replay.html`",
		}
	}
	return nil
}

// reportFormat is how a report is written to a file of that name.
func reportFormat(name string) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".html", ".htm":
		return "html"
	case ".md", ".markdown":
		return "md"
	}
	return ""
}

func (a *app) replay(ctx context.Context, f replayFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	ro := replay.Options{From: stepOr0(f.From), To: stepOr0(f.To), Step: stepOr0(f.Step), Cached: f.Cached,
		UntilDivergence: f.UntilDivergence, CallAgain: f.calls == callsAgain, Jobs: f.Jobs, Timeout: f.Timeout}
	o, err := a.openToPlan(ctx, f.Python)
	if err != nil {
		return err
	}
	defer o.Close()
	if ro.Block, err = o.named(ctx, f.Block); err != nil {
		return err
	}
	shown, n := a.ui.ErrTerminal && !a.ui.Quiet && !a.ui.JSON, 0
	ro.OnRun = func(run *replay.RunReport, of int) {
		n++
		a.ui.Event(api.Event{Event: "progress", Done: n, Of: of})
		if shown {
			a.ui.Progress(
				fmt.Sprintf("xstate: replayed %d of %s: step %d %s", n, term.Plural(of, "run"), run.Step, run.Result),
			)
		}
	}
	found, err := replay.Run(ctx, o.session.Subject(), ro)
	if ctx.Err() != nil {
		return &state.Error{
			Code:    api.CodeInterrupted,
			Message: "interrupted; a replay leaves nothing behind",
			Hint:    "use `--from` and `--to` to replay fewer runs",
		}
	}
	if err != nil {
		return err
	}
	if f.report != "" {
		if err := a.writeReport(ctx, f.report, o.history, found); err != nil {
			return err
		}
	}
	if a.ui.JSON {
		err = a.ui.Document(api.Replay{Version: api.Version, Report: found})
	} else {
		a.printReplay(found)
	}
	if err == nil && found.Result == replay.Diverged {
		return outcome(exitDiverged)
	}
	return err
}

// writeReport writes the report of a replay: a page that also shows code, data and agents, or a text.
func (c caller) writeReport(ctx context.Context, name string, h *query.History, x *replay.Report) error {
	text := ""
	if reportFormat(name) == "html" {
		programs, err := programsOf(ctx, h, x)
		if err != nil {
			return err
		}
		if text, err = replayHTML(x, programs); err != nil {
			return err
		}
	} else {
		text = replayMarkdown(x)
	}
	if err := writeFile(c.path(name), []byte(text)); err != nil {
		return &usageError{
			err:  fmt.Errorf("the report cannot be written: %w", err),
			hint: "name another file: `--report FILE`",
		}
	}
	return nil
}

func (w *printer) printReplay(x *replay.Report) {
	w.ui.Table(replayRows(x))
	for _, run := range x.Runs {
		for i := range run.Divergences {
			d := &run.Divergences[i]
			w.ui.Print("%s", divergenceText(d, i == 0))
		}
	}
	for _, m := range x.Missing {
		w.ui.Talk("%s", missingText(m))
	}
	for _, s := range servedTexts(x) {
		w.ui.Talk("%s", s)
	}
	if others := otherInterpreters(x); len(others) > 0 {
		w.ui.Talk("recorded with %s, replayed with %s", strings.Join(others, ", "), x.Interpreter)
	}
	w.ui.Talk("%s", replayedText(x))
}

func divergenceText(d *replay.Divergence, first bool) string {
	text := fmt.Sprintf("\nstep %d, %s: %s diverges\n    cause: %s: %s\n", d.Step, d.Node, d.What, d.Cause, d.Detail)
	if !first {
		text = strings.TrimPrefix(text, "\n")
	}
	if d.Recorded != d.Replayed {
		text += "    recorded: " + oneLine(d.Recorded) + "\n    replayed: " + oneLine(d.Replayed) + "\n"
	}
	return text
}

// otherInterpreters are those that runs were recorded with, beside the one of the replay.
func otherInterpreters(x *replay.Report) []string {
	var found []string
	for _, run := range x.Runs {
		if name := run.Interpreter; !x.Cached && name != x.Interpreter && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

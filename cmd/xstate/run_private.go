package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/private"
	"github.com/xstate-engine/xstate/state"
)

// A run with --private happens in a private folder first. If it succeeds, the program runs in its own folder, which
// reuses the results: the engine writes the files that they name. So nothing that a failed run did is in that folder,
// even if the run was killed, and what a program writes into its files of the path that it runs in is right.

// trialSuffix ends the name of the session in which the runs of another one are tried.
const trialSuffix = ".private"

func (a *app) runPrivate(ctx context.Context, store *xstate.Store, src *source, f runFlags) error {
	name, err := a.runName(ctx, store, src)
	if err != nil {
		return err
	}
	v, err := a.trial(ctx, store, name, src, f)
	if err != nil {
		return err
	}
	trial := *src
	trial.path = v.In(src.path)
	tried, err := a.runTrial(ctx, store, v, &trial, f)
	if err != nil {
		if tried != nil {
			a.ui.Talk("%s is as it was; what the run left is in %s: xstate diff --files %s",
				a.fromHere(v.Original), a.fromHere(v.Folder), term.Quoted(v.Session))
			tried.Private = &api.PrivateRun{Session: v.Session, Folder: v.Folder, Step: tried.Step}
			if a.ui.JSON {
				err = errors.Join(err, a.ui.Document(tried))
			}
		}
		return err
	}
	return a.runTried(ctx, store, name, src, f, &api.PrivateRun{Session: v.Session, Folder: v.Folder, Step: tried.Step})
}

// trial returns the up-to-date view in which runs of a session are tried. It makes both sessions if there are none.
func (a *app) trial(
	ctx context.Context, store *xstate.Store, name string, src *source, f runFlags,
) (*private.View, error) {
	if v, err := private.Of(ctx, store.State(), name); err != nil && state.CodeOf(err) != state.CodeNoSession {
		return nil, err
	} else if v != nil {
		return nil, &usageError{
			err:  errors.New("the session " + name + " has a private folder already"),
			hint: "leave out `--private`; `xstate apply " + term.Quoted(name) + "` moves its files into the original",
		}
	}
	session, err := a.runSession(ctx, store, src, f)
	if err != nil {
		return nil, err
	}
	if err := a.closeSession(session); err != nil {
		return nil, err
	}
	a.end()
	a.lease = nil
	v, err := private.Of(ctx, store.State(), name+trialSuffix)
	if state.CodeOf(err) == state.CodeNoSession {
		head, _, err := store.State().Head(ctx, name)
		if err != nil {
			return nil, err
		}
		made, err := private.Fork(ctx, store.State(), name+trialSuffix, state.ForkPoint{Session: name, Step: head},
			f.Origin.WithoutCost(), nil)
		if err != nil {
			return nil, err
		}
		return made.View, nil
	}
	if err == nil {
		v, err = private.Needed(ctx, store.State(), name+trialSuffix)
	}
	if err != nil {
		return nil, err
	}
	return v, v.Refresh(ctx)
}

// runTrial runs the program in the view. It returns nil where nothing ran.
func (a *app) runTrial(
	ctx context.Context, store *xstate.Store, v *private.View, src *source, f runFlags,
) (*api.Run, error) {
	was := a.session
	a.session, f.Workdir, f.Write = v.Session, "", false
	defer func() { a.session = was }()
	session, err := a.runSession(ctx, store, src, f)
	if err != nil {
		return nil, err
	}
	end, err := a.hold(ctx, session)
	if err != nil {
		return nil, err
	}
	defer func() {
		end()
		a.end()
		a.lease = nil
	}()
	edits, err := a.load(ctx, session, src, f)
	if err != nil {
		return nil, err
	}
	return a.execute(ctx, store, session, src.path, edits, f)
}

// runTried runs in its folder what succeeded in the view, and says only how much that was.
func (a *app) runTried(
	ctx context.Context, store *xstate.Store, name string, src *source, f runFlags, tried *api.PrivateRun,
) error {
	f.Fresh, f.Refresh, f.Always, f.Verify, f.Origin = false, false, nil, false, f.Origin.WithoutCost()
	session, err := a.runSession(ctx, store, src, f)
	if err != nil {
		return err
	}
	defer a.closeSession(session)
	end, err := a.hold(ctx, session)
	if err != nil {
		return err
	}
	defer end()
	edits, err := a.load(ctx, session, src, f)
	if err != nil {
		return err
	}
	program, _, err := session.History().Program(ctx)
	if err != nil {
		return err
	}
	pins, err := f.pins(program)
	if err != nil {
		return err
	}
	following, run := a.beginRun(ctx, session, "run", f.Origin)
	out, step, err := session.Run(following, runner.RunOptions{
		Jobs: f.Jobs, RemoteJobs: f.RemoteJobs, Elsewhere: f.Elsewhere,
		Timeout: f.Timeout, Memory: f.Memory, Pins: pins,
		RestoreFiles: f.RestoreFiles,
		OnEvent:      run.Event,
	}, f.Origin)
	run.end(out, step, err)
	if err != nil {
		return a.unrecorded(err, len(edits), 0)
	}
	d := documentOf(session.Name(), step, edits, out, nil, a.noticesOf(store),
		a.placesOf(session, src.path, program))
	d.Private = tried
	if err := a.writeResults(ctx, session, src, f, &d); err != nil {
		return err
	}
	if a.ui.JSON {
		if err := a.ui.Document(&d); err != nil {
			return err
		}
		return runExitCode(out, nil)
	}
	a.ui.Talk("in %s: step %d of %s: %s", a.fromHere(session.Folder()), step.Number, filepath.ToSlash(name),
		countsText(step.Run))
	return runExitCode(out, nil)
}

package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/state"
)

// The verbs run and plan take a FILE. Without one, --session names a session of no file, as exec makes: what is meant
// is its recorded program.

// takesProgramOrSession checks the arguments of such a verb.
func takesProgramOrSession(cmd *cobra.Command, args []string) error {
	own, program := programArguments(cmd, args)
	if len(own) > 0 || !cmd.Flags().Changed("session") {
		return takesProgram(cmd, args)
	}
	for _, name := range []string{"stdin", "workdir", "write", "expect", "merge"} {
		if cmd.Flags().Changed(name) {
			return &usageError{err: errors.New("--" + name + " needs a FILE"), hint: cmd.CommandPath() + " FILE --" + name}
		}
	}
	if len(program) > 0 {
		return &usageError{
			err:  errors.New("arguments of the program need a FILE"),
			hint: cmd.CommandPath() + " FILE -- ARGUMENT",
		}
	}
	return nil
}

// recorded opens the session of no file that --session names.
func (a *app) recorded(ctx context.Context, python, verb string) (*opened, error) {
	if slices.Contains(programKinds, filepath.Ext(a.session)) {
		return nil, &usageError{
			err:  errors.New("the session " + a.session + " is that of a file"),
			hint: "name the file: xstate " + verb + " " + a.session,
		}
	}
	return a.openWith(ctx, state.Options{}, python)
}

// runRecorded runs what is affected in a session of no file.
func (a *app) runRecorded(ctx context.Context, f runFlags) error {
	o, err := a.recorded(ctx, f.python, "run")
	if err != nil {
		return err
	}
	defer o.Close()
	release, err := o.session.Hold(ctx)
	if err != nil {
		return err
	}
	defer func() {
		o.session.Close() // while nobody else runs here: the interpreter may have files open
		release()
	}()
	d, err := a.execute(ctx, o.store, o.session, o.file, nil, f)
	if d != nil && a.ui.json {
		if bad := a.ui.document(d); bad != nil {
			return bad
		}
	}
	return err
}

// planRecorded reports what runRecorded would do.
func (a *app) planRecorded(ctx context.Context, python string) error {
	o, err := a.recorded(ctx, python, "plan")
	if err != nil {
		return err
	}
	defer o.Close()
	head, err := o.head(ctx)
	if err != nil {
		return err
	}
	blocks, err := o.session.History().ProgramFrom(ctx, head)
	if err != nil {
		return err
	}
	d, err := planOf(ctx, o.session, blocks)
	if err != nil {
		return err
	}
	return a.printPlan(d, "")
}

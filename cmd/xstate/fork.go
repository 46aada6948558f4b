package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/state"
)

// codeFileExists is the code of errors about a file that is not to be written over.
const codeFileExists state.Code = "file-exists"

func (a *app) forkVerb() *cobra.Command {
	var at moment
	var origin xstate.Origin
	cmd := &cobra.Command{
		Use:   "fork NEW",
		Short: "begin a session that shares the past of another",
		Long: `Fork makes the session NEW, which begins as another was after a step and then goes its own way. It runs and copies
nothing: what both have in common keeps its results. The other session, its program and its file stay as they are.

If NEW is the name of a program (.py, .ipynb, .md), the program is written into that file, which must not be there;
then xstate run NEW goes on. Otherwise it is a session without a file of its own: xstate run FILE --session NEW.`,
		Example: `  xstate fork trial.py
  xstate fork trial.py --at-step 5 --agent coder --reason "another way to clean"`,
		Args: takes(1, 1, "the NEW session's name"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.fork(cmd.Context(), args[0], at, origin) },
	}
	cmd.Flags().SortFlags = false
	at.flags(cmd)
	originFlags(cmd, &origin)
	return a.sessionFlag(cmd)
}

func (a *app) fork(ctx context.Context, name string, at moment, origin xstate.Origin) error {
	return a.change(ctx, func(o *opened) error {
		n, err := o.step(ctx, at)
		if err != nil {
			return err
		}
		path, text := "", []byte(nil)
		if slices.Contains(programKinds, filepath.Ext(name)) {
			if path, err = filepath.Abs(name); err != nil {
				return err
			}
			if text, err = o.forkText(ctx, n, path); err != nil {
				return err
			}
			name = sessionName(o.store.State().Dir(), path)
		}
		made, err := o.session.Fork(ctx, name, n, origin)
		if err != nil {
			return err
		}
		if path != "" {
			if err := writeFile(path, text); err != nil {
				return err
			}
		}
		if a.ui.json {
			return a.ui.document(struct {
				Version int               `json:"version"`
				Session string            `json:"session"`
				From    *state.ForkPoint  `json:"from"`
				Step    xstate.StepNumber `json:"step"`
				File    string            `json:"file,omitempty"`
			}{1, made.Name, made.From, made.Head, path})
		}
		a.ui.talk("session %s begins after step %d of %s", made.Name, n, o.session.Name())
		if path != "" {
			a.ui.talk("its program is in %s", fromHere(path))
		} else {
			a.ui.talk("xstate run FILE --session %s goes on in it", made.Name)
		}
		return nil
	})
}

// forkText is the program after step n as the new file path: with the prose of the session's file, if that is there and of
// the same kind.
func (o *opened) forkText(ctx context.Context, n xstate.StepNumber, path string) ([]byte, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, &state.Error{Code: codeFileExists, Message: fmt.Sprintf("the file %s is there already", fromHere(path)), Hint: "choose another name, or move the file away"}
	}
	var data []byte
	if src, err := readSource(o.file); err == nil && filepath.Ext(o.file) == filepath.Ext(path) {
		data = src.data
	}
	return o.session.Text(ctx, n, path, data)
}

// fromHere is a path as people write it: from the working directory, if it lies below.
func fromHere(path string) string {
	folder, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// writeFile makes a file hold data, at once or not at all. A symbolic link stays one.
func writeFile(path string, data []byte) error {
	w, err := stageFile(path, data)
	if err != nil {
		return err
	}
	return w.put()
}

// staged is what a file is to hold, written beside it: what can fail of writing it has not failed when a step says that it holds it.
// nil is of no file.
type staged struct{ temp, path string }

func stageFile(path string, data []byte) (*staged, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	mode := fs.FileMode(0o666)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.OpenFile(path+".xstate-tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return nil, unwritten(path, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, unwritten(path, errors.Join(err, os.Remove(f.Name())))
	}
	return &staged{f.Name(), path}, nil
}

// put makes the file hold it.
func (w *staged) put() error {
	if w == nil {
		return nil
	}
	if err := os.Rename(w.temp, w.path); err != nil {
		return w.drop(unwritten(w.path, err))
	}
	return nil
}

// drop leaves the file as it is, because of an error.
func (w *staged) drop(why error) error {
	if w == nil {
		return why
	}
	if err := os.Remove(w.temp); err != nil {
		return errors.Join(why, err)
	}
	return why
}

func unwritten(path string, err error) error {
	return &state.Error{Code: state.CodeIO, Message: fmt.Sprintf("%s cannot be written", path), Hint: "check the folder and the disk; xstate export writes the program elsewhere", Err: err}
}

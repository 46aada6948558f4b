package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/provenance"
)

type showFlags struct {
	images    string
	open, all bool
}

// showFigures writes the pictures that blocks put out last into a folder, and prints their paths. With --open it shows
// them.
func (a *app) showFigures(ctx context.Context, blocks []string, f showFlags) error {
	if f.open && len(blocks) == 0 {
		return &usageError{err: errors.New("`--open` needs a BLOCK"), hint: "`xstate query BLOCK --open`"}
	}
	return a.lookAt(ctx, verb.Moment{}, func(o *opened, head xstate.StepNumber) error {
		snap, err := o.history.At(ctx, head)
		if err != nil {
			return err
		}
		views := snap.Blocks
		if len(blocks) > 0 {
			b, err := snap.Block(xstate.BlockID(blocks[0]))
			if err != nil {
				return err
			}
			views = views[b.Index : b.Index+1]
		}
		d := api.Figures{Version: api.Version, Session: snap.Session, Step: head, Figures: []api.Figure{}}
		for i := range views {
			for _, x := range provenance.Figures(views[i].ID, views[i].Outputs) {
				path, err := f.write(o.caller, x)
				if err != nil {
					return err
				}
				d.Figures = append(d.Figures, api.Figure{Block: views[i].ID, Media: x.Media, File: path})
			}
		}
		if len(d.Figures) == 0 {
			return &state.Error{
				Code:    api.CodeNoFigure,
				Message: "there is no picture in what the program put out",
				Hint:    "`xstate query` lists what each block put out; name another block",
			}
		}
		return a.printFigures(d, f.open)
	})
}

// write writes a picture into the folder that --images names. Without one it goes to the user's cache, under a name
// that only this picture has: a viewer may still show an earlier one.
func (f *showFlags) write(c caller, x provenance.Figure) (path string, err error) {
	folder, name := f.images, x.Name
	if folder == "" {
		if folder, err = c.cacheDir(); err != nil {
			return "", unwritten("the user's cache folder", err)
		}
		folder = filepath.Join(folder, "xstate", "figures")
		name = term.Short(string(state.DigestOf(x.Data))) + "-" + name
	}
	if path, err = c.abs(filepath.Join(folder, name)); err != nil {
		return "", err
	}
	return path, writeFiles(filepath.Dir(path), map[string][]byte{name: x.Data})
}

func (w *printer) printFigures(d api.Figures, open bool) error {
	if w.ui.JSON {
		if err := w.ui.Document(d); err != nil {
			return err
		}
	}
	for _, x := range d.Figures {
		if !w.ui.JSON {
			w.ui.Print("%s\n", w.fromHere(x.File))
		}
		if !open {
			continue
		}
		if err := w.view(x.File); err != nil {
			return err
		}
	}
	return nil
}

// view shows a file with the system's viewer. It does not wait for the viewer to end.
func (c caller) view(path string) error {
	args := []string{"xdg-open", path}
	switch runtime.GOOS {
	case "darwin":
		args = []string{"open", path}
	case "windows":
		args = []string{"rundll32", "url.dll,FileProtocolHandler", path}
	}
	cmd := c.command(context.Background(), args[0], args[1:]...)
	if err := cmd.Start(); err != nil {
		return &state.Error{
			Code:    api.CodeNoViewer,
			Message: fmt.Sprintf("%s cannot be started to show %s", args[0], path),
			Hint:    "open the file with another program, or write it elsewhere: `xstate query BLOCK --images DIR`",
			Err:     err,
		}
	}
	return cmd.Process.Release()
}

// printFigureHint says how to see the picture of a block, if there is one and the terminal cannot show it.
func (w *printer) printFigureHint(block xstate.BlockID) {
	if block != "" && w.ui.OutTerminal && w.ui.Pictures == term.NoPictures {
		w.ui.Talk("to see the picture: xstate query %s --open", block)
	}
}

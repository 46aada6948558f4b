package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
)

// openToPatch opens the session that is meant. It makes one for a program that has none yet.
func (a *app) openToPatch(ctx context.Context, p *patch.Patch, f verb.Patch) (*opened, error) {
	o, err := a.openWith(ctx, state.Options{}, f.Python)
	code := state.CodeOf(err)
	if code != state.CodeNoStore && code != state.CodeNoSession ||
		!slices.Contains(programKinds, filepath.Ext(a.session)) {
		return o, err
	}
	path, err := a.abs(a.session)
	if err != nil {
		return nil, err
	}
	if err := a.appliesTo(p, path, f.Block); err != nil { // before anything is made
		return nil, err
	}
	return a.beginAt(ctx, path, f)
}

// appliesTo reports whether a patch applies to a program that has no session: a file, or one that the patch makes.
func (c caller) appliesTo(p *patch.Patch, path, block string) error {
	name := c.fromHere(path)
	on := patch.Subject{Name: filepath.ToSlash(name), Path: filepath.ToSlash(path), Block: block}
	src, err := c.readSource(name)
	switch {
	case err == nil:
		if on.File, err = patch.Parse(src.name, src.data); err != nil {
			return err
		}
		on.Blocks = slices.Clone(on.File.Blocks)
		for i, id := range patch.Names(on.Blocks) {
			on.Blocks[i].ID = id
		}
	case state.CodeOf(err) != api.CodeNoFile:
		return err
	}
	_, err = patch.Revise(p, on)
	return err
}

// beginAt makes a session for the program at path. One for a dry run is in a separate store, which is then removed.
func (a *app) beginAt(ctx context.Context, path string, f verb.Patch) (*opened, error) {
	folder := filepath.Dir(path)
	dir, _, err := a.storeDir(folder)
	if err != nil {
		return nil, err
	}
	if err := a.findLanguage("", f.Python, folder); err != nil {
		return nil, err
	}
	name, o := sessionName(dir, path), &opened{caller: a.caller, app: a, file: path, begins: true}
	if f.DryRun {
		if dir, err = os.MkdirTemp(a.tempDir(), "xstate-"); err != nil {
			return nil, err
		}
		o.remove = dir
	}
	if o.store, err = a.openStore(ctx, dir, state.Options{}); err == nil {
		so, bad := a.sessionOptions(ctx, o.store, &source{caller: a.caller, path: path}, f.Python, "", nil)
		if err = bad; err == nil {
			if o.session, err = o.store.Session(ctx, name, so); err == nil {
				o.history = o.session.History()
				return o, nil
			}
		}
		err = errors.Join(err, a.closeStore(o.store))
	}
	if o.remove != "" {
		err = errors.Join(err, os.RemoveAll(o.remove))
	}
	return nil, err
}

// completePatch completes the session; a PATCHFILE may be any file.
func (a *app) completePatch(
	cmd *cobra.Command,
	args []string,
	_ string,
) (names []string, how cobra.ShellCompDirective) {
	if len(args) == 0 && a.session == "" {
		names = a.called(cmd.Context())
	}
	return names, cobra.ShellCompDirectiveDefault
}

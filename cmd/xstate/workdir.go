package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/state"
)

// workdir returns the folder that a program without a session runs in: the one asked for, else that of its file. A
// module of a package that imports relatively runs in the folder that holds the package, as with "python -m".
func (s *source) workdir(asked string) string {
	if path, err := filepath.Abs(asked); asked != "" && err == nil {
		return path
	}
	if root, pkg := python.PackageOf(s.path); pkg != "" {
		return root
	}
	return filepath.Dir(s.path)
}

// sessionOptions returns the options that open a program's session. The session keeps the folder that it began in.
func (a *app) sessionOptions(
	ctx context.Context, store *xstate.Store, src *source, python, asked string,
) (xstate.SessionOptions, error) {
	o := xstate.SessionOptions{Workspace: src.workdir(asked), Python: python}
	if filepath.Ext(src.path) == ".py" {
		o.File = src.path
	}
	name := a.runName(store.State().Dir(), src)
	begun, err := store.State().Session(ctx, name)
	if state.CodeOf(err) == state.CodeNoSession {
		return o, nil
	}
	if err != nil {
		return o, err
	}
	rel, err := filepath.Rel(begun.Workspace, src.path)
	holds := err == nil && filepath.IsLocal(rel)
	switch {
	case asked == "" && holds:
		o.Workspace = begun.Workspace
	case asked == "":
		o.Workspace = filepath.Dir(src.path)
	case !sameFolder(begun.Workspace, o.Workspace):
		return o, &usageError{
			err: fmt.Errorf("the session %s runs in %s, and not in %s", name,
				fromHere(begun.Workspace), fromHere(o.Workspace)),
			hint: "leave out --workdir, or begin another session: --session NAME",
		}
	}
	return o, nil
}

func sameFolder(a, b string) bool {
	if real, err := filepath.EvalSymlinks(a); err == nil {
		a = real
	}
	if real, err := filepath.EvalSymlinks(b); err == nil {
		b = real
	}
	return a == b
}

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/runner/private"
	"github.com/xstate-engine/xstate/state"
)

// workdir returns the folder that a program without a session runs in: the one asked for, else that of its file. A
// module of a package that imports relatively runs in the folder that holds the package, as with "python -m". Where an
// argument names a file that is found only from the current folder, the program runs there, as every script of Python
// does.
func (s *source) workdir(asked string, arguments []string) string {
	here, err := s.abs(asked)
	if asked != "" && err == nil {
		return here
	}
	folder := filepath.Dir(s.path)
	if root, pkg := python.PackageOf(s.path); pkg != "" {
		folder = root
	}
	if err == nil && s.foundOnlyHere(arguments, folder) != "" {
		return here
	}
	return folder
}

// foundOnlyHere returns the first argument that names a file from the current folder and none from another; "" when
// there is none.
func (c caller) foundOnlyHere(arguments []string, other string) string {
	for _, name := range arguments {
		_, here := c.stat(name)
		if _, there := os.Stat(filepath.Join(other, name)); here == nil && there != nil && !filepath.IsAbs(name) {
			return name
		}
	}
	return ""
}

// sessionOptions returns the options that open a program's session. The session keeps the folder that it began in.
func (a *app) sessionOptions(
	ctx context.Context, store *xstate.Store, src *source, python, asked string, in *runner.Invocation,
) (xstate.SessionOptions, error) {
	var arguments []string
	if in != nil {
		arguments = in.Arguments
	}
	o := xstate.SessionOptions{
		Workspace: src.workdir(asked, arguments), Python: python, Invocation: in, Environ: a.environ,
		Tools: a.tools,
	}
	if isSource(src.path) {
		o.File = src.path
	}
	name, err := a.runName(ctx, store, src)
	if err != nil {
		return o, err
	}
	begun, err := store.State().Session(ctx, name)
	if state.CodeOf(err) == state.CodeNoSession {
		return o, nil
	}
	if err != nil {
		return o, err
	}
	if v, err := private.Of(ctx, store.State(), name); err != nil {
		return o, err
	} else if v != nil { // the program of a private session lies in its folder, wherever its text comes from
		o.File = v.In(o.File)
	}
	switch {
	case asked == "" && a.keepsFolder(store.State().Dir(), begun.Workspace, src.path):
		o.Workspace = begun.Workspace
		if name := a.foundOnlyHere(arguments, o.Workspace); name != "" {
			a.ui.Talk("the program runs in %s, where there is no %s; --workdir . --session NAME runs it here",
				a.fromHere(o.Workspace), name)
		}
	case asked == "":
		o.Workspace = filepath.Dir(src.path)
	case !sameFolder(begun.Workspace, o.Workspace):
		return o, &usageError{
			err: fmt.Errorf("the session %s runs in %s, and not in %s", name,
				a.fromHere(begun.Workspace), a.fromHere(o.Workspace)),
			hint: "leave out `--workdir`, or begin another session: `--session NAME`",
		}
	}
	return o, nil
}

// keepsFolder reports whether a session still runs in the folder that it began in. A program that moved with its store
// still does. A file that the user named may be a copy elsewhere, in another folder.
func (a *app) keepsFolder(storeDir, folder, path string) bool {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return false
	}
	return a.session == "" || parents.Below(folder, path) != "" || parents.Below(filepath.Dir(storeDir), path) != ""
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

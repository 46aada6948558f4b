package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/patch/diff"
	"github.com/xstate-engine/xstate/runner/private"
	"github.com/xstate-engine/xstate/state"
)

// Verbs for private folders: fork --private, diff --files and apply.

// manyBytes is the size of a copy from which fork says how large it is.
const manyBytes = 1 << 30

func (a *app) forkPrivate(ctx context.Context, f verb.Fork) error {
	name := f.New
	if slices.Contains(programKinds, filepath.Ext(name)) {
		return &usageError{
			err:  fmt.Errorf("a private session keeps its program in its own folder, so %s would not be used", name),
			hint: "give a plain name: `xstate fork --private " + strings.TrimSuffix(name, filepath.Ext(name)) + "`",
		}
	}
	return a.change(ctx, func(o *opened) error {
		n, err := o.step(ctx, f.Moment)
		if err != nil {
			return err
		}
		head, err := o.head(ctx)
		if err != nil {
			return err
		}
		file := ""
		made, err := private.Fork(ctx, o.store.State(), name,
			state.ForkPoint{Session: o.history.Name(), Step: n}, f.Origin,
			func(v *private.View) (err error) {
				if file, err = o.privateText(ctx, v, n, n != head); file == "" {
					return err
				}
				file, err = filepath.Rel(v.Folder, file)
				return err
			})
		if err != nil {
			return err
		}
		if file != "" {
			file = filepath.Join(made.Folder, file)
		}
		a.prepare(ctx, o, made.Session, file)
		d := api.Fork{
			Version: api.Version, Session: name, From: made.Session.From, Step: made.Session.Head, File: file,
			Folder: made.Folder, Copied: made.Files, Bytes: made.Bytes,
		}
		if a.ui.JSON {
			return a.ui.Document(d)
		}
		a.ui.Talk("session %s begins after step %d of %s", name, n, o.history.Name())
		if shares := ""; made.Bytes >= manyBytes {
			if made.Shared {
				shares = ", which share their blocks with the original"
			}
			a.ui.Talk("copied %s, %s%s", term.Plural(made.Files, "file"), bytesText(made.Bytes), shares)
		}
		a.ui.Talk("its folder is %s", a.fromHere(made.Folder))
		if file != "" {
			a.ui.Talk("its program is %s; xstate run --session %s runs it", a.fromHere(file), term.Quoted(name))
		}
		return nil
	})
}

// privateText returns the program's file in a view that is being made; "" if there is none. If the session begins at an
// earlier step, it writes the program of that step into the file.
func (o *opened) privateText(ctx context.Context, v *private.View, n xstate.StepNumber, earlier bool) (string, error) {
	path := v.In(o.file)
	if own, err := private.Of(ctx, o.store.State(), o.history.Name()); err != nil {
		return "", err
	} else if own != nil { // a fork of a private session copies that one's folder
		rel, err := filepath.Rel(own.Folder, o.file)
		if err != nil {
			return "", err
		}
		path = filepath.Join(v.Folder, rel)
	}
	if path == o.file || !o.isProgram(path) {
		return "", nil
	}
	if !earlier {
		return path, nil
	}
	src, err := o.readSource(path)
	if err != nil {
		return "", err
	}
	text, err := o.history.Text(ctx, n, path, src.data)
	if err != nil {
		return "", err
	}
	return path, writeFile(path, text)
}

// privateFile returns the program's file in the private folder of the session that --session names; "" if there is
// none.
func (a *app) privateFile(ctx context.Context) (string, error) {
	file := ""
	err := a.look(ctx, func(o *opened) error {
		v, err := private.Of(ctx, o.store.State(), o.history.Name())
		if err == nil && v != nil && o.isProgram(o.file) {
			file = o.file
		}
		return err
	})
	if state.CodeOf(err) == state.CodeNoSession || state.CodeOf(err) == state.CodeNoStore {
		return "", nil // the verb reports it
	}
	return file, err
}

// viewed returns the view of a session, with how it differs.
func (o *opened) viewed(ctx context.Context) (*private.View, *private.Comparison, error) {
	v, err := private.Needed(ctx, o.store.State(), o.history.Name())
	if err != nil {
		return nil, nil, err
	}
	c, err := v.Compare()
	return v, c, err
}

func (a *app) diffFiles(cmd *cobra.Command, args []string) error {
	if err := takes(0, 1, "one SESSION with --files")(cmd, args); err != nil {
		return err
	}
	if len(args) == 1 {
		a.session = args[0]
	}
	return a.look(cmd.Context(), func(o *opened) error {
		v, c, err := o.viewed(cmd.Context())
		if err != nil {
			return err
		}
		d := api.DiffFiles{
			Version: api.Version, Session: v.Session, Folder: v.Folder, Original: v.Original,
			Files: filesOf(v, c, true), Behind: c.Behind,
		}
		if a.ui.JSON {
			return a.ui.Document(d)
		}
		a.ui.Talk("%s in %s", term.Plural(len(d.Files), "difference"), a.fromHere(v.Folder))
		for i := range d.Files {
			a.printFile(&d.Files[i])
		}
		if n := len(d.Behind); n > 0 {
			a.ui.Talk("changed in the original alone: %s", listed10(d.Behind))
		}
		return nil
	})
}

func filesOf(v *private.View, c *private.Comparison, diffs bool) []api.FileChange {
	files := []api.FileChange{}
	for i := range c.Changes {
		x := &c.Changes[i]
		f := api.FileChange{Path: x.Path, Change: x.Op, Kind: x.Kind, Conflict: x.Conflict, Bytes: v.Size(x)}
		if was, now, differ := x.Modes(); differ {
			f.Mode = was + " to " + now
		}
		if diffs && x.Kind == "file" {
			if old, now, ok := v.Texts(x); ok {
				f.Diff = diff.Unified("a/"+x.Path, "b/"+x.Path, old, now, 3)
			}
		}
		files = append(files, f)
	}
	return files
}

func (w *printer) printFile(f *api.FileChange) {
	head := w.ui.Bold(f.Path)
	if f.Kind == "folder" {
		head += "/"
	}
	head += " " + string(f.Change)
	if f.Mode != "" {
		head += ", permissions " + f.Mode
	}
	if f.Conflict != "" {
		head += ", " + w.ui.Red("in conflict") + ": " + string(f.Conflict) + " in the original, too"
	} else if f.Diff == "" && f.Mode == "" && f.Kind == "file" && f.Change != private.Removed {
		head += ", " + bytesText(f.Bytes)
	}
	w.ui.Print("%s\n", head)
	w.ui.Write(f.Diff)
}

func (a *app) applyVerb() *cobra.Command {
	var origin xstate.Origin
	cmd := &cobra.Command{
		Use:   "apply SESSION [PATH]...",
		Short: "move what changed in a private folder into the original",
		Long: `Apply makes the differences that xstate diff --files SESSION lists in the original folder, of
which the private one is a copy: all of them, or those at the PATHs and below. Each file is replaced at once. A file
that also changed in the original since the private folder was made is a conflict. Then apply changes nothing and
exits with 3.

A step in the session of the original records it and names the files. Results of the program count as such there, not
as edits. Where the program's own file is applied, xstate run records its edits and reuses the results.

The private folder stays, and work can go on in it. xstate gc --private SESSION removes it. After a crash, the same
apply carries on.`,
		Example: `  xstate apply variant-1
  xstate apply variant-1 out/report.html --agent judge --reason "best of ten"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if a.session == "" {
				return takes(1, 1<<20, "a SESSION with a private folder")(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.session == "" {
				a.session, args = args[0], args[1:]
			}
			return a.apply(cmd.Context(), args, origin)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return a.sessionNames(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
	}
	cmd.Flags().SortFlags = false
	a.originFlags(cmd, &origin)
	return a.sessionFlag(cmd)
}

func (a *app) apply(ctx context.Context, paths []string, origin xstate.Origin) error {
	return a.change(ctx, func(o *opened) error {
		v, err := private.Needed(ctx, o.store.State(), o.history.Name())
		if err != nil {
			return err
		}
		release, err := v.Hold(ctx)
		if err != nil {
			return err
		}
		defer release()
		c, err := v.Compare()
		if err != nil {
			return err
		}
		if err := c.Only(a.inView(v, paths)); err != nil {
			return err
		}
		d := api.Apply{
			Version: api.Version, Session: v.Session, Original: v.Original, Into: v.Parent, Files: filesOf(v, c, false),
		}
		if d.Step, err = c.Apply(ctx, origin); err != nil {
			return err
		}
		if a.ui.JSON {
			return a.ui.Document(d)
		}
		for _, f := range d.Files {
			a.ui.Print("%s %s\n", a.ui.Bold(f.Path), f.Change)
		}
		if d.Step == 0 {
			a.ui.Talk("there is nothing to apply")
			return nil
		}
		a.ui.Talk("step %d of %s: applied %s of %s", d.Step, v.Parent,
			term.Plural(len(d.Files), "difference"), v.Session)
		return nil
	})
}

// inView makes paths, as a user writes them, those of a comparison: from the original, or from the working directory if
// that leads into one of both folders.
func (a *app) inView(v *private.View, paths []string) (found []string) {
	for _, path := range paths {
		full, err := a.abs(path)
		for _, folder := range []string{v.Folder, v.Original} {
			if rel := parents.Below(folder, full); err == nil && rel != "" {
				path = rel
				break
			}
		}
		found = append(found, filepath.ToSlash(filepath.Clean(path)))
	}
	return found
}

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/serve/jupyter"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner/kernel/python"
)

// kernelFlags are the flags of kernel.
type kernelFlags struct {
	jupyter.Options
	name, prefix string
}

func (a *app) kernelVerb() *cobra.Command {
	var f kernelFlags
	cmd := &cobra.Command{
		Use:   "kernel -f FILE",
		Short: "be a kernel of Jupyter",
		Long: `Kernel runs the cells of one notebook; Jupyter starts it. What a cell shows equals what a run of the
notebook from the top would show. docs/notebooks.md says how.

` + "`xstate kernel install`" + ` makes Jupyter offer it.`,
		Example: `  xstate kernel install
  jupyter nbconvert --execute --to notebook analysis.ipynb --ExecutePreprocessor.kernel_name=xstate`,
		Args: takes(0, 0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.kernel(cmd.Context(), &f) },
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVarP(&f.Connection, "connection-file", "f", "", "the `FILE` with the ports, which Jupyter wrote")
	cmd.Flags().StringVar(&f.Language, "language", python.Name,
		"the `LANGUAGE` of cells: "+strings.Join(api.Languages(), ", "))
	cmd.Flags().Var(a.pythonPath(&f.Python), "python", "the `PATH` of a Python that has ipykernel; it also runs cells")
	cmd.AddCommand(a.kernelInstallVerb())
	return cmd
}

func (a *app) kernelInstallVerb() *cobra.Command {
	var f kernelFlags
	cmd := &cobra.Command{
		Use:   "install",
		Short: "make Jupyter offer the kernels of xstate",
		Long: `Install writes a specification for each language whose interpreter is here: NAME for Python,
NAME-javascript, NAME-typescript and NAME-bash. They name this program and the Python by their paths.`,
		Example: `  xstate kernel install
  xstate kernel install --python .venv/bin/python --name sales`,
		Args: takes(0, 0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.kernelInstall(cmd.Context(), &f) },
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().Var(a.pythonPath(&f.Python), "python", "the `PATH` of a Python that has ipykernel; it also runs cells")
	cmd.Flags().StringVar(&f.name, "name", "xstate", "the `NAME` of the kernel of Python")
	cmd.Flags().StringVar(&f.prefix, "prefix", "", "install into this environment, such as $VIRTUAL_ENV\n"+
		"(default: for the present user)")
	return cmd
}

// front completes the options of a kernel.
func (a *app) front(f *kernelFlags) (err error) {
	if f.Folder, err = a.here(); err != nil {
		return err
	}
	if f.Python, err = python.Find(f.Python, f.Folder, a.env); err != nil {
		return err
	}
	f.Environ, f.Version = a.environ, buildVersion()
	return nil
}

func (a *app) kernel(ctx context.Context, f *kernelFlags) error {
	if f.Connection == "" {
		return &usageError{err: errors.New("`--connection-file` is missing, which Jupyter gives"),
			hint: "`xstate kernel install`, then choose the kernel in Jupyter"}
	}
	if !slices.Contains(api.Languages(), f.Language) {
		return &usageError{err: fmt.Errorf("there is no kernel for %q", f.Language),
			hint: "the languages are " + strings.Join(api.Languages(), ", ")}
	}
	if err := a.front(f); err != nil {
		return err
	}
	warm := &warmCalls{app: a, folder: f.Folder}
	defer warm.end()
	return jupyter.Serve(ctx, warm, f.Options)
}

func (a *app) kernelInstall(ctx context.Context, f *kernelFlags) error {
	if err := a.front(f); err != nil {
		return err
	}
	if err := jupyter.Check(ctx, f.Python, a.environ); err != nil {
		return err
	}
	var languages []string
	for _, l := range api.Languages() {
		if dialect, ok := patch.DialectNamed(l); ok && a.findLanguage(dialect, f.Python, f.Folder) == nil {
			languages = append(languages, l)
		}
	}
	out, err := jupyter.Install(ctx, f.Options, f.name, f.prefix, languages)
	if err != nil {
		return &usageError{err: fmt.Errorf("the kernels are not installed: %w", err),
			hint: "`--prefix` names a folder that you may write to"}
	}
	for folder := range strings.Lines(string(out)) {
		folder = strings.TrimSpace(folder)
		a.ui.Print("%s  %s\n", term.Quoted(filepath.Base(folder)), a.fromHere(folder))
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/worker"
	"github.com/xstate-engine/xstate/runner/remote"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
)

// executeFlags are the flags of execute.
type executeFlags struct {
	cas    string
	python string
}

func (a *app) executeVerb() *cobra.Command {
	f := executeFlags{}
	cmd := &cobra.Command{
		Use:   "execute [ACTION]",
		Short: "execute a block for another machine, as a worker",
		Long: `Execute is for workers, which run --jobs remote=N sends blocks to. It gets the ACTION, a digest HASH/SIZE
of the Remote Execution API, from a cache, executes its block and puts the result into the cache, signed with the key of
this machine. Without an ACTION, this folder is its input root, as on a server of that API.

The settings are those of the worker: its cache (else that of the caller), its key, its bounds. Nothing stays here.`,
		Example: `  xstate execute 9f86d0…/142 --cas grpc://cache.example.com:9092
  srun xstate execute {action} --cas {cache}     as remote.launcher of the caller`,
		Args: takes(0, 1, "execute takes one action at most"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.executeAction(cmd.Context(), strings.Join(args, ""), &f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.cas, "cas", "", "the cache at this `ADDRESS` has the action and gets the result")
	flags.Var(a.pythonPath(&f.python), "python",
		"the interpreter's `PATH` (default: $XSTATE_PYTHON, $VIRTUAL_ENV, python3)")
	return cmd
}

// findHome finds the home of a worker whose environment does not have it: a server of the API gives none.
func (a *app) findHome() error {
	if a.env("HOME") != "" {
		return nil
	}
	u, err := user.Current()
	if err == nil {
		a.environ = append(slices.Clone(a.environ), "HOME="+u.HomeDir) // the last one counts
	}
	return err
}

func (a *app) executeAction(ctx context.Context, action string, f *executeFlags) (err error) {
	if err := a.findHome(); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "xstate-execute-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	o, err := a.policyOptions(folder, "")
	if err != nil {
		return err
	}
	p, err := policy.Read(o)
	if err != nil {
		return err
	}
	if f.cas != "" {
		if p.Remote.Address = f.cas; !strings.Contains(f.cas, "://") {
			if p.Remote.Address, err = filepath.Abs(f.cas); err != nil {
				return err
			}
		}
	}
	if p.Remote.Key == "" {
		p.Remote.Key, p.Remote.OwnKey = filepath.Join(filepath.Dir(policy.UserFile(a.env)), "key.pem"), true
	}
	w := &worker.Worker{Folder: folder, Policy: p, Python: f.python, Environ: a.environ}
	root := ""
	if action == "" {
		root, err = os.Getwd()
	} else {
		root, err = w.Fetch(ctx, action)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(a.ui.Out, remote.Began)
	return w.Execute(ctx, root)
}

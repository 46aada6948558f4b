package worker

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/remote"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
)

// Worker executes one Action.
type Worker struct {
	Folder  string // for a store and the input root; it exists and is empty
	Policy  *policy.Policy
	Python  string   // its interpreter; "": see xstate.Store.FindPython
	Environ []string // as NAME=value
}

// Fetch makes the input root of an Action (HASH/SIZE) from the cache of the policy, and returns its folder.
func (w *Worker) Fetch(ctx context.Context, action string) (root string, err error) {
	ref, err := remote.ParseAction(action)
	if err != nil {
		return "", err
	}
	store, err := w.open(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	settings := w.Policy.Remote.With(func(name string) string { return kernel.Getenv(w.Environ, name) })
	settings.ReadOnly = true
	cache, err := remote.Open(settings, store.State())
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, cache.Close()) }()
	root = filepath.Join(w.Folder, "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		return "", err
	}
	return root, cache.GetAction(ctx, ref, root)
}

func (w *Worker) open(ctx context.Context) (*xstate.Store, error) {
	return xstate.Open(ctx, filepath.Join(w.Folder, xstate.StoreName), xstate.Options{})
}

// Execute executes the task of an input root, and puts the result into the cache: that of the policy, or else the one
// that the task names.
func (w *Worker) Execute(ctx context.Context, root string) (err error) {
	task, err := remote.ReadTask(root)
	if err != nil {
		return err
	}
	store, err := w.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	o, err := w.options(task, filepath.Join(root, remote.WorkspaceFolder))
	if err != nil {
		return err
	}
	s, err := store.Session(ctx, task.Session, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var blocks []patch.Block
	for _, b := range task.Program {
		blocks = append(blocks, patch.Block{ID: string(b.ID), Dialect: string(b.Dialect), Source: b.Source})
	}
	if _, err := s.Load(ctx, blocks, xstate.Origin{}); err != nil {
		return err
	}
	return s.ExecuteTask(ctx, task)
}

// options are those of the session of a task.
func (w *Worker) options(task *remote.Task, workspace string) (o xstate.SessionOptions, err error) {
	p := *w.Policy
	p.Remote.Address = cmp.Or(p.Remote.Address, task.Cache)
	for _, key := range task.Keys {
		if len(key) == ed25519.PublicKeySize {
			p.Remote.Believed = append(p.Remote.Believed, key)
		}
	}
	o = xstate.SessionOptions{Workspace: workspace, Python: w.Python, Observe: task.Observe, Seed: task.Seed,
		Environ: append(remote.OtherEnviron(w.Environ), task.Environ...), Policy: &p,
		Invocation: &runner.Invocation{Arguments: task.Arguments}}
	if task.File != "" {
		if !filepath.IsLocal(task.File) {
			return o, fmt.Errorf("the task names a file outside of its folder: %s", task.File)
		}
		o.File = filepath.Join(workspace, task.File)
	}
	return o, nil
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// engine runs xstate with one session whose interpreter stays alive.
type engine struct {
	*testbed
	copy    *folderCopy
	store   *xstate.Store
	session *xstate.Session
	dir     string
}

func (e *engine) run(ctx context.Context, v int) (*outcome, error) {
	if err := e.activate(e.copy); err != nil {
		return nil, err
	}
	defer e.deactivate(e.copy)
	start := time.Now()
	if e.session == nil {
		if err := e.open(ctx); err != nil {
			return nil, err
		}
	}
	blocks := e.program.Versions[v].Blocks
	if _, err := e.session.Load(ctx, blocks, xstate.Origin{Agent: "bench"}); err != nil {
		return nil, err
	}
	found, _, err := e.session.Run(ctx, runner.RunOptions{Timeout: e.timeout}, xstate.Origin{Agent: "bench"})
	if err != nil {
		return nil, err
	}
	seconds := time.Since(start).Seconds()
	if found.Stopped != nil {
		return nil, found.Stopped
	}
	if len(found.Blocks) != len(blocks) {
		return nil, fmt.Errorf("the session has %d blocks, want %d", len(found.Blocks), len(blocks))
	}
	out := &outcome{
		stopped:    len(blocks),
		values:     found.Values,
		seconds:    seconds,
		recomputed: found.Recomputed,
		nodes:      found.Recomputed,
		marks:      &marks{blocks: make([]bool, len(blocks)), values: map[string]bool{}},
	}
	for i := range found.Blocks {
		x := &found.Blocks[i]
		ran := 0
		for j := range x.Nodes {
			if n := &x.Nodes[j]; n.Status == state.StatusRan || n.Status == state.StatusFailed && n.Seconds > 0 {
				ran++
			}
		}
		out.nodes += ran
		out.ran = append(out.ran, ran > 0)
		b := blockOutput{output: query.Text(x.Outputs), err: failure(x.Err)}
		if x.Ending != nil {
			b.err = fmt.Sprintf("SystemExit: %d", x.Ending.Code)
		}
		out.blocks = append(out.blocks, b)
		if x.Status.Bad() || x.Ending != nil {
			out.stopped = min(out.stopped, i)
		}
		out.marks.blocks[i] = len(x.AllMarks) > 0
	}
	for what, why := range found.VaryingKeys {
		out.marks.values[what] = len(why) > 0
	}
	if out.files, err = e.changedFiles(); err != nil {
		return nil, err
	}
	out.bytes, err = sizeOf(e.dir)
	return out, err
}

func (e *engine) open(ctx context.Context) error {
	var err error
	if e.dir, err = e.folder("store-"); err != nil {
		return err
	}
	if e.store, err = xstate.Open(ctx, filepath.Join(e.dir, xstate.StoreName), xstate.Options{}); err != nil {
		return err
	}
	o := xstate.SessionOptions{Workspace: e.work(), Python: e.python.Path, Environ: e.environ, Seed: seed}
	if e.program.File != "" {
		o.File = e.path(e.program.File)
	}
	e.session, err = e.store.Session(ctx, "bench", o)
	return err
}

// sizeOf returns the total size of the files in a folder.
func sizeOf(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

func (e *engine) close() error {
	var err error
	if e.session != nil {
		err = e.session.Close()
	}
	if e.store != nil {
		err = errors.Join(err, e.store.Close())
	}
	return errors.Join(err, e.remove(e.dir))
}

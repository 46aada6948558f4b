package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// load binds a stored group. A value that does not come back as it was is not used: its writer is returned.
func (w *walk) load(
	ctx context.Context,
	p *programState,
	j groupDigest,
	names []string,
	v state.Value,
	writer int,
) (int, error) {
	m := &w.e.kernelState
	req, ok, err := w.loading(names, v)
	if err != nil || !ok {
		return writer, err
	}
	w.e.foreign = w.e.foreign || req.Foreign
	reply, err := w.e.kernel.Load(ctx, req)
	for _, path := range append(req.Parts, req.Path) {
		if filepath.Dir(path) == w.e.spool.Path() {
			discardFrom(w.e.spool, path)
		}
	}
	if err != nil {
		if errors.Is(err, kernel.ErrDied) || ctx.Err() != nil {
			return -1, err
		}
		debugf("kernel", "load %v: %v", names, err)
		return writer, w.unload(ctx, j, names, v)
	}
	for _, gone := range reply.Unparked {
		delete(m.parked, gone)
	}
	if !reply.OK {
		return writer, w.unload(ctx, j, names, v)
	}
	for _, n := range names {
		if e := p.keys[depgraph.Var(n)]; reply.Digests[n] != e.digest {
			debugf("kernel", "load %s: digest %s, want %s", n, reply.Digests[n], e.digest)
			return writer, w.unload(ctx, j, names, v)
		}
	}
	aliases := map[pair]state.Digest{}
	for _, s := range reply.Shares {
		aliases[pair{s[0], s[1]}] = state.Digest(s[2])
	}
	for pr, d := range p.aliases {
		if slices.Contains(names, pr[0]) && aliases[pr] != d {
			debugf("kernel", "load %v: %s and %s share otherwise", names, pr[0], pr[1])
			return writer, w.unload(ctx, j, names, v)
		}
	}
	for pr := range aliases {
		if _, share := p.aliases[pr]; !share { // it holds a class that is equal to another's, and is found as that
			debugf("kernel", "load %v: %s and %s share", names, pr[0], pr[1])
			return writer, w.e.kernel.Bind(ctx, kernel.Binding{Unbind: names})
		}
	}
	m.bind(p, j, names)
	for _, part := range v.Parts {
		w.e.parts.Store(part, true)
	}
	return -1, nil
}

// loading returns the request for a stored value, if the store has all of it.
func (w *walk) loading(names []string, v state.Value) (kernel.Loading, bool, error) {
	store, req := w.e.cfg.Store, kernel.Loading{Names: names, Digests: v.Parts, Foreign: v.Tier == state.TierForeign}
	if v.Bytes <= inlineBytes || len(v.Parts) > 0 {
		data, ok, err := store.Blob(v.Blob)
		if err != nil || !ok {
			return req, false, err
		}
		req.Data = data
	} else {
		req.Path = filepath.Join(w.e.spool.Path(), "load")
		if ok, err := store.BlobToFile(v.Blob, req.Path); err != nil || !ok { // a damaged pickle must not be loaded
			return req, false, err
		}
	}
	for i, part := range v.Parts {
		path, ok, err := store.BlobFile(part, filepath.Join(w.e.spool.Path(), fmt.Sprintf("load-%d", i)))
		if err != nil || !ok {
			return req, false, err
		}
		req.Parts = append(req.Parts, path)
	}
	return req, true, nil
}

// unload forgets a stored value that did not come back as it was.
func (w *walk) unload(ctx context.Context, j groupDigest, names []string, v state.Value) error {
	if w.readOnly {
		return errForeign
	}
	v.Blob = ""
	if err := w.e.cfg.Store.PutValue(v); err != nil {
		return err
	}
	return w.e.kernel.Bind(ctx, kernel.Binding{Unbind: names})
}

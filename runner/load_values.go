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
	req, ok, err := w.loading(j, names, v)
	if err != nil || !ok {
		return writer, err
	}
	w.e.foreign = w.e.foreign || req.Foreign
	reply, err := w.e.kernel.Load(ctx, req)
	if err == nil && len(reply.Absent) > 0 { // memory that the kernel has need not be read
		if ok, err = w.partFiles(&req, reply.Absent); ok {
			reply, err = w.e.kernel.Load(ctx, req)
		} else if err == nil {
			delete(w.e.kernelState.outlines.of, j)
			w.discardFiles(&req)
			return writer, nil
		}
	}
	w.discardFiles(&req)
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
		if e := p.keys.of(depgraph.Var(n)); reply.Digests[n] != e.digest {
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
	for _, part := range req.Parts {
		if part.Path != "" {
			w.e.parts.Store(part.Digest, true)
		}
	}
	return -1, nil
}

// loading returns the request for a stored value, without files of its parts, if the store or an outline has the rest.
func (w *walk) loading(j groupDigest, names []string, v state.Value) (kernel.Loading, bool, error) {
	store, req := w.e.cfg.Store, kernel.Loading{Names: names, Foreign: v.Tier == state.TierForeign}
	for _, part := range v.Parts {
		req.Parts = append(req.Parts, kernel.LoadedPart{Digest: part})
	}
	if o, ok := w.e.kernelState.outlines.of[j]; ok && v.Blob == "" {
		req.Data = o.data
		return req, true, nil
	}
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
	return req, true, nil
}

// partFiles adds the files of parts to a request. It reports whether the store has all of them.
func (w *walk) partFiles(req *kernel.Loading, absent []state.Digest) (ok bool, err error) {
	for i := range req.Parts {
		part := &req.Parts[i]
		if !slices.Contains(absent, part.Digest) {
			continue
		}
		to := filepath.Join(w.e.spool.Path(), fmt.Sprintf("load-%d", i))
		if part.Path, ok, err = w.e.cfg.Store.BlobFile(part.Digest, to); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// discardFiles removes the files that were made for a request.
func (w *walk) discardFiles(req *kernel.Loading) {
	paths := []string{req.Path}
	for _, part := range req.Parts {
		paths = append(paths, part.Path)
	}
	for _, path := range paths {
		if filepath.Dir(path) == w.e.spool.Path() {
			discardFrom(w.e.spool, path)
		}
	}
}

// unload forgets a stored value that did not come back as it was.
func (w *walk) unload(ctx context.Context, j groupDigest, names []string, v state.Value) error {
	if w.readOnly {
		return errForeign
	}
	if delete(w.e.kernelState.outlines.of, j); v.Blob != "" {
		v.Blob = ""
		if err := w.e.cfg.Store.PutValue(v); err != nil {
			return err
		}
	}
	return w.e.kernel.Bind(ctx, kernel.Binding{Unbind: names})
}

package runner

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/remote"
	"github.com/xstate-engine/xstate/runner/sandbox/secret"
	"github.com/xstate-engine/xstate/state"
)

// An engine with a cache (Config.Cache) looks there for a result where its store has none that is valid, and offers
// what it executed to others. Package remote has the form of both. A result that is taken over becomes a trusted one of
// the store, so all that decides, plans or explains treats it as any other: the cache is behind Engine.choose, and in
// no other place.

// Withheld reports whether a content has a path of a root. It is that of remote.Options.
func Withheld(roots map[string]string) func(io.Reader) (bool, error) {
	values := map[string]string{}
	for _, path := range remote.NewRoots(roots).Paths() {
		values[path] = path
	}
	set := secret.New(values, nil)
	return func(r io.Reader) (bool, error) { return set.HasFrom(r) }
}

// weakOf returns the weak fingerprint of a node: its code, without the paths of this machine.
func (e *Engine) weakOf(n *node) (state.Digest, bool) {
	if weak, known := e.shared.weak[n.code]; known {
		return weak, weak != ""
	}
	identity, ok := e.shared.roots.Portable(e.options.interpreter(n.unit.language))
	weak := state.Digest("")
	if ok {
		weak = state.DigestOf([]byte("xstate weak 1\n" + e.options.keyText(n, identity)))
	}
	e.shared.weak[n.code] = weak
	return weak, ok
}

// takeShared looks for a result of n at p in the cache, and puts it into the store. It reports whether there was one.
func (e *Engine) takeShared(p place, n *node) bool {
	cache := e.cfg.Cache
	if cache == nil || e.cfg.Store.Foreign() {
		return false
	}
	weak, ok := e.weakOf(n)
	if !ok {
		return false
	}
	ctx := context.Background() // the cache bounds the time
	e.askAhead(ctx)
	var strong []state.Digest
	var keys []*remote.Keys
	for _, k := range cache.Keys(ctx, []state.Digest{weak})[weak] {
		if s, ok := e.strongHere(p, n, weak, k); ok {
			strong, keys = append(strong, s), append(keys, k)
		}
	}
	if len(strong) == 0 {
		return false
	}
	for i, found := range cache.Results(ctx, strong) {
		if found != nil && e.adopt(ctx, p, n, keys[i], found) {
			return true
		}
	}
	return false
}

// askAhead asks for the keys of all nodes of the program at once: where one is not known here, others will not be.
func (e *Engine) askAhead(ctx context.Context) {
	var all []state.Digest
	for _, n := range e.shared.nodes {
		if weak, ok := e.weakOf(n); ok {
			all = append(all, weak)
		}
	}
	if e.shared.nodes = nil; len(all) > 1 {
		e.cfg.Cache.Keys(ctx, all)
	}
}

// fingerprint is what a strong fingerprint is made of, beside the keys.
type fingerprint struct {
	digest         func(depgraph.Key) state.Digest
	within, around []state.Alias
	layout         state.Digest
}

// strongHere returns the strong fingerprint of n at p, had it these keys. ok is false where a key has no known digest.
func (e *Engine) strongHere(p place, n *node, weak state.Digest, k *remote.Keys) (state.Digest, bool) {
	reads, ok := e.readsHere(p, k)
	if !ok {
		return "", false
	}
	return e.strong(weak, k, fingerprint{func(key depgraph.Key) state.Digest { return p.get(key).digest },
		p.aliasesWithin(reads), p.aliasesAround(k.AliasSensitive), p.layout(n, k.Cited)})
}

// readsHere returns the keys with their digests at p, sorted.
func (e *Engine) readsHere(p place, k *remote.Keys) (reads []state.Access, ok bool) {
	if paths, ok := e.localPaths(k.Paths); !ok {
		return nil, false
	} else if len(paths) > 0 {
		e.baseState.Learn(paths)
	}
	for _, portable := range k.Reads {
		key, ok := e.shared.roots.Local(string(portable))
		if !ok {
			return nil, false
		}
		d := p.get(depgraph.Key(key)).digest
		if d == unknown || d == poison {
			return nil, false
		}
		reads = append(reads, state.Access{Key: depgraph.Key(key), Digest: d})
	}
	slices.SortFunc(reads, byKey)
	return reads, true
}

func (e *Engine) localPaths(portable map[depgraph.Key]string) (map[depgraph.Key]string, bool) {
	paths := map[depgraph.Key]string{}
	for key, path := range portable {
		local, ok := e.shared.roots.Local(path)
		if !ok {
			return nil, false
		}
		paths[key] = local
	}
	return paths, true
}

// strong returns a strong fingerprint. ok is false where a digest cannot be said without a path of this machine.
func (e *Engine) strong(weak state.Digest, k *remote.Keys, f fingerprint) (state.Digest, bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "xstate strong 1\n%s\n", weak)
	for _, portable := range k.Reads {
		key, ok := e.shared.roots.Local(string(portable))
		if !ok {
			return "", false
		}
		d, ok := e.portableDigest(depgraph.Key(key), f.digest(depgraph.Key(key)), k.Pure)
		if !ok {
			return "", false
		}
		fmt.Fprintf(&b, "%q %q\n", portable, d)
	}
	for _, list := range [][]state.Alias{f.within, f.around} {
		fmt.Fprintf(&b, "%q\n", list)
	}
	fmt.Fprintf(&b, "%q %q %s\n", k.AliasSensitive, k.Cited, f.layout)
	return state.DigestOf([]byte(b.String())), true
}

// homeDigest is the digest of the home for a node that does nothing but import libraries.
const homeDigest = "the home"

// portableDigest returns a digest as all machines have it. It says which version a package has, and not where its
// scripts lie.
func (e *Engine) portableDigest(k depgraph.Key, d state.Digest, pure bool) (string, bool) {
	switch {
	case pure && k == "env:HOME" && d != state.Absent && d == e.baseState.Get(k):
		return homeDigest, true
	case k.Space() == "module" && d != state.Absent && d == e.baseState.Get(k):
		return string(e.baseState.PortableVersion(k)), true
	}
	return e.shared.roots.Portable(string(d))
}

// adopt makes a result of another machine one of the store. It reports false if it is not valid here, or a part of it
// is missing.
func (e *Engine) adopt(
	ctx context.Context, p place, n *node, k *remote.Keys, found *remote.Found[remote.Result],
) bool {
	t, ok := e.localTrace(&found.Record.Trace)
	if !ok {
		return false
	}
	if t.Reads, ok = e.readsHere(p, k); !ok {
		return false
	}
	t.Paths, _ = e.localPaths(k.Paths)
	t.Code, t.AliasSensitive, t.CitedBlocks = n.code, k.AliasSensitive, k.Cited
	t.ReadAliases, t.AliasesBefore = p.aliasesWithin(t.Reads), p.aliasesAround(k.AliasSensitive)
	t.CitedSource = p.layout(n, k.Cited)
	if _, _, valid := firstChangedRead(p, &t); !valid || !shareable(&t) {
		return false
	}
	if !e.cfg.Cache.Fetch(ctx, found.Record.Blobs) ||
		slices.ContainsFunc(blobsOf(&t), func(d state.Digest) bool { return !e.cfg.Store.HasBlob(d) }) {
		return false
	}
	t.Trust = state.Trust{Tier: state.TierTrusted, Signer: found.Signer}
	id, err := e.cfg.Store.PutTrace(t)
	if err != nil {
		return false
	}
	e.shared.taken[id] = true
	return true
}

// localTrace returns a trace of a record with the paths of this machine.
func (e *Engine) localTrace(portable *state.Trace) (t state.Trace, ok bool) {
	return mapTrace(portable, e.shared.roots.Local)
}

// mapTrace returns a copy of a trace with other texts for what it wrote.
func mapTrace(t *state.Trace, change func(string) (string, bool)) (changed state.Trace, ok bool) {
	all := true
	text := func(s string) string {
		c, ok := change(s)
		all = all && ok
		return c
	}
	changed = *t
	changed.Writes, changed.Info, changed.FileOrder = nil, nil, nil
	for _, w := range t.Writes {
		changed.Writes = append(changed.Writes,
			state.Access{Key: depgraph.Key(text(string(w.Key))), Digest: state.Digest(text(string(w.Digest)))})
	}
	slices.SortFunc(changed.Writes, byKey)
	for _, name := range t.FileOrder {
		changed.FileOrder = append(changed.FileOrder, text(name))
	}
	if t.Info != nil {
		changed.Info = map[depgraph.Key]state.ValueInfo{}
		for k, info := range t.Info {
			changed.Info[depgraph.Key(text(string(k)))] = info
		}
	}
	return changed, all
}

// shareable reports whether a trace is a result for others, too; see package remote.
func shareable(t *state.Trace) bool {
	if t.Failure() != nil || t.Once || t.Limit > 0 || len(t.Marks) > 0 || len(t.Denied) > 0 || !t.StaysInside() {
		return false
	}
	for _, list := range [][]state.Access{t.Reads, t.Writes} {
		for _, a := range list {
			if isOfCall(a.Key) || a.Digest == state.Edited || a.Key == "env:*" {
				return false
			}
		}
	}
	return true
}

// blobsOf returns the contents that a trace refers to: its outputs, and the files and variables of the environment that
// it wrote.
func blobsOf(t *state.Trace) (blobs []state.Digest) {
	if t.Outputs != state.Absent {
		blobs = append(blobs, t.Outputs)
	}
	for _, w := range t.Writes {
		if space := w.Key.Space(); (space == "file" || space == "env") && w.Digest.IsContent() {
			blobs = append(blobs, w.Digest)
		}
	}
	return blobs
}

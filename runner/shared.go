package runner

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/remote"
	"github.com/xstate-engine/xstate/state"
)

// An engine with a cache (Config.Cache) looks there for a result where its store has none that is valid, and offers
// what it executed to others. Package remote has the form of both. A result that is taken over becomes a trusted one of
// the store, so all that decides, plans or explains treats it as any other: the cache is behind Engine.choose, and in
// no other place.

// weakOf returns the weak fingerprint of a node: its code, without the paths of this machine.
func (e *Engine) weakOf(n *node) (state.Digest, bool) {
	if weak, known := e.shared.weak[n.code]; known {
		return weak, weak != ""
	}
	identity, ok := e.shared.tools.Portable(e.options.interpreter(n.unit.language))
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
	if e.shared.ahead {
		return
	}
	e.shared.ahead = true
	var all []state.Digest
	for _, n := range e.shared.program {
		if weak, ok := e.weakOf(n); ok {
			all = append(all, weak)
		}
	}
	e.cfg.Cache.Keys(ctx, all)
}

// fingerprint is what a node reads at a place.
type fingerprint struct {
	reads          []state.Access
	within, around []state.Alias
	layout         state.Digest
}

// rootsOf are those that the keys of a record may name.
func (e *Engine) rootsOf(k *remote.Keys) *remote.Roots {
	if k.Pure {
		return e.shared.pure
	}
	return e.shared.tools
}

// strongHere returns the strong fingerprint of n at p, had it these keys. ok is false where a key has no known digest.
func (e *Engine) strongHere(p place, n *node, weak state.Digest, k *remote.Keys) (state.Digest, bool) {
	reads, ok := e.readsHere(p, k)
	if !ok {
		return "", false
	}
	return e.strong(n, weak, k, fingerprint{reads, p.aliasesWithin(reads), p.aliasesAround(k.AliasSensitive),
		p.layout(n, k.Cited)})
}

// readsHere returns the keys with their digests at p, sorted.
func (e *Engine) readsHere(p place, k *remote.Keys) (reads []state.Access, ok bool) {
	if paths, ok := e.localPaths(k); !ok {
		return nil, false
	} else if len(paths) > 0 {
		e.baseState.Learn(paths)
	}
	for _, portable := range k.Reads {
		key, ok := e.rootsOf(k).Local(string(portable))
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

func (e *Engine) localPaths(k *remote.Keys) (map[depgraph.Key]string, bool) {
	paths := map[depgraph.Key]string{}
	for key, path := range k.Paths {
		local, ok := e.rootsOf(k).Local(path)
		if !ok {
			return nil, false
		}
		paths[key] = local
	}
	return paths, true
}

// strong returns a strong fingerprint: the keys with their digests, the aliases among them, and the facts of the
// machine that the node may ask for. ok is false where that cannot be said without a path of this machine.
func (e *Engine) strong(n *node, weak state.Digest, k *remote.Keys, f fingerprint) (state.Digest, bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "xstate strong 1\n%s\n", weak)
	lines := make([]string, 0, len(f.reads))
	for _, a := range f.reads {
		key, ok := e.rootsOf(k).Portable(string(a.Key))
		if !ok {
			return "", false
		}
		d, ok := e.portableDigest(a, k)
		if !ok {
			return "", false
		}
		lines = append(lines, fmt.Sprintf("%q %q\n", key, d))
	}
	slices.Sort(lines)
	for _, line := range lines {
		b.WriteString(line)
	}
	for _, list := range [][]state.Alias{f.within, f.around} {
		fmt.Fprintf(&b, "%q\n", list)
	}
	fmt.Fprintf(&b, "%q %q %s\n", k.AliasSensitive, k.Cited, f.layout)
	if !k.Pure {
		b.WriteString(e.machineFacts(e.factsOf(n, f.reads)))
	}
	return state.DigestOf([]byte(b.String())), true
}

// homeDigest is the digest of the home for a node that does nothing but import libraries.
const homeDigest = "the home"

// portableDigest returns the digest of a key as all machines have it. It says which version a package has, and not
// where its scripts lie.
func (e *Engine) portableDigest(a state.Access, k *remote.Keys) (string, bool) {
	switch unchanged := a.Digest != state.Absent && a.Digest == e.baseState.Get(a.Key); {
	case unchanged && k.Pure && a.Key == "env:HOME":
		return homeDigest, true
	case unchanged && a.Key.Space() == "module":
		return string(e.baseState.PortableVersion(a.Key)), true
	}
	return e.rootsOf(k).Portable(string(a.Digest))
}

// adopt makes a result of another machine one of the store. It reports false if it is not valid here, or a part of it
// is missing.
func (e *Engine) adopt(
	ctx context.Context, p place, n *node, k *remote.Keys, found *remote.Found[remote.Result],
) bool {
	t, ok := found.Record.Trace, false
	if t.Reads, ok = e.readsHere(p, k); !ok {
		return false
	}
	t.Paths, _ = e.localPaths(k)
	t.Code, t.AliasSensitive, t.CitedBlocks = n.code, k.AliasSensitive, k.Cited
	t.ReadAliases, t.AliasesBefore = p.aliasesWithin(t.Reads), p.aliasesAround(k.AliasSensitive)
	t.CitedSource = p.layout(n, k.Cited)
	if _, _, valid := firstChangedRead(p, &t); !valid || !shareable(&t) || !e.mayReplace(&t) {
		return false
	}
	if !e.cfg.Cache.Fetch(ctx, found.Record.Blobs) ||
		slices.ContainsFunc(blobsOf(&t), func(d state.Digest) bool { return !e.cfg.Store.HasBlob(d) }) {
		return false
	}
	t.Trust = state.Trust{Tier: state.TierTrusted, Signer: found.Signer, Here: true}
	id, err := e.cfg.Store.PutTrace(t)
	if err != nil {
		return false
	}
	e.shared.taken[id] = true
	return true
}

// mayReplace reports whether the files that a trace wrote can be written here as they were there: where something else
// than a plain file is in the way, or the user may not write, the program does another thing.
func (e *Engine) mayReplace(t *state.Trace) bool {
	const ownerWrites = 0o200
	return !slices.ContainsFunc(t.Writes, func(w state.Access) bool {
		if w.Key.Space() != "file" {
			return false
		}
		name := w.Key.Name()
		if info := e.baseState.Stat(name); info != nil &&
			(!info.Mode.IsRegular() || info.Mode&ownerWrites == 0 || info.Links > 1) {
			return true
		}
		folder := e.baseState.Stat(filepath.Dir(name))
		return folder != nil && (!folder.Mode.IsDir() || folder.Mode&ownerWrites == 0)
	})
}

// shareable reports whether a trace is a result for others, too; see package remote.
func shareable(t *state.Trace) bool {
	if t.Failure() != nil || t.Once || t.Limit > 0 || len(t.Marks) > 0 || len(t.Denied) > 0 || !t.StaysInside() {
		return false
	}
	for _, list := range [][]state.Access{t.Reads, t.Writes} {
		for _, a := range list {
			if isOfCall(a.Key) || a.Digest == state.Edited || isWholeEnvironment(a.Key) {
				return false
			}
		}
	}
	return true
}

// isWholeEnvironment reports whether a key is all variables of the environment at once.
func isWholeEnvironment(k depgraph.Key) bool {
	_, plain := k.Cut()
	return plain == "env:*"
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

package runner

import (
	"io"
	"os"
	"slices"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/remote"
	"github.com/xstate-engine/xstate/runner/sandbox/secret"
	"github.com/xstate-engine/xstate/state"
)

// isPureImport reports whether a node did nothing but import libraries, by an import statement: it bound names to what
// these define, and printed nothing.
func isPureImport(n *node, t *state.Trace) bool {
	if n.facts.Kind != depgraph.KindImport || t.Outputs != state.Absent {
		return false
	}
	return !slices.ContainsFunc(t.Writes, func(w state.Access) bool {
		switch w.Key.Space() {
		case "load":
			return false
		case "var":
			return !slices.Contains([]string{"module", "type", "function", "builtin_function_or_method"},
				t.Info[w.Key].Type)
		}
		return w.Digest != state.Absent
	})
}

// portable returns the records of a trace. ok is false if it is not to be shared.
func (e *Engine) portable(n *node, t *state.Trace) (u *remote.Upload, ok bool) {
	weak, ok := e.weakOf(n)
	if !ok || !shareable(t) || e.readsSecret(t) || passesEnvironment(t) {
		return nil, false
	}
	k := &remote.Keys{AliasSensitive: t.AliasSensitive, Cited: t.CitedBlocks, Pure: isPureImport(n, t)}
	roots := e.rootsOf(k)
	for _, a := range t.Reads {
		key, ok := roots.Portable(string(a.Key))
		if !ok {
			return nil, false
		}
		k.Reads = append(k.Reads, depgraph.Key(key))
	}
	slices.Sort(k.Reads)
	for key, path := range t.Paths {
		portable, ok := roots.Portable(path)
		if !ok {
			return nil, false
		}
		if k.Paths == nil {
			k.Paths = map[depgraph.Key]string{}
		}
		k.Paths[key] = portable
	}
	strong, ok := e.strong(n, weak, k, fingerprint{t.Reads, t.ReadAliases, t.AliasesBefore, t.CitedSource})
	if !ok {
		return nil, false
	}
	changed := *t
	changed.Code, changed.Reads, changed.Paths, changed.Trust = "", nil, nil, state.Trust{}
	changed.AliasSensitive, changed.CitedBlocks, changed.CitedSource = nil, nil, ""
	changed.ReadAliases, changed.AliasesBefore = nil, nil
	return &remote.Upload{Weak: weak, Strong: strong, Keys: k, Result: &remote.Result{Trace: changed},
		Blobs: blobsOf(t)}, true
}

// readsSecret reports whether a trace read a variable that holds a secret.
func (e *Engine) readsSecret(t *state.Trace) bool {
	names := e.cfg.Secrets.Names()
	return slices.ContainsFunc(t.Reads, func(a state.Access) bool {
		_, k := a.Key.Cut()
		return k.Space() == "env" && slices.Contains(names, k.Name())
	})
}

// passesEnvironment reports whether a trace set variables of the environment, and may have done so from others: the
// content of those it set would be shared.
func passesEnvironment(t *state.Trace) bool {
	set := func(a state.Access) bool { return a.Key.Space() == "env" && a.Digest != state.Absent }
	return slices.ContainsFunc(t.Writes, set) && slices.ContainsFunc(t.Reads, set)
}

// memoShared is the space of memos that say since when a cache has a trace. Caches lose what was not used for long, so
// a trace is offered again after offerAgain.
const (
	memoShared = "shared"
	offerAgain = 24 * time.Hour
)

// cacheHas reports whether the cache has a trace, as far as is known here.
func (e *Engine) cacheHas(trace state.Digest) bool {
	text, known := e.cfg.Store.Memo(memoShared, e.cfg.Cache.Address()+" "+string(trace))
	var since time.Time
	return known && since.UnmarshalText(text) == nil && time.Since(since) < offerAgain
}

// noteCached notes that a cache has a trace. Without the note it is offered again.
func noteCached(store *state.Store, address string, trace state.Digest) {
	if text, err := time.Now().MarshalText(); err == nil {
		_ = store.PutMemo(memoShared, address+" "+string(trace), text)
	}
}

// share offers the results of a walk to others, if they are new to the cache. It uploads in the background.
func (w *walk) share() {
	e := w.e
	if e.cfg.Cache == nil || e.cfg.Store.Foreign() || w.o.Discard {
		return
	}
	fresh := map[int]bool{}
	for i := range w.nodes {
		out := &w.outcomes[i]
		if w.given != nil && out.t != nil && (len(out.t.Marks) > 0 || out.t.Failure() != nil) {
			break // a library may keep what a worker alone met: an effect that was refused, a file that it lacks
		}
		if out.t == nil || out.Trace == "" || out.t.Tier != state.TierOwn || e.shared.offered[out.Trace] {
			continue
		}
		if e.shared.offered[out.Trace] = true; !e.cacheHas(out.Trace) {
			fresh[i] = true
		}
	}
	if len(fresh) == 0 {
		return
	}
	e.shared.withheld = w.withheld()
	e.cfg.Cache.Upload(w.uploadsOf(fresh))
	w.noteValues(fresh)
	e.offerValues()
}

// leastWithheld is the length of the shortest text that contents are searched for. Shorter ones are in most contents.
const leastWithheld = 3

// withheld finds in a content the paths of roots, the name of this machine, and the values of variables that the
// program read of its environment: a later node may print what another has read.
func (w *walk) withheld() func(io.Reader) (bool, error) {
	var texts []string
	add := func(text string) {
		if len(text) >= leastWithheld {
			texts = appendNew(texts, text)
		}
	}
	for _, path := range w.e.shared.roots.Paths() {
		add(path)
	}
	if name, err := os.Hostname(); err == nil && name != "localhost" {
		add(name)
	}
	for i := range w.outcomes {
		if t := w.outcomes[i].t; t != nil && !isPureImport(w.nodes[i], t) {
			for _, a := range t.Reads {
				if _, k := a.Key.Cut(); k.Space() == "env" {
					add(w.e.environ[k.Name()])
				}
			}
		}
	}
	return secret.Texts(texts).HasFrom
}

// uploadsOf returns the uploads of the results of some nodes, each with those that follow it.
func (w *walk) uploadsOf(fresh map[int]bool) (uploads []*remote.Upload) {
	var following []state.Digest // those after the node, in reverse
	for i := len(w.nodes) - 1; i >= 0; i-- {
		out := &w.outcomes[i]
		if out.t == nil || out.Trace == "" {
			continue
		}
		u, ok := w.e.portable(w.nodes[i], out.t)
		if !ok {
			continue
		}
		if fresh[i] {
			for j := len(following) - 1; j >= max(0, len(following)-remote.MaxNext); j-- {
				u.Result.Next = append(u.Result.Next, following[j])
			}
			trace, store, address := out.Trace, w.e.cfg.Store, w.e.cfg.Cache.Address()
			u.Withheld = w.e.shared.withheld
			u.Done = func() { noteCached(store, address, trace) }
			uploads = append(uploads, u)
		}
		following = append(following, u.Strong)
	}
	slices.Reverse(uploads)
	return uploads
}

// noteValues notes the values that some nodes wrote.
func (w *walk) noteValues(fresh map[int]bool) {
	p := newProgramState(func(depgraph.Key) state.Digest { return state.Absent })
	for i := range w.nodes {
		t := w.outcomes[i].t
		if t == nil || t.Err != nil {
			continue
		}
		if p.apply(i, t); !fresh[i] {
			continue
		}
		w.e.shared.values = append(w.e.shared.values, groupsWritten(p, t)...)
	}
}

// countTaken returns how many results of a walk were taken over since the last outcome, maybe by a plan.
func (w *walk) countTaken() (n int) {
	for i := range w.outcomes {
		if d := w.outcomes[i].Trace; w.e.shared.taken[d] {
			delete(w.e.shared.taken, d)
			n++
		}
	}
	return n
}

package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/remote"
	"github.com/xstate-engine/xstate/state"
)

// Storing has limits. A run must not take longer for values that may never be read. So a large value is stored only if
// computing it again would take several times as long, with all that would have to be computed for it first.
//
// The interpreter continues when it has pickled a value. To compress and write it takes much longer, and happens
// meanwhile (backlog), for a quarter of the time spent executing. The end of a run waits for what is left of that, so
// it may be a twentieth, and so may the time that pickling keeps the interpreter. Values that did not fit in are
// deferred. They are stored when the engine closes, if they still exist, for a tenth of the time: first those that are
// costly to compute and cheap to store. A node that needs a value that was not stored computes it again.
const (
	inlineBytes  = 32 << 10 // in a frame, equal to the driver's _INLINE; values up to this size are always stored
	arrayRate    = 800e6    // bytes of arrays and frames a second, for pickling, hashing and writing
	objectRate   = 40e6     // the same of other objects
	arrayPickle  = 4e9      // the same of pickling alone
	objectPickle = 60e6
	storeWorth   = 3         // a value is stored if computing it took this many times what storing costs
	storeShare   = 0.05      // share of the seconds executed, for what the run waits for
	asideShare   = 0.25      // likewise, for what happens meanwhile
	closeShare   = 0.1       // likewise, at the end
	lentBytes    = 128 << 20 // for parts that wait in memory to be written
)

// ledger holds what an engine has spent, and which values it deferred.
type ledger struct {
	executed float64 // seconds
	closing  float64 // seconds that storeDeferred took, about
	waited   float64 // seconds that storing kept the interpreter from executing
	outlined float64 // seconds that outlines took
	deferred map[groupDigest]deferral
	again    map[groupDigest]float64 // seconds that computing a value again takes, about, of values not stored
	all      bool                    // store everything: for speculation and tests
}

// backlog stores groups while the program runs, one after the other: a group may name parts of those before it.
type backlog struct {
	groups map[groupDigest]bool // only the engine's own goroutine uses it
	last   chan struct{}        // closed when the last group that was added is stored; the same
	all    sync.WaitGroup
	ahead  atomic.Int64 // nanoseconds that the rest will take, about
	lent   atomic.Int64 // bytes of parts that wait in memory
	spent  atomic.Int64 // nanoseconds
	err    error        // from storing; the goroutine that stores a group writes it, and wait reads it
}

// add calls store for a pickled group with its parts, in the background.
func (b *backlog) add(j groupDigest, cost price, parts []kernel.Part, store func() error) {
	if b.groups == nil {
		b.groups = map[groupDigest]bool{}
	}
	b.groups[j] = true
	left := int64((cost.all - cost.pickle) * 1e9)
	b.ahead.Add(left)
	lent := int64(0)
	for _, p := range parts {
		lent += int64(len(p.Data))
	}
	b.lent.Add(lent)
	before, done := b.last, make(chan struct{})
	b.last = done
	b.all.Go(func() {
		defer close(done)
		if before != nil {
			<-before
		}
		begin := time.Now()
		b.err = errors.Join(b.err, store())
		b.spent.Add(int64(time.Since(begin)))
		b.ahead.Add(-left)
		b.lent.Add(-lent)
	})
}

// wait returns when everything is stored. It returns the errors since its last call.
func (b *backlog) wait() error {
	b.all.Wait()
	b.groups, b.last = nil, nil
	err := b.err
	b.err = nil
	return err
}

// fits reports whether a group can be stored within the shares of time.
func (b *backlog) fits(cost price, executed float64) bool {
	ahead := float64(b.ahead.Load())/1e9 + cost.all - cost.pickle
	return ahead <= storeShare*executed && float64(b.spent.Load())/1e9+ahead <= asideShare*executed
}

// value looks up a stored value. It waits for one that is being stored.
func (e *Engine) value(j groupDigest) (state.Value, bool, error) {
	if e.backlog.groups[j] {
		if err := e.backlog.wait(); err != nil {
			return state.Value{}, false, err
		}
	}
	v, ok, err := e.cfg.Store.Value(state.Digest(j))
	if err == nil && (!ok || v.Blob == "") {
		if from, found := e.sharedValue(state.Digest(j)); found {
			v, ok = from, true
		}
	}
	if v.Tier == state.TierForeign && len(v.Needs) > 0 {
		v.Blob = "" // an instance of a class of the program is more than data, see kernel.Loading
	}
	return v, ok, err
}

// has reports whether the store has a value that it believes, with its content.
func (e *Engine) has(d state.Digest) (bool, error) {
	v, ok, err := e.cfg.Store.Value(d)
	return ok && v.Tier != state.TierForeign && e.cfg.Store.HasBlobs(v), err
}

// price is the time that storing a group takes, about.
type price struct {
	pickle  float64 // seconds, of the interpreter
	all     float64 // seconds
	objects int64   // bytes that are not in arrays
}

// add adds a value of a type and a size, without what the store was given before: parts of arrays.
func (p *price) add(info *state.ValueInfo, size int64) {
	bytes := float64(size)
	if strings.HasPrefix(info.Type, "numpy.") || strings.HasPrefix(info.Type, "pandas.") {
		p.pickle, p.all = p.pickle+bytes/arrayPickle, p.all+bytes/arrayRate
	} else {
		p.pickle, p.all = p.pickle+bytes/objectPickle, p.all+bytes/objectRate
		p.objects += size
	}
}

// deferral is a group to store later, once there is time.
type deferral struct {
	names   []string
	cost    price
	seconds float64 // that it took to compute
}

// storeWrites stores the values that the node wrote, if they cost enough to compute.
func (x *execution) storeWrites(ctx context.Context, after *programState, t *state.Trace) error {
	// Each group is visited once: all classes that one base class registers are one group, and a node writes all.
	stored, done, before := map[groupDigest]bool{}, map[string]bool{}, map[string]bool{}
	writes := slices.Clone(t.Writes)
	for _, a := range t.Writes { // names that shared with a rebound name form another group now
		if a.Key.Space() == "var" && !before[a.Key.Name()] {
			for _, n := range x.pos.group(a.Key.Name()) {
				before[n] = true
				if k := depgraph.Var(n); n != a.Key.Name() && after.keys.of(k).digest != state.Absent {
					writes = append(writes, state.Access{Key: k, Digest: after.keys.of(k).digest})
				}
			}
		}
	}
	for _, a := range writes {
		switch a.Key.Space() {
		case "var":
			if a.Digest == state.Absent || done[a.Key.Name()] {
				continue
			}
			j, names := after.groupDigest(a.Key.Name())
			for _, n := range names {
				done[n] = true
			}
			if stored[j] {
				continue
			}
			stored[j] = true
			if err := x.storeGroupIfWorth(ctx, after, t, j, names); err != nil {
				return err
			}
		case "rng", "conf", "cwd":
			if a.Digest == x.pos.pristine(a.Key) || a.Key == modulesKey {
				continue
			}
			if err := x.storeHidden(ctx, a); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *execution) storeGroupIfWorth(
	ctx context.Context,
	after *programState,
	t *state.Trace,
	j groupDigest,
	names []string,
) error {
	e := x.walk.e
	size, cost := int64(0), price{}
	for _, n := range names {
		if _, walkPlace := e.kernelState.bound[n]; !walkPlace {
			return nil // a member was dropped: a node that had changed it failed
		}
		info := after.keys.of(depgraph.Var(n)).info
		if info == nil {
			continue
		}
		if info.Opaque != "" {
			return nil
		}
		size += info.Bytes
		cost.add(info, cmp.Or(x.unhanded(n), info.Bytes))
	}
	if e.backlog.groups[j] {
		return nil
	}
	if ok, err := e.has(state.Digest(j)); err != nil || ok || x.walk.o.Discard {
		return err
	}
	if size <= inlineBytes || e.ledger.all {
		return e.storeGroup(ctx, j, names, t.Seconds, cost)
	}
	seconds := t.Seconds + x.pos.unstored(&e.ledger, t)
	worth := storeWorth*cost.all <= seconds
	if worth && e.ledger.waited+cost.pickle <= storeShare*e.ledger.executed && e.backlog.fits(cost, e.ledger.executed) {
		return e.storeGroup(ctx, j, names, seconds, cost)
	}
	e.ledger.again[j] = seconds
	if worth {
		e.ledger.deferred[j] = deferral{names, cost, seconds}
	}
	if cost.objects > inlineBytes || e.ledger.outlined > storeShare*e.ledger.executed {
		return nil
	}
	return e.outline(ctx, j, names)
}

// unhanded returns how many bytes of a value that the node wrote the engine was not given before; 0 for other values.
func (x *execution) unhanded(name string) int64 {
	for i := range x.seen.Writes {
		if x.seen.Writes[i].Name == name {
			return x.seen.Writes[i].Unhanded
		}
	}
	return 0
}

// unstored returns how many seconds it takes to compute what t read and the store does not have.
func (p *programState) unstored(l *ledger, t *state.Trace) (seconds float64) {
	seen, digests := map[groupDigest]bool{}, groupDigests{of: p}
	for _, a := range t.Reads {
		if a.Key.Space() == "var" && a.Digest != state.Absent {
			if j := digests.get(a.Key.Name()); !seen[j] {
				seen[j] = true
				seconds += l.again[j]
			}
		}
	}
	return seconds
}

// storeGroup stores the values that names are bound to, large ones while the program runs. seconds: what they took to
// compute.
func (e *Engine) storeGroup(ctx context.Context, j groupDigest, names []string, seconds float64, cost price) error {
	begin := time.Now()
	defer func() { e.ledger.waited += time.Since(begin).Seconds() }()
	delete(e.ledger.deferred, j)
	delete(e.ledger.again, j)
	storing := kernel.Storing{Names: names, Lend: lentBytes - e.backlog.lent.Load()}
	reply, err := e.kernel.Store(ctx, storing)
	if err == nil {
		if storing.Lost = e.lost(reply.Parts); len(storing.Lost) > 0 {
			reply, err = e.kernel.Store(ctx, storing)
		}
	}
	if err != nil {
		if errors.Is(err, kernel.ErrDied) {
			e.dropKernel()
			return nil // the value is rebuilt when it is needed
		}
		return err
	}
	if !reply.Done {
		debugf("kernel", "not stored: %v: %s", names, reply.Why)
		return nil
	}
	v := state.Value{Group: state.Digest(j), Names: names, Seconds: seconds, Needs: e.needsOf(&reply), Trust: e.trust()}
	if reply.Path == "" && len(reply.Parts) == 0 {
		return e.putValue(v, &reply)
	}
	for _, p := range reply.Parts {
		e.parts.Store(p.Digest, true)
	}
	e.backlog.add(j, cost, reply.Parts, func() error { return e.putValue(v, &reply) })
	return nil
}

// outline keeps the outline of the values that names are bound to, if they are made of large arrays.
func (e *Engine) outline(ctx context.Context, j groupDigest, names []string) error {
	began := time.Now()
	reply, err := e.kernel.Store(ctx, kernel.Storing{Names: names, Outline: true})
	e.ledger.outlined += time.Since(began).Seconds()
	if errors.Is(err, kernel.ErrDied) {
		e.dropKernel()
		return nil // the value is rebuilt when it is needed
	}
	if err != nil || !reply.Done {
		return err
	}
	x := outline{data: reply.Data, names: names, needs: e.needsOf(&reply)}
	for _, p := range reply.Parts {
		x.parts = append(x.parts, p.Digest)
	}
	e.kernelState.outlines.add(j, x)
	return nil
}

// needsOf returns the classes that a group refers to. The kernel can name them.
func (e *Engine) needsOf(reply *kernel.Stored) (needs []state.Need) {
	for _, need := range reply.Needs {
		e.kernelState.classes[state.Digest(need[1])] = true
		needs = append(needs, state.Need{Key: need[0], Digest: state.Digest(need[1])})
	}
	return needs
}

// lost returns the parts that the kernel did not give again and that the store does not have, nor will have. Another
// process may collect one meanwhile. Then the value that needs it is computed again.
func (e *Engine) lost(parts []kernel.Part) (lost []state.Digest) {
	for _, p := range parts {
		if _, known := e.parts.Load(p.Digest); !known && p.Path == "" && p.Data == nil &&
			!e.cfg.Store.HasBlob(p.Digest) {
			lost = append(lost, p.Digest)
		}
	}
	return lost
}

// putValue stores what the kernel made of a group. A part that changed meanwhile cannot be stored: a thread of the
// program wrote to it.
func (e *Engine) putValue(v state.Value, reply *kernel.Stored) error {
	if e.withholdsValue(reply) {
		e.dropValue(reply)
		return nil
	}
	var head state.BlobRef
	var err error
	if reply.Path == "" {
		head, err = e.cfg.Store.PutBlob(reply.Data)
	} else {
		head, err = e.takeBlob(reply.Path, "")
	}
	v.Blob, v.Bytes = head.Digest, head.Size
	for i := range reply.Parts {
		part := &reply.Parts[i]
		ref := state.BlobRef{Digest: part.Digest, Size: part.Size}
		switch {
		case err != nil:
		case part.Path != "":
			ref, err = e.takeBlob(part.Path, part.Digest)
		case part.Data != nil:
			ref, err = e.cfg.Store.PutLarge(part.Data, part.Digest)
		}
		part.Release()
		if err != nil {
			e.parts.Delete(part.Digest)
		}
		v.Parts, v.Bytes = append(v.Parts, ref.Digest), v.Bytes+ref.Size
	}
	if errors.Is(err, state.ErrChanged) {
		debugf("kernel", "not stored: %v: %v", v.Names, err)
		return nil
	}
	if err != nil {
		return err
	}
	return e.cfg.Store.PutValue(v)
}

// takeBlob stores a file of the spool, and removes it.
func (e *Engine) takeBlob(path string, want state.Digest) (state.BlobRef, error) {
	f, err := openIn(e.spool, path)
	if err != nil {
		return state.BlobRef{}, fmt.Errorf("take a value from the interpreter: %w", err)
	}
	defer discardFrom(e.spool, path)
	defer f.Close()
	return e.cfg.Store.TakeBlob(f, want)
}

// storeDeferred stores the deferred groups that still exist, the most valuable first.
func (e *Engine) storeDeferred(ctx context.Context) error {
	deferred := e.ledger.deferred
	e.ledger.deferred = map[groupDigest]deferral{}
	best := slices.SortedFunc(maps.Keys(deferred), func(a, b groupDigest) int {
		return cmp.Or(
			cmp.Compare(deferred[b].seconds*deferred[a].cost.all, deferred[a].seconds*deferred[b].cost.all),
			cmp.Compare(a, b),
		)
	})
	for _, j := range best {
		d := deferred[j]
		gone := slices.ContainsFunc(d.names, func(n string) bool { return e.kernelState.bound[n].groupDigest != j })
		if e.kernel == nil || gone {
			continue
		}
		if e.ledger.closing+d.cost.all > closeShare*e.ledger.executed {
			e.ledger.deferred[j] = d // what executes later may pay for it
			continue
		}
		e.ledger.closing += d.cost.all
		if err := e.storeGroup(ctx, j, d.names, d.seconds, d.cost); err != nil {
			return err
		}
	}
	return e.backlog.wait()
}

func (x *execution) storeHidden(ctx context.Context, a state.Access) error {
	e := x.walk.e
	if ok, err := e.has(a.Digest); err != nil || ok {
		return err
	}
	if e.kernel == nil {
		return nil
	}
	data, err := e.kernel.Hidden(ctx, a.Key)
	if err != nil || len(data) == 0 || e.withholds(data) { // it cannot be stored
		return err
	}
	ref, err := e.cfg.Store.PutBlob(data)
	if err != nil {
		return err
	}
	return e.cfg.Store.PutValue(
		state.Value{
			Group: a.Digest, Names: []string{string(a.Key)}, Blob: ref.Digest, Bytes: ref.Size, Trust: e.trust(),
		},
	)
}

// sharedValue looks for a value that the store lacks in the cache, once.
func (e *Engine) sharedValue(d state.Digest) (v state.Value, ok bool) {
	if e.cfg.Cache == nil || e.cfg.Store.Foreign() || e.shared.asked[d] {
		return v, false
	}
	e.shared.asked[d] = true
	ctx := context.Background() // the cache bounds the time
	found := e.cfg.Cache.Value(ctx, d)
	if found == nil || !e.cfg.Cache.Fetch(ctx, found.Record.Blobs) || !e.cfg.Store.HasBlobs(found.Record.Value) {
		return v, false
	}
	v = found.Record.Value
	v.Trust = state.Trust{Tier: state.TierTrusted, Signer: found.Signer}
	return v, e.cfg.Store.PutValue(v) == nil
}

// offerValues uploads those of the noted values that the store has by now.
func (e *Engine) offerValues() {
	if e.cfg.Cache == nil {
		return
	}
	var uploads []*remote.Upload
	e.shared.values = slices.DeleteFunc(e.shared.values, func(d state.Digest) bool {
		if e.shared.offered[d] {
			return true
		}
		v, ok, err := e.cfg.Store.Value(d)
		if err != nil || !ok || v.Blob == "" || v.Tier != state.TierOwn || !e.cfg.Store.HasBlobs(v) {
			return false
		}
		e.shared.offered[d] = true
		uploads = append(uploads, &remote.Upload{Value: &v, Blobs: append([]state.Digest{v.Blob}, v.Parts...),
			Withheld: e.shared.withheld})
		return true
	})
	e.cfg.Cache.Upload(uploads)
}

// closeWait is how long Close waits for uploads at least, where its caller does not say.
const closeWait = time.Second

// waitForUploads waits until others can have what was executed, for a bounded time: a tenth of what executing took, and
// a second. A later run uploads what is left.
func (e *Engine) waitForUploads() {
	if e.cfg.Cache == nil {
		return
	}
	most := cmp.Or(e.cfg.UploadWait, closeWait+time.Duration(closeShare*e.ledger.executed*float64(time.Second)))
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	e.cfg.Cache.Wait(ctx)
}

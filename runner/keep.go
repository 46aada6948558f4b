package runner

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// What storing may cost. A run must not take longer for values that may never be asked for: a large one is stored only if
// computing it again would take several times as long, with all that would have to be computed for it first. The interpreter
// goes on when it has pickled one; to compress it and write it takes much longer, and is done meanwhile (backlog), for a quarter of
// the time spent executing. What is left of that at the end of a run is waited for, so that it is a twentieth, as is what keeps the
// interpreter. What did not fit in is stored when the engine closes, if it is still there, for a tenth, and what is not stored
// is computed again by who needs it.
const (
	inlineBytes  = 32 << 10 // what travels in a frame, equal to the driver's _INLINE; up to this, values are always stored
	arrayRate    = 200e6    // bytes of arrays and frames a second: about what pickling, compressing and writing come to
	objectRate   = 40e6     // the same of other objects
	arrayPickle  = 2e9      // the same of pickling alone
	objectPickle = 60e6
	storeWorth   = 4    // times what storing costs: what a value must have cost
	storeShare   = 0.05 // of the seconds executed: what may be waited for
	asideShare   = 0.25 // of them, for what is done meanwhile
	closeShare   = 0.1  // of them, at the end
)

// ledger is what an engine has spent, and what it owes.
type ledger struct {
	executed float64 // seconds
	waited   float64 // seconds that storing kept the interpreter
	owed     map[joint]debt
	again    map[joint]float64 // seconds to compute what is not stored, about
	all      bool              // everything is worth storing: for tests
}

// backlog is what is being stored while the program goes on, one group at a time.
type backlog struct {
	groups map[joint]bool // used by the engine's own goroutine alone
	all    sync.WaitGroup
	ahead  atomic.Int64 // nanoseconds that what is left will take, about
	spent  atomic.Int64 // nanoseconds

	mu  sync.Mutex // held by who stores
	err error
}

// add stores a group that was pickled, for which store is called.
func (b *backlog) add(j joint, cost price, store func() error) {
	if b.groups == nil {
		b.groups = map[joint]bool{}
	}
	b.groups[j] = true
	left := int64((cost.all - cost.pickle) * 1e9)
	b.ahead.Add(left)
	b.all.Go(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		begin := time.Now()
		b.err = errors.Join(b.err, store())
		b.spent.Add(int64(time.Since(begin)))
		b.ahead.Add(-left)
	})
}

// wait returns when all is stored, with what failed since the last time.
func (b *backlog) wait() error {
	b.all.Wait()
	b.groups = nil
	err := b.err
	b.err = nil
	return err
}

// fits reports whether a group is stored soon enough.
func (b *backlog) fits(cost price, executed float64) bool {
	ahead := float64(b.ahead.Load())/1e9 + cost.all - cost.pickle
	return ahead <= storeShare*executed && float64(b.spent.Load())/1e9+ahead <= asideShare*executed
}

// value looks up a stored value, or waits for it.
func (e *Engine) value(j joint) (state.Value, bool, error) {
	if e.backlog.groups[j] {
		if err := e.backlog.wait(); err != nil {
			return state.Value{}, false, err
		}
	}
	return e.cfg.Store.Value(state.Digest(j))
}

// price is what it takes to store a group, about.
type price struct {
	pickle float64 // seconds, of the interpreter
	all    float64 // seconds
}

func (p *price) add(info *state.ValueInfo) {
	bytes := float64(info.Bytes)
	if strings.HasPrefix(info.Type, "numpy.") || strings.HasPrefix(info.Type, "pandas.") {
		p.pickle, p.all = p.pickle+bytes/arrayPickle, p.all+bytes/arrayRate
	} else {
		p.pickle, p.all = p.pickle+bytes/objectPickle, p.all+bytes/objectRate
	}
}

// debt is a group that is worth storing once there is time.
type debt struct {
	names   []string
	cost    price
	seconds float64 // that it took to compute
}

// keep stores the values that the node wrote, as far as that is worth it.
func (x *execution) keep(ctx context.Context, after *position, t *state.Trace) error {
	done := map[joint]bool{}
	writes := slices.Clone(t.Writes)
	for _, a := range t.Writes { // who shared with a name that is bound anew is another group now
		if a.Key.Space() == "var" {
			for _, n := range x.pos.group(a.Key.Name()) {
				if k := depgraph.Var(n); n != a.Key.Name() && after.keys[k].digest != state.Absent {
					writes = append(writes, state.Access{Key: k, Digest: after.keys[k].digest})
				}
			}
		}
	}
	for _, a := range writes {
		switch a.Key.Space() {
		case "var":
			if a.Digest == state.Absent {
				continue
			}
			j, names := after.joint(a.Key.Name())
			if done[j] {
				continue
			}
			done[j] = true
			if err := x.keepGroup(ctx, after, t, j, names); err != nil {
				return err
			}
		case "rng", "conf", "cwd":
			if a.Digest == x.pos.pristine(a.Key) || a.Key == modulesKey {
				continue
			}
			if err := x.keepHidden(ctx, a); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *execution) keepGroup(ctx context.Context, after *position, t *state.Trace, j joint, names []string) error {
	e := x.walk.e
	size, cost := int64(0), price{}
	for _, n := range names {
		if _, here := e.mirror.bound[n]; !here {
			return nil // a member was dropped, when a node that had changed it failed
		}
		info := after.keys[depgraph.Var(n)].info
		if info == nil {
			continue
		}
		if info.Opaque != "" {
			return nil
		}
		size += info.Bytes
		cost.add(info)
	}
	if e.backlog.groups[j] {
		return nil
	}
	if v, ok, err := e.cfg.Store.Value(state.Digest(j)); err != nil || ok && e.cfg.Store.HasBlobs(v) || x.walk.o.Discard {
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
		e.ledger.owed[j] = debt{names, cost, seconds}
	}
	return nil
}

// unstored returns how many seconds it takes to compute what t read and is not stored.
func (p *position) unstored(l *ledger, t *state.Trace) (seconds float64) {
	seen := map[joint]bool{}
	for _, a := range t.Reads {
		if a.Key.Space() == "var" && a.Digest != state.Absent {
			if j, _ := p.joint(a.Key.Name()); !seen[j] {
				seen[j] = true
				seconds += l.again[j]
			}
		}
	}
	return seconds
}

// storeGroup stores the values that names are bound to, large ones while the program goes on. seconds: what they took to compute.
func (e *Engine) storeGroup(ctx context.Context, j joint, names []string, seconds float64, cost price) error {
	begin := time.Now()
	defer func() { e.ledger.waited += time.Since(begin).Seconds() }()
	delete(e.ledger.owed, j)
	delete(e.ledger.again, j)
	reply, err := e.kernel.Store(ctx, names)
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
	v := state.Value{Group: state.Digest(j), Names: names, Seconds: seconds}
	for _, need := range reply.Needs {
		e.mirror.classes[state.Digest(need[1])] = true
		v.Needs = append(v.Needs, state.Need{Key: need[0], Digest: state.Digest(need[1])})
	}
	if reply.Path == "" {
		return e.putValue(v, &reply)
	}
	e.backlog.add(j, cost, func() error { return e.putValue(v, &reply) })
	return nil
}

// putValue keeps what the kernel made of a group.
func (e *Engine) putValue(v state.Value, reply *kernel.Stored) error {
	refs, err := e.putParts(reply)
	if err != nil {
		return err
	}
	v.Blob = refs[0].Digest
	for i, ref := range refs {
		v.Bytes += ref.Size
		if i > 0 {
			v.Parts = append(v.Parts, ref.Digest)
		}
	}
	return e.cfg.Store.PutValue(v)
}

// putParts keeps the parts of a group, of which the kernel made a file or, when it is small, data.
func (e *Engine) putParts(reply *kernel.Stored) ([]state.BlobRef, error) {
	if reply.Path == "" {
		ref, err := e.cfg.Store.PutBlob(reply.Data)
		return []state.BlobRef{ref}, err
	}
	defer os.Remove(reply.Path)
	if len(reply.Parts) == 0 {
		ref, err := e.cfg.Store.PutBlobFile(reply.Path)
		return []state.BlobRef{ref}, err
	}
	return e.cfg.Store.PutBlobParts(reply.Path, reply.Parts)
}

// settleDebts stores what is owed and still there, the most valuable first.
func (e *Engine) settleDebts(ctx context.Context) error {
	owed := e.ledger.owed
	e.ledger.owed = map[joint]debt{}
	best := slices.SortedFunc(maps.Keys(owed), func(a, b joint) int {
		return cmp.Or(cmp.Compare(owed[b].seconds*owed[a].cost.all, owed[a].seconds*owed[b].cost.all), cmp.Compare(a, b))
	})
	cost := 0.0
	for _, j := range best {
		d := owed[j]
		gone := slices.ContainsFunc(d.names, func(n string) bool { return e.mirror.bound[n].joint != j })
		if e.kernel == nil || gone || cost+d.cost.all > closeShare*e.ledger.executed {
			continue
		}
		cost += d.cost.all
		if err := e.storeGroup(ctx, j, d.names, d.seconds, d.cost); err != nil {
			return err
		}
	}
	return e.backlog.wait()
}

func (x *execution) keepHidden(ctx context.Context, a state.Access) error {
	e := x.walk.e
	if v, ok, err := e.cfg.Store.Value(a.Digest); err != nil || ok && e.cfg.Store.HasBlobs(v) {
		return err
	}
	if e.kernel == nil {
		return nil
	}
	data, err := e.kernel.Hidden(ctx, a.Key)
	if err != nil || len(data) == 0 { // it cannot be stored
		return err
	}
	ref, err := e.cfg.Store.PutBlob(data)
	if err != nil {
		return err
	}
	return e.cfg.Store.PutValue(state.Value{Group: a.Digest, Names: []string{string(a.Key)}, Blob: ref.Digest, Bytes: ref.Size})
}

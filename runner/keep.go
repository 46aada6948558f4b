package runner

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// What storing may cost. A run must not take longer for values that may never be asked for: a large one is stored only if
// computing it again would take several times as long, with all that would have to be computed for it first. While a run is
// under way, little more than a twentieth of the time spent executing goes into storing. What did not fit in is stored when
// the engine closes, if it is still there, and what is not stored is computed again by who needs it.
const (
	inlineBytes = 32 << 10 // what travels in a frame, equal to the driver's _INLINE; up to this, values are always stored
	arrayRate   = 200e6    // bytes of arrays and frames a second: about what pickling, compressing and writing come to
	objectRate  = 40e6     // the same of other objects
	storeWorth  = 4        // times what storing costs: what a value must have cost
	storeShare  = 0.05     // of the seconds executed, while a run is under way
	closeShare  = 0.25     // of the seconds executed, at the end
)

// ledger is what an engine has spent, and what it owes.
type ledger struct {
	executed float64 // seconds
	stored   float64 // seconds spent on storing
	owed     map[joint]debt
	again    map[joint]float64 // seconds to compute what is not stored, about
	all      bool              // everything is worth storing: for tests
}

// debt is a group that is worth storing once there is time.
type debt struct {
	names   []string
	cost    float64 // seconds to store it, about
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
	size, cost := int64(0), 0.0
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
		if strings.HasPrefix(info.Type, "numpy.") || strings.HasPrefix(info.Type, "pandas.") {
			cost += float64(info.Bytes) / arrayRate
		} else {
			cost += float64(info.Bytes) / objectRate
		}
	}
	if v, ok, err := e.cfg.Store.Value(state.Digest(j)); err != nil || ok && e.cfg.Store.Whole(v) || x.walk.o.Discard {
		return err
	}
	if size <= inlineBytes || e.ledger.all {
		return e.storeGroup(ctx, j, names, t.Seconds)
	}
	seconds := t.Seconds + x.pos.unstored(&e.ledger, t)
	if storeWorth*cost <= seconds && e.ledger.stored+cost <= storeShare*e.ledger.executed {
		return e.storeGroup(ctx, j, names, seconds)
	}
	e.ledger.again[j] = seconds
	if storeWorth*cost <= seconds {
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

// storeGroup stores the values that names are bound to. seconds: what they took to compute.
func (e *Engine) storeGroup(ctx context.Context, j joint, names []string, seconds float64) error {
	begin := time.Now()
	defer func() { e.ledger.stored += time.Since(begin).Seconds() }()
	delete(e.ledger.owed, j)
	delete(e.ledger.again, j)
	var reply storeReply
	data, err := e.kernel.request(ctx, map[string]any{"op": "store", "names": names}, nil, &reply, nil)
	if err != nil {
		if errors.Is(err, errKernelDied) {
			e.dropKernel()
			return nil // the value is rebuilt when it is needed
		}
		return err
	}
	if !reply.Stored {
		debugf("kernel", "not stored: %v: %s", names, reply.Why)
		return nil
	}
	refs, err := e.putParts(&reply, data)
	if err != nil {
		return err
	}
	v := state.Value{Joint: state.Digest(j), Names: names, Blob: refs[0].Digest, Seconds: seconds}
	for i, ref := range refs {
		v.Bytes += ref.Size
		if i > 0 {
			v.Parts = append(v.Parts, ref.Digest)
		}
	}
	for _, need := range reply.Needs {
		e.mirror.classes[state.Digest(need[1])] = true
		v.Needs = append(v.Needs, state.Need{Key: need[0], Digest: state.Digest(need[1])})
	}
	return e.cfg.Store.PutValue(v)
}

// putParts keeps what the kernel made of a group.
func (e *Engine) putParts(reply *storeReply, data []byte) ([]state.BlobRef, error) {
	if reply.Path == "" {
		ref, err := e.cfg.Store.PutBlob(data)
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
		return cmp.Or(cmp.Compare(owed[b].seconds*owed[a].cost, owed[a].seconds*owed[b].cost), cmp.Compare(a, b))
	})
	for _, j := range best {
		d := owed[j]
		gone := slices.ContainsFunc(d.names, func(n string) bool { return e.mirror.bound[n].joint != j })
		if e.kernel == nil || gone || e.ledger.stored+d.cost > closeShare*e.ledger.executed {
			continue
		}
		if err := e.storeGroup(ctx, j, d.names, d.seconds); err != nil {
			return err
		}
	}
	return nil
}

func (x *execution) keepHidden(ctx context.Context, a state.Access) error {
	e := x.walk.e
	if v, ok, err := e.cfg.Store.Value(a.Digest); err != nil || ok && e.cfg.Store.Whole(v) {
		return err
	}
	if e.kernel == nil {
		return nil
	}
	data, err := e.kernel.request(ctx, map[string]any{"op": "hidden_get", "key": a.Key}, nil, nil, nil)
	if err != nil || len(data) == 0 { // it cannot be stored
		return err
	}
	ref, err := e.cfg.Store.PutBlob(data)
	if err != nil {
		return err
	}
	return e.cfg.Store.PutValue(state.Value{Joint: a.Digest, Names: []string{string(a.Key)}, Blob: ref.Digest, Bytes: ref.Size})
}

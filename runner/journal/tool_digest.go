package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/xstate-engine/xstate/state"
)

// ToolDigest names the tool that a name means as far as that is known: nothing is started to find out. It is Absent
// where there is none. Of a tool with effects it says no more than that there is one: a new version of it is no reason
// to have the effects again. Class and scope count, because they say which effects a call depends on.
//
// A tool that a caller offered once is still meant by its name where this caller offers none of that name: what it
// answered is in the record, and only a call that is not there needs it.
func (j *Journal) ToolDigest(ctx context.Context, kind Kind, name string) state.Digest {
	r := Request{Kind: kind, Tool: name}
	l := j.offersOf(r).known(ctx, j.o.Now())
	find := l.tool
	if kind == KindModel {
		find = l.model
	}
	m, err := find(name)
	switch {
	case err != nil && len(l.failed) > 0: // one of these may have it, so who needs it has to ask
		return state.DigestOf(fmt.Appendf(nil, "unknown %d", j.o.Now().UnixNano()))
	case err != nil:
		if t := j.lentOnce(ctx, r); t != nil {
			return t.digest()
		}
		return state.Absent
	}
	if j.lends(m.source) {
		j.keepLent(ctx, r, m.tool)
	}
	return m.tool.digest()
}

func (t *Tool) digest() state.Digest {
	if t.Class.Effects() {
		return state.DigestOf(fmt.Appendf(nil, "tool %q scope %q", t.Source+"."+t.Name, t.Scope))
	}
	return state.DigestOf(fmt.Appendf(nil, "tool %q %q %s scope %q", t.Source+"."+t.Name, t.Version, t.Class, t.Scope))
}

// lends reports whether a caller offers a source, and no options do.
func (j *Journal) lends(s Source) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(j.lent, func(o *offered) bool { return o.source == s })
}

// lentName is where the store has a tool that a caller offered. No source has a name with a slash.
func lentName(r Request) string { return fmt.Sprintf("lent/%s/%s", r.Kind, r.Tool) }

// keepLent stores a tool that a caller offers. Without it, code that called the tool runs again.
func (j *Journal) keepLent(ctx context.Context, r Request, t Tool) {
	data, err := json.Marshal(t)
	if err != nil {
		return
	}
	if was, err := j.store.Offers(ctx, lentName(r)); err == nil && !bytes.Equal(was, data) {
		_ = j.store.PutOffers(ctx, lentName(r), data)
	}
}

// lentOnce returns what keepLent stored last; nil: nothing, or the past had no such tool.
func (j *Journal) lentOnce(ctx context.Context, r Request) *Tool {
	data, err := j.store.Offers(ctx, lentName(r))
	var t Tool
	if err != nil || j.lacked(r.Kind, r.Tool) || json.Unmarshal(data, &t) != nil {
		return nil
	}
	return &t
}

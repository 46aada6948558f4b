package journal

import (
	"context"
	"fmt"
	"slices"

	"github.com/xstate-engine/xstate/state"
)

// ToolDigest names the tool that a name means as far as that is known: nothing is started to find out. It is Absent
// where there is none. Of a tool with effects it says no more than that there is one: a new version of it is no reason
// to have the effects again. Class and scope count, because they say which effects a call depends on.
//
// A tool that a caller offered once is still meant by its name where this caller offers none of that name: what it
// answered is in the record, and only code that runs again needs it.
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
	case err != nil && !j.lacked(kind, name):
		return j.lentOnce(ctx, r)
	case err != nil:
		return state.Absent
	}
	digest := m.tool.digest()
	if j.lends(m.source) {
		j.keepLent(ctx, r, digest)
	}
	return digest
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

// lentName is where the store has the digest of a tool that a caller offered. No source has a name with a slash.
func lentName(r Request) string { return fmt.Sprintf("lent/%s/%s", r.Kind, r.Tool) }

// keepLent stores the digest of a tool that a caller offers. Without it, code that called the tool runs again.
func (j *Journal) keepLent(ctx context.Context, r Request, d state.Digest) {
	name := lentName(r)
	if was, err := j.store.Offers(ctx, name); err == nil && string(was) != string(d) {
		_ = j.store.PutOffers(ctx, name, []byte(d))
	}
}

// lentOnce returns what keepLent stored last; Absent: nothing.
func (j *Journal) lentOnce(ctx context.Context, r Request) state.Digest {
	d, err := j.store.Offers(ctx, lentName(r))
	if err != nil {
		return state.Absent
	}
	return state.Digest(d)
}

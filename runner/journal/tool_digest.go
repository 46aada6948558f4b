package journal

import (
	"context"
	"fmt"
	"slices"

	"github.com/xstate-engine/xstate/state"
)

// ToolDigest names the tool that a name means as far as that is known: nothing is started to find out. It is Absent if
// there is none. For a tool with effects it says only that the tool exists: a new version must not repeat the effects.
// Class and scope count, because they say which effects a call depends on.
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
		if t := lentOnce(ctx, j.store, r); t != nil && !j.lacked(kind, name) {
			return t.digest()
		}
		return state.Absent
	}
	if j.lends(m.source) {
		keepLent(ctx, j.store, r, m.tool)
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

// Find returns the tool or model that a call of a kind and name means; "" is the default model. The error is that of
// the call.
func (j *Journal) Find(ctx context.Context, kind Kind, name string) (Tool, error) {
	t, _, err := j.tool(ctx, Request{Kind: kind, Tool: name})
	return t, err
}

// Tools returns what can be called, by the names that programs use. A source that cannot be asked is left out.
func (j *Journal) Tools(ctx context.Context) []Tool {
	tools, _ := j.Offered(ctx)
	return tools
}

// Offered is Tools, and says which sources cannot be asked, and why.
func (j *Journal) Offered(ctx context.Context) (tools []Tool, failed []string) {
	return j.offers().all(ctx, j.o.Now())
}

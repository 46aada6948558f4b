package journal

import (
	"context"
	"fmt"

	"github.com/xstate-engine/xstate/state"
)

// ToolDigest names the tool that a name means as far as that is known: nothing is started to find out. It is Absent
// where there is none. Of a tool with effects it says no more than that there is one: a new version of it is no reason
// to have the effects again. Class and scope count, because they say which effects a call depends on.
func (j *Journal) ToolDigest(ctx context.Context, kind Kind, name string) state.Digest {
	l := j.offersOf(Request{Kind: kind, Tool: name}).known(ctx, j.o.Now())
	find := l.tool
	if kind == KindModel {
		find = l.model
	}
	m, err := find(name)
	switch t := m.tool; {
	case err != nil && len(l.failed) > 0: // one of these may have it, so who needs it has to ask
		return state.DigestOf(fmt.Appendf(nil, "unknown %d", j.o.Now().UnixNano()))
	case err != nil:
		return state.Absent
	case t.Class.Effects():
		return state.DigestOf(fmt.Appendf(nil, "tool %q scope %q", t.Source+"."+t.Name, t.Scope))
	default:
		return state.DigestOf(fmt.Appendf(nil, "tool %q %q %s scope %q", t.Source+"."+t.Name, t.Version, t.Class,
			t.Scope))
	}
}

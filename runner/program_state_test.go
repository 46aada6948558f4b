package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

func nothing(depgraph.Key) state.Digest { return state.Absent }

func v(name string, d state.Digest) state.Access {
	return state.Access{Key: depgraph.Var(name), Digest: d}
}

// The story of the package's doc: b.append(1) was recorded while a was the same list. Where b is an equal list of its
// own, the trace must not hold, for its write to a would be wrong there.
func TestSharingIsPartOfAMatch(t *testing.T) {
	alias := &state.Trace{
		Reads:  []state.Access{v("a", "one"), v("b", "one")},
		Writes: []state.Access{v("a", "two"), v("b", "two")},
		ReadAliases: []state.Alias{
			{"a", "b", "root"},
		},
		AliasSensitive: []string{"a", "b"},
		AliasesBefore:  []state.Alias{{"a", "b", "root"}},
		AliasesAfter:   []state.Alias{{"a", "b", "root"}},
	}
	p := newProgramState(nothing)
	p.apply(0, &state.Trace{Writes: []state.Access{v("a", "one")}})
	p.apply(1, &state.Trace{Writes: []state.Access{v("b", "one")}})
	if _, _, ok := p.firstChangedRead(alias); ok {
		t.Error("a trace recorded on an alias holds where there is none")
	}
	p.apply(
		1,
		&state.Trace{
			Writes:         []state.Access{v("b", "one")},
			AliasSensitive: []string{"a"},
			AliasesAfter:   []state.Alias{{"a", "b", "root"}},
		},
	)
	if access, now, ok := p.firstChangedRead(alias); !ok {
		t.Errorf("the trace does not hold where it was recorded: %v, %v", access, now)
	}
	p.apply(2, alias)
	if got := p.get(depgraph.Var("a")); got.digest != "two" || got.writer != 2 {
		t.Errorf("a = %+v, want two by node 2", got)
	}
	p.apply(3, &state.Trace{Writes: []state.Access{v("a", "three")}})
	if got := p.group("b"); !cmp.Equal(got, []string{"b"}) {
		t.Errorf("group(b) = %v after a was bound anew, want b alone", got)
	}
}

func TestJointNamesTheGroup(t *testing.T) {
	p := newProgramState(nothing)
	p.apply(
		0,
		&state.Trace{
			Writes:       []state.Access{v("a", "one"), v("b", "one"), v("c", "one")},
			AliasesAfter: []state.Alias{{"a", "b", "root"}},
		},
	)
	ja, names := p.groupDigest("a")
	if jb, _ := p.groupDigest("b"); jb != ja || !cmp.Equal(names, []string{"a", "b"}) {
		t.Errorf("joint(a) = %s %v, joint(b) = %s, want one group", ja, names, jb)
	}
	if jc, _ := p.groupDigest("c"); jc != "one" {
		t.Errorf("joint(c) = %s, want the digest of its value", jc)
	}
	p.aliases[pair{"a", "b"}] = "elsewhere"
	if again, _ := p.groupDigest("a"); again == ja {
		t.Error("names that share in another place have the same joint digest")
	}
}

// A failed node defines nothing, and a node that needs a missing definition must not see an older value.
func TestFailedNodePoisons(t *testing.T) {
	p := newProgramState(nothing)
	p.apply(0, &state.Trace{Writes: []state.Access{v("x", "old")}})
	p.fail(1, "load", []string{"x"})
	if _, _, ok := p.firstChangedRead(&state.Trace{Reads: []state.Access{v("x", "old")}}); ok {
		t.Error("the value from before the failed block is still read")
	}
	if by, bad := p.get(depgraph.Var("x")).poisoned(); !bad || by != "load" {
		t.Errorf("poisoned = %q, %v, want load", by, bad)
	}
	if got := p.names(); len(got) != 0 {
		t.Errorf("names = %v, want none", got)
	}
}

package provenance_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/provenance"
	"github.com/xstate-engine/xstate/state/query"
)

// TestArchiveOfCalls: the calls of a session come to another store with their contents, under numbers of that store,
// and those of another session do not.
func TestArchiveOfCalls(t *testing.T) {
	from := xstatetest.OpenSession(t, xstatetest.OpenStore(t, filepath.Join(t.TempDir(), xstate.StoreName)),
		xstate.SessionOptions{Workspace: t.TempDir(), Seed: 1})
	if _, err := from.Load(t.Context(), xstatetest.ParseScript(t, "# %% a\nx = 1\n"), xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	store := from.Store().State()
	lineage, err := store.Lineage(t.Context(), from.Name())
	if err != nil {
		t.Fatal(err)
	}
	large := `"` + strings.Repeat("long ", 10_000) + `"`
	put := func(session, args, result string, within uint64, more func(*state.Call)) state.Call {
		t.Helper()
		c := state.Call{Key: state.DigestOf([]byte(session + args)), Within: within, Kind: "tool", Tool: "t",
			State: state.CallAnswered, Caller: state.Caller{Session: session}}
		for text, into := range map[string]*state.Content{args: &c.Args, result: &c.Result} {
			if *into, err = store.ContentOf([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if more != nil {
			more(&c)
		}
		if err := store.PutCall(t.Context(), &c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	put("another", `{"n":0}`, "0", 0, nil)
	first := put(from.Name(), `{"n":1}`, large, lineage, func(c *state.Call) { c.Undo = &state.Undo{Tool: "u"} })
	second := put(from.Name(), `{"n":2}`, "2", 0, func(c *state.Call) { c.Parent = first.ID })
	first.Undo.Done = second.ID
	if err := store.PutCall(t.Context(), &first); err != nil {
		t.Fatal(err)
	}

	there := xstatetest.OpenStore(t, filepath.Join(t.TempDir(), xstate.StoreName))
	if _, err := there.Session(t.Context(), "earlier", xstate.SessionOptions{}); err != nil { // so that lineages differ
		t.Fatal(err)
	}
	data := xstatetest.Archived(t, from, provenance.ArchiveOptions{})
	for range 2 { // the second time there is nothing new
		found, err := xstatetest.ImportArchive(t.Context(), there, data, provenance.ImportOptions{Trust: true})
		if err != nil || found.Skipped != 0 {
			t.Errorf("import skipped %+v, %v", found, err)
		}
	}
	to := there.State()
	root, err := to.Lineage(t.Context(), from.Name())
	if err != nil {
		t.Fatal(err)
	}
	first.ID, first.Within, first.Undo.Done, second.ID, second.Parent = 1, root, 2, 2, 1
	got := []state.Call{}
	if err := to.Calls(t.Context(), 1, func(c *state.Call) bool { got = append(got, *c); return true }); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]state.Call{first, second}, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
	if text, err := to.Read(got[0].Result); err != nil || string(text) != large {
		t.Errorf("the large result has %d bytes, %v, want %d", len(text), err, len(large))
	}
}

// TestArchiveOfForeignCalls: the answers of tools that an archive claims serve its session and no other, until somebody
// trusts it.
func TestArchiveOfForeignCalls(t *testing.T) {
	from := xstatetest.OpenSession(t, xstatetest.OpenStore(t, filepath.Join(t.TempDir(), xstate.StoreName)),
		xstate.SessionOptions{Workspace: t.TempDir(), Seed: 1})
	if _, err := from.Load(t.Context(), xstatetest.ParseScript(t, "# %% a\nx = 1\n"), xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	call := state.Call{Key: state.DigestOf([]byte("k")), Kind: "tool", Tool: "t", State: state.CallAnswered,
		Caller: state.Caller{Session: from.Name()}}
	if err := from.Store().State().PutCall(t.Context(), &call); err != nil {
		t.Fatal(err)
	}
	data := xstatetest.Archived(t, from, provenance.ArchiveOptions{})
	there := xstatetest.OpenStore(t, filepath.Join(t.TempDir(), xstate.StoreName))
	imported(t, there, data)
	served := func(store *state.Store) bool {
		t.Helper()
		c, err := store.CallAt(t.Context(), call.Key, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return c != nil
	}
	to, err := there.Existing(t.Context(), from.Name(), xstate.SessionOptions{Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if served(there.State()) || !served(to.History().Store()) {
		t.Errorf("of an untrusted call every session is served: %v, its own: %v", served(there.State()),
			served(to.History().Store()))
	}
	if calls, err := to.History().Calls(t.Context(), query.CallFilter{}); err != nil || len(calls) != 1 {
		t.Errorf("the session shows %d calls, %v, want 1", len(calls), err)
	}
	if _, err := xstatetest.ImportArchive(t.Context(), there, data, provenance.ImportOptions{Trust: true}); err != nil {
		t.Fatal(err)
	}
	if !served(there.State()) {
		t.Error("no other session is served a call that the user trusts")
	}
}

// TestArchiveOfApprovals: what somebody approved elsewhere is not approved here, unless the user trusts the archive. An
// archive made the importing store pay, against its own rule and unasked.
func TestArchiveOfApprovals(t *testing.T) {
	from := xstatetest.OpenSession(t, xstatetest.OpenStore(t, filepath.Join(t.TempDir(), xstate.StoreName)),
		xstate.SessionOptions{Workspace: t.TempDir(), Seed: 1})
	if _, err := from.Load(t.Context(), xstatetest.ParseScript(t, "# %% a\nx = 1\n"), xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	store := from.Store().State()
	lineage, err := store.Lineage(t.Context(), from.Name())
	if err != nil {
		t.Fatal(err)
	}
	yes := state.Approval{Choices: []string{"yes", "no"}, Choice: "yes", At: time.Unix(1, 0)}
	again := state.Approval{Choices: []string{"again", state.ChoiceHappened}, Choice: "again", At: time.Unix(1, 0)}
	same := state.Approval{Choices: []string{"another", "call 2"}, Choice: "call 2", At: time.Unix(1, 0)}
	for i, c := range []state.Call{
		{State: state.CallWaiting, Approval: &yes}, {State: state.CallAnswered, Approval: &yes},
		{State: state.CallWaiting, Approval: &again}, {State: state.CallDenied, Approval: &yes},
		{State: state.CallWaiting, Approval: &same, Same: 2},
	} {
		c.Key, c.Within, c.Kind, c.Tool = state.DigestOf([]byte{byte(i)}), lineage, "tool", "t"
		c.Caller.Session = from.Name()
		if err := store.PutCall(t.Context(), &c); err != nil {
			t.Fatal(err)
		}
	}
	data := xstatetest.Archived(t, from, provenance.ArchiveOptions{})
	for _, trust := range []bool{false, true} {
		there := xstatetest.OpenStore(t, filepath.Join(t.TempDir(), xstate.StoreName))
		taken := state.Call{Key: state.DigestOf([]byte("k")), Kind: "tool", Tool: "t", State: state.CallAnswered}
		if err := there.State().PutCall(t.Context(), &taken); err != nil { // so that the numbers differ
			t.Fatal(err)
		}
		o := provenance.ImportOptions{Trust: trust}
		if _, err := xstatetest.ImportArchive(t.Context(), there, data, o); err != nil {
			t.Fatal(err)
		}
		type found struct {
			State   state.CallState
			Decided bool
			Same    state.CallID
		}
		want := []found{{state.CallLost, false, 0}, {state.CallAnswered, true, 0}, {state.CallSent, false, 0},
			{state.CallDenied, false, 0}, {state.CallLost, false, 0}}
		if trust {
			want = []found{{state.CallWaiting, true, 0}, {state.CallAnswered, true, 0}, {state.CallWaiting, true, 0},
				{state.CallDenied, true, 0}, {state.CallWaiting, true, 3}}
		}
		var got []found
		err := there.State().Calls(t.Context(), taken.ID+1, func(c *state.Call) bool {
			got = append(got, found{c.State, c.Approval.Decided(), c.Same})
			return true
		})
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("calls after an import that trusts: %v (-want +got), %v:\n%s", trust, err, d)
		}
	}
}

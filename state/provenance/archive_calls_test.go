package provenance_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/provenance"
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
		if found := imported(t, there, data); found.Skipped != 0 {
			t.Errorf("import skipped %d", found.Skipped)
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

package basestate

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/statetest"
)

// A file that is overwritten and gets its old time back, as archives and copies do, has changed.
func TestFileWithItsOldTime(t *testing.T) {
	dir := t.TempDir()
	store := statetest.CheckedOpen(t, filepath.Join(dir, ".xstate"), state.Options{})
	w := New(Options{Store: store, Workspace: dir})
	path := filepath.Join(dir, "data.csv")
	seen := map[state.Digest]bool{}
	for _, text := range []string{"a,1\n", "a,2\n", "a,3\n"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)); err != nil {
			t.Fatal(err)
		}
		seen[w.OnDisk("data.csv")] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d contents of 3 are told apart", len(seen))
	}
}

// TestStandardInput: a part has its digest while it is the same, and the end of the input while nothing follows.
func TestStandardInput(t *testing.T) {
	get := func(content, name string) state.Digest { return inputDigest([]byte(content), name) }
	for _, x := range []struct {
		was, now, name string
		same           bool
	}{
		{"Ada\n1\n", "Ada\n2\n", InputName(0, 4, false), true},
		{"Ada\n1\n", "Bob\n1\n", InputName(0, 4, false), false},
		{"Ada\n1\n", "Ada\n1\n2\n", InputName(4, 6, false), true},
		{"Ada\n1\n", "Ada\n1\n2\n", InputName(4, 6, true), false},
		{"Ada\n1\n", "Bob\n1\n", InputName(4, 6, true), true},
		{"Ada\n1\n", "Ada", InputName(0, 4, false), false},
		{"", "x", InputName(0, 0, true), false},
		{"", "x", InputName(0, 0, false), true},
	} {
		if same := get(x.was, x.name) == get(x.now, x.name); same != x.same {
			t.Errorf("%s of %q and of %q: equal: %v, want %v", x.name, x.was, x.now, same, x.same)
		}
	}
}

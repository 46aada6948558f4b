package acceptance

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner/replay"
)

// TestLostBlobs removes the blobs of a store by hand, each in turn and then all. A run that goes back to an earlier
// version needs them: for files, values, hidden state and outputs. It equals one from scratch all the same. The store
// lost what a.txt held when nothing else had to run, and the run ended with an internal error.
func TestLostBlobs(t *testing.T) {
	program := func(version string) map[string][]byte {
		return map[string][]byte{"prog.py": []byte(`# %% make
import hashlib, os, random
text = "".join(hashlib.sha256(b"%d" % i).hexdigest() for i in range(400)) + "` + version + `"
# %% write
with open("a.txt", "w") as f:
    n = f.write(text)
os.environ["XSTATE_TEST_LOST"] = text
# %% seed
random.seed(text)
words = text.split("0")
# %% print
print(text)
# %% read
print(len(open("a.txt").read()), len(words), random.random(), len(os.environ["XSTATE_TEST_LOST"]))
`)}
	}
	o := xstate.SessionOptions{Workspace: t.TempDir(), Python: xstatetest.Pythons()[0], Seed: 7}
	scratch := map[string]*xstate.Outcome{}
	for _, version := range []string{"A", "B"} {
		scratch[version] = xstatetest.FromScratch(t, t.Context(), program(version), o, await.Long)
	}
	turn := 0
	run := func() {
		version := []string{"A", "B"}[turn%2]
		turn++
		store, err := xstate.Open(t.Context(), filepath.Join(o.Workspace, xstate.StoreName), xstate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		session := xstatetest.OpenSession(t, store, o)
		defer session.Close()
		files := program(version)
		xstatetest.WriteFiles(t, o.Workspace, files)
		have := xstatetest.Blank(
			xstatetest.RunFile(t, t.Context(), session, o.Workspace, files, await.Long), o.Workspace)
		for _, d := range replay.Compare(have, scratch[version]) {
			t.Errorf("version %s: %s", version, d)
		}
	}
	run()
	run()
	blobs := func() []string {
		found, err := filepath.Glob(filepath.Join(o.Workspace, xstate.StoreName, "blobs", "*", "*"))
		if err != nil || len(found) < 6 {
			t.Fatalf("blobs %q, %v; want some for each version", found, err)
		}
		return found
	}
	for _, blob := range blobs() {
		for range 2 {
			if err := os.Remove(blob); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			run()
		}
	}
	for _, blob := range blobs() {
		if err := os.Remove(blob); err != nil {
			t.Fatal(err)
		}
	}
	run()
	run()
}

package provenance_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/provenance"
)

// imported imports an archive that the user does not trust.
func imported(t *testing.T, store *xstate.Store, data []byte) *provenance.Imported {
	t.Helper()
	found, err := xstatetest.ImportArchive(t.Context(), store, data, provenance.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestArchive: a session that was forked, rolled back and edited comes to another store with all that it answers, and
// goes on there; nothing is executed.
func TestArchive(t *testing.T) {
	a := xstatetest.NewAsked(t, xstatetest.AskedFirst, xstatetest.AskedSecond)
	if _, err := a.Session.Rollback(t.Context(), a.Runs[0], xstate.Origin{Agent: "reviewer"}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Session.Fork(t.Context(), "child", a.Runs[0]+1, xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	child, err := a.Store.Existing(t.Context(), "child", xstate.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	xstatetest.RunsBlocks(t, child)
	// before its parent's own steps
	if _, err := child.Fork(t.Context(), "grandchild", 3, xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	grandchild, err := a.Store.Existing(t.Context(), "grandchild", xstate.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer child.Close()
	defer grandchild.Close()
	xstatetest.RunsBlocks(t, grandchild)
	for _, from := range []*xstate.Session{a.Session, child, grandchild} {
		data := xstatetest.Archived(t, from, provenance.ArchiveOptions{Values: runner.StoredValues})
		if again := xstatetest.Archived(t, from, provenance.ArchiveOptions{Values: runner.StoredValues}); !bytes.Equal(
			data,
			again,
		) {
			t.Errorf("the archive of %s differs from one time to the next", from.Name())
		}
		dir := t.TempDir()
		xstatetest.WriteFiles(t, dir, map[string][]byte{"data.csv": []byte("1\n2\n")})
		store := xstatetest.OpenStore(t, filepath.Join(dir, xstate.StoreName))
		found := imported(t, store, data)
		if found.Session != from.Name() || found.Steps == 0 || found.Skipped > 0 {
			t.Errorf("import of %s = %+v", from.Name(), found)
		}
		to, err := store.Existing(t.Context(), from.Name(), xstate.SessionOptions{Workspace: dir})
		if err != nil {
			t.Fatal(err)
		}
		for n := xstate.StepNumber(0); n <= found.Head; n++ {
			want, err := from.History().At(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			got, err := to.History().At(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range want.Blocks {
				for i := range b.Nodes {
					if n := &b.Nodes[i]; n.Trace != "" {
						n.Trust = state.TierForeign
					}
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%s after step %d (-there +here):\n%s", from.Name(), n, d)
			}
		}
		if n := xstatetest.RunsBlocks(t, to); n != 0 {
			t.Errorf("the run of the imported %s executed %d nodes, want none", from.Name(), n)
		}
		if problems, err := store.State().Check(t.Context()); err != nil || len(problems) > 0 {
			t.Errorf("check after the import of %s: %v, %v", from.Name(), problems, err)
		}
		if again := imported(t, store, data); again.Steps != 0 {
			t.Errorf("the import again = %+v, want nothing new", again)
		}
		to.Close()
	}
}

// TestArchiveOfFiles: what a file held before the program wrote to it goes along, and is not what the program left. Of
// an archive that nobody trusts it does not, see TestArchiveOfHarmfulRecords.
func TestArchiveOfFiles(t *testing.T) {
	dir := t.TempDir()
	xstatetest.WriteFiles(t, dir, map[string][]byte{"log.txt": []byte("base\n")})
	from := xstatetest.OpenSession(
		t,
		xstatetest.OpenStore(t, filepath.Join(dir, xstate.StoreName)),
		xstate.SessionOptions{Workspace: dir, Seed: 1},
	)
	program := "# %% write\nopen('log.txt', 'a').write('one\\n')\n# %% read\nprint(open('log.txt').read())\n"
	load := func(s *xstate.Session, text string) string {
		t.Helper()
		if _, err := s.Load(t.Context(), xstatetest.ParseScript(t, text), xstate.Origin{}); err != nil {
			t.Fatal(err)
		}
		out, _, err := s.Run(t.Context(), runner.RunOptions{Timeout: await.Long}, xstate.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		return out.Blocks[1].Outputs[0].Text
	}
	load(from, program)
	data := xstatetest.Archived(t, from, provenance.ArchiveOptions{Values: runner.StoredValues})
	left, err := os.ReadFile(filepath.Join(dir, "log.txt"))
	if err != nil {
		t.Fatal(err)
	}
	there := t.TempDir()
	xstatetest.WriteFiles(t, there, map[string][]byte{"log.txt": left}) // a copy of the folder
	store := xstatetest.OpenStore(t, filepath.Join(there, xstate.StoreName))
	if _, err := xstatetest.ImportArchive(t.Context(), store, data, provenance.ImportOptions{Trust: true}); err != nil {
		t.Fatal(err)
	}
	to, err := store.Existing(t.Context(), from.Name(), xstate.SessionOptions{Workspace: there})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { to.Close() })
	if got, want := load(to, strings.Replace(program, "one", "two", 1)), "base\ntwo\n\n"; got != want {
		t.Errorf("after the import and an edit the program reads %q, want %q", got, want)
	}
}

// TestArchiveGoesOn: what came since is added; another history under the same name is refused, and nothing of it is
// kept.
func TestArchiveGoesOn(t *testing.T) {
	a := xstatetest.NewAsked(t, xstatetest.AskedFirst)
	first := xstatetest.Archived(t, a.Session, provenance.ArchiveOptions{})
	a.Run(t, xstatetest.AskedSecond)
	second := xstatetest.Archived(t, a.Session, provenance.ArchiveOptions{})
	dir := t.TempDir()
	store := xstatetest.OpenStore(t, filepath.Join(dir, xstate.StoreName))
	if n := imported(t, store, first).Steps; n != int(a.Runs[0]) {
		t.Errorf("new steps = %d, want %d", n, a.Runs[0])
	}
	if n := imported(t, store, second).Steps; n != int(a.Runs[1]-a.Runs[0]) {
		t.Errorf("new steps = %d, want %d", n, a.Runs[1]-a.Runs[0])
	}
	if n := imported(t, store, first).Steps; n != 0 {
		t.Errorf("new steps of the older archive = %d, want none", n)
	}
	other := xstatetest.NewAsked(t, xstatetest.AskedSecond)
	data := xstatetest.Archived(t, other.Session, provenance.ArchiveOptions{})
	_, err := xstatetest.ImportArchive(t.Context(), store, data, provenance.ImportOptions{})
	if state.CodeOf(err) != state.CodeSessionExists {
		t.Errorf("import of another session of that name = %v, want %s", err, state.CodeSessionExists)
	}
	to, err := store.Existing(t.Context(), a.Session.Name(), xstate.SessionOptions{Workspace: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.Delete(t.Context(), "other", xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	a.Run(t, xstatetest.AskedFirst)
	third := xstatetest.Archived(t, a.Session, provenance.ArchiveOptions{})
	_, err = xstatetest.ImportArchive(t.Context(), store, third, provenance.ImportOptions{})
	if state.CodeOf(err) != state.CodeConflict {
		t.Errorf("import of a session that went another way = %v, want %s", err, state.CodeConflict)
	}
	if head, _, err := store.State().Head(t.Context(), a.Session.Name()); err != nil || head != a.Runs[1]+1 {
		t.Errorf("head after the conflict = %d, %v, want %d", head, err, a.Runs[1]+1)
	}
}

// altered rewrites an archive, entry by entry.
func altered(t *testing.T, data []byte, change func(name string, content []byte) []byte) []byte {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if content = change(f.Name, content); content == nil {
			continue
		}
		to, err := w.Create(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := to.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// resummed gives an altered archive the digests that its entries have now: what a forger would do.
func resummed(t *testing.T, data []byte) []byte {
	t.Helper()
	sums := map[string]string{}
	altered(t, data, func(name string, content []byte) []byte {
		sums[name] = string(state.DigestOf(content))
		return content
	})
	return altered(t, data, func(name string, content []byte) []byte {
		if name != "SHA256SUMS" {
			return content
		}
		text := ""
		for name, sum := range sums {
			text += sum + "  " + name + "\n"
		}
		return []byte(text)
	})
}

// TestTamperedArchive: whatever is changed in the history of an archive is found, and nothing is kept; what is changed
// in results is left out.
func TestTamperedArchive(t *testing.T) {
	a := xstatetest.NewAsked(t, xstatetest.AskedFirst, xstatetest.AskedSecond)
	data := xstatetest.Archived(t, a.Session, provenance.ArchiveOptions{Values: runner.StoredValues})
	edit := func(prefix string, change func([]byte) []byte) []byte {
		done := false
		out := altered(t, data, func(name string, content []byte) []byte {
			if !done && strings.HasPrefix(name, prefix) {
				done = true
				return change(content)
			}
			return content
		})
		if !done {
			t.Fatalf("the archive has no %s", prefix)
		}
		return out
	}
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte {
			b = bytes.Clone(b)
			b[(at+len(b))%len(b)] ^= 1
			return b
		}
	}
	replace := func(old, new string) func([]byte) []byte {
		return func(b []byte) []byte {
			if !bytes.Contains(b, []byte(old)) {
				t.Fatalf("no %q to replace", old)
			}
			return bytes.Replace(b, []byte(old), []byte(new), 1)
		}
	}
	drop := func([]byte) []byte { return nil }
	bad := map[string][]byte{
		"text changed":    edit("sources/", flip(0)),
		"text dropped":    edit("sources/", drop),
		"steps dropped":   edit("history/0/steps", drop),
		"steps cut":       edit("history/0/steps", func(b []byte) []byte { return b[:len(b)/2] }),
		"step added":      edit("history/0/steps", func(b []byte) []byte { return append(b, b...) }),
		"agent changed":   edit("history/0/steps", replace("coder", "dodor")),
		"no index":        edit("xstate.json", drop),
		"head changed":    edit("xstate.json", replace(`"last": 8`, `"last": 7`)),
		"name changed":    edit("xstate.json", replace(a.Session.Name(), a.Session.Name()+"x")),
		"cut":             data[:len(data)/2],
		"not a zip":       []byte("hello"),
		"a later format":  edit("xstate.json", replace(`"version": 1`, `"version": 9`)),
		"first step gone": edit("history/0/steps", func(b []byte) []byte { return withoutStep(b, 0) }),
		"third step gone": edit("history/0/steps", func(b []byte) []byte { return withoutStep(b, 2) }),
	}
	for i := range 40 {
		bad[fmt.Sprintf("bit of byte %d", i*37)] = edit("history/0/steps", flip(i*37))
	}
	for what, forged := range maps.Clone(bad) {
		if what != "cut" && what != "not a zip" {
			bad[what+", with new digests"] = resummed(t, forged)
		}
	}
	for what, forged := range bad {
		store := xstatetest.OpenStore(t, filepath.Join(t.TempDir(), xstate.StoreName))
		_, err := xstatetest.ImportArchive(t.Context(), store, forged, provenance.ImportOptions{})
		if code := state.CodeOf(err); code != state.CodeArchiveDamaged && code != state.CodeNewer {
			t.Errorf("%s: import = %v, want %s", what, err, state.CodeArchiveDamaged)
		}
		if all, err := store.State().Sessions(t.Context()); err != nil || len(all) > 0 {
			t.Errorf("%s: the store has %d sessions, %v, want none", what, len(all), err)
		}
	}
	for _, prefix := range []string{"traces/", "values/", "blobs/"} {
		store := xstatetest.OpenStore(t, filepath.Join(t.TempDir(), xstate.StoreName))
		if found := imported(t, store, edit(prefix, flip(-1))); found.Skipped != 1 {
			t.Errorf("with a bit of %s changed: %d skipped, want 1", prefix, found.Skipped)
		}
		if problems, err := store.State().Check(context.Background()); err != nil || len(problems) > 0 {
			t.Errorf("check: %v, %v", problems, err)
		}
	}
}

// withoutStep drops one of the steps: two parts with their lengths.
func withoutStep(b []byte, i int) []byte {
	at := 0
	next := func() {
		for range 2 {
			at += 4 + int(b[at])<<24 + int(b[at+1])<<16 + int(b[at+2])<<8 + int(b[at+3])
		}
	}
	for range i {
		next()
	}
	from := at
	next()
	return append(bytes.Clone(b[:from]), b[at:]...)
}

package provenance_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/provenance"
	"github.com/xstate-engine/xstate/state/query"
)

// TestArchiveOfHarmfulRecords: an archive does not choose the interpreter that the next run starts, nor the files that
// it overwrites and removes. A record that no run can read is left out, and so is one that nobody knows.
func TestArchiveOfHarmfulRecords(t *testing.T) {
	a := xstatetest.NewAsked(t, xstatetest.AskedFirst)
	data := xstatetest.Archived(t, a.Session, provenance.ArchiveOptions{})
	python, err := cbor.Marshal("/tmp/evil")
	if err != nil {
		t.Fatal(err)
	}
	for name, record := range map[string][]byte{
		query.RecordPython:  python,
		query.RecordFiles:   state.EncodeFileRecords(map[string]state.FileRecord{"notes.txt": {Left: "x"}}),
		query.RecordSandbox: {0xff},
		"drawn b 0":         python,
	} {
		data = withEntry(t, data, "history/0/records/"+name, record, -1)
	}
	data = resummed(t, data)
	store := xstatetest.OpenStore(t, filepath.Join(t.TempDir(), xstate.StoreName))
	found := imported(t, store, data)
	records, err := store.State().SessionRecords(t.Context(), found.Session)
	if err != nil || records[query.RecordInvocation] == nil {
		t.Errorf("the session has the records %v, %v, want those of its last run", records, err)
	}
	for _, name := range []string{query.RecordPython, query.RecordFiles, query.RecordSandbox, "drawn b 0"} {
		if records[name] != nil {
			t.Errorf("the archive chose the record %q: %x", name, records[name])
		}
	}
}

// emptyArchive returns an archive of a session without a step.
func emptyArchive(t *testing.T, name, workspace string) []byte {
	t.Helper()
	from := xstatetest.OpenStore(t, filepath.Join(t.TempDir(), xstate.StoreName)).State()
	if _, err := from.CreateSession(t.Context(), name, state.SessionMeta{Workspace: workspace}); err != nil {
		t.Fatal(err)
	}
	h, err := query.Open(t.Context(), from, name)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := provenance.Archive(t.Context(), h, &b, provenance.ArchiveOptions{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestArchiveOfNames: the name of a session is the path of its program. A foreign one names none elsewhere, none that
// is hidden, and no archive names what a terminal would take for another line.
func TestArchiveOfNames(t *testing.T) {
	for _, c := range []struct {
		name             string
		foreign, trusted state.Code
	}{
		{"p.py", "", ""},
		{"in/a folder/p.py", "", ""},
		{"../p.py", state.CodeInvalid, ""},
		{"/elsewhere/p.py", state.CodeInvalid, ""},
		{".git/hooks/p.py", state.CodeInvalid, ""},
		{"xstate.toml", state.CodeInvalid, ""},
		{"p.py\nxstate: its results are believed", state.CodeArchiveDamaged, state.CodeArchiveDamaged},
		{"p.py\x1b[2J", state.CodeArchiveDamaged, state.CodeArchiveDamaged},
		{"p\u202eyp.", state.CodeArchiveDamaged, state.CodeArchiveDamaged},
	} {
		data := emptyArchive(t, c.name, "")
		for trust, want := range map[bool]state.Code{false: c.foreign, true: c.trusted} {
			store := xstatetest.OpenStore(t, filepath.Join(t.TempDir(), xstate.StoreName))
			_, err := xstatetest.ImportArchive(t.Context(), store, data, provenance.ImportOptions{Trust: trust})
			if state.CodeOf(err) != want {
				t.Errorf("import of a session %q (trust: %t) = %v, want %q", c.name, trust, err, want)
			}
		}
	}
}

// TestArchiveOfWorkspaces: a foreign session runs in the folder of the import, and so do its forks, unless it ran in a
// plain folder below.
func TestArchiveOfWorkspaces(t *testing.T) {
	for workspace, want := range map[string]string{
		"/elsewhere": ".", "sub": "sub", "../up": ".", ".git/hooks": ".", "kept/private/x": ".", "": "",
	} {
		dir := t.TempDir()
		store := xstatetest.OpenStore(t, filepath.Join(dir, "kept"))
		imported(t, store, emptyArchive(t, "p.py", workspace))
		if want != "" {
			want = filepath.Join(dir, want)
		}
		if _, err := store.State().Fork(t.Context(), "q.py", "p.py", 0, state.Origin{}); err != nil {
			t.Fatal(err)
		}
		if _, err := store.State().ForkIn(t.Context(), "r.py", "/own", state.ForkPoint{Session: "p.py"},
			state.Draft{}); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"p.py": want, "q.py": want, "r.py": "/own"} {
			if s, err := store.State().Session(t.Context(), name); err != nil || s.Workspace != want {
				t.Errorf("%s of the workspace %q runs in %q, %v, want %q", name, workspace, s.Workspace, err, want)
			}
		}
	}
}

// TestArchiveOfTraces: a foreign trace that writes anything but plain files of the workspace is left out.
func TestArchiveOfTraces(t *testing.T) {
	content := state.DigestOf([]byte("evil"))
	for _, c := range []struct {
		key    depgraph.Key
		digest state.Digest
		stays  bool
	}{
		{"file:made/out.txt", content, true},
		{"file:out", "directory", true},
		{"link:out", "made", true},
		{"file:out", "symlink:made", true},
		{"file:/elsewhere", content, false},
		{"file:../elsewhere", content, false},
		{"file:.git/hooks/pre-commit", content, false},
		{"mode:.git/hooks/pre-commit", "755", false},
		{"file:xstate.toml", content, false},
		{"file:sub/xstate.toml", content, false},
		{"file:.xstate/planted", content, false},
		{"file:out", "symlink:/elsewhere", false},
		{"link:out", "../elsewhere", false},
	} {
		trace := state.Trace{Code: content, Writes: []state.Access{{Key: c.key, Digest: c.digest}}}
		data := withEntry(t, emptyArchive(t, "p.py", ""), "traces/"+string(trace.Identity()),
			state.EncodeTrace(trace), -1)
		store := xstatetest.OpenStore(t, filepath.Join(t.TempDir(), xstate.StoreName))
		found := imported(t, store, resummed(t, data))
		if stays := found.Skipped == 0; stays != c.stays {
			t.Errorf("a trace that writes %s as %s was imported: %t, want %t", c.key, c.digest, stays, c.stays)
		}
	}
}

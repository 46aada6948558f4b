package provenance_test

import (
	"path/filepath"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/provenance"
	"github.com/xstate-engine/xstate/state/query"
)

// TestArchiveOfHarmfulRecords: an archive does not choose the interpreter that the next run starts, nor files outside
// of the workspace that it writes.
func TestArchiveOfHarmfulRecords(t *testing.T) {
	a := xstatetest.NewAsked(t, xstatetest.AskedFirst)
	data := xstatetest.Archived(t, a.Session, provenance.ArchiveOptions{})
	python, err := cbor.Marshal("/tmp/evil")
	if err != nil {
		t.Fatal(err)
	}
	files := state.EncodeFileRecords(map[string]state.FileRecord{"/etc/passwd": {}, "../up.txt": {}, "made.txt": {}})
	data = withEntry(t, data, "history/0/records/"+query.RecordPython, python, -1)
	data = resummed(t, withEntry(t, data, "history/0/records/"+query.RecordFiles, files, -1))
	store := xstatetest.OpenStore(t, filepath.Join(t.TempDir(), xstate.StoreName))
	found := imported(t, store, data)
	path := ""
	if _, err := store.State().SessionRecord(t.Context(), found.Session, query.RecordPython, &path); err != nil ||
		path != "" {
		t.Errorf("the archive chose the interpreter %q, %v", path, err)
	}
	h, err := query.Open(t.Context(), store.State(), found.Session)
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := h.Files(t.Context()); err != nil || len(kept) != 1 || kept["made.txt"] != (state.FileRecord{}) {
		t.Errorf("the archive has records of the files %v, %v, want made.txt", kept, err)
	}
}

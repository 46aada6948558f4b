package provenance_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"hash/crc32"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/provenance"
)

// withEntry returns an archive with one entry more, or another in place of one. claimed is the size that the directory
// of the file gives it; -1: its own.
func withEntry(t *testing.T, data []byte, name string, content []byte, claimed int64) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range z.File {
		if e.Name == name {
			continue
		}
		if err := w.Copy(e); err != nil {
			t.Fatal(err)
		}
	}
	var packed bytes.Buffer
	f, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err == nil {
		_, err = f.Write(content)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if claimed < 0 {
		claimed = int64(len(content))
	}
	e, err := w.CreateRaw(&zip.FileHeader{Name: name, Method: zip.Deflate, CRC32: crc32.ChecksumIEEE(content),
		CompressedSize64: uint64(packed.Len()), UncompressedSize64: uint64(claimed)})
	if err == nil {
		_, err = e.Write(packed.Bytes())
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestArchiveLimits: an archive that claims to hold more than an import takes is refused with what it claims, and one
// that holds more than it claims is damaged. Nothing is imported.
func TestArchiveLimits(t *testing.T) {
	a := xstatetest.NewAsked(t, xstatetest.AskedFirst)
	data := xstatetest.Archived(t, a.Session, provenance.ArchiveOptions{})
	zeros := make([]byte, 8<<20)
	for _, c := range []struct {
		what, name string
		content    []byte
		claimed    int64
		code       state.Code
		want       string
	}{
		{"a large index", "xstate.json", zeros, -1, provenance.CodeArchiveLarge,
			"xstate.json of the archive claims to hold 8.4 MB; an import reads at most 4.2 MB of it"},
		{"a large index that claims to be small", "xstate.json", zeros, 100, state.CodeArchiveDamaged, ""},
		{"large sums", "SHA256SUMS", zeros, -1, provenance.CodeArchiveLarge, "SHA256SUMS"},
		{"large sums that claim to be small", "SHA256SUMS", zeros, 100, state.CodeArchiveDamaged, ""},
		{"records that are a bomb", "sources/x", zeros, 10 << 30, provenance.CodeArchiveLarge,
			"claims to hold 10.7 GB, packed into"},
		{"contents that are a bomb", "blobs/x", zeros, 1 << 40, provenance.CodeArchiveLarge,
			"most of it is blobs/x with 1.1 TB"},
	} {
		store := xstatetest.OpenStore(t, filepath.Join(t.TempDir(), xstate.StoreName))
		_, err := xstatetest.ImportArchive(t.Context(), store, withEntry(t, data, c.name, c.content, c.claimed),
			provenance.ImportOptions{})
		if state.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: import = %v, want %s and %q", c.what, err, c.code, c.want)
		}
		if all, err := store.State().Sessions(t.Context()); err != nil || len(all) > 0 {
			t.Errorf("%s: the store has %d sessions, %v, want none", c.what, len(all), err)
		}
	}
	store := xstatetest.OpenStore(t, filepath.Join(t.TempDir(), xstate.StoreName))
	large := withEntry(t, data, "blobs/x", zeros, 1<<40)
	found, err := xstatetest.ImportArchive(t.Context(), store, large, provenance.ImportOptions{Trust: true})
	if err != nil || found.Skipped != 1 {
		t.Errorf("import of large contents that the user trusts = %+v, %v, want one damaged blob", found, err)
	}
}

// TestArchiveOfManyOutcomes: a call with more former outcomes than any call has is left out before they are decoded,
// and so is one under the name of another.
func TestArchiveOfManyOutcomes(t *testing.T) {
	call := state.Call{ID: 1, Key: state.DigestOf([]byte("k")), Kind: "tool", Tool: "t", State: state.CallAnswered}
	many := call
	many.ID, many.Former = 2, make([]state.Outcome, 1<<16+1)
	data := emptyArchive(t, "p.py", "")
	for name, c := range map[string]state.Call{"calls/1": call, "calls/2": many, "calls/3": call, "calls/04": call} {
		data = withEntry(t, data, name, state.EncodeCall(c), -1)
	}
	store := xstatetest.OpenStore(t, filepath.Join(t.TempDir(), xstate.StoreName))
	found := imported(t, store, resummed(t, data))
	kept := 0
	if err := store.State().Calls(t.Context(), 1, func(*state.Call) bool { kept++; return true }); err != nil {
		t.Fatal(err)
	}
	if kept != 1 || found.Skipped != 3 {
		t.Errorf("%d calls were imported, %d left out, want 1 and 3", kept, found.Skipped)
	}
}

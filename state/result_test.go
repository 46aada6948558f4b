package state

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
)

func (s *Store) bucketBytes(t testing.TB, bucket []byte) (n int) {
	t.Helper()
	err := s.history.view(ctx, func(tx *bbolt.Tx) error {
		return tx.Bucket(bucket).ForEach(func(k, v []byte) error {
			n += len(k) + len(v)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTracesAreBounded(t *testing.T) {
	dir := storeDir(t)
	s := checkedOpen(t, dir, Options{})
	code := DigestOf([]byte("code"))
	var ids []Digest
	for i := range 40 {
		id, err := s.PutTrace(Trace{Code: code, Marks: []string{itoa(i)}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		if i%7 == 0 {
			s.results.flush()
		}
	}
	// known: the newest again
	if _, err := s.PutTrace(Trace{Code: code, Marks: []string{"10"}, Seconds: 5}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Traces(code)
	if len(got) != 32 || got[0].Digest != ids[10] || got[0].Seconds != 5 || got[1].Digest != ids[39] ||
		got[31].Digest != ids[8] ||
		err != nil {
		t.Errorf("Traces = %d traces, %v, want 32 from 10, 39 down to 8", len(got), err)
	}
	s.results.flush()
	if _, ok, err := s.Trace(ids[7]); ok || err != nil {
		t.Errorf("Trace of an evicted trace = %v, %v, want a miss", ok, err)
	}
	if got, err := s.Traces(DigestOf(nil)); got != nil || err != nil {
		t.Errorf("Traces of no code = %v, %v", got, err)
	}
}

// TestResultsOutliveProcess holds that results are in the file once a run step is committed, without Close.
func TestResultsOutliveProcess(t *testing.T) {
	p := newSample(t, 3)
	s := checkedOpen(t, p.dir, Options{})
	want := fullTrace()
	id, err := s.PutTrace(want)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, "s", Draft{Kind: KindRun, Run: &RunSummary{}})
	copied := checkedOpen(t, copyStore(t, p.dir), Options{}) // as a crash would leave it
	got, ok, err := copied.Trace(id)
	if diff := cmp.Diff(want, got); diff != "" || !ok || err != nil {
		t.Errorf("Trace after a crash: %v, %v (-want +got)\n%s", ok, err, diff)
	}
}

func TestLosingResultsCostsNoTruth(t *testing.T) {
	p := newSample(t, 5)
	for _, name := range []string{resultsFile, blobsDir} {
		if err := os.RemoveAll(filepath.Join(p.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s := checkedOpen(t, p.dir, Options{})
	for _, err := range p.verify(s) {
		t.Error(err)
	}
}

func TestBlobFiles(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	for _, size := range []int{0, 1, 300, inlineSize, 4 * inlineSize, 4*inlineSize + 1, 3 << 20} {
		for name, content := range map[string][]byte{"noise": noise(uint64(size), size), "zeros": make([]byte, size)} {
			path := filepath.Join(t.TempDir(), "in")
			write(t, path, content)
			ref, err := s.PutBlobFile(opened(t, path))
			if want := (BlobRef{DigestOf(content), int64(size)}); ref != want || err != nil {
				t.Fatalf("PutBlobFile(%s, %d bytes) = %v, %v, want %v", name, size, ref, err, want)
			}
			if again, err := s.PutBlob(content); again != ref || err != nil {
				t.Errorf("PutBlob(%s, %d bytes) = %v, %v, want %v", name, size, again, err, ref)
			}
			out := filepath.Join(t.TempDir(), "out")
			if ok, err := s.BlobToFile(ref.Digest, out); !ok || err != nil {
				t.Fatalf("BlobToFile(%s, %d bytes) = %v, %v", name, size, ok, err)
			}
			if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, content) {
				t.Errorf("BlobToFile(%s, %d bytes) wrote %d bytes, %v", name, size, len(got), err)
			}
			r, ok, err := s.OpenBlob(ref.Digest)
			if !ok || err != nil {
				t.Fatalf("OpenBlob(%s, %d bytes) = %v, %v", name, size, ok, err)
			}
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
				t.Errorf("OpenBlob(%s, %d bytes) gives %d bytes, %v", name, size, len(got), err)
			}
			r.Close()
		}
	}
	for _, d := range []Digest{"", "x", "../../etc/passwd", DigestOf([]byte("nobody put this"))} {
		if _, ok, err := s.Blob(d); ok || err != nil {
			t.Errorf("Blob(%q) = %v, %v, want a miss", d, ok, err)
		}
	}
}

func opened(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// What does not compress is a file as it is. It is read, checked, collected and found damaged like any other blob.
func TestRawBlobs(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	taken, put, zeros := noise(1, 100_000), noise(2, 1<<20), make([]byte, 1<<20)
	path := filepath.Join(t.TempDir(), "in")
	write(t, path, taken)
	ref, err := s.TakeBlob(opened(t, path), DigestOf(taken))
	if ref != (BlobRef{DigestOf(taken), 100_000}) || err != nil {
		t.Fatalf("TakeBlob = %v, %v", ref, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("TakeBlob leaves the file: %v", err)
	}
	write(t, path, taken[1:])
	swapped := opened(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, path, put)
	if _, err := s.TakeBlob(swapped, ""); !errors.Is(err, ErrChanged) || s.HasBlob(DigestOf(taken[1:])) {
		t.Errorf("TakeBlob of a file whose name leads to another = %v, want %v", err, ErrChanged)
	}
	for _, content := range [][]byte{put, zeros, put} {
		if ref, err := s.PutLarge(content, DigestOf(content)); ref.Digest != DigestOf(content) || err != nil {
			t.Fatalf("PutLarge = %v, %v", ref, err)
		}
	}
	for _, content := range [][]byte{taken, put, zeros} {
		d, copied := DigestOf(content), filepath.Join(t.TempDir(), "out")
		at, ok, err := s.BlobFile(d, copied)
		if raw, _ := s.blobs.rawPath(d); !ok || err != nil || (at == raw) == (content[0] == 0) {
			t.Errorf("BlobFile = %s, %v, %v", at, ok, err)
		}
		if got, err := os.ReadFile(at); err != nil || !bytes.Equal(got, content) {
			t.Errorf("BlobFile gives %d bytes, %v", len(got), err)
		}
		if got, ok, err := s.Blob(d); !ok || err != nil || !bytes.Equal(got, content) {
			t.Errorf("Blob = %d bytes, %v, %v", len(got), ok, err)
		}
	}
	write(t, path, taken)
	if _, err := s.TakeBlob(opened(t, path), DigestOf(put)); !errors.Is(err, ErrChanged) {
		t.Errorf("TakeBlob of another content = %v, want %v", err, ErrChanged)
	}
	if _, err := s.PutLarge(taken, DigestOf(put)); !errors.Is(err, ErrChanged) {
		t.Errorf("PutLarge of another content = %v, want %v", err, ErrChanged)
	}
	raw, _ := s.blobs.rawPath(DigestOf(put))
	if err := os.Chmod(raw, 0o644); err != nil {
		t.Fatal(err)
	}
	write(t, raw, append([]byte{put[0] + 1}, put[1:]...))
	if path, ok, err := s.BlobFile(DigestOf(put), filepath.Join(t.TempDir(), "copy")); ok || err != nil ||
		s.HasBlob(DigestOf(put)) {
		t.Errorf("BlobFile of a damaged blob = %s, %v, %v", path, ok, err)
	}
	clock := time.Now().Add(2 * blobGracePeriod)
	s.options.Now = func() time.Time { return clock }
	if _, err := s.Collect(t.Context(), CollectOptions{}); err != nil || s.HasBlob(DigestOf(taken)) {
		t.Errorf("Collect leaves a blob that nothing refers to: %v", err)
	}
}

// TestLargeBlobsStayOutOfTheDatabase holds that results.db does not grow with the values it names.
func TestLargeBlobsStayOutOfTheDatabase(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	for i := range 5 {
		if _, err := s.PutBlob(noise(uint64(i), 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	s.results.flush()
	info, err := os.Stat(s.results.path)
	if err != nil || info.Size() > 1<<20 {
		t.Errorf("results.db has %d bytes, %v", info.Size(), err)
	}
}

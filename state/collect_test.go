package state

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// stocked is a store with results of three kinds: dear ones, cheap ones, and blobs that nothing refers to.
func stocked(t *testing.T, now time.Time) (s *Store, dear, cheap []Trace, values []Value, loose []Digest) {
	t.Helper()
	s = checkedOpen(t, storeDir(t), Options{Now: func() time.Time { return now }})
	create(t, s, "s")
	put := func(seed, size int) Digest {
		ref, err := s.PutBlob(noise(uint64(seed), size))
		if err != nil {
			t.Fatal(err)
		}
		return ref.Digest
	}
	for i := range 10 {
		for _, seconds := range []float64{100, 0.01} {
			tr := Trace{
				Code:    Digest(fmt.Sprint("code ", seconds)),
				Outputs: put(1000+i+int(seconds), 20_000),
				Seconds: seconds,
				At:      now,
				Marks:   []string{itoa(i)},
			}
			if _, err := s.PutTrace(tr); err != nil {
				t.Fatal(err)
			}
			if seconds > 1 {
				dear = append(dear, tr)
			} else {
				cheap = append(cheap, tr)
			}
		}
		v := Value{
			Group:   DigestOf([]byte{byte(i)}),
			Names:   []string{"x"},
			Blob:    put(2000+i, 9000),
			Parts:   []Digest{put(3000, 30_000), put(3001+i, 30_000)},
			Bytes:   69_000,
			Seconds: 1,
		}
		if err := s.PutValue(v); err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
		loose = append(loose, put(4000+i, 10_000), put(5000+i, 50))
	}
	commit(t, s, "s", insert("a", "", "x = 1"))
	return s, dear, cheap, values, loose
}

func (s *Store) missing(t *testing.T, blobs ...Digest) (n int) {
	t.Helper()
	for _, d := range blobs {
		if _, ok, err := s.Blob(d); err != nil {
			t.Fatal(err)
		} else if !ok {
			n++
		}
	}
	return n
}

func TestCollectUseless(t *testing.T) {
	now := time.Now().Add(2 * time.Hour)
	s, dear, cheap, values, loose := stocked(t, now)
	would, err := s.Collect(ctx, CollectOptions{DryRun: true})
	if err != nil || s.missing(t, loose...) > 0 {
		t.Fatalf("a dry run removes blobs, %v", err)
	}
	did, err := s.Collect(ctx, CollectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if did.Useless != would.Useless || did.Useless.Count != len(loose) || did.Evicted.Count+did.Traces.Count > 0 {
		t.Errorf("Collect = %+v, before %+v, want %d useless", did, would, len(loose))
	}
	if did.After >= did.Before-90_000 || s.missing(t, loose...) != len(loose) {
		t.Errorf("Collect = %+v, %d of %d are gone", did, s.missing(t, loose...), len(loose))
	}
	for _, tr := range append(dear, cheap...) {
		if s.missing(t, tr.Outputs) > 0 {
			t.Error("outputs of a trace are gone")
		}
	}
	for _, v := range values {
		if s.missing(t, append(v.Parts, v.Blob)...) > 0 {
			t.Error("a part of a value is gone")
		}
	}
	if again, err := s.Collect(ctx, CollectOptions{}); err != nil || again.Useless.Count > 0 {
		t.Errorf("a second Collect = %+v, %v", again, err)
	}
}

// With a budget the cheapest goes first, for what it takes; then what was not used for long; and traces last.
func TestCollectBudget(t *testing.T) {
	s, dear, cheap, values, _ := stocked(t, time.Now())
	all, err := s.Collect(ctx, CollectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if all.Useless.Count != 10 { // small ones; of the files somebody may be about to tell
		t.Errorf("Collect = %+v, want 10 useless", all)
	}
	budget := all.After - 150_000
	got, err := s.Collect(ctx, CollectOptions{MaxBytes: budget})
	if err != nil || got.After > budget || got.Evicted.Count == 0 || got.Traces.Count > 0 {
		t.Errorf("Collect = %+v, %v, want at most %d", got, err, budget)
	}
	lost := 0
	for i := range dear {
		lost += s.missing(t, cheap[i].Outputs)
		if s.missing(t, dear[i].Outputs) > 0 {
			t.Errorf("outputs %d are gone, which took 100 s", i)
		}
		if v, ok, err := s.Value(values[i].Group); err != nil || !ok || s.missing(t, append(v.Parts, v.Blob)...) > 0 {
			t.Errorf("value %d is gone, which took 1 s", i)
		}
	}
	if lost < 7 {
		t.Errorf("%d outputs are gone that took 0.01 s, want most", lost)
	}
	if _, ok, _ := s.Trace(cheap[0].Identity()); !ok {
		t.Error("a trace is gone")
	}

	// The dear ones and one value lie unused for years: the others are worth more.
	old := time.Now().AddDate(-100, 0, 0)
	for _, d := range append([]Digest{values[3].Blob}, values[3].Parts[1]) {
		path, _ := s.blobs.path(d)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	path, _ := s.blobs.path(values[3].Parts[0]) // all share it
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	budget = got.After - 20_000
	if got, err = s.Collect(ctx, CollectOptions{MaxBytes: budget}); err != nil || got.After > budget {
		t.Errorf("Collect = %+v, %v, want at most %d", got, err, budget)
	}
	for i, v := range values {
		if _, ok, _ := s.Value(v.Group); ok != (i != 3) {
			t.Errorf("value %d is there: %v", i, ok)
		}
		if i != 3 && s.missing(t, append(v.Parts, v.Blob)...) > 0 {
			t.Errorf("value %d lost a part", i)
		}
	}
	if got, err = s.Collect(ctx, CollectOptions{MaxBytes: 1}); err != nil || got.Traces.Count == 0 ||
		s.missing(t, dear[0].Outputs) == 0 {
		t.Errorf("Collect = %+v, %v, want nothing left", got, err)
	}
	if program, err := s.ProgramAt(ctx, "s", 1); err != nil || len(program) != 1 {
		t.Errorf("ProgramAt = %v, %v", program, err)
	}
	if _, err := s.PutTrace(dear[0]); err != nil {
		t.Error(err)
	}
}

// Freed space is returned to the file system, even while another process has the store open.
func TestCollectCompacts(t *testing.T) {
	dir := storeDir(t)
	s, other := checkedOpen(t, dir, Options{}), checkedOpen(t, dir, Options{})
	for i := range 3000 {
		if err := s.PutMemo("space", itoa(i), noise(uint64(i), 1000)); err != nil {
			t.Fatal(err)
		}
	}
	s.results.flush()
	if _, ok := other.Memo("space", "1"); !ok {
		t.Fatal("a memo is missing")
	}
	got, err := s.Collect(ctx, CollectOptions{MaxBytes: 500_000})
	if err != nil || got.After > 1_500_000 || got.Before < 3_000_000 {
		t.Errorf("Collect = %+v, %v", got, err)
	}
	kept := 0
	for i := range 3000 {
		if _, ok := other.Memo("space", itoa(i)); ok {
			kept++
		}
	}
	if kept == 0 || kept > 600 {
		t.Errorf("%d memos are left, want some", kept)
	}
	if err := other.PutMemo("space", "new", []byte("new")); err != nil {
		t.Fatal(err)
	}
	other.results.flush()
	if _, ok := s.Memo("space", "new"); !ok {
		t.Error("what another wrote after is missing")
	}
	if n := append(s.Notices(), other.Notices()...); len(n) > 0 {
		t.Errorf("Notices = %q", n)
	}
}

// Bases outlive results.
func TestBases(t *testing.T) {
	dir := storeDir(t)
	s := checkedOpen(t, dir, Options{})
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, noise(1, 100))
	ref, err := s.PutBase(opened(t, file))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutBase(opened(t, file)); err != nil {
		t.Fatal(err)
	}
	checkClose(t, s)
	for _, name := range []string{resultsFile, blobsDir} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s = checkedOpen(t, dir, Options{Now: func() time.Time { return time.Now().AddDate(1, 0, 0) }})
	if _, err := s.Collect(ctx, CollectOptions{MaxBytes: 1}); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := s.Blob(ref.Digest); string(got) != string(noise(1, 100)) || !ok || err != nil {
		t.Errorf("Blob of a base = %d bytes, %v, %v", len(got), ok, err)
	}
	path, _ := s.bases.path(ref.Digest)
	os.Chmod(path, 0o666)
	write(t, path, []byte("other"))
	problems, err := s.Check(ctx)
	if len(problems) != 1 || problems[0].Invariant != 12 || err != nil {
		t.Errorf("Check = %v, %v, want a damaged base", problems, err)
	}
	if _, ok, err := s.Blob(ref.Digest); ok || err != nil || len(s.Notices()) == 0 {
		t.Errorf("Blob of a damaged base = %v, %v", ok, err)
	}
	if err := os.Remove(path); err != nil {
		t.Errorf("the damaged base was taken away: %v", err)
	}
}

package state

import (
	"slices"
	"testing"
)

// TestTracedSince follows which results a store has while another process, here a store opened beside it, writes to
// it.
func TestTracedSince(t *testing.T) {
	dir := storeDir(t)
	s, other := checkedOpen(t, dir, Options{}), checkedOpen(t, dir, Options{})
	code := func(text string) Digest { return DigestOf([]byte(text)) }
	put := func(s *Store, text string) {
		if _, err := s.PutTrace(Trace{Code: code(text)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, ok := s.TracedSince(Cursor{}); ok {
		t.Error("TracedSince(Cursor{}) is ok before the first call")
	}
	_, mark, _ := s.TracedSince(Cursor{})
	put(s, "a")
	s.results.flush()
	put(s, "b")
	codes, next, ok := s.TracedSince(mark)
	if !ok || !slices.Equal(codes, []Digest{code("a"), code("b")}) {
		t.Errorf("TracedSince = %v, %v, want a and b", codes, ok)
	}
	if codes, _, ok := s.TracedSince(next); !ok || len(codes) > 0 {
		t.Errorf("TracedSince once more = %v, %v, want none", codes, ok)
	}
	s.results.flush()
	put(other, "c")
	other.results.flush()
	if _, next, ok = s.TracedSince(next); ok {
		t.Error("TracedSince is ok after another process wrote")
	}
	if _, err := s.Collect(ctx, CollectOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, next, ok = s.TracedSince(next); ok {
		t.Error("TracedSince is ok after Collect")
	}
	for range maxTracedCodes + 1 {
		s.results.mu.Lock()
		s.results.noteTraced(code("d"))
		s.results.mu.Unlock()
	}
	if _, _, ok := s.TracedSince(next); ok {
		t.Error("TracedSince is ok after more than it remembers")
	}
}

func TestGeneration(t *testing.T) {
	dir := storeDir(t)
	s := checkedOpen(t, dir, Options{})
	first := s.ResultsGeneration()
	if _, err := s.PutTrace(Trace{Code: DigestOf(nil)}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutBlob([]byte("nothing refers to it")); err != nil {
		t.Fatal(err)
	}
	if again := s.ResultsGeneration(); again != first {
		t.Errorf("Generation = %s, then %s, though results only came", first, again)
	}
	if c, err := s.Collect(ctx, CollectOptions{}); err != nil || c.Useless.Count == 0 {
		t.Fatalf("Collect = %+v, %v, want something freed", c, err)
	}
	if freed := s.ResultsGeneration(); freed == first {
		t.Error("Generation is the same after results were freed")
	}
}

// A run that had nothing to do is recorded without a look at the program. So that many of them leave no program that
// takes long to read, an index is written now and then all the same.
func TestEmptyRunsKeepIndexes(t *testing.T) {
	dir := storeDir(t)
	s := checkedOpen(t, dir, Options{})
	create(t, s, "s")
	commit(t, s, "s", insert("a", "", "x = 1"), insert("b", "a", "y = 1"))
	indexed := 0
	for range 60 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = checkedOpen(t, dir, Options{})
		n, _, err := s.Head(ctx, "s")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(ctx, "s", n, []Draft{{Kind: KindRun, Run: &RunSummary{}}}); err != nil {
			t.Fatal(err)
		}
		if s.bucketBytes(t, bucketIndexes) > 0 {
			indexed++
		}
	}
	if indexed == 0 {
		t.Error("60 runs that had nothing to do left no index")
	}
}

// TestLandmarks reads single changes of a step that has many.
func TestLandmarks(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	create(t, s, "s")
	d := Draft{Kind: KindAppend}
	for i := range 3*offsetGap + 7 {
		one := insert(BlockID("b"+itoa(i)), "", "x = "+itoa(i))
		d.Changes, d.Sources = append(d.Changes, one.Changes...), append(d.Sources, one.Sources...)
	}
	commit(t, s, "s", d)
	for _, i := range []int{0, 1, offsetGap - 1, offsetGap, 2*offsetGap + 1, 3*offsetGap + 6} {
		b, found, err := s.BlockAt(ctx, "s", 1, BlockID("b"+itoa(i)))
		if err != nil || !found || b.Version != DigestOf([]byte("x = "+itoa(i))) {
			t.Errorf("BlockAt(b%d) = %+v, %v, %v", i, b, found, err)
		}
	}
	if last, err := s.LastBlock(ctx, "s", 1); err != nil || last != "b0" {
		t.Errorf("LastBlock = %q, %v, want b0, for each went to the front", last, err)
	}
}

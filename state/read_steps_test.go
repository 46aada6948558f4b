package state

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func contextCancelled() (context.Context, context.CancelFunc) {
	c, cancel := context.WithCancel(context.Background())
	cancel()
	return c, cancel
}

func TestSession(t *testing.T) {
	dir := storeDir(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	s := checkedOpen(t, dir, Options{Now: func() time.Time { return now }})
	inside := filepath.Join(filepath.Dir(dir), "work")
	outside := filepath.Join(filepath.Dir(filepath.Dir(dir)), "elsewhere")
	for name, workspace := range map[string]string{"a": inside, "b": outside, "c": filepath.Dir(dir)} {
		meta := SessionMeta{Workspace: workspace, Python: "/usr/bin/python3", Seed: 7}
		got, err := s.CreateSession(ctx, name, meta)
		meta.Created = now
		want := Session{Name: name, SessionMeta: meta, Hash: got.Hash}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("CreateSession(%q): %v (-want +got)\n%s", name, err, diff)
		}
	}
	if _, err := s.CreateSession(ctx, "a", SessionMeta{}); !errors.Is(err, ErrSessionExists) {
		t.Errorf("CreateSession again = %v, want code %s", err, CodeSessionExists)
	}
	if _, err := s.CreateSession(ctx, "", SessionMeta{}); CodeOf(err) != CodeInvalid {
		t.Errorf("CreateSession without a name = %v, want code %s", err, CodeInvalid)
	}
	if _, err := s.Session(ctx, "z"); !errors.Is(err, ErrNoSession) {
		t.Errorf("Session(z) = %v, want code %s", err, CodeNoSession)
	}
	all, err := s.Sessions(ctx)
	if len(all) != 3 || all[0].Name != "a" || err != nil {
		t.Errorf("Sessions = %v, %v, want a, b, c", all, err)
	}
}

// TestWorkspaceMovesWithStore holds that a project can be moved: its workspace is kept relative to the store.
func TestWorkspaceMovesWithStore(t *testing.T) {
	dir := storeDir(t)
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	meta := SessionMeta{Workspace: filepath.Join(filepath.Dir(dir), "sub")}
	if _, err := s.CreateSession(ctx, "s", meta); err != nil {
		t.Fatal(err)
	}
	checkClose(t, s)
	moved := copyStore(t, dir)
	s = checkedOpen(t, moved, Options{})
	got, err := s.Session(ctx, "s")
	if want := filepath.Join(filepath.Dir(moved), "sub"); got.Workspace != want || err != nil {
		t.Errorf("Workspace after the move = %q, %v, want %q", got.Workspace, err, want)
	}
}

func TestInvalidDrafts(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	create(t, s, "s")
	commit(t, s, "s", insert("a", "", "x = 1"))
	known := DigestOf([]byte("x = 1"))
	block := func(id BlockID, version Digest) *Block { return &Block{ID: id, Version: version} }
	tests := map[string]Draft{
		"insert a known block":    insert("a", "", "y"),
		"insert after nothing":    insert("b", "z", "y"),
		"insert without an id":    insert("", "", "y"),
		"insert without a block":  {Changes: []Change{{Op: OpInsert, ID: "b"}}},
		"insert without a source": {Changes: []Change{{Op: OpInsert, Block: block("b", DigestOf([]byte("?")))}}},
		"update an unknown block": {Changes: []Change{{Op: OpUpdate, Block: block("b", known)}}},
		"update another block":    {Changes: []Change{{Op: OpUpdate, ID: "a", Block: block("b", known)}}},
		"move with a block":       {Changes: []Change{{Op: OpMove, Block: block("a", known)}}},
		"move after itself":       {Changes: []Change{{Op: OpMove, ID: "a", After: "a"}}},
		"move after nothing":      {Changes: []Change{{Op: OpMove, ID: "a", After: "b"}}},
		"delete an unknown block": {Changes: []Change{{Op: OpDelete, ID: "b"}}},
		"unknown operation":       {Changes: []Change{{Op: 9, ID: "a"}}},
		"go to a step in passing": {Kind: KindPatch, To: 1},
		"a record of no kind":     {Records: map[string]any{"f": func() {}}},
	}
	for name, d := range tests {
		good := insert("good", "", "good")
		if _, err := s.Commit(ctx, "s", 1, []Draft{good, d}); CodeOf(err) != CodeInvalid {
			t.Errorf("%s: Commit = %v, want code %s", name, err, CodeInvalid)
		}
		if program, err := s.ProgramAt(ctx, "s", 1); len(program) != 1 || err != nil {
			t.Errorf("%s: program after = %v, %v, want one block", name, program, err)
		}
	}
	if n, _, err := s.Head(ctx, "s"); n != 1 || err != nil {
		t.Errorf("Head = %d, %v, want 1", n, err)
	}
	if _, err := s.Commit(ctx, "s", 1, []Draft{{Kind: KindRollback, To: 2}}); !errors.Is(err, ErrNoStep) {
		t.Errorf("rollback to the future = %v, want code %s", err, CodeNoStep)
	}
}

func TestStepTellsVersions(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	create(t, s, "s")
	one, two := DigestOf([]byte("1")), DigestOf([]byte("2"))
	patch := Draft{
		Kind:    KindPatch,
		Changes: []Change{{Op: OpUpdate, Block: &Block{ID: "a", Version: two}}},
		Sources: [][]byte{[]byte("2")},
	}
	steps := commit(
		t,
		s,
		"s",
		insert("a", "", "1"),
		patch,
		Draft{Kind: KindDelete, Changes: []Change{{Op: OpDelete, ID: "a"}}},
	)
	want := [][2]Digest{{"", one}, {one, two}, {two, ""}}
	for i, step := range steps {
		if got := [2]Digest{step.Was, step.Now}; step.Block != "a" || got != want[i] {
			t.Errorf("step %d: block %q, versions %q, want a, %q", i+1, step.Block, got, want[i])
		}
	}
}

// TestDraftsAreNotChanged holds that Commit fills in copies: a caller may commit the same draft elsewhere.
func TestDraftsAreNotChanged(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	create(t, s, "s")
	d := insert("a", "", "1")
	commit(t, s, "s", d)
	if diff := cmp.Diff(insert("a", "", "1"), d); diff != "" {
		t.Errorf("the draft changed: (-want +got)\n%s", diff)
	}
}

func TestRecordsGoWithTheStep(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	create(t, s, "s")
	d := insert("a", "", "1")
	d.Records = map[string]any{"files": map[string]int{"x": 1}}
	commit(t, s, "s", d)
	var got map[string]int
	if found, err := s.SessionRecord(ctx, "s", "files", &got); !found || err != nil || got["x"] != 1 {
		t.Errorf("SessionRecord = %v, %v, %v", got, found, err)
	}
	if found, err := s.SessionRecord(ctx, "s", "none", &got); found || err != nil {
		t.Errorf("SessionRecord(none) = %v, %v, want none", found, err)
	}
}

// TestStepsMayWriteMeanwhile holds that no transaction is open while a caller handles a step: bbolt would deadlock.
func TestStepsMayWriteMeanwhile(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	create(t, s, "s")
	for i := range 3 {
		commit(t, s, "s", insert(BlockID("b"+itoa(i)), "", "x"))
	}
	seen := 0
	for _, err := range s.Steps(ctx, "s", 1, 3) {
		if err != nil {
			t.Fatal(err)
		}
		commit(t, s, "s", Draft{Kind: KindDeclare})
		seen++
	}
	if seen != 3 {
		t.Errorf("Steps yields %d steps, want 3", seen)
	}
}

// TestIndexesAreFew holds that what a step costs does not grow with the program: the indexes together stay smaller
// than the steps.
func TestIndexesAreFew(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	create(t, s, "s")
	var drafts []Draft
	after := BlockID("")
	for i := range 2000 {
		id := BlockID("b" + itoa(i))
		drafts = append(drafts, insert(id, after, "x"))
		after = id
	}
	commit(t, s, "s", drafts...)
	for range 200 {
		commit(t, s, "s", Draft{Kind: KindMove, Changes: []Change{{Op: OpMove, ID: "b7", After: "b1000"}}})
	}
	steps, indexes := s.bucketBytes(t, bucketSteps), s.bucketBytes(t, bucketIndexes)
	if indexes > steps {
		t.Errorf("indexes take %d bytes, steps %d", indexes, steps)
	}
}

// TestHasStep: a session has the steps that it made, and its beginning, by their hashes.
func TestHasStep(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	create(t, s, "main")
	_, birth, err := s.Head(ctx, "main")
	if err != nil {
		t.Fatal(err)
	}
	hashes := []Digest{birth}
	for range 3 {
		commit(t, s, "main", Draft{Kind: KindRun, Run: &RunSummary{}})
		_, hash, err := s.Head(ctx, "main")
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, hash)
	}
	if _, err := s.Fork(ctx, "fork", "main", 2, Origin{}); err != nil {
		t.Fatal(err)
	}
	_, forked, err := s.Head(ctx, "fork")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		session string
		n       StepNumber
		hash    Digest
		want    bool
	}{
		{"main", 0, birth, true}, {"main", 1, hashes[1], true}, {"main", 3, hashes[3], true},
		{"main", 2, hashes[3], false}, {"main", 4, hashes[3], false}, {"main", 3, forked, false},
		{"fork", 3, forked, true}, {"fork", 3, hashes[3], false}, {"fork", 0, birth, false},
	} {
		if has, err := s.HasStep(ctx, c.session, c.n, c.hash); has != c.want || err != nil {
			t.Errorf("HasStep(%s, %d, %.8s) = %t, %v, want %t", c.session, c.n, c.hash, has, err, c.want)
		}
	}
	if _, err := s.HasStep(ctx, "none", 1, birth); CodeOf(err) != CodeNoSession {
		t.Errorf("HasStep of no session = %v, want code %s", err, CodeNoSession)
	}
}

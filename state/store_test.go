package state

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

var ctx = context.Background()

// checkedOpen opens a store whose every invariant is checked when the test ends.
func checkedOpen(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(ctx, dir, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { checkClose(t, s) })
	return s
}

func checkClose(t testing.TB, s *Store) {
	t.Helper()
	problems, err := s.Check(ctx)
	if err != nil && CodeOf(err) != CodeClosed {
		t.Errorf("Check: %v", err)
	}
	for _, p := range problems {
		t.Errorf("Check: %v", p)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func storeDir(t testing.TB) string { return filepath.Join(t.TempDir(), ".xstate") }

// insert returns a draft that adds a block with this text after another.
func insert(id, after BlockID, text string) Draft {
	return Draft{
		Kind: KindAppend,
		Changes: []Change{
			{Op: OpInsert, After: after, Block: &Block{ID: id, Dialect: "python", Version: DigestOf([]byte(text))}},
		},
		Sources: [][]byte{[]byte(text)},
	}
}

// commit appends drafts at the head.
func commit(t testing.TB, s *Store, session string, drafts ...Draft) []Step {
	t.Helper()
	n, _, err := s.Head(ctx, session)
	if err != nil {
		t.Fatalf("Head(%q): %v", session, err)
	}
	steps, err := s.Commit(ctx, session, n, drafts)
	if err != nil {
		t.Fatalf("Commit(%q, %d): %v", session, n, err)
	}
	return steps
}

func create(t testing.TB, s *Store, session string) {
	t.Helper()
	if _, err := s.CreateSession(ctx, session, SessionMeta{Seed: 1}); err != nil {
		t.Fatalf("CreateSession(%q): %v", session, err)
	}
}

func TestCloseTwiceAndUseAfter(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	create(t, s, "s")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := s.Sessions(ctx); CodeOf(err) != CodeClosed {
		t.Errorf("Sessions after Close: %v, want code %s", err, CodeClosed)
	}
	if _, err := s.PutBlob([]byte("x")); err != nil {
		t.Errorf("PutBlob after Close: %v", err)
	}
	if _, err := s.Commit(ctx, "s", 0, nil); CodeOf(err) != CodeClosed {
		t.Errorf("Commit after Close: %v, want code %s", err, CodeClosed)
	}
}

func TestGitignore(t *testing.T) {
	dir := storeDir(t)
	checkedOpen(t, dir, Options{})
	if got, err := os.ReadFile(filepath.Join(dir, ".gitignore")); err != nil || string(got) != "*\n" {
		t.Errorf(".gitignore = %q, %v, want %q", got, err, "*\n")
	}
}

func TestReadersShare(t *testing.T) {
	dir := storeDir(t)
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	create(t, s, "s")
	commit(t, s, "s", insert("a", "", "x = 1"))
	blob, err := s.PutBlob([]byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	checkClose(t, s)

	a := checkedOpen(t, dir, Options{ReadOnly: true, Wait: -1})
	b := checkedOpen(t, dir, Options{ReadOnly: true, Wait: -1})
	for _, s := range []*Store{a, b} {
		if program, err := s.ProgramAt(ctx, "s", 1); err != nil || len(program) != 1 {
			t.Errorf("ProgramAt = %v, %v, want one block", program, err)
		}
		if got, ok, err := s.Blob(blob.Digest); string(got) != "hello" || !ok || err != nil {
			t.Errorf("Blob = %q, %v, %v", got, ok, err)
		}
		if _, err := s.Commit(ctx, "s", 1, []Draft{insert("b", "", "y")}); !errors.Is(err, ErrReadOnly) {
			t.Errorf("Commit = %v, want code %s", err, CodeReadOnly)
		}
		if _, err := s.CreateSession(ctx, "t", SessionMeta{}); !errors.Is(err, ErrReadOnly) {
			t.Errorf("CreateSession = %v, want code %s", err, CodeReadOnly)
		}
		if _, err := s.PutTrace(Trace{}); !errors.Is(err, ErrReadOnly) {
			t.Errorf("PutTrace = %v, want code %s", err, CodeReadOnly)
		}
		if _, err := s.PutBlob([]byte("x")); !errors.Is(err, ErrReadOnly) {
			t.Errorf("PutBlob = %v, want code %s", err, CodeReadOnly)
		}
	}
}

func TestReadOnlyNeedsStore(t *testing.T) {
	if _, err := Open(ctx, storeDir(t), Options{ReadOnly: true}); CodeOf(err) != CodeNoStore {
		t.Errorf("Open = %v, want code %s", err, CodeNoStore)
	}
}

func TestReadOnlyDirectory(t *testing.T) {
	parent := t.TempDir()
	if os.Geteuid() == 0 { // no directory is read-only for root
		if err := os.WriteFile(filepath.Join(parent, ".xstate"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	} else if err := os.Chmod(parent, 0o555); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, filepath.Join(parent, ".xstate"), Options{}); CodeOf(err) != CodeReadOnly {
		t.Errorf("Open = %v, want code %s", err, CodeReadOnly)
	}
}

func TestNewerFormat(t *testing.T) {
	for _, file := range []string{historyFile, resultsFile} {
		dir := storeDir(t)
		s, err := Open(ctx, dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		checkClose(t, s)
		edit(t, filepath.Join(dir, file), func(tx *bbolt.Tx) error {
			return putRecord(tx, bucketFormat, formatKey, formatRecord{formatVersion + 1})
		})
		_, err = Open(ctx, dir, Options{})
		if CodeOf(err) != CodeNewer || !strings.Contains(err.Error(), file) {
			t.Errorf("Open with a newer %s = %v, want code %s", file, err, CodeNewer)
		}
	}
}

// edit changes a database behind the store's back.
func edit(t testing.TB, path string, fn func(*bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o666, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(fn), db.Close()); err != nil {
		t.Fatal(err)
	}
}

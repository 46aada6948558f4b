package state

import (
	"bytes"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
)

// importedSession brings a session that has one step from another store into s, and returns s as the session sees it.
func importedSession(t *testing.T, s *Store, name string, trust Trust, records map[string][]byte) (*Store, Session) {
	t.Helper()
	from := checkedOpen(t, storeDir(t), Options{})
	if _, err := from.CreateSession(ctx, name, SessionMeta{}); err != nil {
		t.Fatal(err)
	}
	if _, err := from.Commit(ctx, name, 0, []Draft{insert("a", "", "x = 1\n")}); err != nil {
		t.Fatal(err)
	}
	archives, err := from.SessionArchives(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.ImportSessions(ctx, SessionImport{
		Sessions: archives,
		Steps:    func(i int) iter.Seq2[RawStep, error] { return from.RawSteps(ctx, archives[i]) },
		Source:   func(d Digest) ([]byte, error) { return from.Source(ctx, d) },
		Records:  records,
		Trust:    trust,
	})
	if err != nil {
		t.Fatal(err)
	}
	meta, err := s.Session(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	return s.For(meta.Trust), meta
}

// TestForeignResults: results that came with an archive serve its session and forks of it, and nobody else, whatever
// the store was asked before.
func TestForeignResults(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	if _, err := s.CreateSession(ctx, "own", SessionMeta{}); err != nil {
		t.Fatal(err)
	}
	own, err := s.Session(ctx, "own")
	if err != nil {
		t.Fatal(err)
	}
	view, meta := importedSession(t, s, "theirs", Trust{}, nil)
	if meta.Trust.Tier != TierForeign || !view.Foreign() || s.For(own.Trust).Foreign() {
		t.Fatalf("the imported session has the tier %q", meta.Trust.Tier)
	}
	lie := Trace{Code: DigestOf([]byte("c")), Outputs: DigestOf([]byte("lie")), Trust: Trust{Tier: TierForeign}}
	value := Value{Group: DigestOf([]byte("g")), Names: []string{"x"}, Blob: DigestOf([]byte("blob")),
		Trust: Trust{Tier: TierForeign}}
	id, err := view.PutTrace(lie)
	if err := errors.Join(err, view.PutValue(value)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutTrace(lie); err == nil {
		t.Error("the store takes a foreign result of no session")
	}
	fork, err := s.Fork(ctx, "fork", "theirs", 1, Origin{})
	if err != nil {
		t.Fatal(err)
	}
	look := func(s *Store) (found []Tier) {
		t.Helper()
		traces, err := s.Traces(lie.Code)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range traces {
			found = append(found, x.Tier)
		}
		if x, ok, err := s.Trace(id); err != nil {
			t.Fatal(err)
		} else if ok {
			found = append(found, x.Tier)
		}
		if v, ok, err := s.Value(value.Group); err != nil {
			t.Fatal(err)
		} else if ok {
			found = append(found, v.Tier)
		}
		return found
	}
	foreign := []Tier{TierForeign, TierForeign, TierForeign}
	for round := range 2 { // from memory, and from the file
		for name, x := range map[string]*Store{"the store": s, "another session": s.For(own.Trust)} {
			if got := look(x); got != nil {
				t.Errorf("round %d: %s reads foreign results: %v", round, name, got)
			}
		}
		for name, x := range map[string]*Store{"the session": view, "a fork": s.For(fork.Trust)} {
			if got := look(x); !cmp.Equal(got, foreign) {
				t.Errorf("round %d: %s reads %v, want %v", round, name, got, foreign)
			}
		}
		view.Flush()
	}
	mine := lie // executed here, with the same outcome
	mine.Trust, mine.Seconds = Trust{}, 1
	if _, err := view.PutTrace(mine); err != nil {
		t.Fatal(err)
	}
	if got, _, err := view.Trace(id); err != nil || got.Tier != TierOwn || got.Seconds != 1 {
		t.Errorf("after an execution here the session reads a trace of the tier %q, %v", got.Tier, err)
	}
	if got, err := s.Traces(lie.Code); err != nil || len(got) != 1 {
		t.Errorf("after an execution here every session reads %d traces, %v", len(got), err)
	}
}

// TestForeignCalls: the claim that a tool answered serves the session that it came with, and nobody else.
func TestForeignCalls(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	view, _ := importedSession(t, s, "theirs", Trust{}, nil)
	for _, within := range []uint64{0, 1} {
		lie := &Call{Key: DigestOf([]byte("k")), Within: within, Kind: "tool", Tool: "t", State: CallAnswered}
		place := lie.Place()
		if view.ForeignCall(lie); !lie.Foreign() || lie.Place() != place {
			t.Errorf("a foreign call has the place %v, want %v", lie.Place(), place)
		}
		put(t, s, lie)
		if got, err := s.CallAt(ctx, lie.Key, within, 0); err != nil || got != nil {
			t.Errorf("within %d: every session is served the call %v, %v", within, got, err)
		}
		if got, err := view.CallAt(ctx, lie.Key, within, 0); err != nil || got == nil || got.ID != lie.ID {
			t.Errorf("within %d: the session is served %v, %v, want call %d", within, got, err, lie.ID)
		}
		if s.Serves(lie, within) || !view.Serves(lie, within) {
			t.Errorf("within %d: Serves is wrong", within)
		}
		own := put(t, s, &Call{Key: lie.Key, Within: within, Kind: "tool", Tool: "t", State: CallAnswered})
		if got, err := view.CallAt(ctx, lie.Key, within, 0); err != nil || got == nil || got.ID != own.ID {
			t.Errorf("within %d: after a call here it is served %v, %v, want call %d", within, got, err, own.ID)
		}
	}
}

// TestNoSessionVouchesForItself: an archive cannot say how far it is believed.
func TestNoSessionVouchesForItself(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	view, meta := importedSession(t, s, "theirs", Trust{},
		map[string][]byte{recordTrust: encode(SessionTrust{Trust: Trust{Tier: TierTrusted}})})
	if meta.Trust.Tier != TierForeign || !view.Foreign() {
		t.Errorf("the session has the tier %q", meta.Trust.Tier)
	}
	if records, err := s.SessionRecords(ctx, "theirs"); err != nil || records[recordTrust] != nil {
		t.Errorf("an archive of it would hold its trust: %v", err)
	}
	trusted := checkedOpen(t, storeDir(t), Options{})
	key := Trust{Tier: TierTrusted, Signer: "key"}
	if view, meta := importedSession(t, trusted, "theirs", key, nil); view.Foreign() || meta.Trust.Trust != key {
		t.Errorf("a session that the user trusts has %+v", meta.Trust)
	}
}

// TestCollectForeign: gc keeps the blobs of foreign results, and removes results that no session reads.
func TestCollectForeign(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	view, _ := importedSession(t, s, "theirs", Trust{}, nil)
	content := noise(1, 100_000)
	ref, err := s.PutBlob(content)
	if err == nil {
		err = view.PutValue(Value{Group: DigestOf([]byte("g")), Names: []string{"x"}, Blob: ref.Digest,
			Trust: Trust{Tier: TierForeign}})
	}
	if err != nil {
		t.Fatal(err)
	}
	orphan := filepath.Join(s.Dir(), foreignDir, "999.db")
	write(t, orphan, []byte("results of a session that is gone"))
	s.options.Now = func() time.Time { return time.Now().Add(2 * blobGracePeriod) }
	got, err := s.Collect(ctx, CollectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if v, ok, err := view.Value(DigestOf([]byte("g"))); err != nil || !ok || !view.HasBlobs(v) {
		t.Errorf("Collect leaves the foreign value %v, %v, with its blobs: %v", ok, err, view.HasBlobs(v))
	}
	if _, err := os.Stat(orphan); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Collect leaves %s: %v; it reports %+v", orphan, err, got)
	}
	if got, err = s.Collect(ctx, CollectOptions{MaxBytes: 1}); err != nil || view.HasBlob(ref.Digest) {
		t.Errorf("Collect frees no foreign value: %+v, %v", got, err)
	}
}

// TestCheckFindsForgedResults: mistakes that no execution makes, and results that lie where others believe them.
func TestCheckFindsForgedResults(t *testing.T) {
	code := DigestOf([]byte("c"))
	for _, c := range []struct {
		want  string
		trace Trace
	}{
		{"out of order", Trace{Code: code, Reads: []Access{{"var:b", "1"}, {"var:a", "1"}}}},
		{"twice", Trace{Code: code, Writes: []Access{{"var:a", "1"}, {"var:a", "2"}}}},
		{"lies among those that every session believes", Trace{Code: code, Trust: Trust{Tier: TierForeign}}},
	} {
		s, err := Open(ctx, storeDir(t), Options{})
		if err != nil {
			t.Fatal(err)
		}
		id := c.trace.Identity()
		err = s.results.db.update(ctx, func(tx *bbolt.Tx) error {
			return errors.Join(putRecord(tx, bucketTraces, id.key(), c.trace),
				putRecord(tx, bucketByCode, code.key(), []Digest{id}))
		})
		if err != nil {
			t.Fatal(err)
		}
		wantProblem(t, s, 10, c.want)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCheckFindsTracesThatDoNotFit: the traces of a program belong to its code.
func TestCheckFindsTracesThatDoNotFit(t *testing.T) {
	first := Trace{Code: DigestOf([]byte("1")), Writes: []Access{{"var:x", DigestOf([]byte("right"))}}}
	reads := func(d string) Trace {
		return Trace{Code: DigestOf([]byte("2")), Reads: []Access{{"var:x", DigestOf([]byte(d))}}}
	}
	for _, c := range []struct {
		name, want string
		second     Trace
		code       Digest
	}{
		{"right", "", reads("right"), DigestOf([]byte("2"))},
		{"other code", "is of other code than its node", reads("right"), DigestOf([]byte("3"))},
	} {
		s, err := Open(ctx, storeDir(t), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.CreateSession(ctx, "p", SessionMeta{}); err != nil {
			t.Fatal(err)
		}
		run := Draft{Kind: KindRun, Run: &RunSummary{}}
		after := BlockID("")
		var drafts []Draft
		for i, x := range []Trace{first, c.second} {
			id, err := s.PutTrace(x)
			if err != nil {
				t.Fatal(err)
			}
			name := BlockID([]string{"a", "b"}[i])
			d := insert(name, after, string(name))
			drafts, after = append(drafts, d), name
			block := *d.Changes[0].Block
			block.Edited, block.Status, block.RanAt = StepNumber(i+1), StatusRan, 3
			block.Nodes = []NodeResult{{Code: []Digest{first.Code, c.code}[i], Trace: id, Status: StatusRan}}
			run.Changes = append(run.Changes, Change{Op: OpUpdate, ID: name, Block: &block})
		}
		if _, err := s.Commit(ctx, "p", 0, append(drafts, run)); err != nil {
			t.Fatal(err)
		}
		wantProblem(t, s, 17, c.want)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// wantProblem checks a store that has one problem; "": none.
func wantProblem(t *testing.T, s *Store, invariant int, want string) {
	t.Helper()
	problems, err := s.Check(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if want == "" {
		if len(problems) > 0 {
			t.Errorf("Check = %v, want nothing", problems)
		}
		return
	}
	if len(problems) != 1 || problems[0].Invariant != invariant || !strings.Contains(problems[0].Message, want) {
		t.Errorf("Check = %v, want %q of invariant %d", problems, want, invariant)
	}
}

// TestBlobFileIsVerified: a kernel reads the file itself, so it has what was stored, also where it was right before.
func TestBlobFileIsVerified(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	content := noise(2, 1<<20)
	if _, err := s.PutLarge(bytes.Clone(content), DigestOf(content)); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	for range 2 {
		path, ok, err := s.BlobFile(DigestOf(content), copied)
		if err != nil || !ok || path == copied {
			t.Fatalf("BlobFile = %s, %v, %v", path, ok, err)
		}
	}
	raw, _ := s.blobs.rawPath(DigestOf(content))
	if err := os.Remove(raw); err != nil {
		t.Fatal(err)
	}
	write(t, raw, append([]byte{content[0] + 1}, content[1:]...))
	if path, ok, err := s.BlobFile(DigestOf(content), copied); ok || err != nil {
		t.Errorf("BlobFile of a file that was changed = %s, %v, %v", path, ok, err)
	}
}

package state

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.etcd.io/bbolt"

	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
)

// aCall returns a new call with these arguments, number 0 of its key.
func aCall(t testing.TB, s *Store, args string) *Call {
	t.Helper()
	c := &Call{Key: DigestOf([]byte(args)), Kind: "tool", Tool: "t", Class: "read", State: CallSent,
		Began: time.Unix(1_700_000_000, 0).UTC()}
	var err error
	if c.Args, err = s.ContentOf([]byte(args)); err != nil {
		t.Fatal(err)
	}
	return c
}

func put(t testing.TB, s *Store, c *Call) *Call {
	t.Helper()
	if err := s.PutCall(ctx, c); err != nil {
		t.Fatal(err)
	}
	return c
}

// large is JSON that is too large for a record.
var large = strconv.Quote(strings.Repeat("long ", inlineContent))

func TestCallsSurviveEverythingThatFreesResults(t *testing.T) {
	dir := storeDir(t)
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := put(t, s, aCall(t, s, large))
	if c.Args.Inline != nil {
		t.Fatal("the content is inline, want a file")
	}
	if _, err := s.Collect(ctx, CollectOptions{MaxBytes: 1}); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{resultsFile, blobsDir} {
		if err := os.RemoveAll(filepath.Join(dir, gone)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Call(ctx, c.ID)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(c, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("Call (-put +got):\n%s", d)
	}
	if text, err := s.Read(got.Args); err != nil || string(text) != large {
		t.Errorf("Read = %d bytes, %v, want %d", len(text), err, len(large))
	}
}

func TestUpdateCall(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	if _, err := s.UpdateCall(ctx, 1, func(*Call) error { return nil }); CodeOf(err) != CodeNoCall {
		t.Errorf("UpdateCall without a journal = %v, want %s", err, CodeNoCall)
	}
	c := put(t, s, aCall(t, s, "{}"))
	refused := errors.New("no")
	if _, err := s.UpdateCall(ctx, c.ID, func(c *Call) error { c.State = CallLost; return refused }); !errors.Is(err,
		refused) {
		t.Errorf("UpdateCall = %v, want %v", err, refused)
	}
	if got, _ := s.Call(ctx, c.ID); got.State != CallSent {
		t.Errorf("after a refused change the state is %s, want %s", got.State, CallSent)
	}
	if _, err := s.UpdateCall(ctx, c.ID, func(c *Call) error { c.State = CallWaiting; return nil }); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.Call(ctx, c.ID); got.State != CallWaiting {
		t.Errorf("after a change the state is %s, want %s", got.State, CallWaiting)
	}
}

// TestCheckOfCalls damages a journal in each way that an invariant names.
func TestCheckOfCalls(t *testing.T) {
	update := func(t *testing.T, s *Store, fn func(*bbolt.Tx) error) {
		t.Helper()
		if err := s.calls.update(ctx, fn); err != nil {
			t.Fatal(err)
		}
	}
	for name, damage := range map[string]struct {
		do        func(t *testing.T, s *Store, c *Call)
		invariant int
	}{
		"a record of another call": {func(t *testing.T, s *Store, c *Call) {
			update(t, s, func(tx *bbolt.Tx) error {
				b := tx.Bucket(bucketCalls)
				return b.Put(CallID(2).key(), b.Get(c.ID.key()))
			})
		}, 14},
		"a place without its call": {func(t *testing.T, s *Store, c *Call) {
			update(t, s, func(tx *bbolt.Tx) error { return tx.Bucket(bucketCalls).Delete(c.ID.key()) })
		}, 14},
		"a call without its place": {func(t *testing.T, s *Store, c *Call) {
			update(t, s, func(tx *bbolt.Tx) error {
				return tx.Bucket(bucketPlaces).Delete(callPlace(c.Key, c.Within, c.Number))
			})
		}, 14},
		"a changed argument": {func(t *testing.T, s *Store, c *Call) {
			bad := *c
			bad.Result = Content{Inline: []byte("1"), Digest: DigestOf([]byte("2")), Size: 1}
			update(t, s, func(tx *bbolt.Tx) error { return putRecord(tx, bucketCalls, c.ID.key(), bad) })
		}, 15},
		"a missing content": {func(t *testing.T, s *Store, c *Call) {
			if err := os.RemoveAll(filepath.Join(s.dir, basesDir)); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(s.dir, basesDir), 0o777); err != nil {
				t.Fatal(err)
			}
		}, 15},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(ctx, storeDir(t), Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			damage.do(t, s, put(t, s, aCall(t, s, large)))
			problems, err := s.Check(ctx)
			if err != nil || len(problems) == 0 {
				t.Fatalf("Check = %v, %v, want a problem", problems, err)
			}
			for _, p := range problems {
				if p.Invariant != damage.invariant || p.File != callsFile {
					t.Errorf("Check: %v, want invariant %d of %s", p, damage.invariant, callsFile)
				}
			}
		})
	}
}

// TestDamagedJournal: a flipped byte anywhere in calls.db is never read as data.
func TestDamagedJournal(t *testing.T) {
	dir := storeDir(t)
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var want []*Call
	for i := range 5 {
		want = append(want, put(t, s, aCall(t, s, strconv.Itoa(i))))
	}
	checkClose(t, s)
	path := filepath.Join(dir, callsFile)
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(sampling.Seed(t), 0))
	for range 60 {
		text := bytes.Clone(sound)
		text[random.IntN(len(text))] ^= byte(1 + random.IntN(255))
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := Open(ctx, dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range want {
			got, err := s.CallAt(ctx, c.Key, 0, 0)
			if err == nil && got != nil {
				if d := cmp.Diff(c, got, cmpopts.EquateEmpty()); d != "" {
					t.Errorf("a damaged journal was read as data (-put +got):\n%s", d)
				}
			}
		}
		s.Close()
	}
}

// callForever records calls in two states each, and prints the number of each call once its answer is acknowledged.
func callForever(dir string, out io.Writer) error {
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		c := &Call{Key: DigestOf(fmt.Appendf(nil, "%d %d", os.Getpid(), n)), Kind: "tool", Tool: "t", State: CallSent}
		if err := s.PutCall(ctx, c); err != nil {
			return err
		}
		if c.Result, err = s.ContentOf(noise(uint64(c.ID), int(c.ID)%3*inlineContent)); err != nil {
			return err
		}
		c.State = CallAnswered
		if err := s.PutCall(ctx, c); err != nil {
			return err
		}
		fmt.Fprintln(out, c.ID)
	}
}

// TestKillWhileCalling kills a process that records calls at random moments: every answer that it acknowledged is there
// with its content, and nothing is broken.
func TestKillWhileCalling(t *testing.T) {
	dir := storeDir(t)
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkClose(t, s)
	random := rand.New(rand.NewPCG(sampling.Seed(t), 0))
	for range 10 {
		acknowledged := killed(t, "call", dir, 1+random.IntN(20), time.Duration(random.IntN(3000))*time.Microsecond)
		s, err := Open(ctx, dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for id := CallID(1); id <= CallID(acknowledged); id++ {
			c, err := s.Call(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			text, err := s.Read(c.Result)
			if c.State == CallAnswered && (err != nil || DigestOf(text) != c.Result.Digest) {
				t.Errorf("call %d: its result is gone: %v", id, err)
			}
			if id == CallID(acknowledged) && c.State != CallAnswered {
				t.Errorf("call %d is %s, want %s: it was acknowledged", id, c.State, CallAnswered)
			}
		}
		checkClose(t, s)
	}
}

// TestCallsModel does random operations on a journal and on plain maps, reopening now and then.
func TestCallsModel(t *testing.T) {
	r := rand.New(rand.NewPCG(sampling.Seed(t), 0))
	dir := storeDir(t)
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var calls []*Call // by ID-1
	places := map[string]CallID{}
	states := []CallState{CallSent, CallAnswered, CallRefused, CallLost, CallWaiting, CallDenied}
	for range 300 {
		c := aCall(t, s, strconv.Itoa(r.IntN(12)))
		c.Within, c.Number, c.State = uint64(r.IntN(2)), r.IntN(4), states[r.IntN(len(states))]
		place := string(callPlace(c.Key, c.Within, c.Number))
		switch op := r.IntN(10); {
		case op < 5:
			err := s.PutCall(ctx, c)
			if places[place] != 0 {
				if !errors.Is(err, ErrCallExists) || c.ID != 0 {
					t.Fatalf("PutCall at a place that is taken = %v, call %d", err, c.ID)
				}
			} else if err != nil || int(c.ID) != len(calls)+1 {
				t.Fatalf("PutCall = %v, call %d, want call %d", err, c.ID, len(calls)+1)
			} else {
				places[place], calls = c.ID, append(calls, c)
			}
		case op < 7 && len(calls) > 0:
			known := calls[r.IntN(len(calls))]
			known.State, known.Seconds = states[r.IntN(len(states))], r.Float64()
			put(t, s, known)
		case op < 9:
			got, err := s.CallAt(ctx, c.Key, c.Within, c.Number)
			if err != nil || (got == nil) != (places[place] == 0) || got != nil && got.ID != places[place] {
				t.Fatalf("CallAt = %+v, %v, want call %d", got, err, places[place])
			}
		default:
			checkClose(t, s)
			if s, err = Open(ctx, dir, Options{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	from := CallID(1 + r.IntN(len(calls)))
	got := []*Call{}
	if err := s.Calls(ctx, from, func(c *Call) bool { got = append(got, c); return true }); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(calls[from-1:], got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("Calls from %d (-model +store):\n%s", from, d)
	}
	checkClose(t, s)
}

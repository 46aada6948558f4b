package remote

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/keys"
)

// machine is a machine with its store and key.
type machine struct {
	*Cache
	local    *state.Store
	key      ed25519.PrivateKey
	withheld func(io.Reader) (bool, error)
}

// newMachine opens a cache in a store. It trusts the keys of others.
func newMachine(t *testing.T, seed byte, store Store, others ...*machine) *machine {
	t.Helper()
	local, err := state.Open(t.Context(), t.TempDir(), state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{local: local, key: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))}
	o := Options{Store: store, Address: "test", Local: local, Key: m.key, Answer: time.Minute}
	for _, x := range others {
		o.Trusted = append(o.Trusted, x.key.Public().(ed25519.PublicKey))
	}
	m.Cache = New(o)
	t.Cleanup(func() {
		if err := errors.Join(m.Close(), local.Close()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// id is that of the machine's key.
func (m *machine) id() string { return keys.ID(m.key.Public().(ed25519.PublicKey)) }

// result is the name of a result of the machine.
func (m *machine) result(i int) state.Digest { return resultName(entry{strong(i), m.id()}) }

// weak and strong are fingerprints.
func weak(i int) state.Digest   { return state.DigestOf(fmt.Appendf(nil, "weak %d", i)) }
func strong(i int) state.Digest { return state.DigestOf(fmt.Appendf(nil, "strong %d", i)) }

var readsX = &Keys{Reads: []depgraph.Key{"var:x"}}

// give uploads a result with an output, and waits until that has ended.
func (m *machine) give(t *testing.T, i int, k *Keys, output string, next ...state.Digest) state.Digest {
	t.Helper()
	ref, err := m.local.PutBlob([]byte(output))
	if err != nil {
		t.Fatal(err)
	}
	m.Upload([]*Upload{{Weak: weak(i), Strong: strong(i), Keys: k, Blobs: []state.Digest{ref.Digest},
		Result: &Result{Trace: state.Trace{Outputs: ref.Digest}, Next: next}, Withheld: m.withheld}})
	m.Wait(t.Context())
	return ref.Digest
}

// take looks for a result, and returns its output; "" if it is not there.
func (m *machine) take(t *testing.T, i int) string {
	t.Helper()
	m.Renew()
	if len(m.Keys(t.Context(), []state.Digest{weak(i)})[weak(i)]) == 0 {
		return ""
	}
	found := m.Results(t.Context(), []state.Digest{strong(i)})[0]
	if found == nil || !m.Fetch(t.Context(), found.Record.Blobs) {
		return ""
	}
	text, ok, err := m.local.Blob(found.Record.Trace.Outputs)
	if err != nil || !ok {
		t.Fatalf("%v: the store has no output", err)
	}
	return string(text)
}

func testFolder(t *testing.T) *folder {
	t.Helper()
	return openFolder(t.TempDir())
}

func TestShared(t *testing.T) {
	store := testFolder(t)
	ann := newMachine(t, 1, store)
	ben := newMachine(t, 2, store, ann)
	eve := newMachine(t, 3, store)
	large := string(bytes.Repeat([]byte("large "), 1<<20))
	ann.give(t, 1, readsX, "one")
	ann.give(t, 2, readsX, large)
	if have := ben.take(t, 1) + ben.take(t, 2); have != "one"+large {
		t.Errorf("ben has %d bytes", len(have))
	}
	if have := eve.take(t, 1); have != "" {
		t.Errorf("eve trusts no one and has %q", have)
	}
	if d := cmp.Diff([]string{ann.id()}, eve.Counts().Unknown); d != "" {
		t.Errorf("the keys that eve does not trust (-want +got):\n%s", d)
	}
	// What eve writes first is in no one's way.
	eve.give(t, 3, readsX, "false")
	ann.give(t, 3, readsX, "true")
	if have := ben.take(t, 3); have != "true" {
		t.Errorf("ben has %q, want what ann made", have)
	}
}

// TestForged: a record that was put in the place of another, cut or changed is none.
func TestForged(t *testing.T) {
	for name, forge := range map[string]func(ann *machine, records map[state.Digest][]byte){
		"exchanged": func(m *machine, r map[state.Digest][]byte) {
			r[m.result(1)], r[m.result(2)] = r[m.result(2)], r[m.result(1)]
		},
		"of another kind": func(m *machine, r map[state.Digest][]byte) {
			r[m.result(1)] = r[keysName(entry{weak(1), m.id()}, 0)]
		},
		"changed": func(m *machine, r map[state.Digest][]byte) { r[m.result(1)][sealedSize+3] ^= 1 },
		"cut":     func(m *machine, r map[state.Digest][]byte) { r[m.result(1)] = r[m.result(1)][:sealedSize] },
		"short":   func(m *machine, r map[state.Digest][]byte) { r[m.result(1)] = r[m.result(1)][:5] },
		"empty":   func(m *machine, r map[state.Digest][]byte) { r[m.result(1)] = []byte{} },
		"long": func(m *machine, r map[state.Digest][]byte) {
			r[m.result(1)] = append(r[m.result(1)], make([]byte, maxRecord)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := &forgedStore{Store: testFolder(t), records: map[state.Digest][]byte{}}
			ann := newMachine(t, 1, store)
			ben := newMachine(t, 2, store, ann)
			ann.give(t, 1, readsX, "one")
			ann.give(t, 2, readsX, "two")
			forge(ann, store.records)
			if have := ben.take(t, 1); have != "" {
				t.Errorf("ben has %q", have)
			}
			if ben.Counts().Damaged == 0 {
				t.Error("the damage was not counted")
			}
		})
	}
}

// forgedStore is a store whose records can be changed.
type forgedStore struct {
	Store
	mu      sync.Mutex
	records map[state.Digest][]byte
}

func (s *forgedStore) Records(_ context.Context, names []state.Digest) (found [][]byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		found = append(found, s.records[name])
	}
	return found, nil
}

func (s *forgedStore) PutRecord(_ context.Context, name state.Digest, record []byte, _ []state.BlobRef) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[name] = record
	return nil
}

// faultyStore fails in one way.
type faultyStore struct {
	Store
	mu    sync.Mutex
	calls int
	fault func(context.Context) error
	blob  func(io.Writer) (bool, error)
}

// set sets how the store fails, and returns how often it was asked.
func (s *faultyStore) set(fault func(context.Context) error) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
	return s.calls
}

func (s *faultyStore) Records(ctx context.Context, names []state.Digest) ([][]byte, error) {
	s.mu.Lock()
	s.calls++
	fault := s.fault
	s.mu.Unlock()
	if fault != nil {
		return nil, fault(ctx)
	}
	return s.Store.Records(ctx, names)
}

func (s *faultyStore) Blob(ctx context.Context, ref state.BlobRef, w io.Writer) (bool, error) {
	if s.blob != nil {
		return s.blob(w)
	}
	return s.Store.Blob(ctx, ref, w)
}

// TestLeftAlone: a store that fails, or does not answer, is asked twice, and then again after a pause. So it is by the
// next process.
func TestLeftAlone(t *testing.T) {
	for name, fault := range map[string]func(context.Context) error{
		"fails":           func(context.Context) error { return errors.New("no connection") },
		"does not answer": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"hangs":           func(context.Context) error { select {} },
	} {
		t.Run(name, func(t *testing.T) {
			ann := newMachine(t, 1, testFolder(t))
			now := time.Unix(1e9, 0)
			store := &faultyStore{Store: ann.o.Store, fault: fault}
			o := Options{Store: store, Address: "test", Local: ann.local, Answer: time.Millisecond, Key: ann.key,
				Now: func() time.Time { return now }}
			c := New(o)
			for i := range 10 {
				c.Keys(t.Context(), []state.Digest{weak(i)})
			}
			if n := store.set(fault); n != maxFailures || !c.Counts().LeftAlone {
				t.Errorf("it was asked %d times, left alone: %v", n, c.Counts().LeftAlone)
			}
			New(o).Keys(t.Context(), []state.Digest{weak(0)})
			if store.set(fault) != maxFailures {
				t.Error("the next process asks it")
			}
			now = now.Add(pause)
			for i := range 10 {
				c.Keys(t.Context(), []state.Digest{weak(i)})
			}
			now = now.Add(pause)
			if n := store.set(nil); n != maxFailures+1 {
				t.Errorf("it was asked %d times after the pause", n-maxFailures)
			}
			o.Answer = time.Minute
			c = New(o)
			c.Keys(t.Context(), []state.Digest{weak(0), weak(1)})
			if n := store.set(nil); c.Counts().LeftAlone || n != maxFailures+3 { // the signers, and the keys
				t.Errorf("it answers, and was asked %d times; left alone: %v", n, c.Counts().LeftAlone)
			}
		})
	}
}

// TestBlobFaults: a blob that is missing, cut, lost on its way or another one is a miss, and nothing of it is kept.
func TestBlobFaults(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	for name, blob := range map[string]func(io.Writer) (bool, error){
		"missing": func(io.Writer) (bool, error) { return false, nil },
		"cut":     func(w io.Writer) (bool, error) { _, err := w.Write(content[:100]); return err == nil, err },
		"another": func(w io.Writer) (bool, error) {
			_, err := w.Write(bytes.ToUpper(content))
			return err == nil, err
		},
		"lost": func(w io.Writer) (bool, error) { w.Write(content[:9]); return false, errors.New("no connection") },
	} {
		t.Run(name, func(t *testing.T) {
			store := testFolder(t)
			ann := newMachine(t, 1, store)
			ben := newMachine(t, 2, &faultyStore{Store: store, blob: blob}, ann)
			d := ann.give(t, 1, readsX, string(content))
			if have := ben.take(t, 1); have != "" {
				t.Errorf("ben has %d bytes", len(have))
			}
			if ben.local.HasBlob(d) {
				t.Error("the store has the blob")
			}
		})
	}
}

// TestRoundTrips: a program of 1,000 nodes is found in few answers.
func TestRoundTrips(t *testing.T) {
	const n = 1000
	store := testFolder(t)
	ann := newMachine(t, 1, store)
	var items []*Upload
	var all []state.Digest
	for i := range n {
		all = append(all, weak(i))
		u := &Upload{Weak: weak(i), Strong: strong(i), Keys: readsX, Result: &Result{}}
		for j := i + 1; j < n && j <= i+MaxNext; j++ {
			u.Result.Next = append(u.Result.Next, strong(j))
		}
		items = append(items, u)
	}
	ann.Upload(items)
	ann.Wait(t.Context())
	ben := newMachine(t, 2, store, ann)
	if found := ben.Keys(t.Context(), all); len(found) != n {
		t.Fatalf("%d of %d keys", len(found), n)
	}
	for i := range n {
		if ben.Results(t.Context(), []state.Digest{strong(i)})[0] == nil {
			t.Fatalf("result %d is missing", i)
		}
	}
	if answers := ben.Counts().Answers; answers > 20 {
		t.Errorf("%d answers, want at most 20", answers)
	}
}

// TestSlots: several sets of keys of one node are kept, and a writer takes none that is known.
func TestSlots(t *testing.T) {
	store := testFolder(t)
	ann := newMachine(t, 1, store)
	for i := range maxKeys + 3 {
		k := &Keys{Reads: []depgraph.Key{depgraph.Key(fmt.Sprintf("var:x%d", i))}}
		ann.give(t, 1, k, "one")
		ann.give(t, 1, k, "one")
		ann.Renew()
	}
	ben := newMachine(t, 2, store, ann)
	found := ben.Keys(t.Context(), []state.Digest{weak(1)})[weak(1)]
	if len(found) != maxKeys {
		t.Fatalf("%d keys, want %d", len(found), maxKeys)
	}
	for i, k := range found {
		if want := depgraph.Key(fmt.Sprintf("var:x%d", i)); k.Reads[0] != want {
			t.Errorf("keys %d are %v, want %s", i, k.Reads, want)
		}
	}
}

// TestWithheld: what must not leave the machine does not, neither in a blob nor in a record.
func TestWithheld(t *testing.T) {
	store := testFolder(t)
	ann := newMachine(t, 1, store)
	ann.withheld = func(r io.Reader) (bool, error) {
		text, err := io.ReadAll(r)
		return bytes.Contains(text, []byte("/home/ann")), err
	}
	ben := newMachine(t, 2, store, ann)
	ann.give(t, 1, readsX, "a file in /home/ann/work")
	ann.give(t, 2, &Keys{Reads: []depgraph.Key{"file:/home/ann/x"}}, "two")
	ann.give(t, 3, readsX, "three")
	if have := ben.take(t, 1) + ben.take(t, 2) + ben.take(t, 3); have != "three" {
		t.Errorf("ben has %q", have)
	}
}

// TestFolderAgain: a cache that was removed while it is in use is made again.
func TestFolderAgain(t *testing.T) {
	store := testFolder(t)
	ann := newMachine(t, 1, store)
	ben := newMachine(t, 2, store, ann)
	ann.give(t, 1, readsX, "one")
	if err := os.RemoveAll(store.path); err != nil {
		t.Fatal(err)
	}
	ann.give(t, 2, readsX, "two")
	if have := ben.take(t, 1) + ben.take(t, 2); have != "two" {
		t.Errorf("ben has %q", have)
	}
}

// TestFolderShared: those who may write to the cache may write to the folders in it.
func TestFolderShared(t *testing.T) {
	store := testFolder(t)
	if err := os.Chmod(store.path, 0o775|fs.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	newMachine(t, 1, store).give(t, 1, readsX, "one")
	names, err := filepath.Glob(filepath.Join(store.path, "*", "*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d folders, %v", len(names), err)
	}
	for _, name := range append(names, filepath.Dir(names[0])) {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o775 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestRoots(t *testing.T) {
	r := NewRoots(map[string]string{RootHome: "/home/ann", RootWorkspace: "/home/ann/work/", RootPrefix: "/usr",
		RootBase: "/"})
	for text, want := range map[string]string{
		"stat:/home/ann/work/x.py": "stat:{workspace}/x.py",
		"file:/home/ann/.netrc":    "file:{home}/.netrc",
		"file:/home/anna/x":        "file:/home/anna/x",
		"file:/srv/home/ann/x":     "file:/srv/home/ann/x",
		"symlink:/home/ann":        "symlink:{home}",
		"/home/ann/a\n/home/ann/b": "{home}/a\n{home}/b",
		"stat:/usr/lib/x":          "stat:{prefix}/lib/x",
		"var:x":                    "var:x",
		"file:{other}":             "file:{other}",
	} {
		have, ok := r.Portable(text)
		if !ok || have != want {
			t.Errorf("Portable(%q) = %q, %v, want %q", text, have, ok, want)
		}
		if back, ok := r.Local(have); !ok || back != text {
			t.Errorf("Local(%q) = %q, %v, want %q", have, back, ok, text)
		}
	}
	if have, ok := r.Portable("file:{home}/x"); ok {
		t.Errorf("a text with a mark is %q", have)
	}
	if have, ok := NewRoots(nil).Local("file:{home}/x"); ok {
		t.Errorf("without a home, {home} is %q", have)
	}
	if d := cmp.Diff([]string{"/home/ann/work", "/home/ann"}, r.Paths()); d != "" {
		t.Errorf("paths that say something (-want +got):\n%s", d)
	}
}

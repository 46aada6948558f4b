package state

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
)

// sample is a store with something of everything, and what it should say.
type sample struct {
	dir      string
	programs [][]Block
	hashes   []Digest
	sources  map[Digest]string
	traces   map[Digest]Trace
	blobs    map[Digest][]byte
}

func newSample(t testing.TB, steps int) *sample {
	t.Helper()
	p := &sample{
		dir:     storeDir(t),
		sources: make(map[Digest]string),
		traces:  make(map[Digest]Trace),
		blobs:   make(map[Digest][]byte),
	}
	s, err := Open(ctx, p.dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	create(t, s, "s")
	for i := range steps {
		id, text := BlockID("b"+itoa(i)), fmt.Sprintf("x%d = %s", i, strings.Repeat("1+", i)+"0")
		commit(t, s, "s", insert(id, "", text))
		p.sources[DigestOf([]byte(text))] = text
		trace := Trace{Code: DigestOf([]byte(id)), Marks: []string{text}}
		d, err := s.PutTrace(trace)
		if err != nil {
			t.Fatal(err)
		}
		p.traces[d] = trace
		for _, content := range [][]byte{[]byte(text), noise(uint64(i), 10_000)} {
			ref, err := s.PutBlob(content)
			if err != nil {
				t.Fatal(err)
			}
			p.blobs[ref.Digest] = content
		}
	}
	if err := s.PutSessionRecord(ctx, "s", "files", "record"); err != nil {
		t.Fatal(err)
	}
	for n := range steps + 1 {
		program, err := s.ProgramAt(ctx, "s", StepNumber(n))
		if err != nil {
			t.Fatal(err)
		}
		p.programs = append(p.programs, program)
	}
	p.hashes = append(p.hashes, "")
	for step, err := range s.Steps(ctx, "s", 1, 1<<62) {
		if err != nil {
			t.Fatal(err)
		}
		p.hashes = append(p.hashes, step.Hash)
	}
	checkClose(t, s)
	return p
}

// copyStore copies the files of a store, blobs included.
func copyStore(t testing.TB, dir string) string {
	t.Helper()
	to := storeDir(t)
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// verify reads everything. Each answer is right, or an error that names what is damaged.
func (p *sample) verify(s *Store) (failed []error) {
	fail := func(err error) {
		if err != nil {
			failed = append(failed, err)
		}
	}
	wrong := func(format string, args ...any) error { return fmt.Errorf("WRONG: "+format, args...) }
	head, hash, err := s.Head(ctx, "s")
	fail(err)
	if err == nil && (int(head) != len(p.programs)-1 || hash != p.hashes[head]) {
		fail(wrong("head is %d", head))
	}
	for n, want := range p.programs {
		got, err := s.ProgramAt(ctx, "s", StepNumber(n))
		fail(err)
		if err == nil && !cmp.Equal(want, got) {
			fail(wrong("program at %d: %s", n, cmp.Diff(want, got)))
		}
	}
	for n, want := range p.hashes[1:] {
		step, err := s.Step(ctx, "s", StepNumber(n+1))
		fail(err)
		if err == nil && step.Hash != want {
			fail(wrong("hash of step %d", n+1))
		}
	}
	for d, want := range p.sources {
		got, err := s.Source(ctx, d)
		if errors.Is(err, ErrNoSource) {
			err = fmt.Errorf("%w: %w", ErrDamaged, err) // a missing source has a code of its own, and is named
		}
		fail(err)
		if err == nil && string(got) != want {
			fail(wrong("source %s = %q", d, got))
		}
	}
	var record string
	found, err := s.SessionRecord(ctx, "s", "files", &record)
	fail(err)
	if err == nil && (!found || record != "record") {
		fail(wrong("record = %q, %v", record, found))
	}
	return append(failed, p.verifyResults(s)...)
}

func (p *sample) verifyResults(s *Store) (failed []error) {
	for d, want := range p.traces {
		got, ok, err := s.Trace(d)
		if err != nil || ok && !cmp.Equal(want, got) {
			failed = append(failed, fmt.Errorf("WRONG: trace %s = %+v, %w", d, got, err))
		}
	}
	for d, want := range p.blobs {
		got, ok, err := s.Blob(d)
		if err != nil || ok && !bytes.Equal(want, got) {
			failed = append(failed, fmt.Errorf("WRONG: blob %s, %w", d, err))
		}
	}
	return failed
}

// TestHistoryBitFlips flips bits anywhere in history.db: no panic, no wrong answer, only errors that name the file.
func TestHistoryBitFlips(t *testing.T) {
	p := newSample(t, 40)
	path := filepath.Join(p.dir, historyFile)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(sampling.Seed(t), 0))
	atOpen, later, none := 0, 0, 0
	for range 200 {
		bad := bytes.Clone(good)
		for range 1 + random.IntN(3) {
			// Half of them in the first 64 bytes of a page, where the structure is.
			at := random.IntN(len(bad))
			if random.IntN(2) == 0 {
				at = at&^(pageSize-1) + random.IntN(64)
			}
			bad[at] ^= 1 << random.IntN(8)
		}
		write(t, path, bad)
		s, err := Open(ctx, p.dir, Options{ReadOnly: random.IntN(2) == 0})
		if err != nil {
			atOpen++
			wantDamaged(t, err)
			continue
		}
		failed := p.verify(s)
		for _, err := range failed {
			wantDamaged(t, err)
		}
		problems, err := s.Check(ctx)
		if err != nil {
			t.Errorf("Check: %v", err)
		}
		switch {
		case len(failed) > 0 && len(problems) == 0:
			t.Errorf("Check finds nothing, but: %v", failed)
		case len(failed) > 0:
			later++
		default:
			none++
		}
		s.Close()
		if t.Failed() {
			break
		}
	}
	write(t, path, good)
	t.Logf("noticed at Open %d, when read %d, without effect %d", atOpen, later, none)
}

func wantDamaged(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, ErrDamaged) || strings.Contains(err.Error(), "WRONG") ||
		!strings.Contains(err.Error(), historyFile) && !errors.Is(err, ErrNoSource) {
		t.Errorf("%v, want code %s naming %s", err, CodeDamaged, historyFile)
	}
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestHistoryCutShort truncates history.db at every page and some odd sizes, and replaces it by garbage.
func TestHistoryCutShort(t *testing.T) {
	p := newSample(t, 20)
	path := filepath.Join(p.dir, historyFile)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string][]byte{
		"garbage": noise(1, len(good)),
		"text":    []byte("hello"),
		"empty":   {},
		"zeros":   make([]byte, len(good)),
	}
	for size := 0; size < len(good)-pageSize; size += pageSize / 2 {
		cases[fmt.Sprintf("%d bytes", size)] = good[:size]
	}
	for name, bad := range cases {
		write(t, path, bad)
		s, err := Open(ctx, p.dir, Options{})
		if err == nil {
			for _, err := range p.verify(s) {
				wantDamaged(t, err)
			}
			s.Close()
			if len(bad) < len(good)/2 {
				t.Errorf("%s: Open succeeds", name)
			}
			continue
		}
		wantDamaged(t, err)
		var e *Error
		if errors.As(err, &e) && e.Hint == "" {
			t.Errorf("%s: %v has no hint", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, bad) {
			t.Errorf("%s: the damaged file was changed", name)
		}
	}
}

// TestResultsDamage damages results.db and blobs: misses with reasons, a usable store, and history as it was.
func TestResultsDamage(t *testing.T) {
	p := newSample(t, 30)
	seed := sampling.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	good, err := os.ReadFile(filepath.Join(p.dir, resultsFile))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		dir := copyStore(t, p.dir)
		bad := bytes.Clone(good)
		switch i {
		case 0:
			bad = nil
		case 1:
			bad = bad[:len(bad)/2]
		case 2:
			bad = noise(seed, len(bad))
		default:
			for range 1 + random.IntN(20) {
				bad[random.IntN(len(bad))] ^= 1 << random.IntN(8)
			}
		}
		write(t, filepath.Join(dir, resultsFile), bad)
		p.useDamaged(t, dir, i < 3)
		if t.Failed() {
			t.Fatalf("case %d", i)
		}
	}
}

// useDamaged opens a store with damaged results, reads everything, writes again, and reopens it.
func (p *sample) useDamaged(t *testing.T, dir string, noticed bool) {
	t.Helper()
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		t.Errorf("Open: %v", err)
		return
	}
	for _, err := range p.verify(s) {
		t.Error(err)
	}
	missing := 0
	for d := range p.traces {
		if _, ok, _ := s.Trace(d); !ok {
			missing++
		}
	}
	if notices := s.Notices(); (noticed || missing > len(p.traces)/2) && len(notices) == 0 {
		t.Errorf("%d traces are missing without a notice", missing)
	}
	before := len(s.Notices())
	fresh := Trace{Code: DigestOf([]byte("fresh"))}
	d, err := s.PutTrace(fresh)
	if err != nil {
		t.Error(err)
	}
	commit(t, s, "s", Draft{Kind: KindRun, Run: &RunSummary{}})
	renewed := len(s.Notices()) > before // it gave way while it was written
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if s, err = Open(ctx, dir, Options{}); err != nil {
		t.Errorf("second Open: %v", err)
		return
	}
	if _, ok, err := s.Trace(d); err != nil || !ok && len(s.Notices()) == 0 && !renewed {
		t.Errorf("the new trace is missing without a notice: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if aside, _ := filepath.Glob(filepath.Join(dir, resultsFile+".damaged-*")); noticed && len(aside) == 0 {
		t.Error("the damaged file was not quarantined")
	}
}

func TestBlobDamage(t *testing.T) {
	content := noise(7, 100_000)
	d := DigestOf(content)
	damages := map[string]func(file []byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"empty":   func(b []byte) []byte { return nil },
		"flipped": func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
		"header":  func(b []byte) []byte { b[0] ^= 1; return b },
		"longer":  func(b []byte) []byte { return append(b, b...) },
		"foreign": func([]byte) []byte { return encoder().EncodeAll([]byte("another content"), nil) },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			s := checkedOpen(t, storeDir(t), Options{})
			if _, err := s.PutBlob(content); err != nil {
				t.Fatal(err)
			}
			path, _ := s.blobs.path(d)
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path, damage(file))
			if problems, err := s.Check(ctx); len(problems) != 1 || problems[0].Invariant != 11 || err != nil {
				t.Errorf("Check = %v, %v, want one problem with a blob", problems, err)
			}
			if ok, err := s.BlobToFile(d, filepath.Join(t.TempDir(), "out")); ok || err != nil {
				t.Errorf("BlobToFile = %v, %v, want a miss", ok, err)
			}
			if _, ok, err := s.Blob(d); ok || err != nil {
				t.Errorf("Blob = %v, %v, want a miss", ok, err)
			}
			if n := s.Notices(); len(n) != 1 || !strings.Contains(n[0], string(d)) {
				t.Errorf("Notices = %q, want one that names the blob", n)
			}
			if _, err := s.PutBlob(content); err != nil {
				t.Fatal(err)
			}
			if got, ok, err := s.Blob(d); !ok || err != nil || !bytes.Equal(got, content) {
				t.Errorf("Blob after PutBlob again = %d bytes, %v, %v", len(got), ok, err)
			}
		})
	}
}

// TestFileShrinksInUse cuts history.db short under an open store: reading its mapping then faults.
func TestFileShrinksInUse(t *testing.T) {
	p := newSample(t, 40)
	s, err := Open(ctx, p.dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(p.dir, historyFile), 2*pageSize); err != nil {
		t.Fatal(err)
	}
	failed := p.verify(s)
	if len(failed) == 0 {
		t.Error("nothing fails")
	}
	for _, err := range failed {
		wantDamaged(t, err)
	}
	if _, err := s.Commit(ctx, "s", 40, []Draft{insert("new", "", "x")}); !errors.Is(err, ErrDamaged) {
		t.Errorf("Commit = %v, want code %s", err, CodeDamaged)
	}
	s.Close()
}

func TestOwnPanicsGoOn(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	defer func() {
		if r := recover(); r != "ours" {
			t.Errorf("recover() = %v, want ours", r)
		}
	}()
	s.history.view(ctx, func(*bbolt.Tx) error { panic("ours") })
}

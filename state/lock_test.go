package state

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// inTransaction calls fn while another opening of the same store is in the middle of a write transaction.
func inTransaction(t *testing.T, dir string, fn func()) {
	t.Helper()
	s := checkedOpen(t, dir, Options{})
	begun, done, ended := make(chan bool), make(chan bool), make(chan error, 1)
	go func() {
		ended <- s.history.update(ctx, func(*bbolt.Tx) error { close(begun); <-done; return nil })
	}()
	<-begun
	fn()
	close(done)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestBusyNamesHolder(t *testing.T) {
	dir := storeDir(t)
	inTransaction(t, dir, func() {
		for _, o := range []Options{{Wait: -1}, {Wait: 30 * time.Millisecond}, {Wait: -1, ReadOnly: true}} {
			_, err := Open(ctx, dir, o)
			if CodeOf(err) != CodeBusy {
				t.Fatalf("Open(%+v) = %v, want code %s", o, err, CodeBusy)
			}
			if pid := "process " + itoa(os.Getpid()); !strings.Contains(err.Error(), pid) {
				t.Errorf("Open(%+v) = %q, want it to name %q", o, err, pid)
			}
		}
		done, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := Open(done, dir, Options{Wait: time.Hour}); !errors.Is(err, context.Canceled) {
			t.Errorf("Open = %v, want %v", err, context.Canceled)
		}
	})
}

// A reader that was stopped in the middle keeps a writer waiting, but not for ever.
func TestBusyNamesReader(t *testing.T) {
	dir := storeDir(t)
	s := checkedOpen(t, dir, Options{Wait: 30 * time.Millisecond})
	create(t, s, "s")
	f, err := os.Open(filepath.Join(dir, historyFile))
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := tryLock(f, false); !ok || err != nil {
		t.Fatalf("tryLock = %v, %v", ok, err)
	}
	if _, err := s.Commit(ctx, "s", 0, []Draft{insert("a", "", "x")}); CodeOf(err) != CodeBusy ||
		!strings.Contains(err.Error(), "process "+itoa(os.Getpid())) {
		t.Errorf("Commit = %v, want code %s and the process", err, CodeBusy)
	}
	if _, _, err := s.Head(ctx, "s"); err != nil {
		t.Errorf("Head: %v", err)
	}
	f.Close()
	commit(t, s, "s", insert("a", "", "x"))
}

// A step that one opening of a store commits is seen by the next call of another, which was open before.
func TestStepsAreSeen(t *testing.T) {
	dir := storeDir(t)
	a, b := checkedOpen(t, dir, Options{}), checkedOpen(t, dir, Options{})
	create(t, a, "s")
	r := checkedOpen(t, dir, Options{ReadOnly: true})
	for n := StepNumber(1); n <= 20; n += 2 {
		for i, s := range []*Store{a, b} {
			commit(t, s, "s", insert(BlockID("b"+itoa(int(n)+i)), "", string(noise(uint64(n), 50_000))))
		}
		for _, s := range []*Store{a, b, r} {
			program, err := s.ProgramAt(ctx, "s", n+1)
			if err != nil || len(program) != int(n)+1 {
				t.Fatalf("ProgramAt(%d) = %d blocks, %v", n+1, len(program), err)
			}
		}
	}
	if _, err := b.PutTrace(Trace{Code: "c", Marks: []string{"b"}}); err != nil {
		t.Fatal(err)
	}
	commit(t, b, "s", Draft{Kind: KindRun, Run: &RunSummary{}})
	if traces, err := a.Traces("c"); len(traces) != 1 || err != nil {
		t.Errorf("Traces = %v, %v, want the one of the other", traces, err)
	}
}

// Two processes that add traces of one code lose none, and keep the limit.
func TestTracesOfTwo(t *testing.T) {
	dir := storeDir(t)
	a, b := checkedOpen(t, dir, Options{}), checkedOpen(t, dir, Options{})
	for i := range maxTraces {
		for _, s := range []*Store{a, b} {
			if _, err := s.PutTrace(Trace{Code: "c", Marks: []string{fmt.Sprint(i, s == a)}}); err != nil {
				t.Fatal(err)
			}
			if i%5 == 0 {
				s.results.flush()
			}
		}
	}
	a.results.flush()
	b.results.flush()
	traces, err := checkedOpen(t, dir, Options{}).Traces("c")
	if err != nil || len(traces) != maxTraces {
		t.Fatalf("Traces = %d, %v, want %d", len(traces), err, maxTraces)
	}
	both := map[string]bool{}
	for _, trace := range traces {
		both[strings.Fields(trace.Marks[0])[1]] = true
	}
	if len(both) != 2 {
		t.Errorf("the traces kept are of %v, want both", both)
	}
}

func TestLockRun(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a/b", "c"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	s := checkedOpen(t, filepath.Join(root, ".xstate"), Options{Wait: -1})
	first, err := s.LockRun(ctx, "first", filepath.Join(root, "a"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		session, folder string
		free            bool
	}{
		{"first", "c", false}, {"second", "a", false}, {"second", "a/b", false}, {"second", "", false},
		{"second", "c", true},
	} {
		l, err := s.LockRun(ctx, test.session, filepath.Join(root, test.folder))
		if (err == nil) != test.free ||
			!test.free && (CodeOf(err) != CodeBusy || !strings.Contains(err.Error(), itoa(os.Getpid()))) {
			t.Errorf("LockRun(%s, %q) = %v, want it to be free: %v", test.session, test.folder, err, test.free)
		}
		if err == nil {
			l.Release()
		}
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := s.LockRun(ctx, "first", root)
	if err != nil {
		t.Fatal(err)
	}
	again.Release()
}

func init() { children["mix"] = mix }

// mix reads and writes a store that others use, too, until its input ends. It prints what it committed, a line each.
func mix(dir string, out io.Writer) error {
	dir, name, _ := strings.Cut(dir, "|")
	end := make(chan bool)
	go func() { io.Copy(io.Discard, os.Stdin); close(end) }()
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		select {
		case <-end:
			return s.Close()
		default:
		}
		session := name
		if i%4 == 0 {
			session = "all"
		}
		if err := mixOne(s, session, name, i, out); err != nil {
			return err
		}
	}
}

func mixOne(s *Store, session, name string, i int, out io.Writer) error {
	head, _, err := s.Head(ctx, session)
	if err != nil {
		return err
	}
	switch i % 3 {
	case 0:
		for range 50 {
			if _, err := s.ProgramAt(ctx, session, head); err != nil {
				return err
			}
		}
	case 1:
		if _, err := s.PutTrace(Trace{Code: "c", Marks: []string{name, itoa(i)}}); err != nil {
			return err
		}
		if _, err := s.PutBlob([]byte(name + itoa(i%10))); err != nil {
			return err
		}
		if _, err := s.Traces("c"); err != nil {
			return err
		}
		s.results.flush()
	}
	id := BlockID(name + "-" + itoa(i))
	steps, err := s.Commit(ctx, session, head, []Draft{insert(id, "", string(id))})
	var c *Conflict
	switch {
	case session == "all" && errors.As(err, &c) && len(c.Since) > 0:
	case err != nil:
		return err
	default:
		fmt.Fprintln(out, session, steps[0].Number, id)
	}
	return nil
}

// TestProcesses has four processes read and write one store, each a session of its own and one that they share. No
// step that was acknowledged is lost, and there is no error but the conflicts in the session that they share.
// XSTATE_MIX_TIME says for how long.
func TestProcesses(t *testing.T) {
	long := 2 * time.Second
	if text := os.Getenv("XSTATE_MIX_TIME"); text != "" {
		var err error
		if long, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	dir := storeDir(t)
	s := checkedOpen(t, dir, Options{})
	create(t, s, "all")
	var outs []*bufio.Scanner
	var ends []func() error
	for _, name := range []string{"a", "b", "c", "d"} {
		create(t, s, name)
		cmd := child("mix", dir+"|"+name)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(long, func() { in.Close() })
		outs, ends = append(outs, bufio.NewScanner(out)), append(ends, cmd.Wait)
	}
	lines := make(chan []string)
	for _, out := range outs {
		go func() {
			var all []string
			for out.Scan() {
				all = append(all, out.Text())
			}
			lines <- all
		}()
	}
	count := 0
	programs := map[string][]Block{}
	for range outs {
		for _, line := range <-lines {
			count++
			var session string
			var n StepNumber
			var id BlockID
			fmt.Sscan(line, &session, &n, &id)
			if programs[session] == nil {
				head, _, err := s.Head(ctx, session)
				if err == nil {
					programs[session], err = s.ProgramAt(ctx, session, head)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if step, err := s.Step(ctx, session, n); err != nil || step.Block != id {
				t.Errorf("step %d of %s is of block %s, %v; %s was acknowledged", n, session, step.Block, err, id)
			}
		}
	}
	for _, end := range ends {
		if err := end(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d steps in %v", count, long)
	if count < 20 {
		t.Errorf("%d steps, want more", count)
	}
}

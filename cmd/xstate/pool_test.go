package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
)

// inServer is a server in this process, whose calls a test makes directly.
type inServer struct {
	t       *testing.T
	server  *serve.Server
	folder  string
	environ []string
}

func newInServer(t *testing.T, o serve.Options) *inServer {
	t.Helper()
	return newInServerOf(t, o, func(s *serve.Server) serve.Doer { return commands{server: s} })
}

// newInServerOf is newInServer with another Doer.
func newInServerOf(t *testing.T, o serve.Options, doer func(*serve.Server) serve.Doer) *inServer {
	t.Helper()
	folder := t.TempDir()
	o.Dir = filepath.Join(folder, ".xstate")
	server, err := serve.Listen(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	environ := append(os.Environ(), "XSTATE_PYTHON="+plainPython(t))
	(&app{doer: doer}).answerHTTP(context.Background(), server, environ, true)
	done := make(chan error)
	go func() { done <- server.Serve(context.Background(), doer(server)) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	return &inServer{t, server, folder, environ}
}

// plainPython returns the interpreter to test with. It is no launcher, which changes the environment.
func plainPython(t *testing.T) string {
	t.Helper()
	if python := xstatetest.Pythons()[0]; python != "" {
		return python
	}
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (s *inServer) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.folder, name)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666))
	if err != nil {
		s.t.Fatal(err)
	}
}

// do carries out a call with more variables in its environment.
func (s *inServer) do(environ []string, args ...string) (exit int, out, errOut string) {
	var o, e bytes.Buffer
	exit = commands{server: s.server}.Do(s.t.Context(), serve.Call{
		Args: args, Folder: s.folder, Environ: append(append([]string(nil), s.environ...), environ...),
		Stdin: strings.NewReader(""), Stdout: &o, Stderr: &e,
	})
	return exit, o.String(), e.String()
}

// done is do for a call that succeeds.
func (s *inServer) done(environ []string, args ...string) string {
	s.t.Helper()
	exit, out, errOut := s.do(environ, args...)
	if exit != 0 {
		s.t.Errorf("%q = %d: %s%s", args, exit, out, errOut)
	}
	return out
}

var pid = regexp.MustCompile(`pid (\d+)`)

// TestWarm keeps an interpreter for as long as it serves.
func TestWarm(t *testing.T) {
	s := newInServer(t, serve.Options{})
	s.write("p.py", "import os\nprint('pid', os.getpid(), 'PWD', os.environ.get('PWD'), os.environ.get('COLOUR'))\n")
	run := func(environ ...string) string { return s.done(environ, "run", "p.py", "--fresh") }
	kernel := func(out string) string { return pid.FindString(out) }

	first := run("PWD=/one")
	if again := run("PWD=/one"); kernel(again) != kernel(first) {
		t.Errorf("a second run started another interpreter: %s, then %s", first, again)
	}
	moved := run("PWD=/two", "SHLVL=7")
	if kernel(moved) != kernel(first) || !strings.Contains(moved, "PWD /two") {
		t.Errorf("with another PWD: %s after %s, want the same interpreter with the new value", moved, first)
	}
	if out := s.done([]string{"PWD=/three"}, "run", "p.py"); !strings.Contains(out, "PWD /three") {
		t.Errorf("a run with another PWD printed %q, want the block to run again", out)
	}
	if other := run("PWD=/two", "COLOUR=red"); kernel(other) == kernel(first) || !strings.Contains(other, "red") {
		t.Errorf("with another COLOUR: %s after %s, want another interpreter", other, first)
	}
	before := run("PWD=/two", "COLOUR=red")
	s.write("edit.txt", "<<<<<<< SEARCH\nimport os\n=======\nimport os\nprint('new', end=' ')\n>>>>>>> REPLACE\n")
	patched := s.done([]string{"PWD=/two", "COLOUR=red"}, "patch", "p.py", "edit.txt", "--run")
	if !strings.Contains(patched, "new "+kernel(before)) {
		t.Errorf("patch --run = %s after %s, want the same interpreter", patched, before)
	}
	if err := errors.Join(os.Rename(filepath.Join(s.folder, "p.py"), filepath.Join(s.folder, "q.py")),
		os.Rename(filepath.Join(s.folder, "q.py"), filepath.Join(s.folder, "p.py"))); err != nil {
		t.Fatal(err)
	}
	if after := run("PWD=/two", "COLOUR=red"); kernel(after) != kernel(before) {
		t.Errorf("%s after %s, want the same interpreter", after, before)
	}
}

// TestOpenFiles finds on disk what a program wrote to a file that it left open.
func TestOpenFiles(t *testing.T) {
	s := newInServer(t, serve.Options{})
	s.write("p.py", "f = open('out.txt', 'w')\n# %%\nn = f.write('text')\n")
	s.done(nil, "run", "p.py")
	if data, err := os.ReadFile(filepath.Join(s.folder, "out.txt")); string(data) != "text" {
		t.Errorf("after the run out.txt holds %q, %v", data, err)
	}
}

// TestManySessions runs ten programs in ten folders at once, several times, and asks meanwhile.
func TestManySessions(t *testing.T) {
	s := newInServer(t, serve.Options{})
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			file := fmt.Sprintf("d%d/p.py", i)
			for round := range 4 {
				s.write(file, fmt.Sprintf(
					"xs = [%d]\n# %%%%\nxs.append(%d)\n# %%%%\nprint('sum', sum(xs))\n", i, round))
				out, want := s.done(nil, "run", file), fmt.Sprintf("sum %d\n", i+round)
				if !strings.Contains(out, want) {
					t.Errorf("round %d of %s printed %q, want %q", round, file, out, want)
				}
				s.done(nil, "log", file)
			}
		})
	}
	all.Wait()
	s.done(nil, "check")
}

// TestTurns has callers of one session wait in turn.
func TestTurns(t *testing.T) {
	s := newInServer(t, serve.Options{})
	s.write("p.py", "print('one')\n")
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 10 {
				s.done(nil, "run", "p.py", "--fresh", "--wait", "1h")
			}
		})
	}
	all.Wait()
	if out := s.done(nil, "log", "p.py", "--limit", "0"); strings.Count(out, "run") != 30 {
		t.Errorf("log = %s, want 30 runs", out)
	}
}

// TestInterruptByID interrupts a run while queries answer.
func TestInterruptByID(t *testing.T) {
	s := newInServer(t, serve.Options{})
	s.write("p.py", "x = 1\n# %%\nopen('began', 'w').close()\nwhile True: pass\n")
	ended := make(chan int)
	go func() {
		exit, _, _ := s.do(nil, "run", "p.py")
		ended <- exit
	}()
	await.Until(t, "the run began", func() bool {
		_, err := os.Stat(filepath.Join(s.folder, "began"))
		return err == nil
	})
	s.done(nil, "log", "p.py")
	exit, _, errOut := s.do(nil, "run", "p.py", "--wait", "0s")
	if exit != 3 || !strings.Contains(errOut, "is being run by") {
		t.Errorf("a second run = %d: %s, want 3", exit, errOut)
	}
	runs := s.server.Pool.Runs()
	if len(runs) != 1 || runs[0].Session != "p.py" {
		t.Fatalf("Runs = %+v, want the one", runs)
	}
	if status := s.done(nil, "serve", "--status"); !strings.Contains(status, "run "+runs[0].Run) {
		t.Errorf("status = %s, want run %s in it", status, runs[0].Run)
	}
	if s.server.Pool.Interrupt("none") || !s.server.Pool.Interrupt(runs[0].Run) {
		t.Error("Interrupt does not know the run, or knows one that there is not")
	}
	if exit := await.Receive(t, "the interrupted run ended", ended); exit != 1 {
		t.Errorf("the interrupted run = %d, want 1", exit)
	}
}

// TestMemoryBudget closes idle interpreters that take more than the budget, and their sessions go on.
func TestMemoryBudget(t *testing.T) {
	s := newInServer(t, serve.Options{Memory: 1})
	s.write("p.py", "x = 1\nprint(x)\n")
	s.done(nil, "run", "p.py")
	await.Until(t, "no interpreter is idle", func() bool { return len(s.server.Pool.Warm()) == 0 })
	s.done(nil, "run", "p.py", "--fresh")
}

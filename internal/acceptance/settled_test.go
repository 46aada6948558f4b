package acceptance

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

const settledProgram = `# %% read
import os, random
text = open("in.txt").read() + os.environ.get("WORD", "")

# %% write
open("out.txt", "w").write(text * 2)

# %% look
print(len(text), os.path.exists("flag"), random.random())
`

// settling is a session of a file in a folder.
type settling struct {
	*testing.T
	options xstate.SessionOptions
	store   *xstate.Store
	session *xstate.Session
	text    string
}

func newSettling(t *testing.T) *settling {
	s := &settling{
		T: t,
		options: xstate.SessionOptions{
			Workspace: t.TempDir(),
			Python:    xstatetest.Pythons()[0],
			Seed:      7,
			Environ:   os.Environ(),
		},
		text: settledProgram,
	}
	xstatetest.WriteFiles(t, s.options.Workspace, map[string][]byte{"in.txt": []byte("hello")})
	s.open()
	t.Cleanup(func() {
		s.close()
		xstatetest.OpenStore(t, s.path(xstate.StoreName)) // which checks it
	})
	return s
}

func (s *settling) path(name string) string { return filepath.Join(s.options.Workspace, name) }

func (s *settling) open() {
	s.Helper()
	var err error
	if s.store, err = xstate.Open(s.Context(), s.path(xstate.StoreName), xstate.Options{}); err == nil {
		s.session, err = s.store.Session(s.Context(), "prog", s.options)
	}
	if err != nil {
		s.Fatal(err)
	}
}

func (s *settling) close() {
	s.Helper()
	if err := errors.Join(s.session.Close(), s.store.Close()); err != nil {
		s.Error(err)
	}
}

func (s *settling) reopen() {
	s.Helper()
	s.close()
	s.open()
}

// run runs the file as the command does. It reports whether the run had nothing to do, and whether it executed
// anything.
func (s *settling) run() (settled bool, ran []string) {
	s.Helper()
	ctx, data := s.Context(), []byte(s.text)
	_, settled, err := s.session.RunIfChanged(ctx, "prog.py", data, xstate.Origin{})
	if err != nil {
		s.Fatal(err)
	}
	if settled {
		return true, nil
	}
	if _, err := s.session.LoadFile(ctx, "prog.py", data, xstate.Origin{}); err != nil {
		s.Fatal(err)
	}
	out, _, err := s.session.Run(ctx, runner.RunOptions{RestoreFiles: true}, xstate.Origin{})
	if err != nil {
		s.Fatal(err)
	}
	return false, xstatetest.RanBlocks(out)
}

// TestRunSettled settles a program, and changes one thing that a run rests on: then it must be walked, and what is
// affected run.
func TestRunSettled(t *testing.T) {
	write := func(name, text string) func(*settling) {
		return func(s *settling) {
			xstatetest.WriteFiles(s.T, s.options.Workspace, map[string][]byte{name: []byte(text)})
		}
	}
	must := func(s *settling, err error) {
		if err != nil {
			s.Fatal(err)
		}
	}
	tests := map[string]struct {
		change func(*settling)
		settle bool     // it is settled all the same
		ran    []string // else: what then runs
	}{
		"nothing":                {change: func(*settling) {}, settle: true},
		"a new process":          {change: (*settling).reopen, settle: true},
		"a file that none read":  {change: write("other.txt", "x"), settle: true},
		"the program":            {change: func(s *settling) { s.text += "\n# %% more\n1\n" }, ran: []string{"more"}},
		"an input":               {change: write("in.txt", "other"), ran: []string{"read", "write", "look"}},
		"a file that was absent": {change: write("flag", ""), ran: []string{"look"}},
		"an output is edited":    {change: write("out.txt", "edited"), ran: []string{}},
		"an output is gone": {
			change: func(s *settling) { must(s, os.Remove(s.path("out.txt"))) },
			ran:    []string{},
		},
		"an output is locked": {
			change: func(s *settling) { must(s, os.Chmod(s.path("out.txt"), 0o400)) },
			ran:    []string{},
		},
		"an output is linked": {
			change: func(s *settling) { must(s, os.Link(s.path("out.txt"), s.path("link"))) },
			ran:    []string{},
		},
		"the environment": {change: func(s *settling) {
			s.options.Environ = append(slices.Clone(s.options.Environ), "WORD=x")
			s.reopen()
		}, ran: []string{"read", "write", "look"}},
		"how it is observed": {change: func(s *settling) {
			s.options.Observe = "static"
			s.reopen()
		}, ran: []string{"read", "write", "look"}},
		"another edit": {change: func(s *settling) {
			_, err := s.session.Patch(s.Context(), "look", "print(1)", xstate.Origin{})
			must(s, err)
		}, ran: []string{}}, // the file takes it back
		"an edit that was taken back": {change: func(s *settling) {
			head, _, err := s.store.State().Head(s.Context(), s.session.Name())
			must(s, err)
			_, err = s.session.Patch(s.Context(), "look", "print(1)", xstate.Origin{})
			must(s, err)
			_, err = s.session.Rollback(s.Context(), head, xstate.Origin{})
			must(s, err)
		}, ran: []string{}},
		"results are freed": {change: func(s *settling) {
			_, err := s.store.State().Collect(s.Context(), state.CollectOptions{MaxBytes: 1})
			must(s, err)
		}, ran: []string{"read", "write", "look"}},
		"results are gone": {change: func(s *settling) {
			s.close()
			must(s, os.Remove(s.path(".xstate/results.db")))
			s.open()
		}, ran: []string{"read", "write", "look"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSettling(t)
			for i, want := range []bool{false, false, true} {
				if settled, _ := s.run(); settled != want {
					t.Fatalf("run %d: settled = %v, want %v", i, settled, want)
				}
			}
			test.change(s)
			settled, ran := s.run()
			if settled != test.settle || len(ran) != len(test.ran) || len(ran) > 0 && !slices.Equal(ran, test.ran) {
				t.Errorf("settled = %v, ran %v, want %v, %v", settled, ran, test.settle, test.ran)
			}
			data, err := os.ReadFile(s.path("in.txt"))
			must(s, err)
			word := ""
			if name == "the environment" {
				word = "x"
			}
			out, err := os.ReadFile(s.path("out.txt"))
			if want := string(data) + word + string(data) + word; name != "an output is edited" &&
				(err != nil || string(out) != want) {
				t.Errorf("out.txt = %q, %v, want %q", out, err, want)
			}
		})
	}
}

// TestSettledIsOfTheFile edits a program after its file was loaded: runs of that program say nothing of the file.
func TestSettledIsOfTheFile(t *testing.T) {
	s := newSettling(t)
	s.run()
	if _, err := s.session.Patch(t.Context(), "look", "print(1)", xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, _, err := s.session.Run(t.Context(), runner.RunOptions{}, xstate.Origin{}); err != nil {
			t.Fatal(err)
		}
	}
	if settled, _ := s.run(); settled {
		t.Error("the file is settled, though its program was edited")
	}
	for i, want := range []bool{false, true} { // that run took the edit back, which is a change of the block
		if settled, _ := s.run(); settled != want {
			t.Errorf("run %d: settled = %v, want %v", i, settled, want)
		}
	}
}

// TestNeverSettled has programs of which each run has something to do or to say.
func TestNeverSettled(t *testing.T) {
	for name, text := range map[string]string{
		"a failure":                "# %% a\n1 / 0\n",
		"a block that always runs": "# %% a\n# xstate: always\nprint(1)\n",
		"a syntax error":           "# %% a\n1 +\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSettling(t)
			s.text = text
			for i := range 4 {
				if settled, _ := s.run(); settled {
					t.Errorf("run %d had nothing to do", i)
				}
			}
		})
	}
}

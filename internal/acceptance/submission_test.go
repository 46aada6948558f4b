package acceptance

import (
	"path/filepath"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/state"
)

// submitter submits code to a session.
type submitter struct {
	*testing.T
	folder  string
	store   *xstate.Store
	session *xstate.Session
}

func newSubmitter(t *testing.T) *submitter {
	s := &submitter{T: t, folder: t.TempDir()}
	s.open()
	return s
}

func (s *submitter) open() {
	store, err := xstate.Open(s.Context(), filepath.Join(s.folder, xstate.StoreName), xstate.Options{})
	if err != nil {
		s.Fatal(err)
	}
	s.store = store
	s.Cleanup(func() { store.Close() })
	s.session = xstatetest.OpenSession(s.T, s.store,
		xstate.SessionOptions{Python: xstatetest.Pythons()[0], Seed: 7, Workspace: s.folder})
}

// exec submits code under an id, and returns what its last block printed.
func (s *submitter) exec(id, code string) (*xstate.ExecResult, string) {
	s.Helper()
	done, err := s.session.Exec(s.Context(), code, xstate.ExecOptions{Origin: xstate.Origin{CallID: id}})
	if err != nil {
		s.Fatal(err)
	}
	text := ""
	for _, b := range done.Outcome.Blocks {
		if b.ID == done.Block {
			for _, o := range b.Outputs {
				text += o.Text
			}
		}
	}
	return done, text
}

func (s *submitter) want(id, code, text string, repeated bool) {
	s.Helper()
	done, got := s.exec(id, code)
	if got != text || done.Repeated != repeated {
		s.Errorf("exec(%q, %q) = %q, repeated %t, want %q, %t", id, code, got, done.Repeated, text, repeated)
	}
}

// TestSubmittedTwice: a retry of a call is the same submission, also after a restart. It was executed each time.
func TestSubmittedTwice(t *testing.T) {
	s := newSubmitter(t)
	const count = "n += 1\nopen('log', 'a').write('x')\nprint(n)"
	s.want("c0", "n = 0", "", false)
	for i := range 3 {
		s.want("c1", count, "1\n", i > 0)
	}
	s.session.Close()
	s.store.Close()
	s.open()
	s.want("c1", count, "1\n", true)
	s.want("c2", count, "2\n", false)
	s.want("", count, "3\n", false)
	s.want("", count, "4\n", false)
	s.want("c1", "print(n)", "4\n", false) // other code under the id
	s.want("c2", count, "2\n", true)
	s.want("c3", "import time; t = time.time(); print('varies')", "varies\n", false)
	s.want("c3", "import time; t = time.time(); print('varies')", "varies\n", true)
	if _, log := s.exec("", "print(open('log').read())"); log != "xxxx\n" {
		t.Errorf("the code wrote %q, want four times x", log)
	}
}

// TestSubmittedAndReplaced: a late retry does not take back what replaced its code.
func TestSubmittedAndReplaced(t *testing.T) {
	s := newSubmitter(t)
	s.want("c1", "# %% a\nprint(1)", "1\n", false)
	s.want("c2", "# %% a\nprint(2)", "2\n", false)
	_, err := s.session.Exec(t.Context(), "# %% a\nprint(1)",
		xstate.ExecOptions{Origin: xstate.Origin{CallID: "c1"}})
	if state.CodeOf(err) != state.CodeConflict {
		t.Errorf("the retry: %v, want %s", err, state.CodeConflict)
	}
	s.want("c2", "# %% a\nprint(2)", "2\n", true)
}

// TestSubmittedRecalled: nothing runs where the caller has the result.
func TestSubmittedRecalled(t *testing.T) {
	s := newSubmitter(t)
	first, _ := s.exec("c1", "print(1)")
	o := xstate.ExecOptions{Origin: xstate.Origin{CallID: "c1"},
		Recall: func(submission string) bool { return submission == first.Submission }}
	done, err := s.session.Exec(t.Context(), "print(1)", o)
	if err != nil || !done.Repeated || done.Outcome != nil || done.Block != first.Block {
		t.Errorf("%+v, %v", done, err)
	}
}

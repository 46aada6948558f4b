package suite

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/runner/basestate"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/runner/sandbox/secret"
	"github.com/xstate-engine/xstate/state"
)

// A Suite runs the tests of a workspace whose traces are not valid, and no others. It is not safe for concurrent use.
type Suite struct {
	cfg       Config
	baseState *basestate.State
	environ   map[string]string
	sources   map[string]*source // by path, as they are now
	reads     map[state.Digest]*groupReads
	done      map[string]*TestOutcome // by id
	order     []string                // ids, as they were collected last
	conf      state.Digest            // pytest's configuration
	python    string                  // the identity of the interpreter in keys
	forced    map[string]state.Reason // tests that run even if a trace is valid
}

// Config configures a Suite.
type Config struct {
	Store     *state.Store
	Workspace string // absolute
	Language  kernel.Language
	Environ   []string
	Bounds    *sandbox.Bounds // enforced by the system; nil: the tests may do what the user may
	Secrets   *secret.Set     // no report of a test has one
}

// Options configures a run of tests. The zero value is the usual choice.
type Options struct {
	Paths   []string      // where to look for tests, as pytest takes them; none means where pytest looks by itself
	Choose  []string      // arguments of pytest that only choose among the tests: -k EXPR, -m EXPR
	Args    []string      // other arguments of pytest; results are reused only under the same
	All     bool          // run every test
	Lines   bool          // also observe which lines they execute
	Plan    bool          // run none
	Timeout time.Duration // for one test; 0 means none
	OnTest  func(*TestOutcome)
	OnTalk  func(string)
}

// TestStatus is what a run did with a test.
type TestStatus string

const (
	TestReused TestStatus = "reused"
	TestRan    TestStatus = "ran"
	TestWould  TestStatus = "would-run" // in a plan
)

// TestOutcome is the outcome of a test.
type TestOutcome struct {
	ID      string
	Kind    string // pytest, function (run without it), unittest or doctest
	Status  TestStatus
	Reason  state.Reason
	Outcome string // passed, failed, error, skipped, xfailed, xpassed, crashed or time-out; "" of one that would run
	Message string // the last line of the report of one that failed, why one was skipped
	Text    string // the report of one that failed and ran
	Seconds float64
	At      time.Time
	Marks   []string
	Parts   []CodePart
	Trace   state.Digest

	before []string           // state that it left changed in its last run
	held   *state.StoredTrace // a valid trace in spite of which it ran
}

// CodePart is a function, or the level of a module where Name is "", in the version that a test executed.
type CodePart struct {
	File     string // relative to the workspace
	Name     string
	Version  state.Digest
	From, To int    // lines now; 0 where that version no longer exists
	Lines    string // that were executed, as ranges counted from From: "0-3,5"; "" where none were observed

	Content state.Digest // the digest of the whole file then; "" if that version no longer exists
}

// Outcome is the outcome of a run of tests.
type Outcome struct {
	Tests   []*TestOutcome // in the order in which they were collected
	Runner  string         // "pytest 8.3.4", "unittest" without pytest
	Seconds float64        // spent in tests
	Saved   float64        // recorded cost of the reused
	Stopped error          // why it ended early; nil when it did not
}

// CodeNoTests is the code of errors about tests that cannot be collected.
const CodeNoTests state.Code = "no-tests"

// New returns a suite. It starts no interpreter until it runs.
func New(cfg Config) (*Suite, error) {
	workspace, err := filepath.EvalSymlinks(cfg.Workspace)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	cfg.Workspace = workspace
	environ := map[string]string{"PYTHONHASHSEED": "0"}
	for _, line := range cfg.Environ {
		if name, value, ok := strings.Cut(line, "="); ok && name != "" && !strings.HasPrefix(name, "XSTATE_") {
			environ[name] = value
		}
	}
	w := basestate.New(basestate.Options{Store: cfg.Store, Workspace: workspace, Environ: environ,
		Secret: cfg.Secrets.Digest})
	return &Suite{cfg: cfg, baseState: w, environ: environ, python: cfg.Language.Identity(environ),
		sources: map[string]*source{}, reads: map[state.Digest]*groupReads{}, done: map[string]*TestOutcome{},
		forced: map[string]state.Reason{}}, nil
}

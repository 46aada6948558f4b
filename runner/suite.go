package runner

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/basestate"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// A Suite runs the tests of a workspace whose traces are not valid, and no others. It is not safe for concurrent use.
//
// A test of a file is a node of another kind. Nouns: a unit is a function, or the level of a module (all but the bodies
// of functions). A phase is a stretch of execution that is observed by itself: the import of a module, the set-up of a
// fixture, the collection of a file, a test. A group is what a phase read that several tests depend on, kept once and
// named by its content. A trace of a test names the units that it executed, what it read, and groups: those of its
// file, of its fixtures, and of the modules that it used and what these import.
//
// The invariant: a test whose trace is valid would, executed now after those before it, execute the same code on the
// same inputs. The argument is by induction over what it executes. The first difference would be one of these:
//
//   - the text of a function that it enters: its unit;
//   - the function that a name leads to: what binds names stands at the level of a module, or in an executed unit;
//   - a value that an import made (the group of that module) or a fixture (its group);
//   - an input: a read.
//
// State that an earlier test left is an input. What a test leaves changed is found by comparison. A test that reads it
// comes after that test, and is valid as long as that test's trace is the same. A function that is called and not
// entered is a generator, so whether a function is one belongs to the place that defines it.
//
// Why the simple ways fail:
//
//   - Executed lines, by file: an edit above moves them.
//   - Functions by name: the body of another may be found under it.
//   - Modules that the test's file imports: a module that it does not import may fill a registry, so modules that are
//     not quiet belong to all tests.
//   - A trace by time alone: fixtures of wider scope execute during the first test that requests them, and end after
//     the last. It blames these two.
//   - sys.monitoring with its events restarted for each test instruments the whole interpreter anew.
//
// Which tests there are is a result, too (see collection). While that is valid, the decision which tests run needs no
// interpreter, and a run of none starts none.
//
// What it costs: reports of tests are sent in bunches. A test that read files is sent at once, and the next test waits
// until the engine looked at them, for it may write to them. A note in shared memory says which test is under way.
// Where the process dies, what it had not sent is lost, and those tests run again. Only functions that were hit are
// armed again, one by one. Fixtures that execute nothing are not reported.
//
// Failures. A test that ends its interpreter is crashed, one past its time is stopped, and the rest goes on in a new
// process. A file that cannot be collected is an error in its place. A test that fails is kept, so that no older
// success counts. It is never reused, for its report cites lines, and it may fail by chance. A group that was lost is a
// miss. What cannot be compared (clock, network, other processes) marks the test, and it runs every time. The kernel's
// suite.py says what is observed, and how.
type Suite struct {
	cfg       SuiteConfig
	baseState *basestate.State
	environ   map[string]string
	sources   map[string]*source // by path, as they are now
	reads     map[state.Digest]*groupReads
	done      map[string]*TestOutcome // by id
	order     []string                // ids, as they were collected last
	conf      state.Digest            // of the configuration of pytest
	python    string                  // the identity of the interpreter in keys
	forced    map[string]state.Reason // tests that run even if a trace is valid
}

// SuiteConfig is what a Suite works with.
type SuiteConfig struct {
	Store     *state.Store
	Workspace string // absolute
	Language  kernel.Language
	Environ   []string
}

// SuiteOptions are the choices of a run of tests. The zero value is the usual one.
type SuiteOptions struct {
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
	TestWould  TestStatus = "would-run" // of a plan
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

	before []string           // what it left changed in its last run
	held   *state.StoredTrace // a valid trace in spite of which it ran
}

// CodePart is a function, or the level of a module where Name is "", in the version that a test executed.
type CodePart struct {
	File     string // relative to the workspace
	Name     string
	Version  state.Digest
	From, To int    // lines now; 0 where that version no longer exists
	Lines    string // that were executed, as ranges counted from From: "0-3,5"; "" where none were observed

	Content state.Digest // of the whole file then; "" where that version no longer exists
}

// SuiteOutcome is the outcome of a run of tests.
type SuiteOutcome struct {
	Tests   []*TestOutcome // in the order in which they were collected
	Runner  string         // "pytest 8.3.4", "unittest" where there is no pytest
	Seconds float64        // spent in tests
	Saved   float64        // recorded cost of the reused
	Stopped error          // why it ended early; nil when it did not
}

// CodeNoTests is the code of errors about tests that cannot be collected.
const CodeNoTests state.Code = "no-tests"

// NewSuite returns a suite. It starts no interpreter until it runs.
func NewSuite(cfg SuiteConfig) (*Suite, error) {
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
	w := basestate.New(basestate.Options{Store: cfg.Store, Workspace: workspace, Environ: environ})
	return &Suite{cfg: cfg, baseState: w, environ: environ, python: cfg.Language.Identity(environ),
		sources: map[string]*source{}, reads: map[state.Digest]*groupReads{}, done: map[string]*TestOutcome{},
		forced: map[string]state.Reason{}}, nil
}

// maxCrashes bounds how many tests may end their interpreter.
const maxCrashes = 100

// Run collects the tests, and runs those that have no valid trace.
func (s *Suite) Run(ctx context.Context, o SuiteOptions) (*SuiteOutcome, error) {
	out := &SuiteOutcome{}
	again, err := s.changed(o, out)
	if err != nil {
		return nil, err
	}
	for crashes := 0; again; crashes++ {
		s.baseState.Begin()
		clear(s.sources) // each process reads the files again
		clear(s.reads)
		p := newSuiteProcess(s, o, out)
		died, err := p.run(ctx)
		switch {
		case ctx.Err() != nil:
			out.Stopped = ctx.Err()
			again = false
		case err != nil:
			return nil, err
		default:
			again = died && crashes < maxCrashes || !died && p.follow()
		}
	}
	for _, id := range s.order {
		if t := s.done[id]; t != nil {
			out.Tests = append(out.Tests, t)
			if t.Status == TestReused {
				out.Saved += t.Seconds
			} else if t.Status == TestRan {
				out.Seconds += t.Seconds
			}
		}
	}
	return out, nil
}

// suiteProcess is one interpreter that runs tests.
type suiteProcess struct {
	s   *Suite
	o   SuiteOptions
	out *SuiteOutcome
	k   *kernel.Process

	units  []CodePart         // by number
	levels map[int]statements // of modules, by number: the statements that their import executed
	begins map[int][]int      // of units, by number: where their statements begin

	imported map[depgraph.Key]string // levels, as they are stored
	packages map[string]string       // of source files that it executed, by path
	groups   map[int]*report
	items    []item
	errors   []collectError
	started  bool // the collection is known
	ended    map[int]*report
	timer    *time.Timer
	slow     bool // it was stopped at the time-out
	done     bool
}

type item struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
}

type collectError struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// suiteEvent is any frame of the driver.
type suiteEvent struct {
	Ev            string         `json:"ev"`
	Runner        string         `json:"runner"`
	Path          string         `json:"path"`
	Digest        state.Digest   `json:"digest"`
	Package       string         `json:"package"`
	N             int            `json:"n"`
	Items         []item         `json:"items"`
	Errors        []collectError `json:"errors"`
	Configuration state.Digest   `json:"configuration"`
	Code          int            `json:"code"`
	Text          string         `json:"text"`
	Sync          bool           `json:"sync"` // the driver waits until the engine looked at what the frame reports

	// Of the collection: what it depends on beside groups, see collection.
	Repeatable bool     `json:"repeatable"`
	Looked     []string `json:"looked"`
	Listed     []string `json:"listed"`
	Folders    []string `json:"folders"`

	Events []json.RawMessage `json:"events"` // of a bunch
}

func newSuiteProcess(s *Suite, o SuiteOptions, out *SuiteOutcome) *suiteProcess {
	return &suiteProcess{
		s:        s,
		o:        o,
		out:      out,
		groups:   map[int]*report{},
		levels:   map[int]statements{},
		begins:   map[int][]int{},
		packages: map[string]string{},
	}
}

// run starts the process and serves it until it ends. It reports whether a test ended the process.
func (p *suiteProcess) run(ctx context.Context) (died bool, err error) {
	s := p.s
	store, err := filepath.Abs(s.cfg.Store.Dir())
	if err != nil {
		return false, err
	}
	spool, err := os.MkdirTemp(store, "spool-tests-")
	if err != nil {
		return false, fmt.Errorf("make a folder for what the tests print: %w", err)
	}
	defer os.RemoveAll(spool)
	var environ []string
	for _, name := range slices.Sorted(maps.Keys(s.environ)) {
		environ = append(environ, name+"="+s.environ[name])
	}
	p.ended = map[int]*report{}
	options := map[string]any{
		"folder": s.cfg.Workspace, "store": store, "spool": spool, "paths": p.o.Paths,
		"args": slices.Concat(p.o.Args, p.o.Choose, p.o.Paths), "timed": p.o.Timeout > 0, "lines": p.o.Lines,
	}
	launch := kernel.TestLaunch{
		Driver: s.cfg.Store.Dir(), Environ: environ, Folder: s.cfg.Workspace, Spool: spool, Options: options,
	}
	p.k, err = s.cfg.Language.StartTests(ctx, launch)
	if err != nil {
		return false, err
	}
	defer p.k.Close()
	stop := context.AfterFunc(ctx, p.k.Kill)
	defer stop()
	stopped := make(chan struct{})
	defer close(stopped)
	go p.k.Watch(200*time.Millisecond, stopped)
	err = p.serve()
	if p.timer != nil {
		p.timer.Stop()
	}
	if !p.started || err != nil && !errors.Is(err, kernel.ErrDied) {
		if err == nil || errors.Is(err, kernel.ErrDied) {
			err = p.notCollected()
		}
		return false, err
	}
	if err != nil {
		if died, err = p.lost(filepath.Join(spool, "now")); err != nil {
			return false, err
		}
	}
	return died, p.record()
}

// serve answers the process until it is done or has died.
func (p *suiteProcess) serve() error {
	for !p.done {
		text, err := p.k.Receive()
		if err != nil {
			return err
		}
		if err := p.event(text); err != nil {
			return err
		}
	}
	return nil
}

func (p *suiteProcess) event(text json.RawMessage) error {
	var e suiteEvent
	if err := json.Unmarshal(text, &e); err != nil {
		return fmt.Errorf("read a report of the tests: %w", err)
	}
	switch e.Ev {
	case "bunch":
		for _, text := range e.Events {
			if err := p.event(text); err != nil {
				return err
			}
		}
	case "cut":
		return p.cut(&e)
	case "group":
		r, err := p.report(text)
		p.groups[e.N] = r
		return p.looked(&e, err)
	case "collected":
		p.items, p.errors, p.started = e.Items, e.Errors, true
		p.s.conf, p.out.Runner = e.Configuration, e.Runner
		if err := p.keepCollection(&e); err != nil {
			return err
		}
		run, err := p.choose()
		if err != nil {
			return err
		}
		return p.k.Send(map[string]any{"run": run})
	case "begin":
		p.timer = time.AfterFunc(p.o.Timeout, func() { p.slow = true; p.k.Kill() })
	case "end":
		if p.timer != nil && !p.timer.Stop() {
			return nil // the time-out stops it
		}
		r, err := p.report(text)
		p.ended[e.N] = r
		if err == nil {
			p.tell(e.N)
		}
		return p.looked(&e, err)
	case "talk":
		if p.o.OnTalk != nil {
			p.o.OnTalk(e.Text)
		}
	case "done":
		p.done = true
	}
	return nil
}

// looked answers the process, where it waits until the engine looked at files.
func (p *suiteProcess) looked(e *suiteEvent, err error) error {
	if err == nil && e.Sync {
		return p.k.Send(struct{}{})
	}
	return err
}

// tell reports a test as it ends.
func (p *suiteProcess) tell(n int) {
	t, r := p.s.done[p.items[n].ID], p.ended[n]
	t.Status, t.Outcome, t.Message, t.Text = TestRan, r.Outcome, r.Message, r.Text
	t.Seconds, t.Marks, t.At = r.Seconds, r.Marks, time.Now().UTC()
	if p.o.OnTest != nil {
		p.o.OnTest(t)
	}
}

// lost finds the test that ended the process, and reports whether there is one. note is the file where the process left
// the number of the test that it began last.
func (p *suiteProcess) lost(note string) (bool, error) {
	text, err := os.ReadFile(note)
	n, bad := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || bad != nil || n >= len(p.items) {
		return false, nil
	}
	if p.ended[n] != nil {
		return false, nil
	}
	t := p.s.done[p.items[n].ID]
	t.Status, t.Outcome, t.At = TestRan, "crashed", time.Now().UTC()
	t.Message = "the interpreter died: " + p.k.Exit()
	if p.slow {
		t.Outcome, t.Seconds = "time-out", p.o.Timeout.Seconds()
		t.Message = fmt.Sprintf("stopped after %s", p.o.Timeout)
	}
	t.Text = p.printed()
	if t.held != nil { // an older success must not count any more
		bad := t.held.Trace
		bad.At, bad.Writes = t.At, []state.Access{{Key: keyOutcome, Digest: state.DigestOf([]byte(t.Outcome))}}
		if _, err := p.s.cfg.Store.PutTrace(bad); err != nil {
			return false, err
		}
	}
	if p.o.OnTest != nil {
		p.o.OnTest(t)
	}
	return true, nil
}

// printed returns the end of what the process printed.
func (p *suiteProcess) printed() string {
	var b strings.Builder
	for _, o := range p.k.Unsent(nil) {
		b.WriteString(o.Text[max(0, len(o.Text)-4000):])
	}
	return b.String()
}

func (p *suiteProcess) notCollected() error {
	said, last := "", ""
	for line := range strings.SplitSeq(p.printed(), "\n") {
		if text := strings.TrimSpace(line); text != "" && !strings.HasPrefix(text, "===") {
			last = text
		}
		if _, told, ok := strings.Cut(line, "rror: "); ok { // "pytest: error: unrecognized arguments"
			said = told
		} else if told, ok := strings.CutPrefix(line, "ERROR: "); ok && !strings.HasPrefix(told, "usage: ") {
			said = told
		}
	}
	said = cmp.Or(said, last)
	return &state.Error{
		Code:    CodeNoTests,
		Message: "the tests could not be collected: " + said,
		Hint:    "try it by hand: python -m pytest --collect-only",
	}
}

// cut serves the process, which is about to execute a source file. It sends the units of the file if it has them, and
// receives them otherwise.
func (p *suiteProcess) cut(e *suiteEvent) error {
	src, err := p.cutWith(e.Digest, e.Package, func(known *source) error { return p.k.Send(known) })
	if err != nil {
		return err
	}
	name := p.s.baseState.Short(e.Path)
	p.s.sources[name], p.packages[name] = src, e.Package
	for _, unit := range slices.Sorted(maps.Keys(src.Units)) {
		p.units = append(p.units, src.part(name, unit))
	}
	return nil
}

func (p *suiteProcess) cutWith(digest state.Digest, pkg string, ask func(*source) error) (src *source, err error) {
	defer func() {
		if err == nil {
			src.content = digest
		}
	}()
	if src = p.s.units(digest, pkg); src != nil {
		return src, ask(src)
	}
	src = &source{}
	if err := ask(&source{}); err != nil {
		return nil, err
	}
	text, err := p.k.Receive()
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, src); err != nil {
		return nil, fmt.Errorf("units of a source: %w", err)
	}
	var kept bytes.Buffer
	if err := json.NewEncoder(&kept).Encode(src); err != nil {
		return nil, err
	}
	_ = p.s.cfg.Store.PutMemo("units", p.s.unitsKey(digest, pkg), kept.Bytes()) // a failed write costs time only
	return src, nil
}

func (s *Suite) unitsKey(digest state.Digest, pkg string) string {
	return fmt.Sprintf("%s %s %s %q", s.cfg.Language.Semantics(), s.python, digest, pkg)
}

// units returns the units of a text of a module in pkg, or nil where the cache has none.
func (s *Suite) units(digest state.Digest, pkg string) *source {
	src := &source{content: digest}
	if data, ok := s.cfg.Store.Memo("units", s.unitsKey(digest, pkg)); ok && json.Unmarshal(data, src) == nil &&
		src.Units != nil {
		return src
	}
	return nil
}

// source is a file cut into units, see kernel/python/xstate_kernel/units.py.
type source struct {
	Units   map[string]unitOf   `json:"units"`
	Imports map[string][]string `json:"imports"`
	Quiet   bool                `json:"quiet"`

	content state.Digest // of the file
}

func (s *source) part(file, unit string) CodePart {
	u := s.Units[unit]
	return CodePart{File: file, Name: unit, Version: u.Digest, From: u.From, To: u.To, Content: s.content}
}

// unitOf is written as a list: digest, first line, last line, lines of its statements.
type unitOf struct {
	Digest   state.Digest
	From, To int
	Starts   string // numbers in order, counted from From
}

func (u *unitOf) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&u.Digest, &u.From, &u.To, &u.Starts})
}

func (u unitOf) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{u.Digest, u.From, u.To, u.Starts})
}

// key returns the key of the part.
func (c CodePart) key() depgraph.Key {
	if c.Name == "" {
		return depgraph.Key("code:" + c.File)
	}
	return depgraph.Key("code:" + c.File + "::" + c.Name)
}

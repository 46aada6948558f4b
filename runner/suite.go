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
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// Suite runs the tests of a workspace, those alone whose traces do not hold. It is not safe for concurrent use.
type Suite struct {
	cfg     SuiteConfig
	world   *world
	environ map[string]string
	sources map[string]*source // by path, as they are now
	reads   map[state.Digest]*heldReads
	done    map[string]*TestOutcome // by id
	order   []string                // ids, as they were collected last
	conf    state.Digest            // of what pytest was told
	python  string                  // the interpreter, as it is part of keys
	forced  map[string]state.Reason // tests to run whatever their traces say
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
	Paths   []string      // where to look for tests, as pytest takes them; none: where pytest looks by itself
	Choose  []string      // arguments of pytest that only choose among the tests: -k EXPR, -m EXPR
	Args    []string      // other arguments of pytest. Results are reused under the same alone
	All     bool          // run every test
	Lines   bool          // observe which lines they execute, too
	Plan    bool          // run none
	Timeout time.Duration // for one test; 0 means none
	OnTest  func(*TestOutcome)
	OnTalk  func(string)
}

// TestStatus is what a run did about a test.
type TestStatus string

const (
	TestReused TestStatus = "reused"
	TestRan    TestStatus = "ran"
	TestWould  TestStatus = "would-run" // of a plan
)

// TestOutcome is what became of a test.
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

	before []string           // what it left changed when it ran last
	held   *state.StoredTrace // that it ran in spite of
}

// CodePart is a function, or the level of a module where Name is "", in the version that a test executed.
type CodePart struct {
	File     string // relative to the workspace
	Name     string
	Version  state.Digest
	From, To int    // lines now; 0 where that version is no more
	Lines    string // that were executed, as ranges counted from From: "0-3,5"; "" where they were not observed, or that version is no more

	Content state.Digest // of the whole file then; "" where that version is no more
}

// SuiteOutcome is what became of a run of tests.
type SuiteOutcome struct {
	Tests   []*TestOutcome // in the order in which they were collected
	Runner  string         // "pytest 8.3.4", "unittest" where there is no pytest
	Seconds float64        // spent in tests
	Saved   float64        // recorded cost of the reused
	Stopped error          // why it ended early; nil when it did not
}

// CodeNoTests is the code of errors about tests that cannot be collected.
const CodeNoTests state.Code = "no-tests"

// NewSuite returns a suite. No interpreter is started until it runs.
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
	w := newWorld(Config{Store: cfg.Store}, workspace, environ, nil)
	return &Suite{cfg: cfg, world: w, environ: environ, python: cfg.Language.Identity(environ),
		sources: map[string]*source{}, reads: map[state.Digest]*heldReads{}, done: map[string]*TestOutcome{}, forced: map[string]state.Reason{}}, nil
}

// maxCrashes bounds how many tests may take their interpreter with them.
const maxCrashes = 100

// Run collects the tests, and runs those whose results do not hold.
func (s *Suite) Run(ctx context.Context, o SuiteOptions) (*SuiteOutcome, error) {
	out := &SuiteOutcome{}
	again, err := s.changed(o, out)
	if err != nil {
		return nil, err
	}
	for crashes := 0; again; crashes++ {
		s.world.begin()
		clear(s.sources) // the files are read anew by each process
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
	levels map[int]statements // of modules, by number: what of them was executed when they were imported
	begins map[int][]int      // of units, by number: where their statements do

	imported map[depgraph.Key]string // levels, as they are kept
	packages map[string]string       // of source files that it executed, by path
	groups   map[int]*report
	items    []item
	errors   []collectError
	started  bool // what was collected is known
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

// suiteEvent is any frame of the driver's.
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
	Sync          bool           `json:"sync"` // it waits until what it told of was looked at

	// Of what is collected: what it rests on beside groups, see collection.
	Repeatable bool     `json:"repeatable"`
	Looked     []string `json:"looked"`
	Listed     []string `json:"listed"`
	Folders    []string `json:"folders"`

	Events []json.RawMessage `json:"events"` // of a bunch
}

func newSuiteProcess(s *Suite, o SuiteOptions, out *SuiteOutcome) *suiteProcess {
	return &suiteProcess{s: s, o: o, out: out, groups: map[int]*report{}, levels: map[int]statements{}, begins: map[int][]int{}, packages: map[string]string{}}
}

// run starts the process and serves it until it ends. It reports whether a test took the process with it.
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
	p.k, err = s.cfg.Language.StartTests(ctx, kernel.TestLaunch{Driver: s.cfg.Store.Dir(), Environ: environ, Folder: s.cfg.Workspace, Spool: spool, Options: map[string]any{
		"folder": s.cfg.Workspace, "store": store, "spool": spool, "paths": p.o.Paths, "args": slices.Concat(p.o.Args, p.o.Choose, p.o.Paths), "timed": p.o.Timeout > 0, "lines": p.o.Lines}})
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

// serve answers the process until it is done, or gone.
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
		return fmt.Errorf("what the tests tell: %w", err)
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
			return nil // it is being stopped
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

// looked says so, where the process waits for it.
func (p *suiteProcess) looked(e *suiteEvent, err error) error {
	if err == nil && e.Sync {
		return p.k.Send(struct{}{})
	}
	return err
}

// tell tells of a test that ended, as it ends.
func (p *suiteProcess) tell(n int) {
	t, r := p.s.done[p.items[n].ID], p.ended[n]
	t.Status, t.Outcome, t.Message, t.Text, t.Seconds, t.Marks, t.At = TestRan, r.Outcome, r.Message, r.Text, r.Seconds, r.Marks, time.Now().UTC()
	if p.o.OnTest != nil {
		p.o.OnTest(t)
	}
}

// lost finds the test that took the process with it, and reports whether there is one, or others that ended untold. note is where the
// process left the number of the one that it began last.
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
		t.Outcome, t.Message, t.Seconds = "time-out", fmt.Sprintf("stopped after %s", p.o.Timeout), p.o.Timeout.Seconds()
	}
	t.Text = p.printed()
	if t.held != nil { // an older success counts no more
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

// printed is the end of what the process printed.
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
	return &state.Error{Code: CodeNoTests, Message: "the tests could not be collected: " + said, Hint: "try it by hand: python -m pytest --collect-only"}
}

// cut answers the process, which is about to execute a source file, with what is known of it, or learns that from it.
func (p *suiteProcess) cut(e *suiteEvent) error {
	src, err := p.cutWith(e.Digest, e.Package, func(known *source) error { return p.k.Send(known) })
	if err != nil {
		return err
	}
	name := p.s.world.short(e.Path)
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
	_ = p.s.cfg.Store.PutMemo("units", p.s.unitsKey(digest, pkg), kept.Bytes()) // only a cache
	return src, nil
}

func (s *Suite) unitsKey(digest state.Digest, pkg string) string {
	return fmt.Sprintf("%s %s %s %q", s.cfg.Language.Semantics(), s.python, digest, pkg)
}

// units returns how a text of a module in pkg is cut, nil where that is not known.
func (s *Suite) units(digest state.Digest, pkg string) *source {
	src := &source{content: digest}
	if data, ok := s.cfg.Store.Memo("units", s.unitsKey(digest, pkg)); ok && json.Unmarshal(data, src) == nil && src.Units != nil {
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

// key names the part of the code.
func (c CodePart) key() depgraph.Key {
	if c.Name == "" {
		return depgraph.Key("code:" + c.File)
	}
	return depgraph.Key("code:" + c.File + "::" + c.Name)
}

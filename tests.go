package xstate

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// TestOptions are the choices of Test. The zero value runs what must run of all tests that are found.
type TestOptions struct {
	Paths   []string  // files, folders and ids of tests, as pytest takes them, relative to the workspace
	Blocks  []BlockID // whose tests to run. With neither paths nor blocks: all there are
	Choose  []string  // arguments of pytest that only choose among the tests: -k EXPR, -m EXPR
	Args    []string  // other arguments of pytest. Results are reused under the same alone
	All     bool      // run every test
	Lines   bool      // observe which lines they execute, too: those of which that is not known run; of tests in blocks from CPython 3.12 on
	Plan    bool      // run none, and record nothing
	Timeout time.Duration
	OnTest  func(*TestResult)
	OnTalk  func(string)
}

// TestResult is what became of a test.
type TestResult struct {
	query.Check
	Status runner.TestStatus `json:"status"`
	Reason state.Reason      `json:"reason"`
	Text   string            `json:"text,omitempty"` // the report of one that failed
}

// TestReport is what became of the tests.
type TestReport struct {
	Step    StepNumber   `json:"step,omitempty"`   // that records it; 0 where there is nothing new to record
	Runner  string       `json:"runner,omitempty"` // "pytest 8.3.4", "unittest"
	Ran     int          `json:"ran"`              // of a plan: that would run
	Reused  int          `json:"reused"`
	Failed  int          `json:"failed"`
	Seconds float64      `json:"seconds"`
	Saved   float64      `json:"saved_seconds"` // recorded cost of what was reused
	Tests   []TestResult `json:"tests"`         // in the order in which they were collected
	Stopped error        `json:"-"`
}

// Test runs the tests of the workspace and of the program's blocks, those alone that executed or read something that is not what it
// was. See package runner for what a test rests on, and how its tests are told apart from a block's nodes.
func (s *Session) Test(ctx context.Context, o TestOptions, origin Origin) (*TestReport, error) {
	release, err := s.Hold(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	found := &TestReport{Tests: []TestResult{}}
	if len(o.Paths) > 0 || len(o.Blocks) == 0 {
		if err := s.testFiles(ctx, o, found); err != nil {
			return nil, err
		}
	}
	if found.Stopped == nil && (len(o.Blocks) > 0 || len(o.Paths) == 0) {
		if err := s.testBlocks(ctx, o, found); err != nil {
			return nil, err
		}
	}
	for _, t := range found.Tests {
		if t.Status == runner.TestReused {
			found.Reused++
			found.Saved += t.Seconds
		} else {
			found.Ran++
		}
		if t.Status == runner.TestRan {
			found.Seconds += t.Seconds
		}
		if t.Outcome.Bad() {
			found.Failed++
		}
	}
	if o.Plan {
		return found, nil
	}
	whole := len(o.Paths)+len(o.Blocks)+len(o.Choose) == 0 && found.Stopped == nil
	return found, s.recordTests(context.WithoutCancel(ctx), found, whole, origin)
}

func (s *Session) testFiles(ctx context.Context, o TestOptions, found *TestReport) error {
	cfg, err := s.config(ctx)
	if err != nil {
		return err
	}
	suite, err := runner.NewSuite(runner.SuiteConfig{Store: cfg.Store, Workspace: cfg.Workspace, Language: cfg.Language, Environ: cfg.Environ})
	if err != nil {
		return err
	}
	so := runner.SuiteOptions{Paths: o.Paths, Choose: o.Choose, Args: o.Args, All: o.All, Lines: o.Lines, Plan: o.Plan, Timeout: o.Timeout, OnTalk: o.OnTalk}
	if o.OnTest != nil {
		so.OnTest = func(t *runner.TestOutcome) {
			x := resultOf(t)
			o.OnTest(&x)
		}
	}
	out, err := suite.Run(ctx, so)
	if err != nil {
		return err
	}
	found.Runner, found.Stopped = out.Runner, out.Stopped
	for _, t := range out.Tests {
		found.Tests = append(found.Tests, resultOf(t))
	}
	return nil
}

func resultOf(t *runner.TestOutcome) TestResult {
	x := TestResult{Status: t.Status, Reason: t.Reason, Text: t.Text}
	x.Check = query.Check{ID: t.ID, Kind: query.CheckKind(t.Kind), Outcome: query.CheckOutcome(t.Outcome), Message: t.Message, At: t.At, Seconds: t.Seconds, Marks: t.Marks, Trace: t.Trace,
		Exercised: []query.Exercised{}}
	for _, p := range t.Parts {
		x.Exercised = append(x.Exercised, query.Exercised{File: p.File, Function: p.Name, Version: p.Version, From: p.From, To: p.To, Lines: p.Lines, Content: p.Content})
	}
	return x
}

// recordTests keeps what is known of the tests now. whole says that tests which were not found are no more.
func (s *Session) recordTests(ctx context.Context, found *TestReport, whole bool, origin Origin) error {
	head, _, err := s.store.state.Head(ctx, s.name)
	if err != nil {
		return err
	}
	var before []query.Check // what was known: of tests that did not run now
	if !whole || found.Reused > 0 {
		if before, err = s.history.Checks(ctx); err != nil {
			return err
		}
	}
	known := map[string]query.Check{}
	for _, c := range before {
		known[c.ID] = c
	}
	var now []query.Check
	fresh := map[string]bool{}
	for i := range found.Tests {
		c := &found.Tests[i].Check
		if c.Outcome == "" {
			continue // it was not reached
		}
		c.At = c.At.UTC()
		fresh[c.ID] = true
		if was := known[c.ID]; found.Tests[i].Status == runner.TestRan {
			c.Step = head + 1
		} else if was.Trace == c.Trace {
			c.Step = was.Step
		}
		now = append(now, *c)
	}
	if !whole {
		kept := []query.Check{}
		for _, c := range before {
			if !fresh[c.ID] {
				kept = append(kept, c)
			}
		}
		now = append(kept, now...)
	}
	text, err := json.Marshal(query.EncodeChecks(now))
	if err != nil {
		return fmt.Errorf("encode what is known of tests: %w", err)
	}
	if told, err := s.history.ChecksDigest(ctx, head); err != nil || found.Ran == 0 && told == state.DigestOf(text) {
		return err
	}
	d := state.Draft{Kind: state.KindDeclare, Origin: origin, Sources: [][]byte{text}, Records: map[string]any{query.RecordTested: head + 1},
		Tested: &state.Testing{Ran: found.Ran, Reused: found.Reused, Failed: found.Failed, Seconds: found.Seconds, SavedSeconds: found.Saved, Checks: state.DigestOf(text)}}
	if asked := s.options.Python; asked == AnyPython {
		d.Records[query.RecordPython] = ""
	} else if asked != "" {
		d.Records[query.RecordPython] = s.python.Path
	}
	steps, err := s.store.state.Commit(ctx, s.name, head, []state.Draft{d})
	if err != nil {
		return err
	}
	found.Step = steps[0].Number
	return nil
}

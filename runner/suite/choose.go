package suite

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/runner/basestate"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// choose decides which of the collected tests run, and returns their numbers. A test is reused if a trace of it is
// valid: every part of the code, file and variable that it read is unchanged, and so is what the tests before it would
// leave.
func (p *suiteProcess) choose() ([]int, error) {
	s := p.s
	s.order = s.order[:0]
	at := map[string]int{}
	for i, x := range p.items {
		if _, twice := at[x.ID]; !twice {
			s.order = append(s.order, x.ID)
			at[x.ID] = i
		}
	}
	c := &choosing{p: p, at: at, chosen: map[string]*verdict{}}
	for _, x := range p.items {
		if err := c.chooseTrace(x.ID); err != nil {
			return nil, err
		}
	}
	c.needed()
	var run []int
	for i, x := range p.items {
		if s.finished(x.ID) {
			continue
		}
		v := c.chosen[x.ID]
		t := v.outcome(x)
		if v.trace != nil {
			t.Parts = s.parts(v.trace.Reads, s.lines(v.trace.Digest))
		} else if at[x.ID] == i && !p.o.Plan {
			run = append(run, i)
		}
		s.done[x.ID] = t
	}
	for _, e := range p.errors {
		if err := p.uncollected(e); err != nil {
			return nil, err
		}
	}
	return run, nil
}

// uncollected reports a file that cannot be collected. A trace records it, so that the first time differs from
// later ones.
func (p *suiteProcess) uncollected(e collectError) error {
	s := p.s
	t := &TestOutcome{
		ID:      e.ID,
		Kind:    "function",
		Status:  TestRan,
		Reason:  state.Reason{Code: state.ReasonRetry},
		Outcome: "error",
		At:      time.Now().UTC(),
		Message: "it cannot be collected: " + kernel.LastLine(e.Text),
		Text:    e.Text,
	}
	if strings.HasPrefix(p.out.Runner, "pytest") {
		t.Kind = "pytest"
	}
	s.order = append(s.order, e.ID)
	s.done[e.ID] = t
	before, err := s.cfg.Store.Traces(p.code(e.ID))
	if err != nil || len(before) > 0 {
		return err
	}
	t.Reason.Code = state.ReasonNew
	if !p.o.Plan {
		_, err = s.cfg.Store.PutTrace(
			state.Trace{
				Code:   p.code(e.ID),
				Writes: []state.Access{{Key: keyOutcome, Digest: state.DigestOf([]byte(t.Outcome))}},
				At:     t.At,
			},
		)
	}
	return err
}

// finished reports whether a test ended in an earlier process of this run, and need not run again.
func (s *Suite) finished(id string) bool {
	_, again := s.forced[id]
	t := s.done[id]
	return t != nil && t.Status == TestRan && !again
}

// verdict is the decision about a test before it may run.
type verdict struct {
	trace  *state.StoredTrace // that is valid; nil where the test runs
	held   *state.StoredTrace // that is valid, even if the test runs
	newest *state.StoredTrace
	reason state.Reason // why it runs
}

func (v *verdict) outcome(x item) *TestOutcome {
	t := &TestOutcome{ID: x.ID, Kind: x.Kind, Status: TestWould, Reason: v.reason, held: v.held}
	if v.newest != nil {
		t.before, t.Seconds = v.newest.AliasSensitive, v.newest.Seconds
	}
	if v.trace != nil {
		t.Status, t.Outcome, t.Message = TestReused, outcomeOf(v.trace), v.trace.Info[keyOutcome].Repr
		t.Seconds, t.At, t.Trace, t.Marks = v.trace.Seconds, v.trace.At, v.trace.Digest, v.trace.Marks
	}
	return t
}

// outcomeOf returns the outcome that a trace records.
func outcomeOf(t *state.StoredTrace) string {
	for _, o := range []string{"passed", "skipped", "xfailed", "xpassed"} {
		for _, a := range t.Writes {
			if a.Key == keyOutcome && a.Digest == state.DigestOf([]byte(o)) {
				return o
			}
		}
	}
	return "failed"
}

// choosing holds the decisions about tests while choose makes them.
type choosing struct {
	p      *suiteProcess
	at     map[string]int
	chosen map[string]*verdict
}

// chooseTrace looks for a valid trace of a test. A failure is never reused: its report cites lines, the caller wants to
// see it, and what failed once may have failed by chance. It is kept all the same, so that an older success under the
// same reads does not count any more.
func (c *choosing) chooseTrace(id string) error {
	if c.chosen[id] != nil {
		return nil
	}
	v := &verdict{}
	c.chosen[id] = v
	traces, err := c.p.s.cfg.Store.Traces(c.p.code(id))
	if err != nil {
		return err
	}
	if len(traces) == 0 {
		v.reason = state.Reason{Code: state.ReasonNew}
	}
	for i := range traces {
		t := &traces[i]
		if i == 0 {
			v.newest = t
		}
		failed, err := c.fails(id, t.Reads)
		if err != nil {
			return err
		}
		if failed != nil {
			if i == 0 {
				v.reason = *failed
			}
			continue
		}
		switch marks := unseen(t.Marks); {
		case marks != "":
			v.reason = state.Reason{Code: state.ReasonMarked, By: marks}
		case outcomeOf(t) == "failed":
			v.reason = state.Reason{Code: state.ReasonRetry}
		default:
			v.trace, v.reason = t, state.Reason{Code: state.ReasonReused}
		}
		break
	}
	v.held = v.trace
	if why, ok := c.p.s.forced[id]; ok {
		v.trace, v.reason = nil, why
	} else if c.p.o.All && v.trace != nil {
		v.trace, v.reason = nil, state.Reason{Code: state.ReasonForced}
	} else if c.p.o.Lines && v.trace != nil && c.p.s.lines(v.trace.Digest) == nil {
		v.trace, v.reason = nil, state.Reason{Code: state.ReasonLines}
	}
	return nil
}

// unseen returns the marks for which no result is reused: what the test read cannot be compared. Timing is not one of
// them, for it is not an input. Tests of time may fail on a slow machine however they are run.
func unseen(marks []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(marks), func(m string) bool { return m == "timing" }), ", ")
}

// fails returns the reason why reads are not valid, or nil.
func (c *choosing) fails(id string, reads []state.Access) (*state.Reason, error) {
	var failed *state.Reason
	for _, a := range reads {
		why, err := c.failsOne(id, a)
		if err != nil {
			return nil, err
		}
		if why != nil && (failed == nil || weight(why) < weight(failed)) {
			failed = why
		}
	}
	return failed, nil
}

// weight orders reasons: the most specific comes first.
func weight(r *state.Reason) int {
	switch {
	case r.Code == state.ReasonCode && strings.Contains(string(r.Key), "::"):
		return 0
	case r.Code == state.ReasonCode:
		return 1
	case r.Key.Space() == "test":
		return 3
	}
	return 2
}

func (c *choosing) failsOne(id string, a state.Access) (*state.Reason, error) {
	s := c.p.s
	if g := s.groupReadsOf(a); g != nil {
		if !g.known {
			failed, err := c.fails(id, g.reads)
			if err != nil {
				return nil, err
			}
			g.failed, g.known = failed, true
		}
		return g.failed, nil
	}
	now := state.Absent
	switch a.Key.Space() {
	case "test": // an earlier test: while its trace is valid, it would leave what it left then
		before := a.Key.Name()
		i, there := c.at[before]
		if there && i < c.at[id] {
			if err := c.chooseTrace(before); err != nil {
				return nil, err
			}
			if t := c.chosen[before].trace; t != nil {
				now = t.Digest
			}
		}
	case "code":
		file, _ := splitCode(a.Key)
		if err := c.p.need(file); err != nil {
			return nil, err
		}
		if now = s.now(a.Key); now != a.Digest {
			return &state.Reason{Code: state.ReasonCode, Key: a.Key, Was: a.Digest, Now: now}, nil
		}
	case "at":
		file, _ := splitCode(a.Key)
		if err := c.p.need(file); err != nil {
			return nil, err
		}
		now = s.now(a.Key)
	default:
		now = s.now(a.Key)
	}
	if now != a.Digest {
		return &state.Reason{Code: state.ReasonInput, Key: a.Key, Was: a.Digest, Now: now}, nil
	}
	return nil, nil
}

// need reads the units of a source file that the process did not execute.
func (p *suiteProcess) need(file string) error {
	s := p.s
	if s.sources[file] != nil {
		return nil
	}
	s.sources[file] = &source{}
	d := s.baseState.OnDisk(file)
	if !basestate.IsFile(d) {
		return nil
	}
	src, err := p.cutWith(d, "", func(known *source) error {
		if known.Units != nil {
			return nil
		}
		if p.k == nil {
			return errNoProcess
		}
		return p.k.Send(map[string]any{"cut": [][]string{{s.baseState.Path(file), ""}}})
	})
	if err == nil {
		s.sources[file] = src
	}
	return err
}

// needed adds the tests that leave something that a test to be run reads.
func (c *choosing) needed() {
	s := c.p.s
	for again := true; again; {
		again = false
		for _, x := range c.p.items {
			id, v := x.ID, c.chosen[x.ID]
			if v.trace != nil || v.newest == nil || s.finished(id) {
				continue
			}
			for _, a := range v.newest.Reads {
				if a.Key.Space() != "test" {
					continue
				}
				if before := c.chosen[a.Key.Name()]; before != nil && before.trace != nil {
					before.trace, before.reason = nil, state.Reason{Code: state.ReasonNeeded, By: id}
					again = true
				}
			}
		}
	}
}

// follow looks for reused tests after a test that left something changed that it did not leave before. Only a run shows
// whether they read it. follow reports whether there are any.
func (p *suiteProcess) follow() bool {
	s, by := p.s, ""
	first := len(s.forced) == 0
	for i, x := range p.items {
		t := s.done[x.ID]
		if r := p.ended[i]; r != nil && first &&
			slices.ContainsFunc(r.Leaves, func(n string) bool { return !slices.Contains(t.before, n) }) &&
			by == "" {
			by = x.ID
			continue
		}
		if by != "" && t.Status == TestReused {
			s.forced[x.ID] = state.Reason{Code: state.ReasonFollow, By: by}
		}
	}
	if first && len(s.forced) > 0 {
		s.forced[by] = state.Reason{Code: state.ReasonNeeded, By: fmt.Sprintf("%d tests", len(s.forced))}
		return true
	}
	return false
}

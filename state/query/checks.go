package query

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// Check is a test of the session, as it last ran or was reused.
type Check struct {
	// The id as pytest writes it: tests/test_a.py::TestB::test_c[1-2]; BLOCK::test_c for a test in a block
	ID      string           `json:"id"`
	Kind    CheckKind        `json:"kind"`
	Outcome CheckOutcome     `json:"outcome"`
	Message string           `json:"message,omitempty"` // for one that failed: the last line of its report
	At      time.Time        `json:"at"`                // when it was executed
	Step    state.StepNumber `json:"step,omitempty"`    // that recorded the execution, if known
	Seconds float64          `json:"seconds"`
	// Why its result may vary: "clock", "network", …
	Marks     []string    `json:"marks,omitempty"`
	Exercised []Exercised `json:"exercised"`

	Trace state.Digest `json:"trace,omitempty"` // names the execution
}

// CheckKind is what a test was written as.
type CheckKind string

const (
	CheckPytest   CheckKind = "pytest"   // a function, run by pytest
	CheckFunction CheckKind = "function" // a function, run without it
	CheckUnittest CheckKind = "unittest" // a method of a unittest.TestCase
	CheckDoctest  CheckKind = "doctest"
	CheckBlock    CheckKind = "block" // any of these forms, in a block of the program
)

// CheckOutcome is what became of a test.
type CheckOutcome string

const (
	CheckPassed  CheckOutcome = "passed"
	CheckSkipped CheckOutcome = "skipped"
	CheckXFailed CheckOutcome = "xfailed" // it was expected to fail, and did
	CheckXPassed CheckOutcome = "xpassed" // it was expected to fail, and did not
	CheckFailed  CheckOutcome = "failed"
	CheckError   CheckOutcome = "error"   // setting up or tearing down failed
	CheckCrashed CheckOutcome = "crashed" // its interpreter died
	CheckTimeout CheckOutcome = "time-out"
)

// Bad reports whether a suite with this outcome has failed.
func (o CheckOutcome) Bad() bool {
	switch o {
	case CheckFailed, CheckError, CheckCrashed, CheckTimeout:
		return true
	}
	return false
}

// Exercised is a part of the code that a check executed, in the version that it executed: a function of a file, the
// level of a module (all of it but what functions do when they are called), or a block.
type Exercised struct {
	File     string        `json:"file,omitempty"` // relative to the workspace, with slashes
	Block    state.BlockID `json:"block,omitempty"`
	Function string        `json:"function,omitempty"` // qualified; "": the level of the module, or the block
	// The digest of the function's source, wherever in its file it lies; or of the block.
	Version state.Digest `json:"version"`
	From    int          `json:"from,omitempty"` // the lines that it had then, counted from 1
	To      int          `json:"to,omitempty"`
	// The executed lines, as ranges counted from From: "0-3,5"; "" if they were not observed.
	Lines string `json:"lines,omitempty"`
	// The digest of the whole file at that time: while the file has this content, its functions are unchanged.
	Content state.Digest `json:"content,omitempty"`
}

// RecordTested is the session record that names the last step that recorded tests, so that no search is needed. The
// outcome of the tests is a source in history, because it is evidence and must survive. The traces that let results be
// reused are disposable.
const RecordTested = "tested"

// checksRecord stores each part of the code once, because thousands of tests exercise the same parts.
type checksRecord struct {
	Parts  []Exercised   `json:"parts"`
	Checks []checkRecord `json:"checks"`
}

type checkRecord struct {
	Check Check `json:"check"`
	Parts []int `json:"parts"` // Exercised, as places in checksRecord.Parts
}

// Checks returns the tests that the session knows, in the order of their last collection, with the code that each
// exercised when it ran. A check proves something of the present code only where the versions are the present ones. For
// a block, compare Block.Version. For a function, Exercised.Content must be what its file holds, or the next Test must
// confirm it.
func (h *History) Checks(ctx context.Context) ([]Check, error) {
	head, _, err := h.store.Head(ctx, h.name)
	if err != nil {
		return nil, err
	}
	return h.ChecksAt(ctx, head)
}

// ChecksAt returns the tests that the session knew after step n.
func (h *History) ChecksAt(ctx context.Context, n state.StepNumber) ([]Check, error) {
	at, err := h.ChecksDigest(ctx, n)
	if err != nil || at == "" {
		return nil, err
	}
	text, err := h.store.Source(ctx, at)
	if err != nil {
		return nil, err
	}
	var kept checksRecord
	if err := json.Unmarshal(text, &kept); err != nil {
		return nil, fmt.Errorf("decode what is known of tests: %w", err)
	}
	found := make([]Check, len(kept.Checks))
	for i, c := range kept.Checks {
		found[i] = c.Check
		for _, p := range c.Parts {
			if p < 0 || p >= len(kept.Parts) {
				return nil, fmt.Errorf("decode what is known of tests: there is no part %d", p)
			}
			found[i].Exercised = append(found[i].Exercised, kept.Parts[p])
		}
	}
	return found, nil
}

// ChecksDigest returns what the last step up to n that recorded tests says of them.
func (h *History) ChecksDigest(ctx context.Context, n state.StepNumber) (state.Digest, error) {
	var last state.StepNumber // in this session, or in its parent if it was forked later
	if known, err := h.store.SessionRecord(ctx, h.name, RecordTested, &last); err != nil || !known {
		return "", err
	}
	for before, size := min(n, last)+1, 1; before > 1; size = min(2*size, pageOfSteps) {
		page, err := h.StepsBefore(ctx, before, size)
		if err != nil || len(page) == 0 {
			return "", err
		}
		for _, step := range page {
			if step.Tested != nil && step.Tested.Checks != "" {
				return step.Tested.Checks, nil
			}
			before = step.Number
		}
	}
	return "", nil
}

// EncodeChecks returns the stored form of checks.
func EncodeChecks(checks []Check) checksRecord {
	kept := checksRecord{Parts: []Exercised{}, Checks: []checkRecord{}}
	at := map[Exercised]int{}
	for _, c := range checks {
		r := checkRecord{Check: c, Parts: []int{}}
		r.Check.Exercised = nil
		for _, e := range c.Exercised {
			n, ok := at[e]
			if !ok {
				n = len(kept.Parts)
				at[e] = n
				kept.Parts = append(kept.Parts, e)
			}
			r.Parts = append(r.Parts, n)
		}
		kept.Checks = append(kept.Checks, r)
	}
	return kept
}

// InnermostDefinitions maps each line of a text, counted from 1, to the index of the innermost definition around it.
func InnermostDefinitions(outline *depgraph.Outline) map[int]int {
	found := map[int]int{}
	for i, d := range outline.Definitions { // a class comes before what it holds
		for line := max(d.Line, 1); line <= d.End; line++ {
			found[line] = i
		}
	}
	return found
}

// Counted returns how the lines of a part are counted.
func (x *Exercised) Counted(whole, byLine int) int {
	if x.Lines == "" {
		return whole
	}
	return byLine
}

// ExecutedLines yields the executed lines of a part, below end. Where lines were not observed, it yields all of them.
func (x *Exercised) ExecutedLines(end int) iter.Seq[int] {
	return func(yield func(int) bool) {
		ranges := x.Lines
		if ranges == "" {
			ranges = fmt.Sprintf("0-%d", x.To-x.From)
		}
		for n := range state.InRanges(ranges) {
			if line := x.From + n; 0 < line && line < end && !yield(line) {
				return
			}
		}
	}
}

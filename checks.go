package xstate

import (
	"context"
	"time"
)

// Check is a test of the session, as it last ran or was reused.
type Check struct {
	ID        string       `json:"id"` // as pytest has it: tests/test_a.py::TestB::test_c[1-2]; BLOCK::test_c of one in a block
	Kind      CheckKind    `json:"kind"`
	Outcome   CheckOutcome `json:"outcome"`
	Message   string       `json:"message,omitempty"` // of one that failed: the last line of its report
	At        time.Time    `json:"at"`                // when it was executed
	Step      StepNumber   `json:"step,omitempty"`    // that recorded the execution, as far as that is known
	Seconds   float64      `json:"seconds"`
	Marks     []string     `json:"marks,omitempty"` // why its result may be another each time: "clock", "network", …
	Exercised []Exercised  `json:"exercised"`

	Trace Digest `json:"trace,omitempty"` // names the execution
}

// CheckKind is what a test was written as.
type CheckKind string

const (
	CheckPytest   CheckKind = "pytest"   // a function
	CheckUnittest CheckKind = "unittest" // a method of a unittest.TestCase
	CheckDoctest  CheckKind = "doctest"
	CheckBlock    CheckKind = "block" // of any of these forms, in a block of the program
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
	CheckCrashed CheckOutcome = "crashed" // it took its interpreter with it
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

// Exercised is a part of the code that a check executed, in the version that it executed: a function of a file, the level of a
// module (all of it but what functions do when they are called), or a block.
type Exercised struct {
	File     string  `json:"file,omitempty"` // relative to the workspace, with slashes
	Block    BlockID `json:"block,omitempty"`
	Function string  `json:"function,omitempty"` // qualified; "": the level of the module, or the block
	Version  Digest  `json:"version"`            // of the function's source wherever it stands in its file; of the block
	From     int     `json:"from,omitempty"`     // the lines that it had then, counted from 1
	To       int     `json:"to,omitempty"`
	Content  Digest  `json:"content,omitempty"` // of the whole file then: as long as it holds that, its functions are those
}

// recordChecks is the session record that holds the checks: durable, for it is evidence. The traces that results are reused by are
// results like others.
const recordChecks = "checks"

// checksRecord names each part of the code once: thousands of tests exercise the same.
type checksRecord struct {
	Parts  []Exercised   `json:"parts"`
	Checks []checkRecord `json:"checks"`
}

type checkRecord struct {
	Check Check `json:"check"`
	Parts []int `json:"parts"` // Exercised, as places in checksRecord.Parts
}

// Checks returns the tests that the session knows, in the order in which they were last collected, and what of the code each
// exercised when it was executed. A check proves something of the present code as far as the versions are the present ones: of a
// block, Block.Version; of a function, what Functions tells.
func (s *Session) Checks(ctx context.Context) ([]Check, error) {
	var kept checksRecord
	if _, err := s.store.state.SessionRecord(ctx, s.name, recordChecks, &kept); err != nil {
		return nil, err
	}
	found := make([]Check, len(kept.Checks))
	for i, c := range kept.Checks {
		found[i] = c.Check
		for _, p := range c.Parts {
			found[i].Exercised = append(found[i].Exercised, kept.Parts[p])
		}
	}
	return found, nil
}

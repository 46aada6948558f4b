package suite

import (
	"encoding/json"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// suiteProcess is one interpreter that runs tests.
type suiteProcess struct {
	s   *Suite
	o   Options
	out *Outcome
	k   *kernel.Process

	units  []CodePart         // by number
	levels map[int]statements // by number of the module: the statements that its import executed
	begins map[int][]int      // by number of the unit: where its statements begin

	imported map[depgraph.Key]string // levels, as they are stored
	packages map[string]string       // those of source files that it executed, by path
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

	// Repeatable and the fields up to Events belong to the collection: what it depends on besides groups.
	Repeatable bool     `json:"repeatable"`
	Looked     []string `json:"looked"`
	Listed     []string `json:"listed"`
	Folders    []string `json:"folders"`

	Events []json.RawMessage `json:"events"` // a bunch's events
}

func newSuiteProcess(s *Suite, o Options, out *Outcome) *suiteProcess {
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

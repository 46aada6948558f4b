package preflight

import (
	"context"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/journal/rule"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// Verdict says whether a program may run.
type Verdict string

// Verdicts, the strictest last.
const (
	Ready  Verdict = "ready"
	Ask    Verdict = "ask"    // a person should look at it first
	Refuse Verdict = "refuse" // it would fail, or a rule forbids it
)

var verdicts = []Verdict{Ready, Ask, Refuse}

// Finding is one thing to know before the program runs.
type Finding struct {
	Kind    string  `json:"kind"`
	Verdict Verdict `json:"verdict"` // what it alone would mean
	Place
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Kinds of findings.
const (
	KindSyntax       = "syntax-error"
	KindName         = "undefined-name"
	KindPackage      = "missing-package"
	KindFile         = "missing-file"
	KindTool         = "no-tool"
	KindRule         = "rule"
	KindUndeclared   = "undeclared" // used, and not in the manifest
	KindUnneeded     = "unneeded"   // in the manifest, and not used
	KindIrreversible = "irreversible"
	KindVarying      = "varying-arguments" // about a call that cannot be undone
	KindUnbounded    = "unbounded"
	KindBudget       = "budget"
	KindUncovered    = "uncovered"
	KindUnjudged     = "not-judged" // about a language: what preflight does not look at
)

// Report is what a preflight found.
type Report struct {
	Verdict     Verdict          `json:"verdict"`
	Findings    []Finding        `json:"findings"` // the strictest first
	Uses        rule.Program     `json:"uses"`
	Manifest    string           `json:"manifest,omitempty"` // its place; absent: there is none
	Differences []rule.Deviation `json:"differences"`        // from the manifest
	Calls       []Call           `json:"calls"`              // to tools, models and people, as the text shows
	Forecast    Forecast         `json:"forecast"`
}

// Forecast is what a run would take by recorded runs. It counts what would run or may run.
type Forecast struct {
	Seconds float64 `json:"seconds"`
	Calls   int64   `json:"calls"` // that would be made
	Tokens  int64   `json:"tokens"`
	USD     float64 `json:"usd"`
	// Unknown are blocks that would run and have no record; they count as 0.
	Unknown []state.BlockID `json:"unknown"`
}

// Host is what the surroundings of a program offer.
type Host struct {
	Offers map[string]Offer       // by the space of the language; absent: its names and modules are not known
	Exists func(file string) bool // in the workspace
	// Find returns the tool or model that a call would mean, or the error that it would fail with; "" is the default
	// model. Certain: all sources could be asked, and there are some. If not, a caller of the program may bring more.
	Find      func(ctx context.Context, kind journal.Kind, name string) (journal.Tool, error)
	Certain   bool
	Untrusted string // says which sources do not count, see policy.UntrustedHint
	Rules     *rule.Set
	Generated bool            // see rule.Run
	Budgets   []policy.Budget // the run's budgets
	Forecast  Forecast
	Uncovered []Finding // findings about the outputs, see Uncovered
}

// Offer is what a language offers to the program.
type Offer struct {
	Packages map[string]Package // by module that the program imports
	Builtins map[string]bool    // its own names
}

// OfferOf returns an offer: where modules come from, and the language's own names.
func OfferOf(modules map[string]string, builtins []string) Offer {
	o := Offer{map[string]Package{}, map[string]bool{}}
	for name, where := range modules {
		o.Packages[name] = Package(where)
	}
	for _, name := range builtins {
		o.Builtins[name] = true
	}
	return o
}

// Package says where a module comes from.
type Package string

// Where modules come from.
const (
	Standard  Package = "standard"
	Own       Package = "own" // the workspace
	Installed Package = "installed"
	Missing   Package = "missing"
)

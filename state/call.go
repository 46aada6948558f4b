package state

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
)

// CallState is where a call is in its life.
type CallState string

// States of calls. The record is on disk in each state before anything else follows from it.
const (
	CallSent     CallState = "sent"     // it may have reached the tool. After a crash: it is unknown whether it did
	CallAnswered CallState = "answered" // the tool returned a result
	CallRefused  CallState = "refused"  // the tool answered that it cannot: a result like any other
	CallLost     CallState = "lost"     // no answer came, and none counts: the next equal call is a new attempt
	CallWaiting  CallState = "waiting"  // a decision must come first, see Approval
	CallDenied   CallState = "denied"   // a rule or a budget forbade it
)

// Ended reports whether a call of this state has an outcome that equal calls are served.
func (s CallState) Ended() bool { return s == CallAnswered || s == CallRefused }

// Call is the record of one call of a tool or a model, of a question to a person, or of a recorded step of a program.
type Call struct {
	ID CallID `cbor:"id"`
	// Key names what is called by content, see journal.Key. Number is the place among equal calls of a program, from 0.
	Key    Digest `cbor:"key"`
	Number int    `cbor:"n,omitempty"`
	// Within is the lineage of sessions that shares the effect; 0: the result is of use to every session. Of a foreign
	// call it is the area of the session that it came with, see foreignCall.
	Within uint64 `cbor:"within,omitempty"`

	Kind    string `cbor:"kind"`             // tool, model, ask or step
	Tool    string `cbor:"tool"`             // the name by which the program called it
	Source  string `cbor:"source,omitempty"` // for a tool with effects: its source, and its name there
	Version string `cbor:"version,omitempty"`
	Class   string `cbor:"class"`           // see journal.Class
	Scope   string `cbor:"scope,omitempty"` // what it reads or changes
	After   Digest `cbor:"after,omitempty"` // the effects on the scope before it, see journal
	Sample  int    `cbor:"sample,omitempty"`

	Args   Content    `cbor:"args"`             // canonical JSON
	Masked bool       `cbor:"masked,omitempty"` // the arguments have a secret, which Args lacks
	State  CallState  `cbor:"state"`
	Result Content    `cbor:"result"` // JSON; of a refused call, what the tool said
	Err    *CallError `cbor:"err,omitempty"`
	Pieces []int      `cbor:"pieces,omitempty"` // for a text that was streamed: the bytes of each part
	Usage  Usage      `cbor:"usage"`
	Began  time.Time  `cbor:"began"`
	// Seconds that the last attempt took
	Seconds  float64   `cbor:"seconds,omitempty"`
	Attempts []Attempt `cbor:"attempts,omitempty"` // that were lost, oldest first
	// Lifetime is how long the result is good, as the tool said; 0: for ever. Former are earlier outcomes, oldest
	// first.
	Lifetime time.Duration `cbor:"lifetime,omitempty"`
	Former   []Outcome     `cbor:"former,omitempty"`

	Caller   Caller    `cbor:"caller"`
	Parent   CallID    `cbor:"parent,omitempty"` // the call within which it was made
	Depth    int       `cbor:"depth,omitempty"`
	Approval *Approval `cbor:"approval,omitempty"`
	Rules    Digest    `cbor:"rules,omitempty"` // that denied it
	// Code and Nth are where the program made a call with an effect last: the node's code, and the place among its
	// calls of the tool, from 1; 0: not known, because some went on at the same time.
	Code Digest `cbor:"code,omitempty"`
	Nth  int    `cbor:"nth,omitempty"`
	// Varied: the arguments may differ from run to run.
	Varied bool `cbor:"varied,omitempty"`
	// Identified: the key has those arguments alone that the tool declared as its identity.
	Identified bool `cbor:"identified,omitempty"`
	// Same is the call that this one is, as a person said; 0: none. Apart are calls that a person was asked about, and
	// that it is not.
	Same  CallID   `cbor:"same,omitempty"`
	Apart []CallID `cbor:"apart,omitempty"`
	// Again is what a step did beside returning a result, so that it runs in each run; "": it is served.
	Again string `cbor:"again,omitempty"`
	Undo  *Undo  `cbor:"undo,omitempty"`
}

// Spent is what all attempts of a call spent, also those whose outcome was replaced.
func (c *Call) Spent() Usage {
	all := c.Usage
	for _, a := range c.Attempts {
		all.Add(a.Usage)
	}
	for _, o := range c.Former {
		all.Add(o.Usage)
	}
	return all
}

// CallPlace is the place of a call among the calls of a program. A node that makes the call reads it as a key.
type CallPlace struct {
	Key     Digest
	Effects bool // only the forks of a session share it
	Number  int
}

// Place returns where the program makes the call.
func (c *Call) Place() CallPlace { return CallPlace{c.Key, c.Effects(), c.Number} }

// TraceKey returns the key that a trace has for the call: call:KEY#NUMBER, or call:KEY!NUMBER of a tool with effects.
func (p CallPlace) TraceKey() depgraph.Key {
	sign := "#"
	if p.Effects {
		sign = "!"
	}
	return depgraph.Key(fmt.Sprintf("call:%s%s%d", p.Key, sign, p.Number))
}

// CallPlaceOf takes a key of a trace apart.
func CallPlaceOf(k depgraph.Key) (p CallPlace, ok bool) {
	name := k.Name()
	at := strings.IndexAny(name, "#!")
	if k.Space() != "call" || at < 0 {
		return p, false
	}
	n, err := strconv.Atoi(name[at+1:])
	return CallPlace{Digest(name[:at]), name[at] == '!', n}, err == nil
}

// Content is JSON in a record, or its digest if it is large.
type Content struct {
	Inline []byte `cbor:"in,omitempty"`
	Digest Digest `cbor:"digest,omitempty"` // the JSON's; "": there is none
	Size   int64  `cbor:"size,omitempty"`
}

// Contents returns all contents of a record.
func (c *Call) Contents() []Content {
	all := []Content{c.Args, c.Result}
	if c.Undo != nil {
		all = append(all, c.Undo.Args)
	}
	for _, o := range c.Former {
		all = append(all, o.Result)
	}
	return all
}

// Usage is what a call spent.
type Usage struct {
	InputTokens  int64 `cbor:"in,omitempty" json:"input_tokens"`
	OutputTokens int64 `cbor:"out,omitempty" json:"output_tokens"`
	MicroUSD     int64 `cbor:"usd,omitempty" json:"micro_usd"` // millionths of a US dollar
}

// Add adds what another call spent.
func (u *Usage) Add(o Usage) {
	u.InputTokens += o.InputTokens
	u.OutputTokens += o.OutputTokens
	u.MicroUSD += o.MicroUSD
}

// Tokens is how many tokens were spent, as people read it; "" if none.
func (u Usage) Tokens() string {
	if u.InputTokens+u.OutputTokens == 0 {
		return ""
	}
	return fmt.Sprintf("%d+%d tokens", u.InputTokens, u.OutputTokens)
}

// Dollars is how many US dollars were spent, as people read it; "" if none.
func (u Usage) Dollars() string {
	if u.MicroUSD == 0 {
		return ""
	}
	return "$" + strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.6f", float64(u.MicroUSD)/1e6), "0"), ".")
}

// CallError is why a call has no result.
type CallError struct {
	Code    Code   `cbor:"code" json:"code"`
	Message string `cbor:"message" json:"message"`
	Hint    string `cbor:"hint,omitempty" json:"hint,omitempty"`
}

// Attempt is one that was lost.
type Attempt struct {
	Began   time.Time `cbor:"began"`
	Seconds float64   `cbor:"seconds,omitempty"`
	Err     CallError `cbor:"err"`
	Usage   Usage     `cbor:"usage"`
}

// Outcome is one that a call had before it was made again.
type Outcome struct {
	State   CallState `cbor:"state"`
	Result  Content   `cbor:"result"`
	Began   time.Time `cbor:"began"`
	Seconds float64   `cbor:"seconds,omitempty"`
	Usage   Usage     `cbor:"usage"`
	// The run that called: its session, and the last step before it
	Session string     `cbor:"session,omitempty"`
	Step    StepNumber `cbor:"step,omitempty"`
}

// Caller says which code made a call, and in which run.
type Caller struct {
	Session string     `cbor:"session,omitempty" json:"session,omitempty"`
	Step    StepNumber `cbor:"step,omitempty" json:"step,omitempty"` // the last one before the run
	Agent   string     `cbor:"agent,omitempty" json:"agent,omitempty"`
	Block   BlockID    `cbor:"block,omitempty" json:"block,omitempty"`
	Node    int        `cbor:"node,omitempty" json:"node"` // in the block
	Line    int        `cbor:"line,omitempty" json:"line,omitempty"`
}

// Approval is a decision that a call needs.
type Approval struct {
	Question string    `cbor:"question,omitempty" json:"question"`
	Choices  []string  `cbor:"choices,omitempty" json:"choices,omitempty"`
	Why      string    `cbor:"why,omitempty" json:"why,omitempty"` // the rule that asks, or what is uncertain
	Choice   string    `cbor:"choice,omitempty" json:"choice,omitempty"`
	By       string    `cbor:"by,omitempty" json:"by,omitempty"`
	Reason   string    `cbor:"reason,omitempty" json:"reason,omitempty"`
	At       time.Time `cbor:"at,omitzero" json:"at,omitzero"` // zero: it is not decided yet
}

// Decided reports whether a decision was made.
func (a *Approval) Decided() bool { return a != nil && !a.At.IsZero() }

// CallDecision is a step's record of what a person decided about a call, and on what evidence. The call's number is
// valid in the deciding store; key, place and arguments name the call everywhere.
type CallDecision struct {
	Call     CallID `cbor:"call" json:"call"`
	Key      Digest `cbor:"key" json:"key"`
	Number   int    `cbor:"n,omitempty" json:"number"` // the place among equal calls of the program
	Tool     string `cbor:"tool" json:"tool"`
	Args     Digest `cbor:"args" json:"args"` // digest of the canonical arguments
	Question string `cbor:"question,omitempty" json:"question"`
	Why      string `cbor:"why,omitempty" json:"why,omitempty"` // the rule that asked, or what is uncertain
	Choice   string `cbor:"choice" json:"choice"`
	By       string `cbor:"by,omitempty" json:"by,omitempty"`
	Reason   string `cbor:"reason,omitempty" json:"reason,omitempty"`
	Result   Digest `cbor:"result,omitempty" json:"result,omitempty"` // that came with the decision
}

// Undone reports whether another call took the effect back. An equal call of the program then happens again.
func (c *Call) Undone() bool { return c.Undo != nil && c.Undo.Done != 0 }

// Waits returns what a call waits for; nil: it does not.
func (c *Call) Waits() *WaitingCall {
	if c.State != CallWaiting || c.Approval == nil || c.Approval.Decided() {
		return nil
	}
	a := c.Approval
	return &WaitingCall{Call: c.ID, Tool: c.Tool, Question: a.Question, Choices: a.Choices, Why: a.Why}
}

// Undecide takes back what a person decided or is asked about a call that has no outcome, so that the next run decides
// anew what must come first. A call that may have happened stays one.
func (c *Call) Undecide() {
	if c.State.Ended() {
		return
	}
	switch {
	case c.Uncertain():
		c.State = CallSent
	case c.State == CallWaiting:
		c.State = CallLost
	}
	c.Approval, c.Same = nil, 0
}

// Uncertain reports whether a call waits because it may have happened, or was to happen once more.
func (c *Call) Uncertain() bool {
	return c.State == CallWaiting && c.Approval != nil && slices.Contains(c.Approval.Choices, ChoiceHappened)
}

// ChoiceHappened is the decision that a call happened whose answer was lost.
const ChoiceHappened = "happened"

// Undo is how the effect of a call is taken back, and whether it was.
type Undo struct {
	Tool string  `cbor:"tool"`
	Args Content `cbor:"args"`
	Done CallID  `cbor:"done,omitempty"` // the call that took it back
}

// A foreign call is the record of one that another store made: the claim that a tool answered this. It serves only the
// session that it came with. Its Within has the first bit set, the second one if the tool has effects, and the area of
// the session in the others. So no place of a believed call is that of a foreign one.
const (
	foreignBit = 1 << 63
	effectsBit = 1 << 62
)

// foreignCall returns Within of a foreign call.
func foreignCall(area uint64, effects bool) uint64 {
	within := foreignBit | area
	if effects {
		within |= effectsBit
	}
	return within
}

// Foreign reports whether another store made the call, and the user does not trust its author.
func (c *Call) Foreign() bool { return c.Within&foreignBit != 0 }

// Effects reports whether only the forks of a session share the call.
func (c *Call) Effects() bool {
	if c.Foreign() {
		return c.Within&effectsBit != 0
	}
	return c.Within != 0
}

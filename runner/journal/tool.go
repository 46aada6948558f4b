package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/state"
)

// Class says what a call of a tool does to the world, and so what may be repeated.
type Class string

// Classes of tools.
const (
	Pure         Class = "pure"         // the result depends on the arguments alone
	Read         Class = "read"         // it looks at something that may change
	Idempotent   Class = "idempotent"   // it changes something; doing it twice with one key is doing it once
	Reversible   Class = "reversible"   // it changes something, and another tool takes that back
	Irreversible Class = "irreversible" // it changes something for good
)

// Effects reports whether calls of the class change something.
func (c Class) Effects() bool { return c == Idempotent || c == Reversible || c == Irreversible }

// Repeatable reports whether a call of the class whose answer was lost may be made again without asking.
func (c Class) Repeatable() bool { return c != Reversible && c != Irreversible }

// Kind says what a call is.
type Kind string

// Kinds of calls.
const (
	KindTool  Kind = "tool"
	KindModel Kind = "model"
	KindAsk   Kind = "ask"  // a question to a person
	KindStep  Kind = "step" // a function of the program whose result is recorded
)

// Tool is something that programs can call.
type Tool struct {
	Kind        Kind // KindTool, which is also "", or KindModel
	Name        string
	Version     string // "" if unknown; another version is another tool
	Description string
	Input       json.RawMessage // JSON Schema of the arguments, an object; nil: any
	Order       []string        // the arguments by position; nil: as in Input; empty: none
	Output      json.RawMessage // JSON Schema of the result; nil: any
	Class       Class           // "" is Irreversible
	Scope       string          // what it reads or changes; "" is the source's name
	Lifetime    time.Duration   // how long a result of a tool that reads is up to date; 0: for ever
	// Identity names the arguments that distinguish calls with effects; nil: all. Calls that agree in them are equal.
	Identity []string
	Undo     string        // the tool that takes an effect back; it is given {"arguments": …, "result": …}
	Timeout  time.Duration // for one attempt; 0: DefaultTimeout
	Price    int64         // per call, in millionths of a US dollar, if the source does not report it
	Source   string        // the name of its source
	Title    string        // what questions call it; "": Name
	Live     bool          // only the program can make a call: it has what the record must not have
}

// ModelVersion is the version of a tool that is a model: who provides it, the address, and its name there.
func ModelVersion(provider, address, name string) string {
	return fmt.Sprintf("%s %s %s", provider, address, name)
}

// ModelOf returns the provider of the model that a call asks, and its name there; "" if they are not known.
func ModelOf(c *state.Call) (provider, name string) {
	if parts := strings.Fields(c.Version); Kind(c.Kind) == KindModel && len(parts) == 3 {
		return parts[0], parts[2]
	}
	return "", ""
}

// lifetime is how long a result is good; 0: for ever. Only what a tool reads grows old.
func (t Tool) lifetime() time.Duration {
	if t.Class != Read {
		return 0
	}
	return t.Lifetime
}

// DefaultTimeout is how long an attempt may take where nothing else is said.
const DefaultTimeout = 5 * time.Minute

// MaxResult bounds the JSON of a result, in bytes.
const MaxResult = 64 << 20

// Source offers tools. Its methods may be called at the same time.
type Source interface {
	// Name names the source in messages and scopes.
	Name() string
	// Tools returns the tools that there are. It may connect, or start a server. It is called for each call of a
	// program, so a source remembers what it found.
	Tools(ctx context.Context) ([]Tool, error)
	// Call makes one attempt of one call. That the tool refused is an Answer with Refused set. An error says that no
	// answer came; one that wraps ErrNotSent that the call did not reach the tool.
	Call(ctx context.Context, a Attempt) (Answer, error)
	Close() error
}

// Definer is a source whose arguments say what a call does: its class, its scope, and its time.
type Definer interface {
	Define(t Tool, args json.RawMessage) Tool
}

// Remote is a source that starts or connects to something before it lists its tools.
type Remote interface {
	Source
	Connected() bool // it lists them at once
}

// ErrNotSent says that a call did not reach its tool, so that it surely did not happen.
var ErrNotSent = errors.New("the call was not sent")

// Attempt is one attempt of a call, for a source.
type Attempt struct {
	Call           state.CallID
	Tool           Tool
	Args           json.RawMessage   // canonical, an object
	IdempotencyKey string            // equal for all attempts of a call
	Headers        map[string]string // to hand on where the source has headers, such as traceparent
	OnPiece        func(text string) // takes parts of a text as they come; may be nil
}

// Answer is what a tool answered.
type Answer struct {
	Result  json.RawMessage // for a refusal, what the tool said
	Refused bool            // the tool said that it cannot
	// Again is what a step did beside returning a result; its record serves no other run. "": nothing.
	Again string
	Usage state.Usage
	Model string // the one that answered, if it differs from the one asked
}

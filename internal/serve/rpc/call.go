package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/internal/wording"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
)

// call is an operation, as a request of a client asks for it.
type call struct {
	ask     verb.Request
	folder  string // "": that of the service
	environ []string
	detach  bool
	tools   []journal.Tool // that the client of a stream offers
	answer  string         // the field of QueryResponse that holds the document; "": the document is the answer
	bad     error          // what is wrong with the request
}

// newCall begins a call with what several requests have.
func newCall(request any) *call {
	c := &call{}
	if r, ok := request.(interface{ GetFolder() string }); ok {
		c.folder = r.GetFolder()
	}
	if r, ok := request.(interface{ GetEnviron() map[string]string }); ok {
		own, _ := request.(interface{ GetInherited() bool })
		c.variables(r.GetEnviron(), own != nil && own.GetInherited())
	}
	if r, ok := request.(interface{ GetDetach() bool }); ok {
		c.detach = r.GetDetach()
	}
	return c
}

func (c *call) fail(err error) {
	if c.bad == nil {
		c.bad = err
	}
}

// atLeast0 is a number that is not negative.
func (c *call) atLeast0(field string, n int32) int32 {
	if n < 0 {
		c.fail(fmt.Errorf("%s is %d, and must not be negative", field, n))
	}
	return max(n, 0)
}

// step is the number of a step; nil if the request has none.
func (c *call) step(field string, n *int32) *state.StepNumber {
	if n == nil {
		return nil
	}
	step := state.StepNumber(c.atLeast0(field, *n))
	return &step
}

// stepOrNone is the number of a step; nil for 0.
func (c *call) stepOrNone(field string, n int32) *state.StepNumber {
	if n == 0 {
		return nil
	}
	return c.step(field, &n)
}

func (c *call) moment(atStep *int32, at string) verb.Moment {
	return verb.Moment{AtStep: c.step("at_step", atStep), At: at}
}

func (c *call) callID(n int32) state.CallID { return state.CallID(c.atLeast0("call", n)) }

// timeout is a time in seconds; 0 is none.
func (c *call) timeout(seconds float64) time.Duration {
	most := time.Duration(math.MaxInt64).Seconds()
	if math.IsNaN(seconds) || seconds < 0 || seconds >= most {
		c.fail(fmt.Errorf("timeout_seconds is %v, which is no time", seconds))
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// origin is who makes a step, and why.
func (c *call) origin(given *structpb.Struct) (o state.Origin) {
	if given == nil {
		return o
	}
	text, err := protojson.Marshal(given)
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	var field *json.UnmarshalTypeError
	switch {
	case errors.As(err, &field):
		c.fail(fmt.Errorf("the field %s of the origin is a %s, which it cannot be", field.Field, field.Value))
	case err != nil:
		c.fail(fmt.Errorf("the origin cannot be read: %w", err))
	}
	return o
}

// Variables that pass the bounds of a call to the command line: a client does not set them.
const (
	sandboxVariable = "XSTATE_SANDBOX"
	passVariable    = "XSTATE_PASS" // names of variables that the program gets, whatever the policy says
)

var ofServer = []string{sandboxVariable, passVariable}

// variables adds variables of the environment. A program gets them whatever its bounds are, unless they are all that
// the client has.
func (c *call) variables(values map[string]string, inherited bool) {
	var names []string
	for name, value := range values {
		if name == "" || strings.Contains(name, "=") {
			c.fail(fmt.Errorf("%q is no name of a variable", name))
		}
		if slices.Contains(ofServer, name) {
			c.fail(fmt.Errorf("%s is set where the server is started", name))
		}
		c.environ = append(c.environ, name+"="+value)
		names = append(names, name)
	}
	if len(names) > 0 && !inherited {
		slices.Sort(names)
		c.environ = append(c.environ, passVariable+"="+strings.Join(names, ","))
	}
	slices.Sort(c.environ)
}

// need reports a field that the request must have.
func (c *call) need(field, value string) string {
	if value == "" {
		c.fail(fmt.Errorf("the field %s is missing or empty", field))
	}
	return value
}

// program checks that a request names a program, and that a process can have the arguments. Without a file it is the
// recorded program of the session.
func (c *call) program(session, file string, arguments []string) {
	if file == "" && session == "" {
		c.fail(errors.New("the request names no session and no file"))
	}
	c.noZero(append(slices.Clone(arguments), file)...)
}

// noZero refuses texts that the system cannot have.
func (c *call) noZero(texts ...string) {
	for _, text := range texts {
		if strings.ContainsRune(text, 0) {
			c.fail(fmt.Errorf("%.40q has a zero byte", text))
		}
	}
}

// given are the texts that are not empty.
func given(texts []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return s == "" })
}

// of makes the call of the operations, without what becomes of its events.
func (c *call) of(ctx context.Context, s *Service) (verb.Call, error) {
	folder := c.folder
	if folder == "" {
		folder = s.Folder
	}
	if !filepath.IsAbs(folder) {
		c.fail(fmt.Errorf("the folder %q is not absolute", folder))
	}
	c.noZero(append(slices.Clone(c.environ), folder)...)
	return verb.Call{
		Request: c.ask, Store: s.Store, Folder: folder, Environ: spanned(ctx, s.Environ, c.environ), Door: wording.API,
	}, c.bad
}

package rpc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/wording"
	"github.com/xstate-engine/xstate/runner/journal"
)

// command is a verb with its arguments, as a request asks for it.
type command struct {
	words     []string // the verb and its flags, each --flag=value
	arguments []string // follow --
	stdin     string
	folder    string // "": that of the service
	environ   []string
	detach    bool
	tools     []journal.Tool // that the client of a stream offers
	answer    string         // the field of QueryResponse that holds the document; "": the document is the answer
	bad       error          // what is wrong with the request
}

// newCommand begins a command with what several requests have.
func newCommand(verb string, request any) *command {
	c := &command{words: strings.Fields(verb)}
	if r, ok := request.(interface{ GetSession() string }); ok {
		c.text("session", r.GetSession())
	}
	if r, ok := request.(interface{ GetFolder() string }); ok {
		c.folder = r.GetFolder()
	}
	if r, ok := request.(interface{ GetTimeoutSeconds() float64 }); ok {
		c.duration("timeout", r.GetTimeoutSeconds())
	}
	if r, ok := request.(interface{ GetPython() string }); ok {
		c.text("python", r.GetPython())
	}
	if r, ok := request.(interface{ GetAt() string }); ok {
		c.text("at", r.GetAt())
	}
	if r, ok := request.(interface{ GetOrigin() *structpb.Struct }); ok && r.GetOrigin() != nil {
		json, err := protojson.Marshal(r.GetOrigin())
		c.fail(err)
		c.text("origin", string(json))
	}
	if r, ok := request.(interface{ GetEnviron() map[string]string }); ok {
		c.variables(r.GetEnviron())
	}
	if r, ok := request.(interface{ GetDetach() bool }); ok {
		c.detach = r.GetDetach()
	}
	return c
}

func (c *command) fail(err error) {
	if c.bad == nil {
		c.bad = err
	}
}

// text adds a flag with a value; an empty one is none.
func (c *command) text(flag, value string) {
	if value != "" {
		c.words = append(c.words, "--"+flag+"="+value)
	}
}

func (c *command) texts(flag string, values []string) {
	for _, v := range values {
		c.text(flag, v)
	}
}

func (c *command) is(flag string, on bool) {
	if on {
		c.words = append(c.words, "--"+flag)
	}
}

// number adds a flag with a number; 0 is none.
func (c *command) number(flag string, n int32) {
	if n != 0 {
		c.text(flag, strconv.Itoa(int(n)))
	}
}

// given adds a flag with a number if the request has one; it may be 0.
func (c *command) given(flag string, n *int32) {
	if n != nil {
		c.text(flag, strconv.Itoa(int(*n)))
	}
}

// duration adds a flag with a time; 0 is none.
func (c *command) duration(flag string, seconds float64) {
	most := time.Duration(math.MaxInt64).Seconds()
	if math.IsNaN(seconds) || seconds < 0 || seconds >= most {
		c.fail(fmt.Errorf("%s_seconds is %v, which is no time", flag, seconds))
	} else if seconds != 0 {
		c.text(flag, time.Duration(seconds*float64(time.Second)).String())
	}
}

// Variables that pass the bounds of a call to the command line: a client does not set them.
const (
	sandboxVariable = "XSTATE_SANDBOX"
	passVariable    = "XSTATE_PASS" // names of variables that the program gets, whatever the policy says
)

var ofServer = []string{sandboxVariable, passVariable}

// variables adds variables of the environment.
func (c *command) variables(values map[string]string) {
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
	if len(names) > 0 {
		slices.Sort(names)
		c.environ = append(c.environ, passVariable+"="+strings.Join(names, ","))
	}
	slices.Sort(c.environ)
}

// need reports a field that the request must have.
func (c *command) need(field, value string) string {
	if value == "" {
		c.fail(fmt.Errorf("the field %s is missing or empty", field))
	}
	return value
}

// argument adds an argument; an empty one is none.
func (c *command) argument(value string) {
	if value != "" {
		c.arguments = append(c.arguments, value)
	}
}

// program adds the file of a program with the program's own arguments. The file precedes --, so it must not look like a
// flag. Without a file a session must be named: its recorded program is meant.
func (c *command) program(session, file string, arguments []string) {
	c.arguments = arguments
	if file == "" && session != "" {
		return
	}
	if file == "" {
		c.fail(errors.New("the request names no session and no file"))
	}
	if strings.HasPrefix(file, "-") {
		file = "./" + file
	}
	c.words = append(c.words, file)
}

// call makes the call of a command, without streams.
func (c *command) call(ctx context.Context, s *Service, format string) (serve.Call, error) {
	folder := c.folder
	if folder == "" {
		folder = s.Folder
	}
	if !filepath.IsAbs(folder) {
		c.fail(fmt.Errorf("the folder %q is not absolute", folder))
	}
	args := slices.Concat(c.words, []string{"--" + format, "--store=" + s.Store})
	if len(c.arguments) > 0 {
		args = append(append(args, "--"), c.arguments...)
	}
	for _, text := range slices.Concat(args, c.environ, []string{folder}) {
		if strings.ContainsRune(text, 0) {
			c.fail(fmt.Errorf("%.40q has a zero byte", text))
		}
	}
	return serve.Call{
		Args: args, Folder: folder, Environ: spanned(ctx, s.Environ, c.environ), Stdin: strings.NewReader(c.stdin),
		Door: wording.API,
	}, c.bad
}

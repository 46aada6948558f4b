package python

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	source "github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

// fakeCalls answers calls, and remembers them in the order in which they got their places.
type fakeCalls struct {
	mu     sync.Mutex
	seen   []kernel.CallRequest
	open   int
	ended  []string      // tools whose context ended
	began  chan struct{} // receives at the begin of each call that hangs
	unfair chan struct{} // closed by the tool "open" and a step that fails: the tool "wait" waits for it
	more   *sync.Cond    // signalled when a call begins; of mu
	free   sync.Once
}

func newFakeCalls() *fakeCalls {
	f := &fakeCalls{began: make(chan struct{}, 100), unfair: make(chan struct{})}
	f.more = sync.NewCond(&f.mu)
	return f
}

func (f *fakeCalls) Tools(context.Context) []kernel.ToolInfo {
	return []kernel.ToolInfo{{Name: "search", Description: "Finds things.", Class: "read",
		Input: json.RawMessage(`{"type": "object", "required": ["query"], "properties": {
			"query": {"type": "string", "description": "what to find"}, "limit": {"type": "integer", "default": 5}}}`)}}
}

func (f *fakeCalls) Call(ctx context.Context, r kernel.CallRequest, via kernel.CallVia) kernel.CallReply {
	f.mu.Lock()
	f.seen, f.open = append(f.seen, r), f.open+1
	f.more.Broadcast()
	id := state.CallID(len(f.seen))
	f.mu.Unlock()
	via.Numbered()
	reply := f.answer(ctx, r, via, id)
	reply.Call = id
	f.mu.Lock()
	f.open--
	f.mu.Unlock()
	return reply
}

func (f *fakeCalls) answer(
	ctx context.Context, r kernel.CallRequest, via kernel.CallVia, id state.CallID,
) kernel.CallReply {
	failed := func(code, message string) kernel.CallReply {
		return kernel.CallReply{Error: &state.CallError{Code: state.Code(code), Message: message}}
	}
	if r.Kind == "step" {
		result, _, err := via.Step(ctx, id)
		if err != nil {
			f.free.Do(func() { close(f.unfair) })
			return failed("tool-lost", err.Error())
		}
		return kernel.CallReply{Result: result}
	}
	switch r.Tool {
	case "hang", "die":
		f.began <- struct{}{}
		<-ctx.Done()
		f.mu.Lock()
		f.ended = append(f.ended, r.Tool)
		f.mu.Unlock()
		return failed("tool-lost", "given up")
	case "wait":
		select {
		case <-f.unfair:
		case <-ctx.Done():
		}
	case "two", "three": // waits until as many calls are open
		defer context.AfterFunc(ctx, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.more.Broadcast()
		})()
		f.mu.Lock()
		for f.open < map[string]int{"two": 2, "three": 3}[r.Tool] && ctx.Err() == nil {
			f.more.Wait()
		}
		f.mu.Unlock()
	case "open":
		f.free.Do(func() { close(f.unfair) })
	case "refuse":
		return failed("tool-refused", "refuse: not today")
	case "deny":
		return failed("call-denied", "no")
	case "spend":
		return failed("budget-spent", "enough")
	case "suspend":
		reply := failed("waiting", "may suspend be called?")
		reply.Suspended = true
		return reply
	case "ask":
		return kernel.CallReply{Result: json.RawMessage(`"` + r.Choices[0] + `"`)}
	}
	if r.Kind == "model" {
		if via.Piece != nil {
			via.Piece("hel")
			via.Piece("lo")
		}
		return kernel.CallReply{Result: json.RawMessage(`"hello"`)}
	}
	return kernel.CallReply{Result: r.Args}
}

// caller is one kernel whose calls a fakeCalls answers.
type caller struct {
	*testing.T
	kernel kernel.Kernel
	calls  *fakeCalls
	folder string
}

func newCaller(t *testing.T, i Interpreter, box *sandbox.Spec) *caller {
	t.Helper()
	c := &caller{T: t, calls: newFakeCalls(), folder: realTemp(t)}
	spool, store := realTemp(t), realTemp(t)
	if box != nil {
		b := *box
		b.Folder, b.Spool, b.Store, b.Journal = c.folder, spool, store, filepath.Join(spool, "writing")
		box = &b
	}
	k, err := i.Start(t.Context(), kernel.Launch{
		Driver: store, Environ: i.Environ(os.Environ()), Folder: c.folder, Spool: spool, Store: store, Seed: 1,
		Sandbox: box,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	c.kernel = k
	return c
}

func realTemp(t *testing.T) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// try executes a text as one node and returns what it printed.
func (c *caller) try(ctx context.Context, text string) (kernel.Observation, string, error) {
	c.Helper()
	facts, err := source.Analyze([]byte(text), source.Plain)
	if err != nil {
		c.Fatalf("analyse %q: %v", text, err)
	}
	n := kernel.Node{Text: []byte(text), ID: "b", Filename: "<b>", Line: 1, Last: true}
	for _, part := range facts.Nodes {
		n.Uses = slices.Concat(n.Uses, part.Uses, part.Later)
	}
	var outputs output.Screen
	seen, err := c.kernel.Execute(ctx, n, kernel.Sink{Record: outputs.Add, Calls: c.calls})
	var printed strings.Builder
	for _, o := range outputs.Outputs() {
		printed.WriteString(o.Text)
	}
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	if c.calls.open != 0 {
		c.Errorf("%q: Execute returned while %d calls had no outcome", text, c.calls.open)
	}
	return seen, printed.String(), err
}

// prints executes a text that succeeds, and compares what it prints.
func (c *caller) prints(text, want string) kernel.Observation {
	c.Helper()
	seen, got, err := c.try(await.Context(c.T), text)
	if err != nil {
		c.Fatalf("execute %q: %v", text, err)
	}
	if seen.Failure != nil {
		c.Fatalf("execute %q: %s: %s\n%s", text, seen.Failure.Type, seen.Failure.Message,
			strings.Join(seen.Failure.Traceback, "\n"))
	}
	if got != want {
		c.Errorf("%q prints %q, want %q", text, got, want)
	}
	return seen
}

func (c *caller) unmarked(seen kernel.Observation) {
	c.Helper()
	if len(seen.Marks) > 0 {
		c.Errorf("the node has marks %q, want none", seen.Marks)
	}
}

// callers runs a test with each interpreter to test with.
func callers(t *testing.T, run func(t *testing.T, i Interpreter)) {
	for _, name := range pythons() {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		i, err := Identify(t.Context(), kernel.Search{Cache: t.TempDir(), Environ: os.Environ()}, path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("%d.%d", i.Major, i.Minor), func(t *testing.T) { run(t, i) })
	}
}

// boxes are the levels of the sandbox that this system has.
func boxes() map[string]*sandbox.Spec {
	all := map[string]*sandbox.Spec{"off": nil}
	if runtime.GOOS == "linux" {
		all["observed"] = &sandbox.Spec{}
		all["workspace"] = &sandbox.Spec{Bounds: &sandbox.Bounds{}}
		all["strict"] = &sandbox.Spec{Bounds: &sandbox.Bounds{Strict: true}}
	}
	return all
}

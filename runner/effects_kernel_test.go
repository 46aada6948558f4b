package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/inspect"
)

// simple is a language of one statement a line, as Python reads them. Its kernel is a part of the test, so thousands of
// programs run in a second. It has what matters to calls: names, sources of what varies, failures, and tools.
//
//	x = "text"              a constant
//	x = uuid()              randomness, now() a clock: both are drawn, and served where the engine says so
//	x = ident()             what varies and cannot be served, as the address of an object
//	x = pay("o1", uuid())   a call of a tool; an argument is a text, a name or a source
//	boom()                  a failure
type simple struct {
	python.Interpreter
	// moment is called before each statement, and after the last. It may end the kernel.
	moment func() (died bool)
	wrong  func(format string, args ...any) // a program got what is not the answer to its call
	drawn  *int                             // counts what was drawn, so that no two draws are equal
}

func (l simple) Start(context.Context, kernel.Launch) (kernel.Kernel, error) {
	return &simpleKernel{language: l, names: map[string]string{}, parked: map[kernel.Group]map[string]string{}}, nil
}

type simpleKernel struct {
	language simple
	names    map[string]string
	parked   map[kernel.Group]map[string]string
	dead     bool
}

var (
	statement = regexp.MustCompile(`^(\w+) = (.+)$`)
	calling   = regexp.MustCompile(`^(\w+)\((.*)\)$`)
)

// simpleNode is one execution of a node.
type simpleNode struct {
	*simpleKernel
	served []state.Draw
	at     int
	made   []state.Draw
	sent   int
	marks  []string
	reads  []string
	wrote  map[string]bool
	sink   kernel.Sink
	ctx    context.Context
}

func (k *simpleKernel) Execute(
	ctx context.Context, n kernel.Node, sink kernel.Sink,
) (seen kernel.Observation, err error) {
	x := &simpleNode{simpleKernel: k, served: n.Draws, wrote: map[string]bool{}, sink: sink, ctx: ctx}
	for i, text := range strings.Split(string(n.Text), "\n") {
		if text = strings.TrimSpace(text); text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if k.language.moment() {
			k.dead = true
			return seen, kernel.ErrDied
		}
		if failure := x.line(text); failure != nil {
			failure.Line = i + 1
			seen.Failure = failure
			break
		}
	}
	seen.Names, seen.Marks = x.reads, x.marks
	for _, name := range slices.Sorted(maps.Keys(x.wrote)) {
		if seen.Failure != nil {
			delete(k.names, name)
			seen.Dropped = append(seen.Dropped, name)
			continue
		}
		seen.Writes = append(seen.Writes, kernel.Write{Name: name, Digest: digestOfText(k.names[name]),
			Size: int64(len(k.names[name]))})
	}
	return seen, nil
}

func digestOfText(text string) state.Digest { return state.DigestOf([]byte("text " + text)) }

func (x *simpleNode) line(text string) *kernel.Failure {
	if text == "boom()" {
		return &kernel.Failure{Type: "ZeroDivisionError", Message: "division by zero"}
	}
	m := statement.FindStringSubmatch(text)
	value, failure := x.value(m[2])
	if failure == nil {
		x.names[m[1]], x.wrote[m[1]] = value, true
	}
	return failure
}

func (x *simpleNode) value(text string) (string, *kernel.Failure) {
	m := calling.FindStringSubmatch(text)
	switch {
	case strings.HasPrefix(text, `"`):
		s, _ := strconv.Unquote(text)
		return s, nil
	case m == nil:
		v, bound := x.names[text]
		if !x.wrote[text] {
			x.reads = append(x.reads, text)
		}
		if !bound {
			return "", &kernel.Failure{Type: "NameError", Name: text,
				Message: fmt.Sprintf("name '%s' is not defined", text)}
		}
		return v, nil
	case m[1] == "uuid" || m[1] == "now":
		return x.draw(m[1]), nil
	case m[1] == "ident":
		x.marks = appendNew(x.marks, "process")
		return x.fresh(), nil
	}
	var args []string
	for _, a := range strings.Split(m[2], ", ") {
		v, failure := x.value(a)
		if failure != nil {
			return "", failure
		}
		args = append(args, v)
	}
	return x.call(m[1], args)
}

func (x *simpleNode) fresh() string {
	*x.language.drawn++
	return strconv.Itoa(*x.language.drawn)
}

func (x *simpleNode) draw(source string) string {
	x.marks = appendNew(x.marks, map[string]string{"uuid": "entropy", "now": "clock"}[source])
	d := state.Draw{Source: source, Value: json.RawMessage(strconv.Quote(x.fresh()))}
	if x.at < len(x.served) && x.served[x.at].Source == source {
		d = x.served[x.at]
		x.at++
	} else {
		x.at = len(x.served)
	}
	x.made = append(x.made, d)
	text, _ := strconv.Unquote(string(d.Value))
	return text
}

// call calls a tool. The answer of a tool names the order that it is for.
func (x *simpleNode) call(tool string, args []string) (string, *kernel.Failure) {
	r := kernel.CallRequest{Kind: "tool", Tool: tool, Varies: new(len(x.marks) > 0), DrawnFrom: x.sent,
		Drawn: x.made[x.sent:]}
	x.sent = len(x.made)
	r.Args, _ = json.Marshal(map[string]string{"order": args[0], "key": args[1]})
	if tool == "ask" {
		r.Kind, r.Question, r.Choices = "ask", "may "+args[0]+" be sent?", []string{"yes", "no"}
	}
	reply := x.sink.Calls.Call(x.ctx, r, kernel.CallVia{})
	if reply.Error != nil {
		return "", &kernel.Failure{Type: "CallError", Message: reply.Error.Message}
	}
	var answer string
	_ = json.Unmarshal(reply.Result, &answer)
	if tool != "ask" && answer != receipt(args[0]) {
		x.language.wrong("%s(%q) got %q", tool, args, answer)
	}
	return answer, nil
}

func receipt(order string) string { return "receipt of " + order }

func (k *simpleKernel) Check(_ context.Context, blocks []kernel.Source) ([]kernel.Verdict, error) {
	all := make([]kernel.Verdict, len(blocks))
	for i := range all {
		all[i].Valid = true
	}
	return all, nil
}

func (k *simpleKernel) Bind(_ context.Context, b kernel.Binding) error {
	for _, p := range b.Park {
		k.parked[p.Group] = map[string]string{}
		for _, name := range p.Names {
			k.parked[p.Group][name] = k.names[name]
			delete(k.names, name)
		}
	}
	for _, name := range b.Unbind {
		delete(k.names, name)
	}
	for _, g := range b.Unpark {
		maps.Copy(k.names, k.parked[g])
		delete(k.parked, g)
	}
	for _, g := range b.Drop {
		delete(k.parked, g)
	}
	return nil
}

func (k *simpleKernel) Store(_ context.Context, v kernel.Storing) (s kernel.Stored, err error) {
	values := map[string]string{}
	for _, name := range v.Names {
		values[name] = k.names[name]
	}
	s.Data, err = json.Marshal(values)
	s.Done, s.Size = true, int64(len(s.Data))
	return s, err
}

func (k *simpleKernel) Load(_ context.Context, l kernel.Loading) (kernel.Loaded, error) {
	values, found := map[string]string{}, kernel.Loaded{OK: true, Digests: map[string]state.Digest{}}
	if err := json.Unmarshal(l.Data, &values); err != nil {
		return found, err
	}
	for _, name := range l.Names {
		k.names[name], found.Digests[name] = values[name], digestOfText(values[name])
	}
	return found, nil
}

func (k *simpleKernel) Cite(context.Context, kernel.Citations) error { return nil }
func (k *simpleKernel) Inspect(context.Context, string, *inspect.Place) (kernel.Inspected, error) {
	return kernel.Inspected{}, nil
}
func (k *simpleKernel) Level() sandbox.Level                                 { return sandbox.LevelHooks }
func (k *simpleKernel) HasOpen(string) bool                                  { return false }
func (k *simpleKernel) Listens() bool                                        { return false }
func (k *simpleKernel) Exit() string                                         { return "it was ended" }
func (k *simpleKernel) Groups() []int                                        { return nil }
func (k *simpleKernel) Stop()                                                {}
func (k *simpleKernel) Unsent(kernel.Sink)                                   {}
func (k *simpleKernel) Close()                                               {}
func (k *simpleKernel) Hidden(context.Context, depgraph.Key) ([]byte, error) { return nil, nil }
func (k *simpleKernel) Detach(context.Context, []string) ([]string, error)   { return nil, nil }
func (k *simpleKernel) Flush(context.Context) error                          { return nil }
func (k *simpleKernel) CloseDisplays(context.Context) error                  { return nil }
func (k *simpleKernel) Unload(context.Context, []string) (kernel.Unloaded, error) {
	return kernel.Unloaded{}, nil
}
func (k *simpleKernel) Refresh(context.Context) (kernel.Unloaded, error) {
	return kernel.Unloaded{}, nil
}
func (k *simpleKernel) SetHidden(context.Context, depgraph.Key, state.Digest, bool, []byte) error {
	return nil
}
func (k *simpleKernel) Import(context.Context, []string) error { return nil }
func (k *simpleKernel) SetEnviron(context.Context, map[string]*string, map[string]kernel.FirstImport) error {
	return nil
}

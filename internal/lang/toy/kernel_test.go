package toy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/inspect"
	"github.com/xstate-engine/xstate/state/output"
)

// interpreter is the language on this machine: this process executes it.
type interpreter struct{ path string }

func locate(kernel.Search) (kernel.Located, error) {
	path, err := os.Executable()
	return kernel.Located{Path: path, Named: true}, err
}

func identify(_ context.Context, _ kernel.Search, path string) (kernel.Language, error) {
	return interpreter{path}, nil
}

func (interpreter) Name() string                             { return sums }
func (interpreter) String() string                           { return "sums 1" }
func (i interpreter) Command() string                        { return i.path }
func (interpreter) Identity(map[string]string) string        { return "sums 1" }
func (interpreter) Semantics() string                        { return "sums 1" }
func (interpreter) Opening([]byte) string                    { return "" }
func (interpreter) Construct(string) kernel.Construct        { return kernel.Observed }
func (interpreter) Transient(string) bool                    { return false }
func (interpreter) Ends(string) bool                         { return false }
func (interpreter) Interrupted(string) bool                  { return false }
func (interpreter) Environ(lines []string) map[string]string { return kernel.Environ(lines) }
func (interpreter) Start(context.Context, kernel.Launch) (kernel.Kernel, error) {
	return &sumKernel{values: map[string]int{}, parked: map[kernel.Group]parked{}}, nil
}

func (interpreter) Refusal(block state.BlockID, _ string, v kernel.Verdict) *state.ExecError {
	return &state.ExecError{Type: v.Type, Message: v.Message, Block: block, Line: v.Line}
}

func (interpreter) Missing(e *state.ExecError) string {
	name, missing := strings.CutSuffix(e.Message, " has no value")
	if !missing {
		return ""
	}
	return name
}

func (interpreter) Sandboxed(s sandbox.Spec, _ map[string]string) sandbox.Spec { return s }

func (interpreter) StartTests(context.Context, kernel.TestLaunch) (*kernel.Process, error) {
	return nil, errors.New("sums have no tests")
}

// sumKernel holds the values of a program.
type sumKernel struct {
	values map[string]int
	parked map[kernel.Group]parked
}

type parked struct {
	names []string
	value int
}

func digestOf(value int) state.Digest { return state.DigestOf(fmt.Appendf(nil, "sums %d", value)) }

func (k *sumKernel) Check(_ context.Context, blocks []kernel.Source) ([]kernel.Verdict, error) {
	verdicts := make([]kernel.Verdict, len(blocks))
	for i, b := range blocks {
		verdicts[i].Valid = true
		for _, l := range parse(b.Text) {
			if l.broken {
				verdicts[i] = kernel.Verdict{Type: "NoSum", Message: "this is not a sum", Line: l.number, Column: 1}
				break
			}
		}
	}
	return verdicts, nil
}

func (k *sumKernel) Execute(_ context.Context, n kernel.Node, sink kernel.Sink) (seen kernel.Observation, err error) {
	switch n.Dialect {
	case "xstate/give":
		err = k.give(n.Text, &seen)
	case "xstate/take":
		err = k.take(n.Text, &seen)
	default:
		for _, l := range parse(n.Text) {
			k.line(l, n, sink, &seen)
		}
	}
	return seen, err
}

func (k *sumKernel) line(l line, n kernel.Node, sink kernel.Sink, seen *kernel.Observation) {
	sum := 0
	for _, term := range l.terms {
		value, err := strconv.Atoi(term)
		if err != nil {
			var ok bool
			if value, ok = k.read(term, n.Unbound, seen); !ok {
				return
			}
		}
		sum += value
	}
	if l.target != "" {
		k.write(l.target, sum, seen)
		return
	}
	printed := output.Output{Kind: "stdout", Text: fmt.Sprintln(sum)}
	sink.Record(printed)
	if sink.Show != nil {
		sink.Show(printed)
	}
}

// read returns the value of a name. One of unbound has to be bound before the node can run.
func (k *sumKernel) read(name string, unbound []string, seen *kernel.Observation) (value int, ok bool) {
	value, ok = k.values[name]
	switch {
	case ok:
		seen.Names = append(seen.Names, name)
	case slices.Contains(unbound, name):
		seen.Unbound, seen.Again = true, append(seen.Again, name)
	default:
		seen.Absent = append(seen.Absent, name)
		seen.Failure = &kernel.Failure{Type: "NoValue", Message: name + " has no value", Name: name, Line: 1}
	}
	return value, ok
}

func (k *sumKernel) write(name string, value int, seen *kernel.Observation) {
	k.values[name] = value
	seen.Writes = append(seen.Writes, kernel.Write{Name: name, Digest: digestOf(value), Size: 8,
		Info: state.ValueInfo{Type: "number", Repr: strconv.Itoa(value)}})
	seen.BindOrder = append(seen.BindOrder, name)
}

// plain is the document that hands values over, see package mixed.
type plain struct {
	Names map[string]int `json:"names"`
}

func (k *sumKernel) give(text []byte, seen *kernel.Observation) error {
	var names []string
	if err := json.Unmarshal(text, &names); err != nil {
		return err
	}
	given := plain{map[string]int{}}
	for _, name := range names {
		value, ok := k.read(name, nil, seen)
		if !ok {
			return nil
		}
		given.Names[name] = value
	}
	var err error
	seen.Plain, err = json.Marshal(given)
	return err
}

func (k *sumKernel) take(text []byte, seen *kernel.Observation) error {
	var given plain
	if err := json.Unmarshal(text, &given); err != nil {
		return err
	}
	for name, value := range given.Names {
		k.write(name, value, seen)
	}
	return nil
}

func (k *sumKernel) Bind(_ context.Context, b kernel.Binding) error {
	for _, p := range b.Park {
		k.parked[p.Group] = parked{p.Names, k.values[p.Names[0]]}
	}
	for _, name := range b.Unbind {
		delete(k.values, name)
	}
	for _, g := range b.Unpark {
		for _, name := range k.parked[g].names {
			k.values[name] = k.parked[g].value
		}
		delete(k.parked, g)
	}
	for _, g := range b.Drop {
		delete(k.parked, g)
	}
	return nil
}

func (k *sumKernel) Store(_ context.Context, v kernel.Storing) (kernel.Stored, error) {
	data := []byte(strconv.Itoa(k.values[v.Names[0]]))
	return kernel.Stored{Done: true, Data: data, Size: int64(len(data))}, nil
}

func (k *sumKernel) Load(_ context.Context, l kernel.Loading) (kernel.Loaded, error) {
	data := l.Data
	if l.Path != "" {
		var err error
		if data, err = os.ReadFile(l.Path); err != nil {
			return kernel.Loaded{}, err
		}
	}
	value, err := strconv.Atoi(string(data))
	if err != nil {
		return kernel.Loaded{}, err
	}
	loaded := kernel.Loaded{OK: true, Digests: map[string]state.Digest{}}
	for _, name := range l.Names {
		k.values[name], loaded.Digests[name] = value, digestOf(value)
	}
	return loaded, nil
}

func (k *sumKernel) Inspect(_ context.Context, name string, _ *inspect.Place) (kernel.Inspected, error) {
	return kernel.Inspected{Text: strconv.Itoa(k.values[name])}, nil
}

// The language has no state beside its values, no files and no processes.

func (k *sumKernel) Cite(context.Context, kernel.Citations) error { return nil }

func (k *sumKernel) Hidden(context.Context, depgraph.Key) ([]byte, error) { return nil, nil }

func (k *sumKernel) SetHidden(context.Context, depgraph.Key, state.Digest, bool, []byte) error {
	return nil
}

func (k *sumKernel) SetEnviron(context.Context, map[string]*string, map[string]kernel.FirstImport) error {
	return nil
}

func (k *sumKernel) Import(context.Context, []string) error { return nil }

func (k *sumKernel) Detach(context.Context, []string) ([]string, error) { return nil, nil }

func (k *sumKernel) Flush(context.Context) error { return nil }

func (k *sumKernel) CloseDisplays(context.Context) error { return nil }

func (k *sumKernel) Unload(context.Context, []string) (kernel.Unloaded, error) {
	return kernel.Unloaded{}, nil
}

func (k *sumKernel) Refresh(context.Context) (kernel.Unloaded, error) {
	clear(k.parked)
	return kernel.Unloaded{}, nil
}

func (k *sumKernel) Level() sandbox.Level { return "" }

func (k *sumKernel) HasOpen(string) bool { return false }

func (k *sumKernel) Listens() bool { return false }

func (k *sumKernel) Exit() string { return "it was closed" }

func (k *sumKernel) Groups() []int { return nil }

func (k *sumKernel) Stop() {}

func (k *sumKernel) Unsent(kernel.Sink) {}

func (k *sumKernel) Close() {}

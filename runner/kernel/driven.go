package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/inspect"
)

// Driven is a kernel whose driver speaks the protocol of this package: one request a call, in JSON, with the operation
// as "op". Every language whose driver does so has its kernel from here.
type Driven struct {
	*Process
	unreadable bool       // the system does not let the engine read the memory of the interpreter
	reporting  *reporting // nil: the box is not observed
	nodes      int        // that it observed
	unbounded  bool       // the launch has no bounds
	recording  *Recording // nil: requests are not recorded
}

// NewDriven returns the kernel of a process that was started by c.
func NewDriven(p *Process, c Command) *Driven {
	d := &Driven{Process: p, recording: c.Recording}
	if c.Sandbox != nil && p.Level() != sandbox.LevelHooks {
		d.reporting = newReporting(c.Sandbox, c.Environ)
		d.reporting.unhooked = c.Unhooked
		d.unbounded = c.Sandbox.Bounds == nil
	}
	return d
}

// watchEvery is how often the files of the output streams are looked at while a node runs.
const watchEvery = 50 * time.Millisecond

func (d *Driven) Check(ctx context.Context, blocks []Source) ([]Verdict, error) {
	type block struct {
		Filename string           `json:"filename"`
		Dialect  depgraph.Dialect `json:"dialect"`
		Future   []string         `json:"future"`
		Bytes    int              `json:"bytes"`
	}
	var heads []block
	var text []byte
	for _, b := range blocks {
		heads, text = append(heads, block{b.Filename, b.Dialect, b.Future, len(b.Text)}), append(text, b.Text...)
	}
	var reply struct {
		Verdicts []Verdict `json:"verdicts"`
	}
	_, err := d.Request(ctx, map[string]any{"op": "compile", "blocks": heads}, text, &reply, Events{})
	return reply.Verdicts, err
}

func (d *Driven) Cite(ctx context.Context, c Citations) error {
	return d.do(ctx, struct {
		Op string `json:"op"`
		Citations
	}{"sources", c})
}

func (d *Driven) Execute(ctx context.Context, n Node, sink Sink) (Observation, error) {
	var seen Observation
	if n.Uses == nil {
		n.Uses = []string{} // drivers expect a list
	}
	if d.reporting != nil {
		d.nodes++
		n.Observed, n.MayOmitMarks = d.nodes, d.unbounded && !d.reporting.alive
	}
	began := time.Now()
	d.Begin()
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		d.Watch(watchEvery, done)
		close(watched)
	}()
	request := struct {
		Op string `json:"op"`
		Node
	}{"run", n}
	events := Events{Every: watchEvery, Event: func(text json.RawMessage, body []byte) {
		d.event(text, body, &seen, sink)
	}}
	if sink.Show != nil {
		events.Tick = func() { d.printed.look(sink) }
	}
	ctx, unhandle := d.handle(ctx, sink)
	calls := d.beginCalls(ctx, sink.Calls)
	_, err := d.Request(ctx, request, n.Text, &seen, events)
	unhandle(&seen, err != nil || ctx.Err() != nil)
	if d.endCalls(calls, err != nil || ctx.Err() != nil) {
		seen.Marks = append(seen.Marks, markUnfinished)
	}
	close(done)
	<-watched
	if seen.Seconds == 0 {
		seen.Seconds = time.Since(began).Seconds()
	}
	switch {
	case err == nil && seen.Files.Marked != 0:
		err = d.report(seen.Files.Marked, &seen)
	case errors.Is(err, ErrDied) && d.reporting != nil: // a limit may have ended it
		r, _ := d.box.Take(ctx, d.nodes)
		seen.Denied = d.reporting.denied(r)
	}
	return seen, err
}

// handle lets the calls of a node answer its requests until end is called. Where a call waits, ctx ends: nothing else
// stops a program that sent a request. failed: the node was interrupted, or its process died.
func (d *Driven) handle(
	ctx context.Context, sink Sink,
) (stoppable context.Context, end func(seen *Observation, failed bool)) {
	if d.recording == nil || sink.Calls == nil {
		return ctx, func(*Observation, bool) {}
	}
	ctx, stop := context.WithCancel(ctx)
	x := &exchanges{Calls: sink.Calls, stop: stop, over: make(chan struct{}), open: map[context.Context]func(){}}
	d.box.Handle(d.recording.Exchange(x))
	return ctx, func(seen *Observation, failed bool) {
		d.box.Handle(nil)
		if x.end(failed) {
			seen.mark(markUnfinished)
		}
		stop()
		if d.reporting == nil { // only the proxy knows what it passed on
			if r, err := d.box.Take(context.Background(), d.nodes); err == nil && len(r.Sockets) > 0 {
				seen.mark("network")
			}
		}
	}
}

// beginCalls lets the program call, if its language can.
func (d *Driven) beginCalls(ctx context.Context, calls Calls) *callNode {
	if d.calls == nil {
		return nil
	}
	return d.calls.begin(ctx, calls)
}

// endCalls returns when all calls of a node have an outcome, and reports whether some went on after its end.
func (d *Driven) endCalls(n *callNode, failed bool) bool { return n != nil && d.calls.end(n, failed) }

// report adds what the sandbox saw. The driver has sent both marks, so the report is there.
func (d *Driven) report(node int, seen *Observation) error {
	r, err := d.box.Take(context.Background(), node)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDied, err)
	}
	d.reporting.join(r, seen)
	seen.Denied = d.reporting.denied(r)
	return nil
}

// ReportEnd adds what the sandbox saw of a node in which the program ended its interpreter. The process was closed, so
// that the report is complete without a second mark.
func (d *Driven) ReportEnd(ctx context.Context, seen *Observation) error {
	if d.reporting == nil {
		return nil
	}
	r, err := d.box.Take(ctx, d.nodes)
	if err != nil && !errors.Is(err, sandbox.ErrEnded) {
		return fmt.Errorf("%w: %w", ErrDied, err)
	}
	d.reporting.join(r, seen)
	seen.Denied = d.reporting.denied(r)
	return nil
}

// denied returns what the bounds denied to the program. It leaves out that a library is not compiled to disk or does
// not fill its cache, and that a shell has no terminal: they try, and continue.
func (r *reporting) denied(report sandbox.Report) []sandbox.Denial {
	owns := r.owners(report)
	return slices.DeleteFunc(slices.Clone(report.Denied), func(d sandbox.Denial) bool {
		return d.Action == "write" && (d.Target == "/dev/tty" || strings.Contains(d.Target, "__pycache__") ||
			strings.HasSuffix(d.Target, ".pyc") || r.caches.Hold(d.Target, owns))
	})
}

// event takes what the driver sends while a node runs: outputs, how the node
// ended, and what it gives to another language.
func (d *Driven) event(text json.RawMessage, body []byte, seen *Observation, sink Sink) {
	var ev struct {
		Ev string `json:"ev"`
	}
	if json.Unmarshal(text, &ev) != nil {
		return
	}
	switch ev.Ev {
	case "output":
		d.Printed(text, body, sink)
	case "result":
		if json.Unmarshal(text, &seen.Result) == nil && sink.End != nil {
			sink.End(seen.Result)
		}
	case "plain":
		seen.Plain = body
	}
}

func (d *Driven) Bind(ctx context.Context, b Binding) error {
	return d.do(ctx, struct {
		Op string `json:"op"`
		Binding
	}{"bind", b})
}

func (d *Driven) Store(ctx context.Context, v Storing) (stored Stored, err error) {
	if d.unreadable {
		v.Lend = 0
	}
	request := struct {
		Op string `json:"op"`
		Storing
	}{"store", v}
	stored.Data, err = d.Request(ctx, request, nil, &stored, Events{})
	if err != nil || d.readParts(stored.Parts) == nil {
		return stored, err
	}
	d.unreadable = true
	for _, p := range stored.Parts {
		if p.Address != 0 {
			v.Lost = append(v.Lost, p.Digest)
		}
	}
	return d.Store(ctx, v)
}

// readParts reads the parts of a group that are in the memory of the interpreter. To write them to a file there takes
// the interpreter three times as long, and more while the system writes to its disk.
func (d *Driven) readParts(parts []Part) error {
	for i := range parts {
		if p := &parts[i]; p.Address != 0 {
			p.Data = lentBuffer(p.Size)
			if err := readMemory(d.box.Pid(), p.Address, p.Data); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *Driven) Load(ctx context.Context, l Loading) (loaded Loaded, err error) {
	request := struct {
		Op string `json:"op"`
		Loading
	}{"load", l}
	_, err = d.Request(ctx, request, l.Data, &loaded, Events{})
	return loaded, err
}

func (d *Driven) Hidden(ctx context.Context, key depgraph.Key) ([]byte, error) {
	return d.Request(ctx, map[string]any{"op": "hidden_get", "key": key}, nil, nil, Events{})
}

func (d *Driven) SetHidden(
	ctx context.Context,
	key depgraph.Key,
	digest state.Digest,
	pristine bool,
	data []byte,
) error {
	request := map[string]any{"op": "hidden_put", "key": key, "digest": digest, "pristine": pristine}
	_, err := d.Request(ctx, request, data, nil, Events{})
	return err
}

func (d *Driven) SetEnviron(ctx context.Context, set map[string]*string, first map[string]FirstImport) error {
	return d.do(ctx, map[string]any{"op": "environ", "set": set, "first": first})
}

func (d *Driven) Import(ctx context.Context, modules []string) error {
	return d.do(ctx, map[string]any{"op": "import", "modules": modules})
}

func (d *Driven) Detach(ctx context.Context, files []string) ([]string, error) {
	var reply struct{ Paths []string }
	_, err := d.Request(ctx, map[string]any{"op": "detach", "files": files}, nil, &reply, Events{})
	return reply.Paths, err
}

func (d *Driven) Flush(ctx context.Context) error { return d.do(ctx, map[string]string{"op": "flush"}) }

func (d *Driven) CloseDisplays(ctx context.Context) error {
	return d.do(ctx, map[string]string{"op": "close_figures"})
}

func (d *Driven) Unload(ctx context.Context, modules []string) (u Unloaded, err error) {
	_, err = d.Request(ctx, map[string]any{"op": "unload", "modules": modules}, nil, &u, Events{})
	return u, err
}

func (d *Driven) Refresh(ctx context.Context) (u Unloaded, err error) {
	_, err = d.Request(ctx, map[string]string{"op": "forget"}, nil, &u, Events{})
	return u, err
}

func (d *Driven) Inspect(ctx context.Context, name string, at *inspect.Place) (Inspected, error) {
	request := struct {
		Op   string          `json:"op"`
		Name string          `json:"name"`
		At   *inspect.Place  `json:"at,omitempty"`
		Most *inspect.Limits `json:"most,omitempty"`
	}{Op: "show", Name: name, At: at}
	if at != nil {
		request.Most = &inspect.Standard
	}
	var reply struct {
		Repr        string
		Description json.RawMessage
	}
	_, err := d.Request(ctx, request, nil, &reply, Events{})
	found := Inspected{Text: reply.Repr}
	if json.Unmarshal(reply.Description, &found.Description) != nil {
		found.Description = nil // the text is all
	}
	return found, err
}

// do sends a request whose reply says nothing.
func (d *Driven) do(ctx context.Context, request any) error {
	_, err := d.Request(ctx, request, nil, nil, Events{})
	return err
}

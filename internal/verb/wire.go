package verb

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/wording"
)

// Wire is a call on its way to another process. The tools that a caller offers stay behind.
type Wire struct {
	Type    string          `json:"type"` // of the request
	Request json.RawMessage `json:"request"`
	Store   string          `json:"store,omitempty"`
	Door    wording.Door    `json:"door"`
	Events  bool            `json:"events,omitempty"` // the caller wants them
}

// Line is one line of what comes back: an event, or at the end the answer or the error.
type Line struct {
	Event  *api.Event      `json:"event,omitempty"`
	Type   string          `json:"type,omitempty"` // of the answer
	Answer json.RawMessage `json:"answer,omitempty"`
	Error  *api.Error      `json:"error,omitempty"`
}

// requests has a value of each request.
var requests = []Request{
	&Status{}, &Exec{}, &Run{}, &Patch{}, &Plan{}, &Why{}, &Query{}, &Graph{}, &Show{}, &Log{}, &Diff{}, &Undo{},
	&Rollback{}, &Fork{}, &Calls{}, &WholeCall{}, &Approve{}, &Replay{}, &Verify{}, &Evidence{},
	&Flow{}, &CheckVerifier{},
	&Blame{}, &Credit{}, &Bisect{},
}

// documents has a value of each answer.
var documents = []any{
	api.Approve{}, api.Bisection{}, api.Blame{}, api.Budgets{}, api.Call{}, api.CallTree{}, api.Calls{},
	api.CheckVerifier{}, api.Credit{},
	api.Diff{}, api.Evidence{}, api.Exec{}, api.Failures{}, api.Flow{}, api.Fork{}, api.Graph{}, api.Log{},
	api.LogGraph{},
	api.Patch{}, api.Plan{}, api.Query{}, api.QueryBlock{}, api.QueryBlocks{}, api.QueryDenied{},
	api.QueryDependents{}, api.QueryPatch{}, api.QueryPath{}, api.QuerySymbol{}, api.QueryUnverified{},
	api.QueryValue{}, api.QueryVersion{},
	api.QueryVolatile{}, api.QueryWhere{}, api.Replay{}, api.Rollback{}, api.Run{}, api.Status{}, api.Undo{},
	api.Verify{}, api.Why{},
}

// typeOf is the type of a value, or of what it points to.
func typeOf(value any) reflect.Type {
	t := reflect.TypeOf(value)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// decode reads a value whose type is named and is that of one of some values. It returns a pointer to it.
func decode[T any](known []T, name string, data []byte) (any, error) {
	for _, k := range known {
		if t := typeOf(k); t.Name() == name {
			value := reflect.New(t).Interface()
			d := json.NewDecoder(bytes.NewReader(data))
			d.DisallowUnknownFields() // both ends are of one version
			return value, d.Decode(value)
		}
	}
	return nil, fmt.Errorf("there is no %q", name)
}

// Pack makes the wire of a call.
func Pack(c Call) (Wire, error) {
	data, err := json.Marshal(c.Request)
	return Wire{
		Type: typeOf(c.Request).Name(), Request: data, Store: c.Store, Door: c.Door, Events: c.Event != nil,
	}, err
}

// Unpack returns the request of a call.
func (w *Wire) Unpack() (Request, error) {
	r, err := decode(requests, w.Type, w.Request)
	if err != nil {
		return nil, fmt.Errorf("the request cannot be read: %w", err)
	}
	return r.(Request), nil
}

// Writer writes what comes of a call as lines.
type Writer struct{ To io.Writer }

// Event writes an event. A reader that is gone is noticed at the end.
func (w Writer) Event(e api.Event) { _ = w.line(Line{Event: &e}) }

// End writes the answer or the error.
func (w Writer) End(answer any, failed *api.Error) error {
	if failed != nil {
		return w.line(Line{Error: failed})
	}
	l, err := Answer(answer)
	if err != nil {
		return err
	}
	return w.line(l)
}

// Answer is the line with an answer.
func Answer(document any) (Line, error) {
	data, err := json.Marshal(document)
	return Line{Type: typeOf(document).Name(), Answer: data}, err
}

func (w Writer) line(l Line) error { return json.NewEncoder(w.To).Encode(l) }

// Reader takes lines that are written to it, and hands over their events.
type Reader struct {
	Event  func(api.Event) // nil: none is wanted
	rest   []byte
	answer any
	failed *api.Error
	bad    error
}

// Write implements io.Writer.
func (r *Reader) Write(p []byte) (int, error) {
	for part := range bytes.Lines(p) {
		if r.rest = append(r.rest, part...); bytes.HasSuffix(part, []byte("\n")) {
			r.line(r.rest)
			r.rest = r.rest[:0]
		}
	}
	return len(p), nil
}

func (r *Reader) line(text []byte) {
	var l Line
	if err := json.Unmarshal(text, &l); err != nil {
		r.bad = err
		return
	}
	switch {
	case l.Event != nil && r.Event != nil:
		r.Event(*l.Event)
	case l.Error != nil:
		r.failed = l.Error
	case l.Answer != nil:
		r.answer, r.bad = decode(documents, l.Type, l.Answer)
	}
}

// End returns the answer or the error that came.
func (r *Reader) End() (answer any, failed *api.Error) {
	switch {
	case r.failed != nil:
		return nil, r.failed
	case r.bad != nil:
		return nil, Unanswered(r.bad)
	case r.answer == nil:
		return nil, Unanswered(io.ErrUnexpectedEOF)
	}
	return r.answer, nil
}

// Unanswered is the error of an operation that ended without an answer.
func Unanswered(why error) *api.Error {
	return &api.Error{Code: api.CodeInternal, Message: "the operation gave no answer: " + why.Error(),
		Hint: "this should not happen; please report it with the request"}
}

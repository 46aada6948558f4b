package rpc

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

// e2bStream sends what a run does as lines of JSON. Nothing is sent before the first output, so that a call that fails
// at once has a status of HTTP.
type e2bStream struct {
	w       http.ResponseWriter
	gone    func() // cancels the call when the client does not read
	begun   bool
	seen    map[state.BlockID]bool // blocks with outputs
	results []result               // values of blocks that the code became; the end shows which of them is the main one
	done    *api.Exec
}

type result struct {
	block  state.BlockID
	output *output.Output
}

// line sends one message.
func (s *e2bStream) line(m map[string]any) error {
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", "application/x-ndjson")
	}
	err := json.NewEncoder(s.w).Encode(m)
	if err == nil {
		err = http.NewResponseController(s.w).Flush()
	}
	if err != nil {
		s.gone()
	}
	return err
}

// event sends what an event of exec says.
func (s *e2bStream) event(event any) error {
	e, ok := event.(api.Event)
	switch {
	case !ok:
	case e.Other: // earlier code ran again: its output is not part of this answer
	case e.Output != nil:
		_ = s.output(e.Block, e.Output) // the call is cancelled, and says at its end how far it came
	case e.Exec != nil:
		s.done = e.Exec
	}
	return nil
}

func (s *e2bStream) output(block state.BlockID, o *output.Output) error {
	s.seen[block] = true
	switch o.Kind {
	case "stdout", "stderr":
		return s.line(map[string]any{"type": o.Kind, "text": o.Text, "timestamp": time.Now().UnixNano()})
	case "result":
		s.results = append(s.results, result{block, o})
		return nil
	case "update", "clear", "comm": // the client shows each output that comes
		return nil
	}
	return s.result(o, false)
}

// e2bFields are the names that the client has for media types. It keeps others under extra.
var e2bFields = map[string]string{
	"text/plain": "text", "text/html": "html", "text/markdown": "markdown", "text/latex": "latex",
	"image/svg+xml": "svg", "image/png": "png", "image/jpeg": "jpeg", "application/pdf": "pdf",
	"application/json": "json", "application/javascript": "javascript",
}

// result sends display data, or the value of the last expression.
func (s *e2bStream) result(o *output.Output, main bool) error {
	m := map[string]any{"type": "result", "is_main_result": main}
	extra := map[string]any{}
	for media, data := range o.Data {
		value := any(data)
		if strings.HasSuffix(media, "json") && json.Valid([]byte(data)) {
			value = json.RawMessage(data)
		}
		if name := e2bFields[media]; name != "" {
			m[name] = value
		} else {
			extra[media] = value
		}
	}
	if m["text"] == nil && o.Text != "" {
		m["text"] = o.Text
	}
	if len(extra) > 0 {
		m["extra"] = extra
	}
	return s.line(m)
}

// end sends what is known at the end: values, the error of the block, the number of the run.
func (s *e2bStream) end() error {
	d := s.done
	if d == nil {
		return s.fail(errors.New("exec ended without its document"))
	}
	for _, r := range s.results {
		if err := s.result(r.output, r.block == d.Block); err != nil {
			return err
		}
	}
	if e := errorOf(d); e != nil {
		if err := s.line(e); err != nil {
			return err
		}
	}
	if err := s.line(map[string]any{"type": "number_of_executions", "execution_count": d.Step}); err != nil {
		return err
	}
	return s.line(map[string]any{"type": "end_of_execution"})
}

// errorOf is the error of the code that was sent; nil if it did not fail.
func errorOf(d *api.Exec) map[string]any {
	if d.Error == nil {
		return nil
	}
	return errorLine(d.Error.Type, d.Error.Message, strings.Join(d.Error.Traceback, "\n"))
}

func errorLine(name, value, traceback string) map[string]any {
	return map[string]any{"type": "error", "name": name, "value": value, "traceback": traceback}
}

// fail reports that the call failed: with a status of HTTP if nothing was sent, else as an error of the code.
func (s *e2bStream) fail(err error) error {
	if !s.begun {
		return err
	}
	f := asFailure(err)
	if err := s.line(errorLine(string(f.what.Code), f.what.Message, f.what.Hint)); err != nil {
		return err
	}
	return s.line(map[string]any{"type": "end_of_execution"})
}

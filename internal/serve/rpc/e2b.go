package rpc

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/state"
)

// The routes are those that the package e2b-code-interpreter 2 asks (code_interpreter_sync.py in it). A context is a
// session, and a request to execute is one call of exec.

// IsE2B reports whether a path is one of the E2B code interpreter's.
func IsE2B(path string) bool {
	return slices.Contains([]string{"/health", "/execute", "/contexts"}, path) || strings.HasPrefix(path, "/contexts/")
}

// e2b returns the handler of the E2B code interpreter's routes.
func (s *Service) e2b() http.Handler {
	known := newContexts(s.Folder)
	mux := http.NewServeMux()
	handle := func(pattern string, do func(http.ResponseWriter, *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := do(w, r); err != nil {
				f := asFailure(err)
				f.write(w, f.status())
			}
		})
	}
	handle("GET /health", func(w http.ResponseWriter, _ *http.Request) error {
		_, err := io.WriteString(w, "OK")
		return err
	})
	handle("POST /execute", func(w http.ResponseWriter, r *http.Request) error { return s.execute(w, r, known) })
	handle("GET /contexts", func(w http.ResponseWriter, _ *http.Request) error { return writeJSON(w, known.list()) })
	handle("POST /contexts", func(w http.ResponseWriter, r *http.Request) error {
		made, err := known.add(r)
		if err != nil {
			return err
		}
		return writeJSON(w, made)
	})
	handle("DELETE /contexts/{id}", func(_ http.ResponseWriter, r *http.Request) error {
		return known.drop(r.PathValue("id"))
	})
	handle("POST /contexts/{id}/restart", func(_ http.ResponseWriter, r *http.Request) error {
		return known.restart(r.PathValue("id"))
	})
	handle("/", func(_ http.ResponseWriter, r *http.Request) error {
		return fail(codeNoMethod, "docs/api.md lists the routes", "there is no route %s %q", r.Method, r.URL.Path)
	})
	return mux
}

// execution is the body of a request to execute.
type execution struct {
	Code     string            `json:"code"`
	Context  *string           `json:"context_id"`
	Language *string           `json:"language"`
	Env      map[string]string `json:"env_vars"`
}

// execute appends a block to the context's session and runs it. It appends, because the client expects an interpreter
// whose state each request continues: x += 1 twice adds two. Equal code with equal inputs is reused all the same.
func (s *Service) execute(w http.ResponseWriter, r *http.Request, known *contexts) error {
	var e execution
	if err := readJSON(r, &e); err != nil {
		return err
	}
	if err := isPython(e.Language); err != nil {
		return err
	}
	in, err := known.find(e.Context)
	if err != nil {
		return err
	}
	select {
	case in.busy <- struct{}{}:
		defer func() { <-in.busy }()
	case <-r.Context().Done():
		return nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	call := rand.Text()
	c := in.command("exec", "--append", "--client=e2b", "--call-id="+call)
	c.arguments, c.stdin = []string{"-"}, e.Code
	c.variables(e.Env)
	out := &e2bStream{w: w, gone: cancel, seen: map[state.BlockID]bool{}}
	err = s.events(ctx, c, out.event)
	if out.blocks(ctx) {
		err = errors.Join(err, s.takeBack(ctx, in, call))
	}
	if err != nil {
		return out.fail(err)
	}
	// Where nothing ran, no event had the outputs.
	if d := out.done; d != nil && d.Status == "reused" && !out.seen[d.Block] {
		if err := s.recorded(r.Context(), in, out); err != nil {
			return out.fail(err)
		}
	}
	return out.end()
}

// recorded sends the recorded outputs of a block that was reused.
func (s *Service) recorded(ctx context.Context, in *e2bContext, out *e2bStream) error {
	c := in.command("query")
	c.text("at-step", fmt.Sprint(out.done.Step))
	c.text("block", string(out.done.Block))
	text, err := s.answer(ctx, c)
	if err != nil {
		return err
	}
	var d api.QueryBlock
	if err := json.Unmarshal(text, &d); err != nil {
		return err
	}
	for _, o := range d.Block.Outputs {
		if err := out.output(d.Block.ID, &o); err != nil {
			return err
		}
	}
	return nil
}

// takeBack takes back the edits of a call. Code that was interrupted is part of the program, so the next call would
// begin by executing it again; and after code that ends the program nothing would be executed. The client expects an
// interpreter that goes on in both cases.
func (s *Service) takeBack(ctx context.Context, in *e2bContext, call string) error {
	log := in.command("log", "--limit=100")
	log.detach = true
	text, err := s.answer(ctx, log)
	if err != nil {
		return err
	}
	var d api.Log
	if err := json.Unmarshal(text, &d); err != nil {
		return err
	}
	var first, last state.StepNumber
	for _, e := range d.Steps { // newest first
		if e.Origin.CallID == call && e.Run == nil {
			first, last = e.Number, max(last, e.Number)
		}
	}
	if first == 0 {
		return nil
	}
	undo := in.command("undo", "--client=e2b", "--reason=it was interrupted, or ended the program")
	undo.detach, undo.arguments = true, []string{fmt.Sprintf("%d..%d", first, last)}
	_, err = s.answer(ctx, undo)
	return err
}

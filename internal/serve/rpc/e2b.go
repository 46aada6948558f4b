package rpc

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
)

// The routes are those that the package e2b-code-interpreter 2 asks (code_interpreter_sync.py in it). A context is a
// session, and a request to execute is one call of exec.

// isE2B reports whether a path is one of the E2B code interpreter's.
func isE2B(path string) bool {
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
		return fail(api.CodeNoMethod, "docs/api.md lists the routes", "there is no route %s %q", r.Method, r.URL.Path)
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
	in, err := known.find(e.Context)
	if err != nil {
		return err
	}
	if in.Folder, err = known.served(in.Folder); err != nil { // a program may have put a link in its place
		return err
	}
	language, err := languageOf(e.Language, in.Language)
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
	out := &e2bStream{w: w, gone: cancel, seen: map[state.BlockID]bool{}}
	if strings.TrimSpace(e.Code) == "" { // as in a notebook
		return out.line(map[string]any{"type": "end_of_execution"})
	}
	c := &call{folder: in.Folder, ask: &verb.Exec{
		InSession: verb.In(in.session), Code: e.Code, Language: language, Append: true,
		Origin: state.Origin{Client: "e2b"},
	}}
	environ := maps.Clone(in.environ)
	maps.Copy(environ, e.Env)
	if c.variables(environ, false); c.bad == nil {
		maps.Copy(in.environ, e.Env)
	}
	err = s.events(ctx, c, out.event)
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
	document, err := s.operate(ctx, &call{folder: in.Folder, ask: &verb.Query{
		InSession: verb.In(in.session), Moment: verb.Moment{AtStep: &out.done.Step}, Block: string(out.done.Block),
	}}, nil)
	if err != nil {
		return err
	}
	d := verb.As[api.QueryBlock](document)
	if d == nil || d.Block == nil {
		return fmt.Errorf("the block is a %T", document)
	}
	for _, o := range d.Block.Outputs {
		if err := out.output(d.Block.ID, &o); err != nil {
			return err
		}
	}
	return nil
}

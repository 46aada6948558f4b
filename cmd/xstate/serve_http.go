package main

import (
	"context"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/serve/mcp"
	"github.com/xstate-engine/xstate/internal/serve/page"
	"github.com/xstate-engine/xstate/internal/serve/rpc"
)

// stalled is how long a client of HTTP may neither read nor write.
const stalled = 30 * time.Second

// answerHTTP makes a server answer HTTP, with e2b also as the E2B code interpreter. The handler is made for the first
// request: the schemas of all verbs take longer than the rest of a server's start, which the first run waits for.
func (a *app) answerHTTP(ctx context.Context, server *serve.Server, environ []string, e2b bool) {
	dir := server.Pool.Store().State().Dir()
	service := &rpc.Service{
		Operations: server.Contain(a.doer(server)), Store: dir, Folder: filepath.Dir(dir), Environ: environ,
		Runs: server.Pool, Life: ctx, E2B: e2b,
	}
	handler := sync.OnceValue(func() http.Handler {
		mux := http.NewServeMux()
		mux.Handle("/", service.Handler())
		mux.Handle("/mcp", mcp.Handler(service.Operations, mcp.Options{
			Folder: service.Folder, Store: dir, Environ: environ, Version: buildVersion(),
		}))
		return rpc.Bounded(mux, stalled)
	})
	server.Page = &page.Page{
		Operations: service.Operations, Store: dir, Folder: service.Folder, Environ: environ, Runs: server.Pool,
		Secret: server.Token, Life: ctx,
	}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler().ServeHTTP(w, r) })
}

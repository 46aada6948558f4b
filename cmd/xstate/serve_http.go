package main

import (
	"context"
	"net/http"
	"path/filepath"
	"time"

	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/serve/mcp"
	"github.com/xstate-engine/xstate/internal/serve/rpc"
)

// stalled is how long a client of HTTP may neither read nor write.
const stalled = 30 * time.Second

// answerHTTP makes a server answer HTTP. With openE2B the routes of the E2B code interpreter ask for no token.
func (a *app) answerHTTP(ctx context.Context, server *serve.Server, environ []string, openE2B bool) {
	dir := server.Pool.Store().State().Dir()
	service := &rpc.Service{
		Do: a.doer(server), Store: dir, Folder: filepath.Dir(dir), Environ: environ, Runs: server.Pool, Life: ctx,
	}
	mux := http.NewServeMux()
	mux.Handle("/", service.Handler())
	mux.Handle("/mcp", mcp.Handler(a.doer(server), mcp.Options{
		Folder: service.Folder, Environ: environ, Version: buildVersion(),
	}))
	server.Handler = rpc.Bounded(mux, stalled)
	if openE2B {
		server.Open = func(r *http.Request) bool { return rpc.IsE2B(r.URL.Path) }
		a.ui.talk("--e2b: every program on this machine can execute code as this user, at E2B's routes")
	}
}

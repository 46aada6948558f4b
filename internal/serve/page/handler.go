package page

import (
	"io/fs"
	"net/http"

	"github.com/xstate-engine/xstate/internal/serve"
)

// policy lets a view load from this server alone, and run nothing but its script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Handler answers the requests below root.
func (p *Page) Handler() http.Handler {
	assets, err := fs.Sub(files, "assets")
	if err != nil {
		panic(err) // the folder is embedded
	}
	mux := http.NewServeMux()
	for _, name := range []string{"page.css", "page.js"} {
		mux.HandleFunc("GET "+root+name, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, assets, name)
		})
	}
	mux.HandleFunc("GET "+root+"enter", p.enter)
	for path, show := range map[string]func(*view) error{
		"{$}": (*view).sessions, "program": (*view).program, "block": (*view).block, "graph": (*view).graph,
		"plan": (*view).plan, "takeback": (*view).takeBack, "compare": (*view).compareSteps,
		"history": (*view).history, "step": (*view).step, "values": (*view).values, "value": (*view).value,
		"calls": (*view).calls, "evidence": (*view).evidence, "agents": (*view).agents, "audit": (*view).audits,
		"failures": (*view).failures, "blame": (*view).blame, "flow": (*view).flow,
	} {
		mux.HandleFunc("GET "+root+path, p.showing(show))
	}
	mux.HandleFunc("GET "+root+"parts", p.admitting(rightLook, p.parts))
	mux.HandleFunc("GET "+serve.EventsPath, p.admitting(rightLook, p.events))
	mux.HandleFunc("POST "+root+"run", p.admitting(rightEdit, p.run))
	mux.HandleFunc("POST "+root+"edit", p.admitting(rightEdit, p.edit))
	mux.HandleFunc("POST "+root+"stop", p.admitting(rightEdit, p.stop))
	mux.HandleFunc("POST "+root+"undo", p.admitting(rightEdit, p.undo))
	mux.HandleFunc("POST "+root+"decide", p.admitting(rightEdit, p.decide))
	mux.HandleFunc("POST "+root+"audit", p.admitting(rightEdit, p.audit))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}

package page

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/internal/wording"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// view is one page for one request.
type view struct {
	p          *Page
	r          *http.Request
	w          http.ResponseWriter
	query      url.Values
	Name       string // of the template
	Title      string
	Session    string
	AtStep     *state.StepNumber // nil: the last
	Step       state.StepNumber  // the last one, before the view was made
	Edit       bool              // the browser may change sessions
	standalone bool              // links lead to other parts of the same page
	Unsaved    string            // what a form had that was not recorded
	Data       any
}

// showing answers with a view.
func (p *Page) showing(show func(*view) error) http.HandlerFunc {
	return p.admitting(rightLook, func(w http.ResponseWriter, r *http.Request) {
		v := p.view(w, r)
		if v.Session != "" && v.AtStep == nil {
			v.Step = p.lastStep(r.Context(), v.Session)
		}
		if err := show(v); err != nil {
			v.fail(err)
			return
		}
		v.send(http.StatusOK)
	})
}

func (p *Page) view(w http.ResponseWriter, r *http.Request) *view {
	v := &view{p: p, r: r, w: w, query: r.URL.Query(), Edit: p.rightOf(r) == rightEdit}
	v.Session = v.query.Get("session")
	n, err := strconv.ParseUint(v.query.Get("step"), 10, 32)
	if err == nil && !slices.Contains(present, strings.TrimPrefix(r.URL.Path, root)) {
		step := state.StepNumber(n)
		v.AtStep = &step
	}
	return v
}

// present are the views that show the last step, whichever step the view shows that leads to them.
var present = []string{"plan", "agents", "calls", "failures", "audit"}

// send writes the view as a whole, or nothing of it.
func (v *view) send(status int) {
	var out bytes.Buffer
	if err := templates().ExecuteTemplate(&out, "layout", v); err != nil {
		http.Error(v.w, "internal error: "+err.Error(), http.StatusInternalServerError)
		return
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(out.Bytes()) // the client is gone
}

// failure is an operation that failed.
type failure struct{ what api.Error }

func (f *failure) Error() string { return f.what.Message }

// fail shows why there is no view.
func (v *view) fail(err error) {
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{api.Error{Message: err.Error()}}
	}
	v.Name, v.Title, v.Data = "failed", "Not shown", f.what
	v.send(http.StatusNotFound)
}

// operate carries an operation out. event gets what happens; nil: it is not wanted.
func (p *Page) operate(ctx context.Context, r verb.Request, event func(api.Event)) (answer any, failed *api.Error) {
	return p.Operations.Operate(ctx, verb.Call{
		Request: r, Store: p.Store, Folder: p.Folder, Environ: p.Environ, Door: wording.API, Event: event,
	})
}

// ask carries an operation out and returns its document.
func ask[D any](ctx context.Context, p *Page, request verb.Request) (*D, error) {
	answer, failed := p.operate(ctx, request, nil)
	if failed != nil {
		return nil, &failure{*failed}
	}
	if d := verb.As[D](answer); d != nil {
		return d, nil
	}
	return nil, &failure{api.Error{Message: "the operation has another answer"}}
}

// lastStep is the last step of a session; 0 if it cannot be looked at.
func (p *Page) lastStep(ctx context.Context, session string) state.StepNumber {
	limit := 1
	log, err := ask[api.Log](ctx, p, &verb.Log{InSession: verb.In(session), Limit: &limit})
	if err != nil || len(log.Steps) == 0 {
		return 0
	}
	return log.Steps[0].Number
}

// At is the address of a view of the same session.
func (v *view) At(name string, more ...string) string {
	if v.standalone {
		return anchor(name, more)
	}
	q := url.Values{"session": {v.Session}}
	if v.AtStep != nil && !slices.Contains(present, name) {
		q.Set("step", strconv.Itoa(int(*v.AtStep)))
	}
	for i := 0; i+1 < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return root + name + "?" + q.Encode()
}

// anchor is the address of a part of the same page: of a block, a step or a value that is named, or else a section.
func anchor(name string, more []string) string {
	to := name
	for i := 0; i+1 < len(more); i += 2 {
		switch more[i] {
		case "block":
			to = "b-" + more[i+1]
		case "name":
			to = "v-" + more[i+1]
		case "step":
			if name == "step" || name == "program" {
				to = "s-" + more[i+1]
			}
		}
	}
	return (&url.URL{Fragment: to}).String()
}

// Tab is the tab to which the view belongs.
func (v *view) Tab() string { return cmp.Or(under[v.Name], v.Name) }

// Running says what runs the session now; "" if nothing does.
func (v *view) Running() string {
	if v.standalone {
		return ""
	}
	return v.p.runningIn(v.Session)
}

// Now is the address of the same view after the last step.
func (v *view) Now() string {
	q := maps.Clone(v.query)
	q.Del("step")
	path := v.r.URL.Path
	if v.Name == "step" {
		path = root + "program"
	}
	return path + "?" + q.Encode()
}

// snapshot asks for the whole program.
func (v *view) snapshot() (*query.Snapshot, error) {
	all := 0
	d, err := ask[api.Query](v.r.Context(), v.p, &verb.Query{
		InSession: verb.In(v.Session), Moment: verb.Moment{AtStep: v.AtStep}, Limit: &all,
	})
	if err != nil {
		return nil, err
	}
	v.Session = d.Session
	return d.Snapshot, nil
}

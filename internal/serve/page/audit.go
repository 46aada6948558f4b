package page

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
)

// auditData is what the view of replays and bisections shows.
type auditData struct {
	Block    string // what the forms begin with, like From and To
	From, To string
	What     string // what was begun last; "": nothing
	Since    time.Time
	Running  bool
	At       api.Event // how far a replay is
	Failed   string
	Replay   *api.Replay
	Bisect   *api.Bisection
}

// lookAgain is after how many seconds a browser looks again at what has not ended.
const lookAgain = "2"

// audits shows what replays and bisects, and what came of it.
func (v *view) audits() error {
	limit := 1
	d, err := ask[api.Log](v.r.Context(), v.p, &verb.Log{InSession: verb.In(v.Session), Limit: &limit})
	if err != nil {
		return err
	}
	v.Session = d.Session
	data := &auditData{Block: v.query.Get("block"), From: v.query.Get("from"), To: v.query.Get("to")}
	if a := v.p.auditOf(v.Session); a != nil {
		over, failed := a.outcome()
		data.What, data.Since, data.Running, data.Failed = a.What, a.Since, !over, failed
		if over && failed == "" {
			data.Replay, data.Bisect = verb.As[api.Replay](a.done), verb.As[api.Bisection](a.done)
		}
		if data.Running {
			data.At = a.reached()
			v.w.Header().Set("Refresh", lookAgain)
		}
	}
	v.Name, v.Title, v.Data = "audit", "Replay and bisect", data
	return nil
}

// auditOf returns the audit that was begun last in a session; nil if there is none.
func (p *Page) auditOf(session string) *audit {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.audits[session]
}

// audit begins a replay or a bisection, or stops it.
func (p *Page) audit(w http.ResponseWriter, r *http.Request) {
	session := r.FormValue("session")
	var err error
	switch r.FormValue("do") {
	case "stop":
		if a := p.auditOf(session); a != nil {
			a.stop()
		}
	case "bisect":
		err = p.beginBisect(session, r)
	default:
		err = p.beginReplay(session, r)
	}
	v := p.view(w, r)
	v.Session = session
	if err != nil {
		v.fail(err)
		return
	}
	http.Redirect(w, r, v.At("audit"), http.StatusSeeOther)
}

// given are the fields of a form that have something, for people.
func given(r *http.Request, names ...string) (text string) {
	for _, name := range names {
		if x := strings.TrimSpace(r.FormValue(name)); x != "" {
			text += fmt.Sprintf(", %s %s", name, x)
		}
	}
	return strings.TrimPrefix(text, ", ")
}

// formStep reads the number of a step from a form; nil if it has none.
func formStep(r *http.Request, name string) (*state.StepNumber, error) {
	text := strings.TrimSpace(r.FormValue(name))
	if text == "" {
		return nil, nil
	}
	step, err := stepOf(text)
	return &step, err
}

func (p *Page) beginReplay(session string, r *http.Request) error {
	from, err := formStep(r, "from")
	if err != nil {
		return err
	}
	to, err := formStep(r, "to")
	if err != nil {
		return err
	}
	q := &verb.Replay{InSession: verb.In(session), From: from, To: to, Block: strings.TrimSpace(r.FormValue("block")),
		Cached: r.FormValue("cached") != "", UntilDivergence: r.FormValue("until") != "",
		CallAgain: r.FormValue("again") != ""}
	if from != nil && to != nil && *from == *to {
		q.From, q.To, q.Step = nil, nil, from
	}
	return p.beginAudit(session, "Replay: "+cmp.Or(given(r, "from", "to", "block"), "all runs"), q)
}

func (p *Page) beginBisect(session string, r *http.Request) error {
	q := &verb.Bisect{InSession: verb.In(session), Block: strings.TrimSpace(r.FormValue("block")),
		Value: strings.TrimSpace(r.FormValue("value")), Recorded: r.FormValue("recorded") != ""}
	for name, at := range map[string]*state.StepNumber{"good": &q.Good, "bad": &q.Bad} {
		n, err := formStep(r, name)
		if err != nil {
			return err
		}
		if n != nil {
			*at = *n
		}
	}
	return p.beginAudit(session, "Bisection: "+given(r, "block", "value", "good", "bad"), q)
}

// beginAudit carries out an operation that records nothing. One session has one at a time.
func (p *Page) beginAudit(session, what string, request verb.Request) error {
	ctx, stop := context.WithCancel(p.life())
	a := &audit{begun: &begun{}, What: what, Since: time.Now(), stop: stop}
	p.mu.Lock()
	if old := p.audits[session]; old != nil {
		if over, _ := old.outcome(); !over {
			p.mu.Unlock()
			stop()
			return &failure{api.Error{Code: state.CodeBusy, Message: "a replay or bisection of this session goes on",
				Hint: "wait for its end, or stop it"}}
		}
	}
	if p.audits == nil {
		p.audits = map[string]*audit{}
	}
	p.audits[session] = a
	p.mu.Unlock()
	go func() {
		defer stop()
		answer, failed := p.operate(ctx, request, a.reach)
		a.done = answer
		a.end(failed, 0)
	}()
	return nil
}

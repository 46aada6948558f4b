package page

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
)

// origin says in the history that a browser asked.
var origin = state.Origin{Client: "page"}

// run runs what is new, edited or affected.
func (p *Page) run(w http.ResponseWriter, r *http.Request) {
	session := r.FormValue("session")
	file, err := p.fileOf(r.Context(), session)
	if err == nil {
		request := &verb.Run{InSession: verb.In(session), Origin: origin}
		if file != "" {
			request = &verb.Run{File: file, Origin: origin} // its present content counts
		}
		err = p.begin(session, request, r)
	}
	p.changed(w, r, err)
}

// edit gives a block another source, and runs what is affected.
func (p *Page) edit(w http.ResponseWriter, r *http.Request) {
	session, block, version := r.FormValue("session"), r.FormValue("block"), r.FormValue("version")
	if block == "" || version == "" { // without a block it would be an edit of the whole program
		p.changed(w, r, &failure{api.Error{Message: "the form names no version of a block",
			Hint: "open the block, and edit it there"}})
		return
	}
	p.changed(w, r, p.begin(session, &verb.Patch{
		InSession: verb.In(session), Format: "text-editor", Block: block, Expect: version, Run: true,
		Origin: origin, Text: createText(r.FormValue("source")),
	}, r))
}

// createText is a patch that writes a whole text again.
func createText(source string) string {
	text, _ := json.Marshal(map[string]string{"command": "create", "file_text": source}) // strings are never refused
	return string(text)
}

// stop interrupts what runs in a session.
func (p *Page) stop(w http.ResponseWriter, r *http.Request) {
	for _, run := range p.runsOf(r.FormValue("session")) {
		p.Runs.Interrupt(run.Run)
	}
	p.changed(w, r, nil)
}

// undo takes a step back.
func (p *Page) undo(w http.ResponseWriter, r *http.Request) {
	session := r.FormValue("session")
	_, err := ask[api.Undo](r.Context(), p,
		&verb.Undo{InSession: verb.In(session), Steps: r.FormValue("step"), Origin: origin})
	p.changed(w, r, err)
}

// decide answers a call that waits.
func (p *Page) decide(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseUint(r.FormValue("call"), 10, 32)
	if err == nil {
		_, err = ask[api.Approve](r.Context(), p, &verb.Approve{
			Calls: []state.CallID{state.CallID(id)}, Deny: r.FormValue("answer") == "deny",
			Choice: r.FormValue("choice"), Reason: r.FormValue("reason"),
		})
	}
	p.changed(w, r, err)
}

// changed returns to the view from which a form came, or says why nothing was changed.
func (p *Page) changed(w http.ResponseWriter, r *http.Request, err error) {
	v := p.view(w, r)
	v.Session = r.FormValue("session")
	if err != nil {
		v.Unsaved = r.FormValue("source")
		v.fail(err)
		return
	}
	back := r.FormValue("back")
	if back != "calls" && back != "history" && back != "agents" {
		back = "program"
	}
	http.Redirect(w, r, v.At(back), http.StatusSeeOther)
}

// begin carries an operation out that outlives the request. One session has one at a time.
func (p *Page) begin(session string, request verb.Request, r *http.Request) error {
	p.mu.Lock()
	if over, _ := p.begun[session].outcome(); !over {
		p.mu.Unlock()
		return &failure{api.Error{Code: state.CodeBusy, Message: "a run of this session has not ended yet",
			Hint: "wait for its end"}}
	}
	b := &begun{block: r.FormValue("block"), source: r.FormValue("source")}
	if p.begun == nil {
		p.begun = map[string]*begun{}
	}
	p.begun[session] = b
	p.mu.Unlock()
	ctx := p.life()
	go func() {
		_, failed := p.operate(ctx, request, nil)
		last := state.StepNumber(0)
		if failed != nil {
			last = p.lastStep(ctx, session)
		}
		b.end(failed, last)
	}()
	return nil
}

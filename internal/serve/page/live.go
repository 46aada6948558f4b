package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
)

// lookEvery is how often the server looks whether a session has another step, while a page of it is open. Other
// processes write to the store, too, and none of them tells.
const lookEvery = 50 * time.Millisecond

// stamp is what a page shows, as far as it changes.
type stamp struct {
	Step    state.StepNumber `json:"step"`
	Running string           `json:"running"` // what runs, for people
	Failed  string           `json:"failed"`  // why what a browser began was not done
	Blocks  []partHash       `json:"blocks,omitempty"`
}

type partHash struct {
	ID   state.BlockID `json:"id"`
	Hash string        `json:"hash"`
}

// events tells a browser what changes in a session, as server-sent events: "stamp" when there is another step, with the
// hash of each block, and the events of a run that a browser began, as they come.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	flusher := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	session := r.URL.Query().Get("session")
	since, _ := strconv.ParseUint(r.URL.Query().Get("since"), 10, 32)
	last := stamp{Step: state.StepNumber(since)}
	send := func(name string, data any) bool {
		text, err := json.Marshal(data)
		if err != nil {
			return false
		}
		if _, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, text); err == nil {
			err = flusher.Flush()
		}
		return err == nil
	}
	if !send("open", nil) {
		return
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var following *begun
	seen := 0
	for {
		if b := p.begunIn(session); b != following {
			following, seen = b, 0
			if over, _ := b.outcome(); over && b != nil {
				list, _ := b.since(0)
				seen = len(list) // its outcome is in the page already
			}
		}
		var more <-chan struct{}
		if following != nil {
			var list []api.Event
			list, more = following.since(seen)
			for i := range list {
				if list[i].Event != "done" && !send("run", &list[i]) {
					return
				}
			}
			seen += len(list)
		}
		now, err := p.stampOf(r.Context(), session, &last)
		if err == nil && (now.Step != last.Step || now.Running != last.Running || now.Failed != last.Failed) {
			if !send("stamp", now) {
				return
			}
			last = *now
		}
		select {
		case <-r.Context().Done():
			return
		case <-more:
		case <-tick.C:
		}
	}
}

// stampOf looks at a session. Hashes are made if it has another step than last.
func (p *Page) stampOf(ctx context.Context, session string, last *stamp) (*stamp, error) {
	limit := 1
	log, err := ask[api.Log](ctx, p, &verb.Log{InSession: verb.In(session), Limit: &limit})
	if err != nil {
		return nil, err
	}
	now := &stamp{Step: last.Step}
	if len(log.Steps) > 0 {
		now.Step = log.Steps[0].Number
	}
	var running []string
	if p.Runs != nil {
		for _, run := range p.Runs.Runs() {
			if run.Session == log.Session {
				running = append(running, run.Verb+" since "+run.Since.Format(time.TimeOnly))
			}
		}
	}
	now.Running = strings.Join(running, ", ")
	_, now.Failed = p.begunIn(session).outcome()
	if now.Step == last.Step {
		return now, nil
	}
	v := &view{p: p, r: (&http.Request{}).WithContext(ctx), query: url.Values{}, Session: session, Edit: false}
	d, err := v.snapshot()
	if err != nil {
		return nil, err
	}
	for i := range d.Blocks {
		part, err := v.part(&d.Blocks[i])
		if err != nil {
			return nil, err
		}
		now.Blocks = append(now.Blocks, partHash{part.ID, part.Hash})
	}
	return now, nil
}

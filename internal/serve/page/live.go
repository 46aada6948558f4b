package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
)

// lookEvery is how often the server looks whether a session has another step, while a page of it is open. Other
// processes write to the store, too, and none of them tells.
const lookEvery = 25 * time.Millisecond

// stamp is what a page shows, as far as it changes.
type stamp struct {
	Step    state.StepNumber `json:"step"`
	Running string           `json:"running"`          // what runs, for people
	Failed  string           `json:"failed"`           // why what a browser began was not done
	About   string           `json:"about,omitempty"`  // the HTML of what is shown besides the blocks
	Blocks  *[]partHash      `json:"blocks,omitempty"` // all, if some came, went or moved, or may have
	Parts   string           `json:"parts,omitempty"`  // the HTML of those that changed, if that is known
}

type partHash struct {
	ID   state.BlockID `json:"id"`
	Hash string        `json:"hash"`
}

// heard is an event of a run, as far as a page shows it.
type heard struct {
	Event    string        `json:"event"`
	Block    state.BlockID `json:"block"`
	Text     string        `json:"text,omitempty"`
	Expected float64       `json:"expected,omitempty"` // in seconds
	Ago      float64       `json:"ago"`                // in seconds: when it happened
}

// follower is a browser that has a view of a session open.
type follower struct {
	p       *Page
	session string
	parts   bool // the view shows the parts of the program
	last    stamp
	has     map[state.BlockID]string // the hashes of its parts; nil: not known
	order   []state.BlockID          // in which its parts are
	about   *programState            // what it shows besides them; nil: not known
	feed    *serve.Feed              // that it follows
	seen    int                      // how many of its events
	send    func(event string, data any) error
}

// events tells a browser what changes in a session, as server-sent events: "stamp" when there is another step, with the
// blocks that changed, and "run" for what a run reports, as it comes.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	flusher := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	since, _ := strconv.ParseUint(r.URL.Query().Get("since"), 10, 32)
	f := &follower{p: p, session: r.URL.Query().Get("session"), parts: r.URL.Query().Has("parts"),
		last: stamp{Step: state.StepNumber(since)}}
	if made := p.renderings.last(f.session); f.parts && made != nil && made.step == f.last.Step {
		f.note(made)
	}
	f.send = func(event string, data any) error {
		text, err := json.Marshal(data)
		if err != nil {
			return err
		}
		if _, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, text); err != nil {
			return err
		}
		return flusher.Flush()
	}
	if f.send("open", nil) != nil {
		return
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		more, err := f.hear()
		if err == nil {
			err = f.look(r.Context())
		}
		if err != nil {
			return // the browser is gone
		}
		select {
		case <-r.Context().Done():
			return
		case <-more:
		case <-tick.C:
		}
	}
}

// hear sends what the run of the session reported since, and returns what is closed when it reports more.
func (f *follower) hear() (more <-chan struct{}, err error) {
	if f.p.Runs == nil {
		return nil, nil
	}
	if feed := f.p.Runs.Feed(f.session); feed != nil && feed != f.feed {
		f.feed, f.seen = feed, 0
	}
	if f.feed == nil {
		return nil, nil
	}
	list, all, more := f.feed.Since(f.seen)
	f.seen = all
	for _, e := range list {
		h := heard{Event: e.Event.Event, Block: e.Block, Expected: e.Expected, Ago: time.Since(e.At).Seconds()}
		if e.Output != nil {
			h.Text = e.Output.Text
		}
		if err := f.send("run", h); err != nil {
			return nil, err
		}
	}
	return more, nil
}

// look sends a stamp if the session shows something else than before. A session that cannot be looked at now is looked
// at later.
func (f *follower) look(ctx context.Context) error {
	now, made := f.stamp(ctx)
	if now == nil || now.Step == f.last.Step && now.Running == f.last.Running && now.Failed == f.last.Failed {
		return nil
	}
	if made != nil {
		f.change(now, made)
		f.note(made)
	}
	f.last = stamp{Step: now.Step, Running: now.Running, Failed: now.Failed}
	return f.send("stamp", now)
}

// stamp looks at the session. It makes its parts if it has another step.
func (f *follower) stamp(ctx context.Context) (*stamp, *rendering) {
	limit := 1
	log, err := ask[api.Log](ctx, f.p, &verb.Log{InSession: verb.In(f.session), Limit: &limit})
	if err != nil || len(log.Steps) == 0 {
		return nil, nil
	}
	f.session = log.Session
	now := &stamp{Step: log.Steps[0].Number}
	failed := f.p.begunIn(f.session).failure(now.Step)
	if failed != nil {
		now.Failed = failed.Why
	}
	now.Running = f.p.runningIn(f.session)
	if now.Step == f.last.Step || !f.parts {
		if f.about != nil && now.Failed != f.last.Failed {
			f.about.Failed = failed
			now.About, _ = f.about.html() // the next step brings it, too
		}
		return now, nil
	}
	v := &view{p: f.p, r: (&http.Request{}).WithContext(ctx), query: url.Values{}, Session: f.session}
	d, err := v.snapshot()
	if err != nil {
		return nil, nil
	}
	made, err := v.render(d)
	if err != nil {
		return nil, nil
	}
	f.about = v.stateOf(d)
	if now.About, err = f.about.html(); err != nil {
		return nil, nil
	}
	return now, made
}

// change puts into a stamp what a browser needs to show the parts that were made.
func (f *follower) change(now *stamp, made *rendering) {
	moved := f.has == nil ||
		!slices.EqualFunc(f.order, made.parts, func(id state.BlockID, p part) bool { return id == p.ID })
	var parts strings.Builder
	all := make([]partHash, 0, len(made.parts))
	if moved {
		now.Blocks = &all // though there are none: those that the browser has are gone
	}
	for i := range made.parts {
		x := &made.parts[i]
		all = append(all, partHash{x.ID, x.Hash})
		if f.has != nil && f.has[x.ID] != x.Hash {
			parts.WriteString(x.section())
		}
	}
	now.Parts = parts.String()
}

// note remembers which parts the browser has.
func (f *follower) note(made *rendering) {
	f.has, f.order = make(map[state.BlockID]string, len(made.parts)), nil
	for i := range made.parts {
		f.has[made.parts[i].ID] = made.parts[i].Hash
		f.order = append(f.order, made.parts[i].ID)
	}
}

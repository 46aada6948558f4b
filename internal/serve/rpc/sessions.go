package rpc

import (
	"encoding/json"
	"time"

	"google.golang.org/protobuf/proto"

	v1 "github.com/xstate-engine/xstate/api/xstate/v1"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/state"
)

// status is a Status document whose parts stay as they were printed.
type status struct {
	Version  int               `json:"version"`
	Store    string            `json:"store,omitempty"`
	Sessions []json.RawMessage `json:"sessions"`
	Next     []string          `json:"next"`
}

// only leaves one session in a Status document.
func only(text []byte, session string) ([]byte, error) {
	var d status
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	kept := []json.RawMessage{}
	for _, s := range d.Sessions {
		if nameIn(s) == session {
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		return nil, fail(state.CodeNoSession, "SessionService/List lists the sessions",
			"the store has no session %q", session)
	}
	d.Sessions, d.Next = kept, []string{}
	return json.Marshal(d)
}

func nameIn(session json.RawMessage) string {
	var s struct{ Session string }
	_ = json.Unmarshal(session, &s) // a verb printed it
	return s.Session
}

// activeRuns lists what runs now.
func (s *Service) activeRuns() ([]byte, error) {
	if s.Runs == nil {
		return nil, noRuns()
	}
	m := &v1.ListRunsResponse{}
	for _, r := range s.Runs.Runs() {
		m.Runs = append(m.Runs, &v1.ActiveRun{
			Run: r.Run, Verb: r.Verb, Session: r.Session, Seconds: time.Since(r.Since).Seconds(),
		})
	}
	return asJSON(m)
}

func (s *Service) interrupt(run string) ([]byte, error) {
	if s.Runs == nil {
		return nil, noRuns()
	}
	return asJSON(&v1.InterruptResponse{Interrupted: s.Runs.Interrupt(run)})
}

func noRuns() *failure {
	return fail(api.CodeNoMethod, "close the connection: that interrupts a run, too",
		"this server does not list its runs")
}

func asJSON(m proto.Message) ([]byte, error) { return codec{json: true}.Marshal(m) }

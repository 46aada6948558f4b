package rpc

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	v1 "github.com/xstate-engine/xstate/api/xstate/v1"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
)

// only leaves one session in the document of all.
func only(document any, session string) (any, error) {
	d := verb.As[api.Status](document)
	if d == nil {
		return nil, fmt.Errorf("the sessions are a %T", document)
	}
	one := *d
	one.Sessions = slices.DeleteFunc(slices.Clone(d.Sessions), func(s api.SessionStatus) bool {
		return s.Session != session
	})
	if len(one.Sessions) == 0 {
		return nil, fail(state.CodeNoSession, "SessionService/List lists the sessions",
			"the store has no session %q", session)
	}
	one.Next = []string{}
	return one, nil
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

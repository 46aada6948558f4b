package main

import (
	"testing"

	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
)

// TestPageLetsServerEnd: a page that is open keeps no server that another version replaces, or whose store is damaged.
func TestPageLetsServerEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*inServer) bool{
		"retire": func(s *inServer) bool {
			client := serve.Find(s.server.Pool.Store().State().Dir())
			return client == nil || client.Retire(t.Context())
		},
		"spent": func(s *inServer) bool {
			s.server.Spent("it is damaged")
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := servedProgram(t)
			b := newBrowser(t, s, false)
			events := b.follow(t.Context(), "p.py", "2")
			events.until("stamp", func(string) bool { return true })
			await.Until(t, "the server ends", func() bool { return end(s) })
			for events.lines.Scan() { // or the test ends by its time
				continue
			}
		})
	}
}

package page

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/verb"
)

// root is where the paths of all views begin.
const root = serve.PagePath

// Runs are the calls that run a program now, by whichever door they came.
type Runs interface {
	Runs() []api.ServedRun
	// Interrupt stops a run, and reports whether there is one of that name.
	Interrupt(run string) bool
	// Feed is what the run of a session reports; nil if it has none.
	Feed(session string) *serve.Feed
}

// Page answers the requests of browsers about one store.
type Page struct {
	Operations verb.Operations
	Store      string                 // its folder; absolute
	Folder     string                 // where calls are made from; absolute
	Environ    []string               // the environment of calls
	Secret     func() (string, error) // of which cookies are made
	Runs       Runs                   // nil: what runs is not shown
	Life       context.Context        // ends what a browser began; nil: nothing does

	mu          sync.Mutex
	invitations []invitation
	begun       map[string]*begun // by session: what a browser began last
	renderings  renderings
	audits      map[string]*audit // by session: the replay or bisection that a browser began last
}

// right is what a browser may do.
type right string

const (
	rightLook right = "look"
	rightEdit right = "edit" // run, edit, undo and decide, too
)

// mostInvitations is how many invitations are open at a time; the oldest ends first.
const mostInvitations = 16

// invitation is the code by which one browser is let in, once.
type invitation struct {
	code  string
	right right
}

// begunIn returns what a browser began last in a session; nil if it began nothing.
func (p *Page) begunIn(session string) *begun {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begun[session]
}

// life is the context of what a browser begins.
func (p *Page) life() context.Context {
	if p.Life == nil {
		return context.Background()
	}
	return p.Life
}

// runsOf returns the calls that run a session now.
func (p *Page) runsOf(session string) []api.ServedRun {
	if p.Runs == nil {
		return nil
	}
	return slices.DeleteFunc(p.Runs.Runs(), func(r api.ServedRun) bool { return r.Session != session })
}

// runningIn says for people what runs a session now.
func (p *Page) runningIn(session string) string {
	var running []string
	for _, run := range p.runsOf(session) {
		running = append(running, run.Verb+" since "+run.Since.Local().Format(time.TimeOnly))
	}
	return strings.Join(running, ", ")
}

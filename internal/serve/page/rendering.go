package page

import (
	"fmt"
	"html/template"
	"sync"

	"github.com/xstate-engine/xstate/state"
)

// part is a block of the program as HTML.
type part struct {
	ID   state.BlockID
	Hash string // changes with what it shows: a browser that has it needs no other
	HTML template.HTML
}

// section is the element that a browser has of a part.
func (p *part) section() string {
	return fmt.Sprintf(`<section id="b-%s" data-hash="%s">%s</section>`,
		template.HTMLEscapeString(string(p.ID)), p.Hash, p.HTML)
}

// rendering is the parts of a program, as they were made last.
type rendering struct {
	step  state.StepNumber
	parts []part
}

// renderings are those of several sessions.
type renderings struct {
	mu sync.Mutex
	of map[string]*rendering // by session
}

// mostRendered is how many sessions have their parts kept.
const mostRendered = 8

// last returns the parts of a session as they were made last; nil if they are not kept.
func (r *renderings) last(session string) *rendering {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[session]
}

func (r *renderings) keep(session string, made *rendering) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[string]*rendering{}
	}
	r.of[session] = made
	for other := range r.of {
		if len(r.of) > mostRendered && other != session {
			delete(r.of, other)
		}
	}
}

package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

// progress follows a run: on a terminal it keeps a line on stderr that says what runs, and lets output through as it
// comes.
type progress struct {
	ui     *ui
	blocks *places // in the file
	places map[xstate.BlockID]int
	names  map[xstate.BlockID]string
	now    func() time.Time

	mu      sync.Mutex
	block   xstate.BlockID
	since   time.Time
	expect  float64
	running bool

	ran      map[xstate.BlockID]bool          // blocks of which a part was executed
	streamed map[xstate.BlockID]*state.Screen // what of a block's output was shown while it ran
	ended    bool                             // the last of it ended its line
	done     chan struct{}
	stopped  sync.WaitGroup
}

const tick = 100 * time.Millisecond

func newProgress(u *ui) *progress {
	return &progress{ui: u, places: map[xstate.BlockID]int{}, names: map[xstate.BlockID]string{}, now: time.Now,
		ran:      map[xstate.BlockID]bool{},
		streamed: map[xstate.BlockID]*state.Screen{}, ended: true, done: make(chan struct{})}
}

// live says that output is shown as it comes.
func (p *progress) live() bool { return p.ui.outTerminal && !p.ui.json }

// lines says that the progress line is shown.
func (p *progress) lines() bool { return p.ui.errTerminal && !p.ui.json && !p.ui.quiet }

func (p *progress) start() {
	if !p.lines() {
		return
	}
	p.stopped.Add(1)
	go func() {
		defer p.stopped.Done()
		t := time.NewTicker(tick)
		defer t.Stop()
		for {
			select {
			case <-p.done:
				p.ui.progress("")
				return
			case <-t.C:
				p.draw()
			}
		}
	}()
}

// stop takes the line away. No event may follow.
func (p *progress) stop() {
	close(p.done)
	p.stopped.Wait()
}

func (p *progress) draw() {
	p.mu.Lock()
	line := p.lineLocked()
	p.mu.Unlock()
	p.ui.progress(line)
}

// lineLocked is the text of the progress line. Where a program left a line of output open, there is none: it would
// tear it.
func (p *progress) lineLocked() string {
	if !p.running || !p.ended {
		return ""
	}
	took := p.now().Sub(p.since).Seconds()
	line := fmt.Sprintf("xstate: [%d/%d] %s runs, %.1f s", p.places[p.block]+1, len(p.places), p.block, took)
	if p.expect >= 0.1 {
		line += fmt.Sprintf(" of about %.1f s", p.expect)
	}
	return line
}

// event is for runner.RunOptions.OnEvent.
func (p *progress) event(e runner.Event) {
	p.mu.Lock()
	switch e.Kind {
	case "begin":
		p.block, p.since, p.expect, p.running = e.Block, p.now(), e.Expected, true
	case "end":
		p.running = false
		p.ran[e.Block] = true
	}
	p.mu.Unlock()
	if e.Kind != "output" || !p.live() {
		return
	}
	text := p.ui.outputText(p.blocks, e.Output, 0)
	if text == "" {
		return
	}
	head := ""
	if p.streamed[e.Block] == nil {
		head = title(p.ui, p.places[e.Block], e.Block, p.names[e.Block]) + "\n"
		p.streamed[e.Block] = &state.Screen{}
	}
	p.streamed[e.Block].Add(e.Output)
	p.ui.verbatim(shownStyled(head) + text)
	p.mu.Lock()
	p.ended = text[len(text)-1] == '\n'
	p.mu.Unlock()
}

// showed reports whether all that is kept of a block's output was shown while it ran.
func (p *progress) showed(b *runner.BlockOutcome) bool {
	streamed := p.streamed[b.ID]
	if streamed == nil {
		return false
	}
	text := func(list []state.Output) string {
		return strings.TrimSuffix((*places)(nil).outputs(list, nil), notes(list))
	}
	return text(state.JoinOutputs(streamed.Outputs())) == text(b.Outputs)
}

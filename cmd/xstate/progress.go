package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state/output"
)

// progress follows a run: on a terminal it keeps a line on stderr that says what runs, and lets output through as it
// comes.
type progress struct {
	ui     *term.UI
	blocks *places // in the file
	places map[xstate.BlockID]int
	names  map[xstate.BlockID]string
	now    func() time.Time

	mu      sync.Mutex
	block   xstate.BlockID
	since   time.Time
	expect  float64
	running bool

	ran      map[xstate.BlockID]bool           // blocks of which a part was executed
	streamed map[xstate.BlockID]*output.Screen // what of a block's output was shown while it ran
	failures map[xstate.BlockID]string         // what was shown of a block's error while the rest ran
	ended    bool                              // the last of it ended its line
	done     chan struct{}
	stopped  sync.WaitGroup
}

const tick = 100 * time.Millisecond

func newProgress(u *term.UI) *progress {
	return &progress{ui: u, places: map[xstate.BlockID]int{}, names: map[xstate.BlockID]string{}, now: time.Now,
		ran: map[xstate.BlockID]bool{}, streamed: map[xstate.BlockID]*output.Screen{},
		failures: map[xstate.BlockID]string{}, ended: true, done: make(chan struct{})}
}

// live says that output is shown as it comes.
func (p *progress) live() bool { return p.ui.OutTerminal && !p.ui.JSON }

// lines says that the progress line is shown.
func (p *progress) lines() bool { return p.ui.ErrTerminal && !p.ui.JSON && !p.ui.Quiet }

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
				p.ui.Progress("")
				return
			case <-t.C:
				p.draw()
			}
		}
	}()
}

// stop takes the line away, and ends a line of output that the program left open. No event may follow.
func (p *progress) stop() {
	close(p.done)
	p.stopped.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.showLocked("")
}

// draw shows the line. No output comes between the choice of the line and its drawing: else the line might follow
// output that has not ended its own line.
func (p *progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ui.Progress(p.lineLocked())
}

// showLocked shows text on a separate line.
func (p *progress) showLocked(text string) {
	if !p.ended {
		text = "\n" + text
	}
	if text != "" {
		p.ui.Verbatim(text)
		p.ended = text[len(text)-1] == '\n'
	}
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
	defer p.mu.Unlock()
	switch e.Kind {
	case "begin":
		if e.Block != p.block {
			p.showLocked("")
		}
		p.block, p.since, p.expect, p.running = e.Block, p.now(), e.Expected, true
	case "end":
		p.running = false
		p.ran[e.Block] = true
	case "output":
		if text := p.blocks.outputOn(p.ui, e.Output, 0); p.live() && text != "" {
			p.headLocked(e.Block)
			p.streamed[e.Block].Add(e.Output)
			p.ui.Verbatim(text)
			p.ended = text[len(text)-1] == '\n'
		}
	case "failed":
		p.blocks.fail(e.Block)
		if p.live() {
			p.headLocked(e.Block)
			p.failures[e.Block] = term.Escape(p.blocks.errorText(e.Failure))
			p.showLocked(p.failures[e.Block])
		}
	}
}

// headLocked names a block before the first of its output.
func (p *progress) headLocked(id xstate.BlockID) {
	if p.streamed[id] == nil {
		p.showLocked(term.EscapeUnstyled(title(p.ui, p.places[id], id, p.names[id]) + "\n"))
		p.streamed[id] = &output.Screen{}
	}
}

// unshown returns what was not shown yet of the text of a block's error: all of it, or a hint that was found since.
func (p *progress) unshown(id xstate.BlockID, text string) string {
	if rest, ok := strings.CutPrefix(text, p.failures[id]); ok {
		return rest
	}
	return text
}

// showed reports whether all that is kept of a block's output was shown while it ran.
func (p *progress) showed(b *runner.BlockOutcome) bool {
	streamed := p.streamed[b.ID]
	if streamed == nil {
		return false
	}
	text := func(list []output.Output) string {
		return strings.TrimSuffix((*places)(nil).outputs(list, nil), notes(list))
	}
	return text(output.Join(streamed.Outputs())) == text(b.Outputs)
}

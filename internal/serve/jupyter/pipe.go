package jupyter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"sync"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

// asked is a line from the front: a request with a number of its choice, or the number of one to interrupt.
type asked struct {
	ID        int `json:"id"`
	Interrupt int `json:"interrupt"`
	verb.Wire
}

// answered is a line to the front, about the request with this number.
type answered struct {
	ID int `json:"id"`
	verb.Line
}

// pipe carries out what the front asks for. Requests do not wait for each other.
type pipe struct {
	operations verb.Operations
	call       verb.Call // without a request

	mu    sync.Mutex
	to    *json.Encoder
	runs  map[int]context.CancelFunc
	shown map[state.BlockID][]output.Output // what the front had last
}

// serve answers until the front is gone. It returns when all that was asked for has ended.
func (p *pipe) serve(ctx context.Context, from io.Reader, to io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	var under sync.WaitGroup
	defer under.Wait()
	defer cancel()
	p.to, p.runs = json.NewEncoder(to), map[int]context.CancelFunc{}
	p.shown = map[state.BlockID][]output.Output{}
	p.to.SetEscapeHTML(false)
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		var a asked
		if err := json.Unmarshal(line, &a); err != nil {
			return err
		}
		if a.Interrupt != 0 {
			p.interrupt(a.Interrupt)
			continue
		}
		of, stop := context.WithCancel(ctx)
		p.mu.Lock()
		p.runs[a.ID] = stop
		p.mu.Unlock()
		under.Go(func() {
			p.operate(of, &a)
			p.interrupt(a.ID)
		})
	}
}

// interrupt stops what a request runs, if it has not ended.
func (p *pipe) interrupt(id int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if stop := p.runs[id]; stop != nil {
		stop()
		delete(p.runs, id)
	}
}

func (p *pipe) operate(ctx context.Context, a *asked) {
	var end verb.Line
	call := p.call
	request, err := a.Unpack()
	if call.Request = request; err != nil {
		end.Error = &api.Error{Code: api.CodeUsage, Message: err.Error()}
		p.send(a.ID, end)
		return
	}
	if a.Events {
		call.Event = func(e api.Event) { p.send(a.ID, verb.Line{Event: &e}) }
	}
	answer, failed := p.operations.Operate(ctx, call)
	p.mu.Lock()
	defer p.mu.Unlock()
	end.Error = failed
	if failed == nil {
		if run, ok := answer.(*api.Run); ok {
			p.leaveOut(run.Blocks)
		}
		end, err = verb.Answer(answer)
		if err != nil {
			end.Error = verb.Unanswered(err)
		}
	}
	_ = p.to.Encode(answered{a.ID, end}) // a front that is gone is noticed where it is read
}

// leaveOut leaves out of an answer what the front has: figures are large, and each run is about all cells.
func (p *pipe) leaveOut(blocks []api.Block) {
	equal := func(a, b output.Output) bool { return reflect.DeepEqual(a, b) }
	for i := range blocks {
		b := &blocks[i]
		b.Stdout, b.Stderr = "", "" // outputs have them
		if had, ok := p.shown[b.ID]; ok && slices.EqualFunc(had, b.Outputs, equal) {
			b.Outputs = nil
			continue
		}
		p.shown[b.ID] = b.Outputs
	}
}

// send writes a line.
func (p *pipe) send(id int, l verb.Line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.to.Encode(answered{id, l})
}

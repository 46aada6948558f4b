package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// CallSketch is a recorded call, as people ask about it.
type CallSketch struct {
	ID       state.CallID    `json:"call"`
	Text     string          `json:"text"` // search(query="x")
	Kind     string          `json:"kind"` // tool, model, ask or step
	Tool     string          `json:"tool"`
	Class    string          `json:"class"`
	State    state.CallState `json:"state"`
	Result   string          `json:"result"` // its beginning, or why there is none
	Digest   state.Digest    `json:"digest,omitempty"`
	Time     time.Time       `json:"began"`
	Seconds  float64         `json:"seconds"`
	Spent    state.Usage     `json:"spent"`
	Block    state.BlockID   `json:"block,omitempty"` // that called first
	Line     int             `json:"line,omitempty"`
	Agent    string          `json:"agent,omitempty"`
	Parent   state.CallID    `json:"parent,omitempty"`
	Depth    int             `json:"depth,omitempty"`
	Approval *state.Approval `json:"approval,omitempty"`
}

// ownUsage is what the outcome of a call took, with the attempts that failed before.
func ownUsage(c *state.Call) state.Usage {
	all := c.Usage
	for _, a := range c.Attempts {
		all.Add(a.Usage)
	}
	return all
}

// callResult bounds the result in a CallSketch, in bytes.
const callResult = 80

// SketchOfCall describes a record.
func SketchOfCall(c *state.Call) CallSketch {
	return CallSketch{
		ID: c.ID, Text: c.Text(), Kind: c.Kind, Tool: c.Tool, Class: c.Class, State: c.State,
		Result: c.Summary(callResult), Digest: c.Result.Digest, Time: c.Began, Seconds: c.Seconds,
		Spent: ownUsage(c), Block: c.Caller.Block, Line: c.Caller.Line, Agent: c.Caller.Agent,
		Parent: c.Parent, Depth: c.Depth, Approval: c.Approval,
	}
}

// Call returns the record that a key call:KEY#N names; nil where the store has none.
func (h *History) Call(ctx context.Context, k depgraph.Key) (*state.Call, error) {
	at, ok := state.CallPlaceOf(k)
	if !ok {
		return nil, nil
	}
	within := uint64(0)
	if at.Effects {
		var err error
		if within, err = h.store.Lineage(ctx, h.name); err != nil {
			return nil, err
		}
	}
	return h.store.CallAt(ctx, at.Key, within, at.Number)
}

// CallsOf returns the calls that the results of a program's blocks after step n depend on, as their nodes read them: by
// block, each call once.
func (h *History) CallsOf(
	ctx context.Context, n state.StepNumber, blocks []state.Block,
) (map[state.BlockID][]*state.Call, error) {
	found := map[state.BlockID][]*state.Call{}
	for i := range blocks {
		b := &blocks[i]
		seen := map[state.CallID]bool{}
		for _, node := range b.Nodes {
			if node.Trace == "" || b.RanAt < b.Edited {
				continue
			}
			t, ok, err := h.store.Trace(node.Trace)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			calls, err := h.callsRead(ctx, n, t.Reads)
			if err != nil {
				return nil, err
			}
			for _, c := range calls {
				if !seen[c.ID] {
					seen[c.ID] = true
					found[b.ID] = append(found[b.ID], c)
				}
			}
		}
	}
	return found, nil
}

func sortCalls(calls []*state.Call) {
	slices.SortFunc(calls, func(a, b *state.Call) int { return cmp.Compare(a.ID, b.ID) })
}

// CallsOfBlock returns the calls that the result of a block after step n depends on.
func (h *History) CallsOfBlock(ctx context.Context, n state.StepNumber, id state.BlockID) ([]CallSketch, error) {
	b, found, err := h.store.BlockAt(ctx, h.name, n, id)
	if err != nil || !found {
		return nil, err
	}
	calls, err := h.CallsOf(ctx, n, []state.Block{b})
	var sketches []CallSketch
	for _, c := range calls[id] {
		sketches = append(sketches, SketchOfCall(c))
	}
	return sketches, err
}

// CallUse is a call that results depend on.
type CallUse struct {
	*state.Call
	Blocks []state.BlockID // whose results do
}

// CallUses returns the calls that the results after step n depend on, in the order in which they began.
func (h *History) CallUses(ctx context.Context, n state.StepNumber) ([]CallUse, error) {
	any := false
	if err := h.store.Calls(ctx, 0, func(*state.Call) bool { any = true; return false }); err != nil || !any {
		return nil, err
	}
	blocks, err := h.store.ProgramAt(ctx, h.name, n)
	if err != nil {
		return nil, err
	}
	calls, err := h.CallsOf(ctx, n, blocks)
	if err != nil {
		return nil, err
	}
	found := map[state.CallID]*CallUse{}
	for i := range blocks {
		for _, c := range calls[blocks[i].ID] {
			if found[c.ID] == nil {
				found[c.ID] = &CallUse{Call: c}
			}
			found[c.ID].Blocks = append(found[c.ID].Blocks, blocks[i].ID)
		}
	}
	var all []CallUse
	for _, use := range found {
		all = append(all, *use)
	}
	slices.SortFunc(all, func(a, b CallUse) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// StaleCall is a result that results depend on and that is older than its tool says is good.
type StaleCall struct {
	ID       state.CallID    `json:"call"`
	Text     string          `json:"text"`
	Tool     string          `json:"tool"`
	Age      float64         `json:"age_seconds"`
	Lifetime float64         `json:"lifetime_seconds"`
	Blocks   []state.BlockID `json:"blocks"`
}

// StaleCalls returns the stale ones of calls.
func StaleCalls(calls []CallUse, now time.Time) (stale []StaleCall) {
	for _, c := range calls {
		if age, is := c.Age(now); is {
			stale = append(stale, StaleCall{ID: c.ID, Text: c.Text(), Tool: c.Tool, Age: age.Seconds(),
				Lifetime: c.Lifetime.Seconds(), Blocks: c.Blocks})
		}
	}
	return stale
}

// callsRead returns the calls among the reads of a trace, in the order in which they began.
func (h *History) callsRead(
	ctx context.Context, n state.StepNumber, reads []state.Access,
) ([]*state.Call, error) {
	var calls []*state.Call
	for _, r := range reads {
		if r.Key.Space() != "call" {
			continue
		}
		c, err := h.Call(ctx, r.Key)
		if err != nil {
			return nil, err
		}
		if c != nil {
			calls = append(calls, c.AsOf(r.Digest, n))
		}
	}
	sortCalls(calls)
	return calls, nil
}

// keyTool is a key that names a tool, so that questions about dependencies can be asked about it.
func keyTool(name string) depgraph.Key { return depgraph.Key("tool:" + name) }

// callValue describes the meaning of a key that counts or names calls; nil for other keys. tool is that of a call.
func (h *History) callValue(ctx context.Context, k depgraph.Key, d state.Digest) (v *state.ValueInfo, tool string) {
	switch k.Space() {
	case "call":
		c, err := h.Call(ctx, k)
		if err != nil || c == nil {
			return nil, "" // the store has lost it, which its check says
		}
		c = c.AsOf(d, 0)
		return &state.ValueInfo{Repr: fmt.Sprintf("call %d: %s → %s", c.ID, c.Text(), c.Summary(callResult))}, c.Tool
	case "count", "effect":
		key := k.Name()
		number := "#0"
		if k.Space() == "effect" {
			key, number = key[strings.LastIndexByte(key, '/')+1:], "!0"
		}
		c, err := h.Call(ctx, depgraph.Key("call:"+key+number))
		if err != nil || c == nil {
			return nil, ""
		}
		return &state.ValueInfo{Repr: "how many before: " + c.Text()}, ""
	}
	return nil, ""
}

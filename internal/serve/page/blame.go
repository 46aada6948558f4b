package page

import (
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state/query"
)

// blamed are lines of a block that one step wrote, one after the other.
type blamed struct{ Lines []query.BlameLine }

// First is the first line.
func (b *blamed) First() query.BlameLine { return b.Lines[0] }

// blameData is what the view of the authors of a block shows.
type blameData struct {
	Block string
	Runs  []blamed
	Calls []query.CallSketch
}

// blame shows which step wrote each line of a block.
func (v *view) blame() error {
	d, err := ask[api.Blame](v.r.Context(), v.p, &verb.Blame{InSession: verb.In(v.Session),
		Moment: verb.Moment{AtStep: v.AtStep}, Block: v.query.Get("block")})
	if err != nil {
		return err
	}
	v.Session = d.Session
	data := &blameData{Block: d.Block, Calls: d.Calls}
	for _, l := range d.Lines {
		if n := len(data.Runs); n == 0 || data.Runs[n-1].First().Step != l.Step {
			data.Runs = append(data.Runs, blamed{})
		}
		last := &data.Runs[len(data.Runs)-1]
		last.Lines = append(last.Lines, l)
	}
	v.Name, v.Title, v.Data = "blame", "Who wrote "+d.Block, data
	return nil
}

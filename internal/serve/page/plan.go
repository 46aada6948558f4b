package page

import (
	"context"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
)

// planned is what the view of the next run shows.
type planned struct {
	*api.Plan
	Blocks []plannedBlock // that would not be reused
}

// plannedBlock is a block with what the next run would do with it.
type plannedBlock struct {
	*api.PlanBlock
	Because string
	By      string // the block that is the cause
}

// plan shows what the next run would do.
func (v *view) plan() error {
	file, err := v.p.fileOf(v.r.Context(), v.Session)
	if err != nil {
		return err
	}
	request := &verb.Plan{InSession: verb.In(v.Session)}
	if file != "" {
		request = &verb.Plan{File: file} // its present content counts
	}
	d, err := ask[api.Plan](v.r.Context(), v.p, request)
	if err != nil {
		return err
	}
	data := &planned{Plan: d}
	for i := range d.Blocks {
		b := &d.Blocks[i]
		if b.Action == "reuse" {
			continue
		}
		data.Blocks = append(data.Blocks,
			plannedBlock{PlanBlock: b, Because: because(string(b.Action), b.Reason), By: otherBlock(b.Reason, b.ID)})
	}
	v.Name, v.Title, v.Data = "plan", "The next run", data
	return nil
}

// fileOf is the file of a session's program; "" if it has none.
func (p *Page) fileOf(ctx context.Context, session string) (string, error) {
	d, err := ask[api.Status](ctx, p, &verb.Status{})
	if err != nil {
		return "", err
	}
	for _, s := range d.Sessions {
		if s.Session == session {
			return s.File, nil
		}
	}
	return "", nil
}

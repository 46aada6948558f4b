package xstate

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

// Affected tells what Plan would of those nodes that are not simply reused. The first time it takes as long as Plan; from then
// on, for as long as the session is open, what was edited and what that affects. With XSTATE_VERIFY=plan in the environment it
// compares itself with Plan, and fails where they differ.
func (s *Session) Affected(ctx context.Context) (*Affected, error) {
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	if err := s.follow(ctx); err != nil {
		return nil, err
	}
	a, err := s.flow.Plan(ctx)
	if errors.Is(err, runner.ErrWalk) {
		plan, err := s.Plan(ctx, nil)
		if err != nil {
			return nil, err
		}
		return plan.Affected(), nil
	}
	if err == nil && os.Getenv("XSTATE_VERIFY") == "plan" {
		plan, err := s.Plan(ctx, nil)
		if err != nil {
			return nil, err
		}
		if text := s.flow.Differs(plan); text != "" {
			return nil, fmt.Errorf("the plan of what is affected is not that of the whole program: %s", text)
		}
	}
	return a, err
}

// follow makes the flow that of the program as it is now.
func (s *Session) follow(ctx context.Context) error {
	head, _, err := s.store.state.Head(ctx, s.name)
	if err != nil {
		return err
	}
	for s.flow != nil && s.flowAt < head {
		step, err := s.store.state.Step(ctx, s.name, s.flowAt+1)
		if err != nil {
			return err
		}
		if step.Kind == state.KindRollback {
			s.flow = nil
			break
		}
		for _, c := range step.Changes {
			if err := s.flow.Change(c.Op, c.ID, c.After); err != nil {
				s.flow = nil
				return err
			}
		}
		s.flowAt = step.Number
	}
	if s.flow != nil {
		return nil
	}
	order, err := s.store.state.BlockOrder(ctx, s.name, head)
	if err != nil {
		return err
	}
	s.flow, s.flowAt = s.engine.NewFlow(s.blockNow), head
	after := BlockID("")
	for _, id := range order {
		if err := s.flow.Change(state.OpInsert, id, after); err != nil {
			return err
		}
		after = id
	}
	return nil
}

// blockNow returns a block of the program that the flow is of.
func (s *Session) blockNow(ctx context.Context, id BlockID) (runner.Block, error) {
	b, found, err := s.store.state.BlockAt(ctx, s.name, s.flowAt, id)
	if err != nil || !found {
		return runner.Block{}, errors.Join(err, fmt.Errorf("block %q cannot be read", id))
	}
	source, err := s.source(ctx, b.Version)
	return runner.Block{ID: id, Title: b.Title, Dialect: b.Dialect, Version: b.Version, Source: source, Before: &b}, err
}

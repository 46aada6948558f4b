package journal

import (
	"context"
	"fmt"

	"github.com/xstate-engine/xstate/state"
)

// Gate decides whether a call may happen. Serving a record needs no decision.
type Gate interface {
	Decide(ctx context.Context, c *Call) (Verdict, error)
}

// Action is what a gate decides.
type Action int

// Actions of gates, the strictest last.
const (
	Allow Action = iota
	Ask          // a person decides
	Deny
)

// Verdict is a decision of a gate.
type Verdict struct {
	Action Action
	Reason string     // why, for people
	Rule   string     // the rule that decided
	Code   state.Code // of the error; "" is call-denied
	Hint   string
}

// Gates asks gates in order. The strictest verdict counts; of equal ones, the first.
func Gates(gates ...Gate) Gate { return all(gates) }

type all []Gate

func (gates all) Decide(ctx context.Context, c *Call) (Verdict, error) {
	var found Verdict
	for _, g := range gates {
		v, err := g.Decide(ctx, c)
		if err != nil {
			return v, err
		}
		if v.Action > found.Action {
			found = v
		}
	}
	return found, nil
}

func denied(tool, why string) error {
	return &state.Error{Code: CodeDenied, Message: fmt.Sprintf("the call of %s is denied: %s", tool, why)}
}

func deniedBy(tool string, v Verdict) error {
	code := v.Code
	if code == "" {
		code = CodeDenied
	}
	return &state.Error{Code: code, Message: fmt.Sprintf("the call of %s is denied: %s", tool, v.Reason), Hint: v.Hint}
}

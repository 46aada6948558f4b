package journal

import (
	"context"
	"errors"

	"github.com/xstate-engine/xstate/state"
)

// Compared is what a call answers when it is made again.
type Compared struct {
	Now state.Call // with the outcome of now
	Err error      // why it was not made, or has no answer
}

// Comparable reports whether a call can be made again to compare its answers: it has one, has no effect, and equal
// calls have equal answers while the world is the same. Models draw, people decide, and steps are part of the program.
func Comparable(c *state.Call) bool {
	class := Class(c.Class)
	return c.State.Ended() && Kind(c.Kind) == KindTool && (class == Pure || class == Read)
}

// Compare makes calls again, as Refresh does, and records nothing. Calls that are not Comparable have an error.
func (j *Journal) Compare(ctx context.Context, calls []state.Call) []Compared {
	done := make([]Compared, len(calls))
	atOnce(len(calls), func(i int) {
		now, err := j.compared(ctx, &calls[i])
		if done[i] = (Compared{calls[i], err}); err == nil {
			done[i].Now = *now
		}
	})
	return done
}

func (j *Journal) compared(ctx context.Context, rec *state.Call) (*state.Call, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !Comparable(rec) {
		return nil, errors.New("such a call is not made again")
	}
	c, why, err := j.recorded(ctx, rec)
	if err != nil {
		return nil, err
	}
	if why != "" {
		return nil, errors.New("only the program can make this call: " + why)
	}
	now, text, err := j.anew(ctx, c, rec)
	if err != nil {
		return nil, err
	}
	now.Result = state.Content{Inline: text, Digest: state.DigestOf(text), Size: int64(len(text))}
	j.observed(ctx, now, false)
	return now, nil
}

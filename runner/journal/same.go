package journal

import (
	"bytes"
	"context"

	"github.com/xstate-engine/xstate/state"
)

// Call returns a record by its number.
func (j *Journal) Call(ctx context.Context, id state.CallID) (*state.Call, error) {
	return j.store.Call(ctx, id)
}

// CallsWithEffects returns the calls of the lineage that have effects or ask a person, in the order in which they
// began, as far as which selects them. Left out are those whose effect was taken back, and that took one back.
func (j *Journal) CallsWithEffects(ctx context.Context, which func(*state.Call) bool) (found []*state.Call, err error) {
	err = j.store.Calls(ctx, 1, func(c *state.Call) bool {
		if Class(c.Class).Effects() && c.Within == j.o.Lineage && c.Number < revertNumbers && !c.Undone() && which(c) {
			found = append(found, c)
		}
		return true
	})
	return found, err
}

// Become gives a call the place and the arguments of a record that it is the same as. Arguments that hold a secret are
// not in the record, so the program's own are sent, and these are not decided yet.
func (j *Journal) Become(c *Call, rec *state.Call) error {
	c.Key, c.Number = rec.Key, rec.Number
	if j.EqualArguments(rec, c) {
		return nil
	}
	if rec.Masked || j.masks(c) {
		c.other = true
		return nil
	}
	args, err := j.store.Read(rec.Args)
	if err == nil {
		c.Args = args
	}
	return err
}

// masks reports whether the arguments of a call hold a secret.
func (j *Journal) masks(c *Call) bool { return !bytes.Equal(j.scrub(c.Args), c.Args) }

// differ makes the record of a call that has no outcome one of other arguments.
func (j *Journal) differ(c *Call, rec *state.Call) (err error) {
	rec.Undecide()
	rec.Masked = j.masks(c)
	rec.Args, err = j.store.ContentOf(j.scrub(c.Args))
	return err
}

// EqualArguments reports whether a record is of a call with these arguments.
func (j *Journal) EqualArguments(rec *state.Call, c *Call) bool {
	return rec.Args.Digest == state.DigestOf(j.scrub(c.Args))
}

// Elsewhere reports whether a call that has no record may have one under another key: because the arguments varied then
// or vary now, or because its tool declared another identity.
func (j *Journal) Elsewhere(ctx context.Context, c *Call) (bool, error) {
	if c.Varies || len(c.Def.Identity) > 0 {
		return true, nil
	}
	j.mu.Lock()
	known := j.elsewhere
	j.mu.Unlock()
	if known == nil {
		known = map[string]bool{}
		err := j.store.Calls(ctx, 1, func(c *state.Call) bool {
			if c.Varied || c.Identified {
				known[c.Source] = true
			}
			return true
		})
		if err != nil {
			return false, err
		}
		j.mu.Lock()
		j.elsewhere = known
		j.mu.Unlock()
	}
	return known[c.Name()], nil
}

// PutDrawn keeps what a node of a session drew.
func (j *Journal) PutDrawn(ctx context.Context, session string, n state.DrawingNode, d state.Drawn) error {
	return j.store.PutDrawn(ctx, session, n, d)
}

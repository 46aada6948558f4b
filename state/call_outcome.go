package state

import (
	"fmt"
	"time"
)

// Age is how old the result of a call is, and whether that is more than its tool says is good.
func (c *Call) Age(now time.Time) (age time.Duration, stale bool) {
	age = now.Sub(c.Began)
	return age, c.State.Ended() && c.Lifetime > 0 && age > c.Lifetime
}

// OutcomeDigest names the outcome of a call that has one, as nodes read it.
func (c *Call) OutcomeDigest() Digest {
	return DigestOf(fmt.Appendf(nil, "%s %s", c.State, c.Result.Digest))
}

// Versions returns the call as it is, and as it was with each earlier outcome, newest first.
func (c *Call) Versions() []*Call {
	all := []*Call{c}
	for i := len(c.Former) - 1; i >= 0; i-- {
		was, o := *c, c.Former[i]
		was.State, was.Result, was.Began, was.Seconds, was.Usage = o.State, o.Result, o.Began, o.Seconds, o.Usage
		was.Caller.Session, was.Caller.Step, was.Former, was.Err = o.Session, o.Step, c.Former[:i], nil
		all = append(all, &was)
	}
	return all
}

// AsOf returns the call as it was when it had the outcome of a digest, before a step; 0: at any time. Where that is not
// known, it returns the call as it is.
func (c *Call) AsOf(d Digest, before StepNumber) *Call {
	for _, v := range c.Versions() {
		if v.State.Ended() && v.OutcomeDigest() == d && (before == 0 || v.Caller.Step < before) {
			return v
		}
	}
	return c
}

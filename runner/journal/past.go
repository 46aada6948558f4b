package journal

import (
	"context"
	"strings"

	"github.com/xstate-engine/xstate/state"
)

// Past returns a journal that only answers, as this one did when the calls of a run had these outcomes, by their
// digests. A call whose outcome differs from what is recorded now is served the earlier one. Nobody closes it.
func (j *Journal) Past(outcomes map[state.CallPlace]state.Digest) *Journal {
	return &Journal{store: j.store, o: j.o, own: j.offers(), past: outcomes,
		inflight: map[state.CallPlace]chan struct{}{}}
}

// then returns a record as it was in the past of the journal, and whether the call waited for a decision then.
func (j *Journal) then(rec *state.Call) (was *state.Call, waited bool) {
	if j.past == nil || rec == nil {
		return rec, false
	}
	d := j.past[rec.Place()]
	return rec.AsOf(d, 0), strings.HasPrefix(string(d), "waiting:") && rec.Approval != nil
}

// answer answers a call from the past.
func (j *Journal) answer(ctx context.Context, c *Call, rec *state.Call) (Result, error) {
	was, waited := j.then(rec)
	if waited {
		return Result{Call: *was}, &Suspended{*was}
	}
	return j.serveOnly(ctx, c, was)
}

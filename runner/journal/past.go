package journal

import (
	"context"
	"strings"

	"github.com/xstate-engine/xstate/state"
)

// Then is what a run has recorded of its calls.
type Then struct {
	Outcomes map[state.CallPlace]state.Digest
	Lacked   map[Named]bool // tools and models that there were not
}

// Named is a tool or model as a call names it.
type Named struct {
	Kind Kind
	Name string
}

// Past returns a journal that only answers, as this one did when the calls of a run had these outcomes, by their
// digests. A call whose outcome differs from what is recorded now is served the earlier one, and a tool that was
// missing then is missing, whatever later calls of it are recorded. It needs no Close.
func (j *Journal) Past(then Then) *Journal {
	return &Journal{store: j.store, o: j.o, own: j.offers(), past: &then,
		inflight: map[state.CallPlace]chan struct{}{}}
}

// lacked reports whether there was no tool of a name in the past of the journal.
func (j *Journal) lacked(kind Kind, name string) bool {
	return j.past != nil && j.past.Lacked[Named{kind, name}]
}

// then returns a record as it was in the past of the journal, and whether the call waited for a decision then.
func (j *Journal) then(rec *state.Call) (was *state.Call, waited bool) {
	if j.past == nil || rec == nil {
		return rec, false
	}
	d := j.past.Outcomes[rec.Place()]
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

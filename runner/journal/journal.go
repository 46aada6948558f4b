package journal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/state"
)

// Options configures New.
type Options struct {
	Sources []Source
	// Lineage is the family of forks of the session whose program calls.
	Lineage uint64
	// Gate decides before a call happens; nil allows everything.
	Gate Gate
	// OnCall follows records as they change: sent, answered, refused, lost, waiting, denied. It may be nil.
	OnCall func(c state.Call, served bool)
	Now    func() time.Time // nil: time.Now
	// Scrub takes secrets out of a text before it is recorded. It may be nil.
	Scrub func([]byte) []byte
	// Secret names a text that holds a secret by a digest that does not reveal it; ok is false for other texts. It may
	// be nil.
	Secret func(text string) (digest string, ok bool)
}

// Journal makes and remembers the calls of one session. Its methods may be called at the same time.
type Journal struct {
	store *state.Store
	o     Options

	past     *Then  // see Past; nil: the present journal
	own      offers // from Options.Sources
	mu       sync.Mutex
	lent     offers // see Offer
	inflight map[state.CallPlace]chan struct{}

	elsewhere map[string]bool // tools that have calls with other keys, see Elsewhere; nil: not known
}

// New returns a journal on a store. Sources are asked for their tools when a call needs them.
func New(store *state.Store, o Options) *Journal {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Journal{store: store, o: o, own: newOffers(store, o.Sources), inflight: map[state.CallPlace]chan struct{}{}}
}

// Close closes the sources.
func (j *Journal) Close() error {
	var errs []error
	for _, s := range j.o.Sources {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, j.Offer(nil))...)
}

// Offer makes other sources available beside those of the options, in the place of those that the call before it made
// available, which it closes. The callers of two runs may offer different tools.
func (j *Journal) Offer(sources []Source) error {
	j.mu.Lock()
	was := j.lent
	j.lent = newOffers(j.store, sources)
	j.mu.Unlock()
	var errs []error
	for _, o := range was {
		errs = append(errs, o.source.Close())
	}
	return errors.Join(errs...)
}

// offers are the sources that there are now.
func (j *Journal) offers() offers {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Concat(j.own, j.lent)
}

// offersOf are the sources that a request is put to: none, where the past had no such tool.
func (j *Journal) offersOf(r Request) offers {
	if j.lacked(r.Kind, r.Tool) {
		return nil
	}
	return j.offers()
}

// Prepare finds the tool of a request and names the call. after returns the effects on a scope so far. Errors are
// *state.Error of the codes no-tool and tool-arguments.
func (j *Journal) Prepare(ctx context.Context, r Request, after func(scope string) state.Digest) (*Call, error) {
	c := &Call{Request: r}
	var err error
	if c.Def, c.source, err = j.tool(ctx, r); err != nil {
		once := lentOnce(ctx, j.store, r)
		if once == nil || j.lacked(r.Kind, r.Tool) || state.CodeOf(err) != CodeNoTool {
			return nil, err
		}
		c.Def, c.absent = *once, err
	}
	c.Tool = cmp.Or(c.Tool, c.Def.Name) // "" is the default model
	if c.Args, err = Canonical(r.Args); err != nil {
		return nil, &state.Error{Code: CodeArguments, Message: fmt.Sprintf("the arguments of %s: %v", r.Tool, err),
			Hint: "pass null, booleans, finite numbers, text, lists, and maps with text as keys"}
	}
	if d, ok := c.source.(Definer); ok {
		c.Def = d.Define(c.Def, c.Args)
	}
	if err := checkSchema(c.Def.Input, c.Args); err != nil {
		return nil, &state.Error{Code: CodeArguments, Message: fmt.Sprintf("%s does not take these arguments: %v",
			r.Tool, err), Hint: "help(xstate.tools." + r.Tool + ") shows what it takes"}
	}
	if c.Def.Class == Read && r.Kind == KindTool {
		c.After = after(c.Def.Scope)
	}
	named, err := c.Def.identity(c.Args)
	if err != nil {
		return nil, err
	}
	if j.o.Secret != nil {
		if d, secret := j.o.Secret(string(named)); secret {
			named = []byte("secret " + d)
		}
	}
	def := c.Def
	if r.Kind == KindAsk {
		def.Version = r.Version
	}
	c.Key = Key(r.Kind, def, named, r.Sample, c.After)
	return c, nil
}

// tool finds the definition of what a request calls, and who makes the call.
func (j *Journal) tool(ctx context.Context, r Request) (Tool, Source, error) {
	switch r.Kind {
	case KindStep:
		return Tool{Name: r.Tool, Version: r.Version, Class: Read, Timeout: -1}, nil, nil
	case KindAsk:
		return Tool{Name: r.Tool, Class: Irreversible, Scope: "ask"}, nil, nil
	case KindModel:
		m, err := j.offersOf(r).model(ctx, r.Tool, j.o.Now())
		var args struct{ Schema json.RawMessage }
		if json.Unmarshal(r.Args, &args) == nil && string(args.Schema) != "null" {
			m.tool.Output = args.Schema
		}
		return m.tool, m.source, err
	}
	m, err := j.offersOf(r).tool(ctx, r.Tool, j.o.Now())
	return m.tool, m.source, err
}

// within returns the lineage that shares the call of a place.
func (j *Journal) within(at state.CallPlace) uint64 {
	if at.Effects {
		return j.o.Lineage
	}
	return 0
}

// Recorded returns the record of a call; nil if there is none.
func (j *Journal) Recorded(ctx context.Context, at state.CallPlace) (*state.Call, error) {
	return j.store.CallAt(ctx, at.Key, j.within(at), at.Number)
}

// Digest names the outcome of a recorded call, for its key in a trace. It is Absent without an outcome, and differs for
// each call that waits for a decision.
func (j *Journal) Digest(ctx context.Context, at state.CallPlace) (state.Digest, error) {
	rec, err := j.Recorded(ctx, at)
	if err != nil || rec == nil {
		return state.Absent, err
	}
	was, waited := j.then(rec)
	if waited {
		return j.past.Outcomes[at], nil
	}
	return j.outcomeDigest(was), nil
}

// outcomeDigest names what a node finds that makes the call of a record.
func (j *Journal) outcomeDigest(rec *state.Call) state.Digest {
	switch {
	case rec.State.Ended():
		return rec.OutcomeDigest()
	case rec.State == state.CallDenied && rec.Rules != "" && j.o.Gate != nil && rec.Rules == j.o.Gate.Rules():
		return state.Digest("denied:" + rec.Rules)
	case rec.State == state.CallWaiting && !rec.Approval.Decided():
		return state.Digest(fmt.Sprintf("waiting:%d", rec.ID))
	case rec.State == state.CallWaiting && rec.Approval.Choice == ChoiceNo:
		return state.Digest(fmt.Sprintf("declined:%d", rec.ID))
	}
	return state.Absent // the next run makes the call
}

// Result is what Do returns.
type Result struct {
	Call   state.Call
	JSON   json.RawMessage
	Served bool // by the record
	// Digest names the outcome, as Journal.Digest does. Another process may give the record another one meanwhile.
	Digest state.Digest
}

// Do serves a call from its record, or makes it. The error is a *Suspended, or a *state.Error; with one of the code
// tool-refused, the result has what the tool said.
func (j *Journal) Do(ctx context.Context, c *Call) (Result, error) {
	at := c.Place()
	release, err := j.turn(ctx, at)
	if err != nil {
		return Result{}, err
	}
	defer release()
	for {
		r, err := j.once(ctx, c, at)
		if errors.Is(err, state.ErrCallExists) && ctx.Err() == nil {
			continue // another session of the store makes this call, too
		}
		if r.Call.ID != 0 && j.past == nil {
			r.Digest = j.outcomeDigest(&r.Call)
		}
		return r, err
	}
}

// once does what Do does. The error is state.ErrCallExists where another process has stored the call meanwhile.
func (j *Journal) once(ctx context.Context, c *Call, at state.CallPlace) (Result, error) {
	rec, err := j.Recorded(ctx, at)
	switch {
	case err != nil:
		return Result{}, err
	case j.past != nil:
		return j.answer(ctx, c, rec)
	case c.ServeOnly:
		return j.serveOnly(ctx, c, rec)
	case rec != nil && rec.State.Ended() && rec.Again == "":
		return j.serve(ctx, rec)
	case c.absent != nil:
		return Result{}, c.absent
	}
	if rec == nil {
		rec = &state.Call{Key: c.Key, Number: c.Number, Within: j.within(at), Kind: string(c.Kind), Tool: c.Tool,
			Version: c.Def.Version, Class: string(c.Def.Class), Scope: c.Def.Scope, After: c.After, Sample: c.Sample}
		if c.Def.Class.Effects() {
			rec.Source = c.Name()
		}
		err = j.differ(c, rec)
	} else if c.other {
		err = j.differ(c, rec)
	}
	if err != nil {
		return Result{}, err
	}
	if rec.Depth, err = j.depth(ctx, c.Parent); err != nil {
		return Result{}, err
	}
	if rec.Undone() { // what it did is gone, so it happens again
		rec.Undo = nil
	}
	rec.Caller, rec.Parent, rec.Lifetime = c.Caller, c.Parent, c.Def.lifetime()
	rec.Code, rec.Nth = c.Code, c.Nth
	rec.Varied, rec.Identified = rec.Varied || c.Varies, rec.Identified || len(c.Def.Identity) > 0
	if rec.Varied || rec.Identified {
		j.mu.Lock()
		if j.elsewhere != nil {
			j.elsewhere[c.Name()] = true
		}
		j.mu.Unlock()
	}
	return j.proceed(ctx, c, rec)
}

// serveOnly serves a call from its record and never makes it. A record does not have all that some steps did, nor how
// one failed: the function of such a step runs.
func (j *Journal) serveOnly(ctx context.Context, c *Call, rec *state.Call) (Result, error) {
	switch {
	case rec != nil && c.Run != nil && (rec.Again != "" || rec.State == state.CallLost):
		answer, err := c.Run(ctx, rec)
		return Result{Call: *rec, JSON: answer.Result, Served: true}, err
	case rec != nil && rec.State.Ended():
		return j.serve(ctx, rec)
	}
	return Result{}, &state.Error{Code: CodeUnrecorded,
		Message: fmt.Sprintf("the journal has no result of this call of %s", c.Tool)}
}

// depth is how many calls a call is within.
func (j *Journal) depth(ctx context.Context, parent state.CallID) (int, error) {
	if parent == 0 {
		return 0, nil
	}
	rec, err := j.store.Call(ctx, parent)
	if err != nil {
		return 0, err
	}
	return rec.Depth + 1, nil
}

// proceed brings a call that has no outcome to one.
func (j *Journal) proceed(ctx context.Context, c *Call, rec *state.Call) (Result, error) {
	switch {
	case rec.State == state.CallSent && !c.Def.Class.Repeatable():
		return j.wait(ctx, rec, c.uncertain())
	case rec.State == state.CallWaiting && !rec.Approval.Decided(), rec.Same != 0:
		return Result{}, &Suspended{*rec}
	case rec.State == state.CallWaiting && rec.Approval.Choice == ChoiceNo:
		return Result{}, denied(rec.Tool, cmp.Or(rec.Approval.Reason, "a person declined"))
	case c.Kind == KindAsk:
		return j.wait(ctx, rec, *c.Question)
	}
	c.Approved = rec.Approval.Decided() && rec.Approval.Choice == ChoiceYes
	c.Doubt = slices.DeleteFunc(c.Doubt, func(id state.CallID) bool { return slices.Contains(rec.Apart, id) })
	if len(c.Doubt) > 0 {
		rec.Undecide()
		rec.Apart = append(rec.Apart, c.Doubt...) // unless the answer is one of them
		return j.wait(ctx, rec, c.doubted())
	}
	if j.o.Gate != nil {
		v, err := j.o.Gate.Decide(ctx, c)
		if err != nil {
			return Result{}, err
		}
		switch v.Action {
		case Deny:
			if rec.State, rec.Rules = state.CallDenied, j.o.Gate.Rules(); v.Code == CodeBudget {
				rec.Rules = "" // a later run may have more to spend
			}
			rec.Err = &state.CallError{Code: cmp.Or(v.Code, CodeDenied), Message: v.Reason, Hint: v.Hint}
			if err := j.put(ctx, rec); err != nil {
				return Result{}, err
			}
			return Result{Call: *rec}, deniedBy(c.Tool, v)
		case Ask:
			if c.Approved {
				break
			}
			return j.wait(ctx, rec,
				state.Approval{Question: fmt.Sprintf("may %s be called?", c.title()),
					Choices: []string{ChoiceYes, ChoiceNo}, Why: v.Reason})
		}
	}
	return j.make(ctx, c, rec)
}

// make makes a call and records its outcome.
func (j *Journal) make(ctx context.Context, c *Call, rec *state.Call) (Result, error) {
	if c.Def.Class.Effects() {
		if c.Halted != nil {
			if err := c.Halted(); err != nil {
				return Result{}, err
			}
		}
		j.store.Flush() // results that the arguments depend on: without them, another run might have other arguments
	}
	rec.State, rec.Began, rec.Err = state.CallSent, j.o.Now().UTC(), nil
	if err := j.put(ctx, rec); err != nil {
		return Result{}, err
	}
	answer, err := j.attempt(ctx, c, rec)
	if err != nil {
		return j.lost(ctx, c, rec, answer.Usage, err)
	}
	text := j.answered(c, rec, answer)
	if err := j.keep(c, rec, text); err != nil {
		return Result{}, err
	}
	if err := j.put(context.WithoutCancel(ctx), rec); err != nil {
		return Result{}, err
	}
	return result(rec, text, false) // as it will be served
}

// answered puts an answer into the record of a call, and returns the result as it is recorded. See keep.
func (j *Journal) answered(c *Call, rec *state.Call, a Answer) (result []byte) {
	rec.State, rec.Usage, rec.Again = state.CallAnswered, a.Usage, a.Again
	if rec.Usage.MicroUSD == 0 {
		rec.Usage.MicroUSD = c.Def.Price
	}
	if a.Refused {
		rec.State = state.CallRefused
	}
	return j.scrub(a.Result)
}

// keep puts the result of an answered call into its record, and large contents into the store.
func (j *Journal) keep(c *Call, rec *state.Call, result []byte) (err error) {
	if rec.Result, err = j.store.ContentOf(result); err != nil {
		return err
	}
	if c.Def.Undo != "" && rec.State == state.CallAnswered {
		args, err := j.store.ContentOf(fmt.Appendf(nil, `{"arguments":%s,"result":%s}`, j.scrub(c.Args), result))
		if err != nil {
			return err
		}
		rec.Undo = &state.Undo{Tool: c.Def.Undo, Args: args}
	}
	return nil
}

// attempt makes one attempt, and checks its answer. The record gets its duration.
func (j *Journal) attempt(ctx context.Context, c *Call, rec *state.Call) (Answer, error) {
	answer, err := j.send(ctx, c, rec)
	rec.Seconds = j.o.Now().Sub(rec.Began).Seconds()
	if err == nil {
		err = j.check(c, &answer)
	}
	return answer, err
}

// send makes one attempt within the tool's time.
func (j *Journal) send(ctx context.Context, c *Call, rec *state.Call) (Answer, error) {
	limit := cmp.Or(c.Def.Timeout, DefaultTimeout)
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
		defer cancel()
	}
	if c.Run != nil {
		return c.Run(ctx, rec)
	}
	type outcome struct {
		answer Answer
		err    error
	}
	done := make(chan outcome, 1)
	pieces, onPiece := c.pieces()
	place := fmt.Appendf(nil, "attempt %s %d %d", rec.Key, rec.Within, rec.Number)
	if n := len(rec.Former); n > 0 { // it happens once more
		place = fmt.Appendf(place, " again %d", n)
	}
	go func() { // a source that does not heed ctx must not keep the program
		a, err := c.source.Call(ctx, Attempt{Call: rec.ID, Tool: c.Def, Args: c.Args,
			IdempotencyKey: string(state.DigestOf(place)), Headers: headers(ctx, rec), OnPiece: onPiece})
		done <- outcome{a, err}
	}()
	select {
	case o := <-done:
		rec.Pieces = *pieces
		return o.answer, o.err
	case <-ctx.Done():
		return Answer{}, context.Cause(ctx)
	}
}

// check refuses an answer that is not what the tool promised.
func (j *Journal) check(c *Call, a *Answer) error {
	if len(a.Result) > MaxResult {
		return &state.Error{Code: CodeResult, Hint: "let the tool write a file, and return its name",
			Message: fmt.Sprintf("the result of %s has %d bytes, more than %d", c.Tool, len(a.Result), MaxResult)}
	}
	text, err := Canonical(a.Result)
	if err == nil && !a.Refused {
		err = checkSchema(c.Def.Output, text)
	}
	if err != nil {
		return &state.Error{Code: CodeResult, Hint: "mend the tool, or its schema",
			Message: fmt.Sprintf("%s returned what its schema forbids: %v", c.Tool, err)}
	}
	var compact bytes.Buffer // as the tool wrote it: 2.0 is not 2, and maps keep their order
	if err := json.Compact(&compact, a.Result); err != nil {
		return err
	}
	a.Result = compact.Bytes()
	return nil
}

// lost records an attempt that has no answer that counts.
func (j *Journal) lost(ctx context.Context, c *Call, rec *state.Call, spent state.Usage, why error) (Result, error) {
	e := state.CallError{Code: CodeLost, Message: why.Error()}
	var coded *state.Error
	if errors.As(why, &coded) {
		e = state.CallError{Code: coded.Code, Message: coded.Message, Hint: coded.Hint}
	}
	e.Message = string(j.scrub([]byte(e.Message)))
	rec.Attempts = append(rec.Attempts, state.Attempt{Began: rec.Began, Seconds: rec.Seconds, Err: e, Usage: spent})
	rec.Err = &e
	keep := context.WithoutCancel(ctx)
	if !c.Def.Class.Repeatable() && c.Kind == KindTool && !errors.Is(why, ErrNotSent) {
		return j.wait(keep, rec, c.uncertain())
	}
	rec.State = state.CallLost
	if err := j.put(keep, rec); err != nil {
		return Result{}, err
	}
	if ctx.Err() != nil {
		return Result{Call: *rec}, ctx.Err()
	}
	return Result{Call: *rec}, &state.Error{Code: e.Code, Message: fmt.Sprintf("%s: %s", c.Tool, e.Message),
		Hint: cmp.Or(e.Hint, "run again: only what is missing is called")}
}

// wait records that a call waits for a decision.
func (j *Journal) wait(ctx context.Context, rec *state.Call, question state.Approval) (Result, error) {
	rec.State, rec.Approval = state.CallWaiting, &question
	if rec.Began.IsZero() {
		rec.Began = j.o.Now().UTC()
	}
	if err := j.put(ctx, rec); err != nil {
		return Result{}, err
	}
	return Result{Call: *rec}, &Suspended{*rec}
}

// serve returns what a record holds.
func (j *Journal) serve(ctx context.Context, rec *state.Call) (Result, error) {
	text, err := j.store.Read(rec.Result)
	if err != nil {
		return Result{}, err
	}
	j.observed(ctx, rec, true)
	return result(rec, text, true)
}

// result is the outcome of a call that has one.
func result(rec *state.Call, text []byte, served bool) (Result, error) {
	r := Result{Call: *rec, JSON: text, Served: served}
	if rec.State == state.CallRefused {
		return r, &state.Error{Code: CodeRefused, Message: fmt.Sprintf("%s: %s", rec.Tool, refusal(text))}
	}
	return r, nil
}

// refusal is what a tool said, as a text.
func refusal(text []byte) string {
	var s string
	if json.Unmarshal(text, &s) == nil {
		return s
	}
	return string(text)
}

// put stores a call that had no outcome.
func (j *Journal) put(ctx context.Context, rec *state.Call) error {
	if err := j.store.SettleCall(ctx, rec); err != nil {
		return err
	}
	j.observed(ctx, rec, false)
	return nil
}

// observed passes a record to all that follow it.
func (j *Journal) observed(ctx context.Context, rec *state.Call, served bool) {
	if j.o.OnCall != nil {
		j.o.OnCall(*rec, served)
	}
	if t := traceOf(ctx); t.OnCall != nil {
		t.OnCall(*rec, served)
	}
}

func (j *Journal) scrub(text []byte) []byte {
	if j.o.Scrub == nil {
		return text
	}
	return j.o.Scrub(text)
}

// turn lets one of equal calls that are in flight through, and the others wait for its outcome.
func (j *Journal) turn(ctx context.Context, at state.CallPlace) (release func(), err error) {
	for {
		j.mu.Lock()
		busy, is := j.inflight[at]
		if !is {
			mine := make(chan struct{})
			j.inflight[at] = mine
			j.mu.Unlock()
			return func() {
				j.mu.Lock()
				delete(j.inflight, at)
				j.mu.Unlock()
				close(mine)
			}, nil
		}
		j.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

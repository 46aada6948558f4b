package journal

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/state"
)

// clock is a time that a test sets.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// records returns all records of a store.
func records(t *testing.T, s *state.Store) (all []state.Call) {
	t.Helper()
	if err := s.Calls(t.Context(), 0, func(c *state.Call) bool { all = append(all, *c); return true }); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRefresh(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), ".xstate"))
	s, at := newShop(), &clock{time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	s.tools = append(s.tools, Tool{Name: "feed", Class: Read, Lifetime: time.Hour})
	answer := `"old"`
	s.reply = func(Attempt) (Answer, error) {
		return Answer{Result: json.RawMessage(answer), Usage: state.Usage{MicroUSD: 5}}, nil
	}
	var seen []string
	j := New(store, Options{Sources: []Source{s}, Lineage: 1, Now: at.Now})
	for _, tool := range []string{"feed", "look", "hash", "order"} {
		if _, err := do(t, j, tool, `{}`, 0); err != nil {
			t.Fatal(err)
		}
	}
	digest := func() state.Digest {
		t.Helper()
		d, err := j.Digest(t.Context(), records(t, store)[0].Place())
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	refresh := func(tool string) []Refreshed {
		t.Helper()
		made := len(s.calls)
		ctx := WithTrace(t.Context(),
			Trace{OnCall: func(c state.Call, _ bool) { seen = append(seen, string(c.State)) }})
		done, err := j.Refresh(ctx, Refreshing{Tool: tool, Calls: records(t, store)})
		if err != nil {
			t.Fatal(err)
		}
		if len(s.calls)-made != len(done) {
			t.Errorf("refresh of %q made %d calls, want %d", tool, len(s.calls)-made, len(done))
		}
		return done
	}
	before := digest()
	if done := refresh(""); len(done) != 0 {
		t.Errorf("a fresh result: %+v, want no call", done)
	}
	at.now = at.now.Add(2 * time.Hour)
	done := refresh("")
	if len(done) != 1 || done[0].Call.Tool != "feed" || done[0].Age != 2*time.Hour || done[0].Changed ||
		digest() != before {
		t.Errorf("a stale result that is still the same: %+v", done)
	}
	if done := refresh(""); len(done) != 0 {
		t.Errorf("after a refresh it is stale again: %+v", done)
	}
	answer = `"new"`
	at.now = at.now.Add(2 * time.Hour)
	done = refresh("")
	if len(done) != 1 || !done[0].Changed || digest() == before {
		t.Errorf("a stale result that has changed: %+v", done)
	}
	c := records(t, store)[0]
	if len(c.Former) != 2 || string(c.Former[0].Result.Inline) != `"old"` || string(c.Result.Inline) != `"new"` {
		t.Errorf("the record has the outcomes %+v before %s, want two", c.Former, c.Result.Inline)
	}
	if c.Spent().MicroUSD != 15 {
		t.Errorf("the call cost %d, want what its three attempts did, 15", c.Spent().MicroUSD)
	}
	if done := refresh("look"); len(done) != 1 || !done[0].Changed {
		t.Errorf("a named tool: %+v", done)
	}
	if done := refresh("hash"); len(done) != 1 {
		t.Errorf("a named tool that is pure: %+v", done)
	}
	if len(seen) != 8 || seen[0] != "sent" || seen[1] != "answered" {
		t.Errorf("the trace saw %q, want sent and answered of four calls", seen)
	}
	_, err := j.Refresh(t.Context(), Refreshing{Tool: "order", Calls: records(t, store)})
	if state.CodeOf(err) != CodeEffects {
		t.Errorf("a tool with effects: %v, want %s", err, CodeEffects)
	}
}

// A result stays when nothing better came, and when the gate says no.
func TestRefreshFails(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), ".xstate"))
	s := newShop()
	j := New(store, Options{Sources: []Source{s}})
	if _, err := do(t, j, "look", `{}`, 0); err != nil {
		t.Fatal(err)
	}
	before := records(t, store)[0]
	s.reply = func(Attempt) (Answer, error) { return Answer{}, context.DeadlineExceeded }
	for name, gate := range map[string]Gate{"no answer": nil, "denied": verdict{Action: Deny, Reason: "not now"}} {
		j := New(store, Options{Sources: []Source{s}, Gate: gate})
		done, err := j.Refresh(t.Context(), Refreshing{Tool: "look", Calls: records(t, store)})
		if err != nil || len(done) != 1 || done[0].Err == nil || done[0].Changed {
			t.Errorf("%s: %+v, %v, want an error of the call", name, done, err)
		}
		if c := records(t, store)[0]; c.State != state.CallAnswered || c.Result.Digest != before.Result.Digest {
			t.Errorf("%s: the record is %+v, want the former result", name, c)
		}
	}
}

// verdict is a gate that always decides the same.
type verdict Verdict

func (v verdict) Decide(context.Context, *Call) (Verdict, error) { return Verdict(v), nil }
func (verdict) Rules() state.Digest                              { return "rules" }

// A tool that was replaced, and a step that holds what changed, have no result: their nodes make them again.
func TestRefreshForgets(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), ".xstate"))
	s := newShop()
	j := New(store, Options{Sources: []Source{s}})
	within := func(j *Journal) Result {
		step, err := j.Prepare(t.Context(),
			Request{Kind: KindStep, Tool: "gather", Args: json.RawMessage(`{}`), Version: "1"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		step.Run = func(ctx context.Context, c *state.Call) (Answer, error) {
			in, err := j.Prepare(ctx, Request{Kind: KindTool, Tool: "look", Args: json.RawMessage(`{}`), Parent: c.ID},
				func(string) state.Digest { return "" })
			if err != nil {
				return Answer{}, err
			}
			r, err := j.Do(ctx, in)
			return Answer{Result: r.JSON}, err
		}
		r, err := j.Do(t.Context(), step)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := within(j)
	if c := records(t, store)[1]; c.Depth != 1 || c.Parent != first.Call.ID {
		t.Errorf("the call within the step has depth %d and parent %d, want 1 and %d", c.Depth, c.Parent, first.Call.ID)
	}
	if _, err := j.Refresh(t.Context(), Refreshing{Tool: "look", Calls: records(t, store)}); err != nil {
		t.Fatal(err)
	}
	again := within(j)
	if again.Served || string(again.JSON) == string(first.JSON) {
		t.Errorf("the step is served %s, want what it finds now", again.JSON)
	}
	s.tools[1].Version = "2"
	j = New(store, Options{Sources: []Source{s}})
	done, err := j.Refresh(t.Context(), Refreshing{Tool: "look", Calls: records(t, store)})
	if err != nil || len(done) != 1 || !done[0].Changed {
		t.Fatalf("a tool of another version: %+v, %v", done, err)
	}
	for _, c := range records(t, store) {
		if c.State != state.CallLost || len(c.Former) == 0 {
			t.Errorf("call %d of %s is %s with %d former outcomes, want it forgotten", c.ID, c.Tool, c.State,
				len(c.Former))
		}
	}
}

// A comparison makes calls without effects again, and records nothing of it. What a tool is today decides, too.
func TestCompare(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), ".xstate"))
	s := newShop()
	answer := Answer{Result: json.RawMessage(`"old"`), Usage: state.Usage{MicroUSD: 5}}
	s.reply = func(Attempt) (Answer, error) { return answer, nil }
	j := New(store, Options{Sources: []Source{s}, Lineage: 1})
	for _, tool := range []string{"look", "hash", "order"} {
		if _, err := do(t, j, tool, `{}`, 0); err != nil {
			t.Fatal(err)
		}
	}
	before := records(t, store)
	compare := func(j *Journal) (now []string) {
		t.Helper()
		for i, c := range j.Compare(t.Context(), before) {
			switch {
			case c.Err != nil:
				now = append(now, before[i].Tool+" is not made")
			case c.Now.OutcomeDigest() == before[i].OutcomeDigest():
				now = append(now, "equal")
			default:
				now = append(now, string(c.Now.State)+" "+string(c.Now.Result.Inline))
			}
		}
		if diff := cmp.Diff(before, records(t, store)); diff != "" {
			t.Errorf("a comparison changed the record (-before +after):\n%s", diff)
		}
		return now
	}
	check := func(j *Journal, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, compare(j)); diff != "" {
			t.Errorf("Compare (-want +got):\n%s", diff)
		}
	}
	check(j, "equal", "equal", "order is not made")
	answer.Refused = true
	check(j, `refused "old"`, `refused "old"`, "order is not made")
	answer = Answer{Result: json.RawMessage(`"` + strings.Repeat("new ", 1<<14) + `"`)}
	if c := j.Compare(t.Context(), before[:1])[0]; c.Now.Result.Size != int64(len(answer.Result)) {
		t.Errorf("a large answer has %d bytes, want %d: %v", c.Now.Result.Size, len(answer.Result), c.Err)
	}
	check(New(store, Options{Sources: []Source{s}, Gate: verdict{Action: Deny}}),
		"look is not made", "hash is not made", "order is not made")
	made := len(s.calls)
	for i := range s.tools {
		s.tools[i].Class = Irreversible
	}
	j = New(store, Options{Sources: []Source{s}, Lineage: 1})
	check(j, "look is not made", "hash is not made", "order is not made")
	done, err := j.Refresh(t.Context(), Refreshing{Tool: "look", Calls: before})
	if err != nil || len(done) != 1 || state.CodeOf(done[0].Err) != CodeEffects {
		t.Errorf("refresh of a tool that has effects now: %+v, %v, want %s", done, err, CodeEffects)
	}
	if len(s.calls) != made {
		t.Errorf("%d calls of a tool with effects were made", len(s.calls)-made)
	}
}

package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xstate-engine/xstate/state"
)

// shop is a source whose tools count their calls.
type shop struct {
	mu    sync.Mutex
	tools []Tool
	calls []string // name and arguments
	reply func(a Attempt) (Answer, error)
}

func (s *shop) Name() string                          { return "shop" }
func (s *shop) Tools(context.Context) ([]Tool, error) { return s.tools, nil }
func (s *shop) Close() error                          { return nil }

func (s *shop) Call(_ context.Context, a Attempt) (Answer, error) {
	s.mu.Lock()
	s.calls = append(s.calls, a.Tool.Name+string(a.Args))
	reply := s.reply
	s.mu.Unlock()
	if reply != nil {
		return reply(a)
	}
	return Answer{Result: json.RawMessage(fmt.Sprintf("%d", len(s.calls)))}, nil
}

func newShop() *shop {
	return &shop{tools: []Tool{
		{Name: "hash", Class: Pure}, {Name: "look", Class: Read}, {Name: "set", Class: Idempotent},
		{Name: "rent", Class: Reversible, Undo: "return"}, {Name: "order"},
	}}
}

func openStore(t *testing.T, dir string) *state.Store {
	t.Helper()
	s, err := state.Open(t.Context(), dir, state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// do makes a call with a number.
func do(t *testing.T, j *Journal, tool, args string, number int) (Result, error) {
	t.Helper()
	c, err := j.Prepare(t.Context(), Request{Kind: KindTool, Tool: tool, Args: json.RawMessage(args)},
		func(string) state.Digest { return "" })
	if err != nil {
		t.Fatal(err)
	}
	c.Number = number
	return j.Do(t.Context(), c)
}

func TestServed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".xstate")
	s := newShop()
	j := New(openStore(t, dir), Options{Sources: []Source{s}, Lineage: 1})
	for _, tool := range []string{"hash", "look", "set", "rent", "order"} {
		first, err := do(t, j, tool, `{"b": 1.0, "a": [true]}`, 0)
		if err != nil || first.Served {
			t.Fatalf("%s: %v, served %v", tool, err, first.Served)
		}
		same := `{"a":[ true ],"b":1.0}`
		if tool == "set" || tool == "rent" || tool == "order" { // an effect of 1.0 is that of 1
			same = `{"a":[ true ],"b":1}`
		}
		again, err := do(t, j, tool, same, 0)
		if err != nil || !again.Served || string(again.JSON) != string(first.JSON) {
			t.Errorf("%s again = %s (served %v), %v, want %s from the record", tool, again.JSON, again.Served, err,
				first.JSON)
		}
	}
	if n := len(s.calls); n != 5 {
		t.Errorf("%d calls happened, want 5: %q", n, s.calls)
	}
	if _, err := do(t, j, "look", `{"b": 1.0, "a": [true]}`, 1); err != nil || len(s.calls) != 6 {
		t.Errorf("the second equal call: %v, %d calls happened, want 6", err, len(s.calls))
	}
	if _, err := do(t, j, "hash", `{"b":1,"a":[true]}`, 0); err != nil || len(s.calls) != 7 ||
		!strings.Contains(s.calls[6], `"b":1}`) || !strings.Contains(s.calls[0], `"b":1.0}`) {
		t.Errorf("a call with 1 after one with 1.0: %v, calls %q", err, s.calls)
	}
	other := New(openStore(t, dir), Options{Sources: []Source{s}, Lineage: 2})
	for tool, made := range map[string]bool{"look": false, "order": true} {
		before := len(s.calls)
		if _, err := do(t, other, tool, `{"b":1.0,"a":[true]}`, 0); err != nil || (len(s.calls) > before) != made {
			t.Errorf("%s by another program: %v, made %v, want %v", tool, err, len(s.calls) > before, made)
		}
	}
}

// TestAnswerLost: what is safe is made again, with one idempotency key. What is not waits for a person.
func TestAnswerLost(t *testing.T) {
	for _, tool := range []string{"hash", "look", "set", "rent", "order"} {
		s := newShop()
		j := New(openStore(t, filepath.Join(t.TempDir(), ".xstate")), Options{Sources: []Source{s}, Lineage: 1})
		keys := map[string]bool{}
		s.reply = func(a Attempt) (Answer, error) {
			keys[a.IdempotencyKey] = true
			return Answer{}, errors.New("connection reset")
		}
		_, err := do(t, j, tool, `{}`, 0)
		var waits *Suspended
		if safe := tool == "hash" || tool == "look" || tool == "set"; safe == errors.As(err, &waits) {
			t.Errorf("%s: the error is %v; waits must be %v", tool, err, !safe)
			continue
		}
		s.reply = func(a Attempt) (Answer, error) {
			keys[a.IdempotencyKey] = true
			return Answer{Result: json.RawMessage(`"done"`)}, nil
		}
		r, err := do(t, j, tool, `{}`, 0)
		if waits == nil {
			if err != nil || string(r.JSON) != `"done"` || len(r.Call.Attempts) != 1 || len(keys) != 1 {
				t.Errorf("%s again = %s, %v, after %d lost attempts, with %d keys", tool, r.JSON, err,
					len(r.Call.Attempts), len(keys))
			}
			continue
		}
		if !errors.As(err, &waits) || len(s.calls) != 1 {
			t.Errorf("%s happened %d times, and then: %v", tool, len(s.calls), err)
		}
		d := Decision{Call: waits.Call.ID, Choice: ChoiceHappened, Result: json.RawMessage(`"it did"`), By: "ada",
			At: time.Unix(1, 0)}
		if _, _, err := Decide(t.Context(), j.store, d); err != nil {
			t.Fatal(err)
		}
		if r, err = do(t, j, tool, `{}`, 0); err != nil || string(r.JSON) != `"it did"` || len(s.calls) != 1 {
			t.Errorf("%s after the decision = %s, %v, %d calls happened", tool, r.JSON, err, len(s.calls))
		}
		if _, _, err := Decide(t.Context(), j.store, d); err == nil || !strings.Contains(err.Error(), "does not wait") {
			t.Errorf("a second decision: %v", err)
		}
	}
}

// TestCrash: a call of which the record says no more than "sent" is treated as one whose answer was lost.
func TestCrash(t *testing.T) {
	for tool, again := range map[string]bool{"look": true, "set": true, "order": false} {
		s := newShop()
		store := openStore(t, filepath.Join(t.TempDir(), ".xstate"))
		j := New(store, Options{Sources: []Source{s}, Lineage: 1})
		died := make(chan struct{})
		s.reply = func(Attempt) (Answer, error) {
			c := state.Call{}
			_ = store.Calls(t.Context(), 1, func(rec *state.Call) bool { c = *rec; return true })
			if c.State != state.CallSent {
				t.Errorf("%s: the record says %q while the call is made, want %q", tool, c.State, state.CallSent)
			}
			close(died)
			select {} // the engine dies here
		}
		go func() { _, _ = do(t, j, tool, `{}`, 0) }()
		<-died
		s2 := newShop()
		_, err := do(t, New(store, Options{Sources: []Source{s2}, Lineage: 1}), tool, `{}`, 0)
		var waits *Suspended
		if errors.As(err, &waits) == again || (len(s2.calls) == 1) != again {
			t.Errorf("%s after a crash: %v, %d calls", tool, err, len(s2.calls))
		}
	}
}

func TestAsk(t *testing.T) {
	j := New(openStore(t, filepath.Join(t.TempDir(), ".xstate")), Options{Lineage: 1})
	ask := func() (Result, error) {
		c, err := j.Prepare(t.Context(), Request{Kind: KindAsk, Tool: "ask", Args: json.RawMessage(`{"q":1}`),
			Question: &state.Approval{Question: "Deploy?", Choices: []string{"now", "never"}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return j.Do(t.Context(), c)
	}
	var waits *Suspended
	if _, err := ask(); !errors.As(err, &waits) {
		t.Fatalf("an open question: %v", err)
	}
	c, _ := j.Prepare(t.Context(), Request{Kind: KindAsk, Tool: "ask", Args: json.RawMessage(`{"q":1}`)}, nil)
	before, _ := j.Digest(t.Context(), c.Place())
	if _, _, err := Decide(t.Context(), j.store, Decision{Call: waits.Call.ID, Choice: "maybe"}); err == nil {
		t.Error("a choice that the question does not have was taken")
	}
	now := Decision{Call: waits.Call.ID, Choice: "now", At: time.Now()}
	if _, _, err := Decide(t.Context(), j.store, now); err != nil {
		t.Fatal(err)
	}
	if r, err := ask(); err != nil || string(r.JSON) != `"now"` {
		t.Errorf("the answer = %s, %v", r.JSON, err)
	}
	if after, _ := j.Digest(t.Context(), c.Place()); after == before || before == "" {
		t.Errorf("digests before and after the decision: %q, %q", before, after)
	}
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":1,"a":{"d":null,"c":[1.50,1e3,-0.0]}}`: `{"a":{"c":[1.5,1000.0,-0.0],"d":null},"b":1}`,
		`[1.0,1,1e20,1e21,0.0,1E-7]`:                 `[1.0,1,100000000000000000000.0,1e+21,0.0,1e-7]`,
		`{"ﬀ":1,"😀":2,"<":3}`:                        `{"<":3,"😀":2,"ﬀ":1}`,
		`123456789012345678901234567890`:             `123456789012345678901234567890`,
		`"\u00e9\n\\u2028"`:                          `"é\n\\u2028"`,
		`9007199254740993`:                           `9007199254740993`,
	} {
		got, err := Canonical([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("Canonical(%s) = %s, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"NaN", "1e999", "{}{}", ""} {
		if got, err := Canonical([]byte(in)); err == nil {
			t.Errorf("Canonical(%s) = %s, want an error", in, got)
		}
	}
}

// TestDecisionIsAStep: who decided what, on what evidence, is a step of the session that called.
func TestDecisionIsAStep(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), ".xstate"))
	if _, err := store.CreateSession(t.Context(), "s", state.SessionMeta{}); err != nil {
		t.Fatal(err)
	}
	j := New(store, Options{Lineage: 1})
	c, err := j.Prepare(t.Context(), Request{Kind: KindAsk, Tool: "ask", Args: json.RawMessage(`{"q":1}`),
		Caller: state.Caller{Session: "s"}, Question: &state.Approval{Question: "Deploy?", Why: "rule 1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var waits *Suspended
	if _, err := j.Do(t.Context(), c); !errors.As(err, &waits) {
		t.Fatalf("an open question: %v", err)
	}
	_, step, err := Decide(t.Context(), store, Decision{Call: waits.Call.ID, Choice: "today", By: "ada", Reason: "now"})
	if err != nil || step == nil {
		t.Fatalf("Decide = %v, %v, want a step", step, err)
	}
	kept, err := store.Step(t.Context(), "s", step.Number)
	if err != nil {
		t.Fatal(err)
	}
	want := state.CallDecision{Call: waits.Call.ID, Key: c.Key, Tool: "ask", Args: state.DigestOf([]byte(`{"q":1}`)),
		Question: "Deploy?", Why: "rule 1", Choice: "today", By: "ada", Reason: "now",
		Result: state.DigestOf([]byte(`"today"`))}
	if kept.Kind != state.KindApprove || kept.Decided == nil || *kept.Decided != want {
		t.Errorf("the step = %s %+v, want %+v", kept.Kind, kept.Decided, want)
	}
}

// remote is a source that does not list its tools before it was asked.
type remote struct {
	*shop
	connected bool
}

func (r *remote) Connected() bool { return r.connected }

// TestToolDigest: what a name means is an input of a node. It changes with the version of a tool that only reads, and
// does not with that of one that has effects: these must not happen again. Nothing connects to find out.
func TestToolDigest(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), ".xstate"))
	digests := func(s *remote) (look, order, none state.Digest) {
		j := New(store, Options{Sources: []Source{s}, Lineage: 1})
		return j.ToolDigest(t.Context(), KindTool, "look"), j.ToolDigest(t.Context(), KindTool, "order"),
			j.ToolDigest(t.Context(), KindTool, "none")
	}
	s := &remote{shop: newShop()}
	_, _, none := digests(s)
	if _, _, again := digests(s); none == again || none == state.Absent {
		t.Errorf("before it was asked, the digest of a tool is %q and %q, want two that differ", none, again)
	}
	s.connected = true
	look, order, none := digests(s)
	if look == state.Absent || order == state.Absent || none != state.Absent {
		t.Errorf("digests %q, %q, %q, want the third one alone absent", look, order, none)
	}
	for i := range s.tools {
		s.tools[i].Version = "another"
	}
	s.connected = false
	if l, o, n := digests(s); l != look || o != order || n != none {
		t.Error("digests changed, and nobody asked the source")
	}
	s.connected = true
	if l, o, _ := digests(s); l == look || o != order {
		t.Errorf("under another version, look changed: %v, order changed: %v", l != look, o != order)
	}
	look, order, _ = digests(s)
	for i := range s.tools {
		s.tools[i].Scope = "another"
	}
	if l, o, _ := digests(s); l == look || o == order {
		t.Errorf("with another scope, look changed: %v, order changed: %v", l != look, o != order)
	}
}

// TestToolDigestLent: a tool that a caller offered keeps its meaning where the next caller offers none of that name.
func TestToolDigestLent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".xstate")
	tool := func(name, version string) []Source {
		call := func(context.Context, json.RawMessage) (any, error) { return nil, nil }
		return []Source{Func(Tool{Name: name, Version: version, Class: Read}, call)}
	}
	j := New(openStore(t, dir), Options{Lineage: 1})
	digest := func(offered []Source) state.Digest {
		if err := j.Offer(offered); err != nil {
			t.Fatal(err)
		}
		return j.ToolDigest(t.Context(), KindTool, "f")
	}
	if d := digest(nil); d != state.Absent {
		t.Errorf("before it was offered, it is %q", d)
	}
	first := digest(tool("f", "1"))
	if d := digest(nil); d != first || first == state.Absent {
		t.Errorf("without an offer it is %q, want %q", d, first)
	}
	if d := digest(tool("g", "1")); d != first {
		t.Errorf("beside another tool it is %q, want %q", d, first)
	}
	// It has no schema. A call that is not in the record says that no caller offers it, and not that its arguments are
	// wrong.
	if _, err := do(t, j, "f", `{"n": 1}`, 0); state.CodeOf(err) != CodeNoTool {
		t.Errorf("without an offer a new call fails with %v, want %s", err, CodeNoTool)
	}
	second := digest(tool("f", "2"))
	if d := digest(nil); d != second || second == first {
		t.Errorf("after another version it is %q, want %q", d, second)
	}
}

// waits is a gate that allows a call once somebody else has done what it waits for.
type waits func()

func (w waits) Decide(context.Context, *Call) (Verdict, error) { w(); return Verdict{}, nil }
func (w waits) Rules() state.Digest                            { return "" }

// TestTwoSessions: sessions of a store make the same call at the same time. Both get the outcome that was recorded
// first.
func TestTwoSessions(t *testing.T) {
	for _, tool := range []string{"hash", "look"} {
		for _, at := range []string{"before it is sent", "while it is under way"} {
			t.Run(tool+" "+at, func(t *testing.T) {
				store, s := openStore(t, filepath.Join(t.TempDir(), ".xstate")), newShop()
				second := New(store, Options{Sources: []Source{s}, Lineage: 2})
				var other Result
				meanwhile := sync.OnceFunc(func() {
					var err error
					if other, err = do(t, second, tool, `{}`, 0); err != nil {
						t.Error(err)
					}
				})
				options := Options{Sources: []Source{s}, Lineage: 1}
				if at == "before it is sent" {
					options.Gate = waits(meanwhile)
				} else {
					first := true
					s.reply = func(a Attempt) (Answer, error) {
						text := `"second"`
						if first {
							first, text = false, `"first"`
							meanwhile()
						}
						return Answer{Result: json.RawMessage(text)}, nil
					}
				}
				r, err := do(t, New(store, options), tool, `{}`, 0)
				if err != nil || string(r.JSON) != string(other.JSON) || r.Digest != other.Digest {
					t.Errorf("one session has %s (%s), the other %s (%s), %v", r.JSON, r.Digest, other.JSON,
						other.Digest, err)
				}
				rec, err := second.Recorded(t.Context(), r.Call.Place())
				if err != nil || r.Digest != second.outcomeDigest(rec) {
					t.Errorf("the record has another outcome, %v", err)
				}
			})
		}
	}
}

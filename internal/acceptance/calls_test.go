package acceptance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
)

// world is a source of tools and a model whose answers depend on their arguments, and on what its tools changed. It
// counts the calls that happen.
type world struct {
	mu     sync.Mutex
	called map[string]int
	notes  []string
	busy   int
}

func (w *world) Name() string { return "world" }
func (w *world) Close() error { return nil }

func (w *world) Tools(context.Context) ([]journal.Tool, error) {
	return []journal.Tool{
		{Name: "search", Class: journal.Read, Scope: "web", Input: json.RawMessage(`{"type":"object",` +
			`"properties":{"query":{"type":"string"}},"required":["query"],"additionalProperties":false}`)},
		{Name: "price", Class: journal.Read, Scope: "shop"},
		{Name: "order", Class: journal.Irreversible, Scope: "shop"},
		{Name: "agent", Class: journal.Idempotent, Scope: "agents"},
		{Name: "score", Class: journal.Pure},
		{Name: "busy", Class: journal.Read, Scope: "web"},
		{Name: "slow", Class: journal.Read, Scope: "web"},
		{Name: "add_note", Class: journal.Irreversible, Scope: "notes"},
		{Name: "list_notes", Class: journal.Read, Scope: "notes"},
		{Name: "model", Class: journal.Pure, Kind: journal.KindModel},
	}, nil
}

func (w *world) Call(ctx context.Context, a journal.Attempt) (journal.Answer, error) {
	w.mu.Lock()
	w.called[a.Tool.Name]++
	w.mu.Unlock()
	var args struct {
		Query, Item, Task, Text string
		Messages                []struct{ Content string }
	}
	if err := json.Unmarshal(a.Args, &args); err != nil {
		return journal.Answer{}, err
	}
	say := func(v any) (journal.Answer, error) {
		text, err := json.Marshal(v)
		return journal.Answer{Result: text}, err
	}
	switch a.Tool.Name {
	case "search":
		return say(map[string]string{"title": "all about " + args.Query})
	case "price":
		return say(10)
	case "order":
		return say("receipt of " + args.Item)
	case "agent":
		if strings.HasPrefix(args.Task, "fail") {
			return journal.Answer{Result: json.RawMessage(`"it is impossible"`), Refused: true}, nil
		}
		return say("done: " + args.Task)
	case "score":
		return say(len(args.Text) % 5)
	case "busy":
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.busy++; w.busy < 3 {
			return journal.Answer{}, errors.New("too many requests")
		}
		return say("sorted")
	case "slow":
		<-ctx.Done()
		return journal.Answer{}, ctx.Err()
	case "add_note":
		w.mu.Lock()
		defer w.mu.Unlock()
		w.notes = append(w.notes, args.Text)
		return say("noted")
	case "list_notes":
		w.mu.Lock()
		defer w.mu.Unlock()
		return say(append([]string{}, w.notes...))
	case "model":
		text := "answer to " + string(state.DigestOf(a.Args))[:20]
		if a.OnPiece != nil {
			for _, piece := range strings.SplitAfter(text, " ") {
				a.OnPiece(piece)
			}
		}
		return say(text)
	}
	return journal.Answer{}, fmt.Errorf("no tool %q", a.Tool.Name)
}

// take returns what was called since the last time.
func (w *world) take() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	called := w.called
	w.called = map[string]int{}
	return called
}

// TestCalls gives the programs of testdata/calls, which call tools and models, to two judges after each step: a run
// from scratch in a fresh folder, store and world, whose results must be equal (or are confirmed before, see oracle),
// and the counts of the calls that happen, which are goldens. The modes are those of TestPrograms.
func TestCalls(t *testing.T) {
	files, err := filepath.Glob("../../testdata/calls/*.txtar")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d programs in testdata/calls, %v", len(files), err)
	}
	reportSessions(t)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, python := range choosePython(t, xstatetest.Pythons()) {
				for _, mode := range modesOf(name) {
					t.Run(filepath.Base(filepath.Dir(filepath.Dir(python)))+"/"+mode, func(t *testing.T) {
						runCalls(t, sessionOf(file), xstatetest.ReadSteps(t, file), python, mode)
					})
				}
			}
		})
	}
}

func runCalls(t *testing.T, name string, steps []xstatetest.ProgramStep, python, mode string) {
	w := &world{called: map[string]int{}}
	options := xstate.SessionOptions{Python: python, Seed: 7, Workspace: t.TempDir(), Tools: []journal.Source{w}}
	store := xstatetest.OpenStore(t, filepath.Join(options.Workspace, xstate.StoreName))
	session := xstatetest.OpenSession(t, store, options)
	files := map[string][]byte{}
	decided := map[string]string{}
	judge := newOracle(name, steps, options)
	judge.run = func(t *testing.T, files map[string][]byte) *xstate.Outcome {
		return callsFromScratch(t, files, python, decided)
	}
	for i, s := range steps {
		xstatetest.WriteFiles(t, options.Workspace, s.Files)
		s.AddTo(files)
		if mode == "restarted" && i > 0 {
			session.Close()
			session = xstatetest.OpenSession(t, store, options)
		}
		decideAll(t, store, func(question string) string {
			if len(s.Decided) == 0 {
				return ""
			}
			decided[question], s.Decided = s.Decided[0], s.Decided[1:]
			return decided[question]
		})
		have := xstatetest.RunFile(t, t.Context(), session, options.Workspace, files, await.Long)
		if d := gocmp.Diff(s.Called, w.take(), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("step %d: calls that happened (-want +got):\n%s", i, d)
		}
		judge.given = fmt.Sprintf("%q", decided)
		judge.judge(t, i, have)
		if ran := xstatetest.RanBlocks(have); i > 0 && !slices.Equal(ran, s.Ran) {
			t.Errorf("step %d: %q ran, want %q", i, ran, s.Ran)
			for _, b := range have.Blocks {
				t.Logf("%s: %v %+v", b.ID, b.Status, b.Reason)
			}
		}
	}
}

// callsFromScratch runs a program in a fresh world until nothing waits that was decided, by question.
func callsFromScratch(
	t *testing.T, files map[string][]byte, python string, decided map[string]string,
) *xstate.Outcome {
	t.Helper()
	o := xstate.SessionOptions{Python: python, Seed: 7, Workspace: t.TempDir(),
		Tools: []journal.Source{&world{called: map[string]int{}}}}
	store := xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName))
	session := xstatetest.OpenSession(t, store, o)
	xstatetest.WriteFiles(t, o.Workspace, maps.Clone(files))
	out := xstatetest.RunFile(t, t.Context(), session, o.Workspace, files, await.Long)
	for decideAll(t, store, func(question string) string { return decided[question] }) > 0 {
		out = xstatetest.RunFile(t, t.Context(), session, o.Workspace, files, await.Long)
	}
	return out
}

// decideAll decides the calls that wait where choose returns a choice, and returns how many that were.
func decideAll(t *testing.T, store *xstate.Store, choose func(question string) string) (n int) {
	t.Helper()
	err := store.State().Calls(t.Context(), 1, func(c *state.Call) bool {
		if c.State != state.CallWaiting || c.Approval.Decided() {
			return true
		}
		if choice := choose(c.Approval.Question); choice != "" {
			d := journal.Decision{Call: c.ID, Choice: choice, By: "ada", At: time.Now()}
			if _, _, err := journal.Decide(t.Context(), store.State(), d); err != nil {
				t.Error(err)
			}
			n++
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

package xstate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/patch/syntax"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/artifact"
	"github.com/xstate-engine/xstate/state/provenance"
	"github.com/xstate-engine/xstate/state/query"
)

// Example is what a harness does: it appends blocks, runs them, patches one, and runs what that affects.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "xstate-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	store, err := xstate.Open(ctx, filepath.Join(folder, xstate.StoreName), xstate.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	session, err := store.Session(ctx, "invoice", xstate.SessionOptions{Workspace: folder})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	writer := xstate.Origin{Agent: "writer", Action: "draft"}
	for _, b := range []patch.Block{
		{ID: "prices", Source: "prices = [3, 4, 5]"},
		{ID: "tax", Source: "def tax(amount):\n    return amount * 0.2"},
		{ID: "total", Source: "total = sum(prices)\ntotal"},
		{ID: "due", Source: "print('due:', total + tax(total))"},
	} {
		b.Dialect = syntax.Python
		if _, err := session.Append(ctx, b, "", writer); err != nil {
			log.Fatal(err)
		}
	}
	run := func() {
		outcome, step, err := session.Run(ctx, runner.RunOptions{}, xstate.Origin{})
		if err != nil {
			log.Fatal(err)
		}
		counts := step.Run.Blocks
		fmt.Printf("step %d: %d ran, %d reused\n", step.Number, counts.Ran, counts.Reused)
		for _, output := range outcome.Blocks[3].Outputs {
			fmt.Print(output.Text)
		}
	}
	run()
	run()

	reviewer := xstate.Origin{Agent: "reviewer", Reason: "the rate is 25% since May"}
	if _, err := session.Patch(ctx, "tax", "def tax(amount):\n    return amount * 0.25", reviewer); err != nil {
		log.Fatal(err)
	}
	run()
	// Output:
	// step 5: 4 ran, 0 reused
	// due: 14.4
	// step 6: 0 ran, 4 reused
	// due: 14.4
	// step 8: 2 ran, 2 reused
	// due: 15.0
}

// A plan tells what a run would execute, and why, without executing anything.
func ExampleSession_Plan() {
	ctx := context.Background()
	session, done := exampleSession(
		ctx,
		"import math",
		"radius = 2",
		"area = math.pi * radius ** 2",
		"print(round(area, 2))",
		"print('ready')",
	)
	defer done()
	if _, _, err := session.Run(ctx, runner.RunOptions{}, xstate.Origin{}); err != nil {
		log.Fatal(err)
	}
	if _, err := session.Patch(ctx, "b2", "radius = 3", xstate.Origin{}); err != nil {
		log.Fatal(err)
	}
	plan, err := session.Plan(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	blocks, err := plan.Blocks(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, b := range blocks {
		fmt.Println(strings.TrimSpace(fmt.Sprintln(b.ID, b.Action, b.Reason.Code, b.Reason.Key)))
	}
	// Output:
	// b1 reuse reused
	// b2 run code-changed
	// b3 maybe input-may-change var:radius
	// b4 maybe input-may-change var:area
	// b5 reuse reused
}

// Every step is kept: which code was running then, what it read and wrote, what it put out, who wrote it.
func ExampleSession_History() {
	ctx := context.Background()
	session, done := exampleSession(ctx, "x = 1", "print(x)")
	defer done()
	run := func() xstate.StepNumber {
		_, step, err := session.Run(ctx, runner.RunOptions{}, xstate.Origin{})
		if err != nil {
			log.Fatal(err)
		}
		return step.Number
	}
	first := run()
	if _, err := session.Patch(ctx, "b1", "x = 2", xstate.Origin{Agent: "reviewer"}); err != nil {
		log.Fatal(err)
	}
	for _, n := range []xstate.StepNumber{first, run()} {
		program, err := session.History().At(ctx, n)
		if err != nil {
			log.Fatal(err)
		}
		x, show := program.Blocks[0], program.Blocks[1]
		fmt.Printf("step %d: %s: %s (edited at step %d, by %q)\n", n, x.ID, x.Source, x.Edited, x.Origin.Agent)
		fmt.Printf("        %s printed %q\n", show.ID, show.Outputs[0].Text)
	}
	// Output:
	// step 3: b1: x = 1 (edited at step 1, by "")
	//         b2 printed "1\n"
	// step 5: b1: x = 2 (edited at step 4, by "reviewer")
	//         b2 printed "2\n"
}

// Load makes the program that of a file: what stayed keeps its id, and every difference is a step of its own.
func ExampleSession_Load() {
	ctx := context.Background()
	session, done := exampleSession(ctx)
	defer done()
	for _, text := range []string{
		"# %% load\nrows = [1, 2, 3]\n\n# %% show\nprint(rows)\n",
		"# %% load\nrows = [1, 2, 3]\n\n# %% double\nrows = [2 * r for r in rows]\n\n# %% show\nprint(rows)\n",
	} {
		program, err := patch.Parse("report.py", []byte(text))
		if err != nil {
			log.Fatal(err)
		}
		steps, err := session.Load(ctx, program.Blocks, xstate.Origin{})
		if err != nil {
			log.Fatal(err)
		}
		for _, s := range steps {
			fmt.Println(s.Number, s.Kind, s.Block)
		}
	}
	// Output:
	// 1 append load
	// 2 append show
	// 3 append double
}

// Going back is a step like any other, and executes nothing; the past can be asked at any step.
func ExampleSession_Rollback() {
	ctx := context.Background()
	session, done := exampleSession(ctx, "rate = 0.2", "due = 12 * (1 + rate)", "print(due)")
	defer done()
	run := func() *xstate.Outcome {
		outcome, step, err := session.Run(ctx, runner.RunOptions{}, xstate.Origin{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("step %d: %d ran, %s", step.Number, step.Run.Blocks.Ran, outcome.Blocks[2].Outputs[0].Text)
		return outcome
	}
	run()
	if _, err := session.Patch(ctx, "b1", "rate = 0.25", xstate.Origin{Agent: "coder"}); err != nil {
		log.Fatal(err)
	}
	run()
	if _, err := session.Rollback(ctx, 4, xstate.Origin{Reason: "the old rate holds"}); err != nil {
		log.Fatal(err)
	}
	run()
	for _, n := range []xstate.StepNumber{4, 6} {
		v, err := session.Value(ctx, n, "due", nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("due after step %d: %s, by %s\n", n, v.Text, v.By)
	}
	filter, err := query.NewFilter(`step.kind == "run" && step.ran > 0`)
	if err != nil {
		log.Fatal(err)
	}
	found, err := session.History().Where(ctx, 8, filter, query.Page{})
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range found.Steps {
		fmt.Printf("step %d executed %d blocks\n", step.Number, step.Run.Blocks.Ran)
	}
	// Output:
	// step 4: 3 ran, 14.399999999999999
	// step 6: 3 ran, 15.0
	// step 8: 0 ran, 14.399999999999999
	// due after step 4: 14.399999999999999, by b2
	// due after step 6: 15.0, by b2
	// step 6 executed 3 blocks
	// step 4 executed 3 blocks
}

// What one agent did is taken back; what another did in the same block since stays. Every line knows who wrote it.
// What an agent answers is read in whatever format it is, and done to the block that it is about.
func ExampleSession_Revise() {
	ctx := context.Background()
	session, done := exampleSession(ctx, "rate = 0.2\nyears = 10\nprint(rate * years)")
	defer done()
	answers := []string{
		"Ten years are too few.\n<<<<<<< SEARCH\nyears = 10\n=======\nyears = 12\n>>>>>>> REPLACE\n",
		"```python\nrate = 0.3\nyears = 12\nprint(rate * years)\n```\n",
		`{"path": "b1", "command": "str_replace", "old_str": "years = 10", "new_str": "years = 20"}`,
	}
	for _, answer := range answers {
		p, err := patch.Read(answer, "")
		if err != nil {
			log.Fatal(err)
		}
		r, err := session.Revise(ctx, p, xstate.Target{})
		if err != nil {
			fmt.Println(p.Format, "is refused:", err)
			continue
		}
		if _, err := session.Record(ctx, r, xstate.Origin{Agent: "coder"}); err != nil {
			log.Fatal(err)
		}
		fmt.Println(p.Format, "changes", r.Edits[0].ID)
	}
	// Output:
	// search-replace changes b1
	// block changes b1
	// text-editor is refused: b1: hunk 1: the text to replace is not there; the most similar place is line 2
}

func ExampleSession_Undo() {
	ctx := context.Background()
	session, done := exampleSession(ctx, "rate = 0.2\nyears = 10")
	defer done()
	for _, edit := range [][2]string{{"coder", "rate = 0.3\nyears = 10"},
		{"reviewer", "rate = 0.3\nyears = 12\nfee = 1"}} {
		if _, err := session.Patch(ctx, "b1", edit[1], xstate.Origin{Agent: edit[0]}); err != nil {
			log.Fatal(err)
		}
	}
	undoing, err := session.PlanUndo(ctx, xstate.Which{Agent: "coder"})
	if err != nil {
		log.Fatal(err)
	}
	steps, err := session.Undo(ctx, undoing, xstate.Origin{Agent: "judge"})
	if err != nil {
		log.Fatal(err)
	}
	lines, err := session.History().Blame(ctx, steps[0].Number, "b1")
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range lines {
		fmt.Printf("step %d %-8s  %s\n", l.Step, l.Origin.Agent, l.Text)
	}
	// Output:
	// step 1           rate = 0.2
	// step 3 reviewer  years = 12
	// step 3 reviewer  fee = 1
}

// An error has a stable code to branch on, a sentence, and a hint with the next thing to do.
func ExampleError() {
	ctx := context.Background()
	session, done := exampleSession(ctx, "x = 1")
	defer done()
	_, err := session.Patch(ctx, "b7", "x = 2", xstate.Origin{})
	var e *xstate.Error
	if errors.As(err, &e) {
		fmt.Println(e.Code)
		fmt.Println(e)
		fmt.Println(e.Hint)
	}
	// Output:
	// no-block
	// session "example" has no block "b7"
	// its blocks are: b1
}

// exampleSession opens a session with the sources as blocks b1, b2, …, in a folder that done removes.
func exampleSession(ctx context.Context, sources ...string) (session *xstate.Session, done func()) {
	folder, err := os.MkdirTemp("", "xstate-example-")
	if err != nil {
		log.Fatal(err)
	}
	store, err := xstate.Open(ctx, filepath.Join(folder, xstate.StoreName), xstate.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if session, err = store.Session(ctx, "example", xstate.SessionOptions{Workspace: folder}); err != nil {
		log.Fatal(err)
	}
	for i, source := range sources {
		block := patch.Block{ID: fmt.Sprint("b", i+1), Dialect: syntax.Python, Source: source}
		if _, err := session.Append(ctx, block, "", xstate.Origin{}); err != nil {
			log.Fatal(err)
		}
	}
	return session, func() {
		session.Close()
		store.Close()
		os.RemoveAll(folder)
	}
}

// What was recorded is put to the test: each run again, elsewhere. One that read the clock does not come out the same,
// and it is told why.
func Example_replay() {
	ctx := context.Background()
	session, done := exampleSession(ctx, "rate = 0.2", "import time\nstarted = time.time_ns()", "print(rate * 10)")
	defer done()
	run := func() {
		if _, _, err := session.Run(ctx, runner.RunOptions{}, xstate.Origin{}); err != nil {
			log.Fatal(err)
		}
	}
	run()
	if _, err := session.Patch(ctx, "b2", "started = 0", xstate.Origin{}); err != nil {
		log.Fatal(err)
	}
	run()
	found, err := replay.Run(ctx, session.Subject(), replay.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range found.Runs {
		fmt.Printf("step %d: %s, executed %d, proved before %d\n", r.Step, r.Result, r.Executed, r.Proved)
	}
	fmt.Println(found.First.Node, "diverges:", found.First.Cause)
	// Output:
	// step 4: diverged, executed 4, proved before 0
	// step 6: equal, executed 1, proved before 2
	// b2#2 diverges: clock
}

// A function and a check of it, as an artifact. Then the function is edited, and nothing has run since.
func Example_artifacts() {
	ctx := context.Background()
	session, done := exampleSession(ctx, "def double(x):\n    return 2 * x", "assert double(2) == 4")
	defer done()
	if _, _, err := session.Run(ctx, runner.RunOptions{}, xstate.Origin{}); err != nil {
		log.Fatal(err)
	}
	step, err := artifact.Declare(
		ctx,
		session.History(),
		artifact.Spec{Name: "doubling", Kind: state.ArtifactCode, Members: []string{"b1"}},
		xstate.Origin{Agent: "writer"},
	)
	if err != nil {
		log.Fatal(err)
	}
	edit, err := session.Patch(ctx, "b1", "def double(x):\n    return x + x", xstate.Origin{Agent: "writer"})
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range []xstate.StepNumber{step.Number, edit.Number} {
		found, err := artifact.List(ctx, session.History(), n)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s is %s: %s\n", found[0].Name, found[0].Status, found[0].Reason)
	}
	// Output:
	// doubling is fresh: checks that passed exercised every block and file that it holds, as it is
	// doubling is stale: block b1 was edited in step 5 and has not run since
}

// What a value rests on.
func Example_evidence() {
	ctx := context.Background()
	session, done := exampleSession(
		ctx,
		"prices = [3, 4, 5]",
		"unused = 1",
		"total = sum(prices)",
		"assert total == 12",
	)
	defer done()
	_, step, err := session.Run(ctx, runner.RunOptions{}, xstate.Origin{})
	if err != nil {
		log.Fatal(err)
	}
	e, err := provenance.EvidenceOf(ctx, session.History(), step.Number, "total")
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range e.Nodes {
		fmt.Println(n.Name, n.Status)
	}
	for _, c := range e.Checks {
		fmt.Println(c.ID, c.Kind, c.Outcome)
	}
	// Output:
	// b1 ran
	// b3 ran
	// b4 assert passed
}

// ExampleSessionOptions_tools gives a program a function of the harness. Each call of it happens once.
func ExampleSessionOptions_tools() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "xstate-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	store, err := xstate.Open(ctx, filepath.Join(folder, xstate.StoreName), xstate.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	order := journal.Func(journal.Tool{Name: "order", Class: journal.Irreversible},
		func(_ context.Context, args json.RawMessage) (any, error) {
			fmt.Printf("ordered: %s\n", args)
			return map[string]int{"number": 17}, nil
		})
	session, err := store.Session(ctx, "shop", xstate.SessionOptions{Workspace: folder, Tools: []journal.Source{order}})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	source := "import xstate\nlabel = 'draft'\nn = xstate.tool('order', item='lamp')['number']"
	blocks := []patch.Block{
		{ID: "order", Source: source, Dialect: syntax.Python},
		{ID: "note", Source: "print(label, n)", Dialect: syntax.Python},
	}
	for _, b := range blocks {
		if _, err := session.Append(ctx, b, "", xstate.Origin{}); err != nil {
			log.Fatal(err)
		}
	}
	run := func() {
		outcome, _, err := session.Run(ctx, runner.RunOptions{}, xstate.Origin{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(outcome.Blocks[1].Outputs[0].Text)
	}
	run()
	// The block that orders runs again, and orders nothing.
	edited := strings.Replace(source, "draft", "final", 1)
	if _, err := session.Patch(ctx, "order", edited, xstate.Origin{}); err != nil {
		log.Fatal(err)
	}
	run()
	// Output:
	// ordered: {"item":"lamp"}
	// draft 17
	// final 17
}

package xstate

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/languages"
	"github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/suite"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// TestOptions configures Test. The zero value finds all tests and runs those that must run.
type TestOptions struct {
	Paths  []string  // files, folders and ids of tests, as pytest takes them, relative to the workspace
	Blocks []BlockID // whose tests to run; with neither Paths nor Blocks, all
	Choose []string  // arguments of pytest that only choose among the tests: -k EXPR, -m EXPR
	Args   []string  // other arguments of pytest; results are reused only under the same ones
	All    bool      // run every test
	// Lines also observes which lines the tests execute. Tests whose lines are not known run. In blocks it needs
	// CPython 3.12.
	Lines   bool
	Plan    bool // run none, and record nothing
	Timeout time.Duration
	OnTest  func(*TestResult)
	OnTalk  func(string)
}

// TestResult is the outcome of one test.
type TestResult struct {
	query.Check
	Status suite.TestStatus `json:"status"`
	Reason state.Reason     `json:"reason"`
	Text   string           `json:"text,omitempty"` // the report of one that failed
}

// TestReport is the outcome of Test.
type TestReport struct {
	Step    StepNumber   `json:"step,omitempty"`   // that records it; 0 if there is nothing new to record
	Runner  string       `json:"runner,omitempty"` // "pytest 8.3.4", "unittest"
	Ran     int          `json:"ran"`              // in a plan: those that would run
	Reused  int          `json:"reused"`
	Failed  int          `json:"failed"`
	Seconds float64      `json:"seconds"`
	Saved   float64      `json:"saved_seconds"` // recorded cost of what was reused
	Tests   []TestResult `json:"tests"`         // in the order in which they were collected
	Stopped error        `json:"-"`
}

// Test runs the tests of the workspace and of the program's blocks. It runs only those that executed or read something
// that has changed. Package suite describes the dependencies of a test, and how they differ from those of a block's
// nodes.
func (s *Session) Test(ctx context.Context, o TestOptions, origin Origin) (*TestReport, error) {
	release, err := s.Hold(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	found := &TestReport{Tests: []TestResult{}}
	if len(o.Paths) > 0 || len(o.Blocks) == 0 {
		if err := s.testFiles(ctx, o, found); err != nil {
			return nil, err
		}
	}
	if found.Stopped == nil && (len(o.Blocks) > 0 || len(o.Paths) == 0) {
		if err := s.testBlocks(ctx, o, found); err != nil {
			return nil, err
		}
	}
	for _, t := range found.Tests {
		if t.Status == suite.TestReused {
			found.Reused++
			found.Saved += t.Seconds
		} else {
			found.Ran++
		}
		if t.Status == suite.TestRan {
			found.Seconds += t.Seconds
		}
		if t.Outcome.Bad() {
			found.Failed++
		}
	}
	if o.Plan {
		return found, nil
	}
	whole := len(o.Paths)+len(o.Blocks)+len(o.Choose) == 0 && found.Stopped == nil
	return found, s.recordTests(context.WithoutCancel(ctx), found, whole, origin)
}

func (s *Session) testFiles(ctx context.Context, o TestOptions, found *TestReport) error {
	cfg, err := s.config(ctx)
	if err != nil {
		return err
	}
	language, err := s.languages.Of(python.Plain)
	if err != nil {
		return err
	}
	tests, err := suite.New(
		suite.Config{Store: cfg.Store, Workspace: cfg.Workspace, Language: language, Environ: cfg.Environ,
			Bounds: cfg.Bounds, Secrets: cfg.Secrets},
	)
	if err != nil {
		return err
	}
	so := suite.Options{
		Paths:   o.Paths,
		Choose:  o.Choose,
		Args:    o.Args,
		All:     o.All,
		Lines:   o.Lines,
		Plan:    o.Plan,
		Timeout: o.Timeout,
		OnTalk:  o.OnTalk,
	}
	if o.OnTest != nil {
		so.OnTest = func(t *suite.TestOutcome) {
			x := resultOf(t)
			o.OnTest(&x)
		}
	}
	out, err := tests.Run(ctx, so)
	if err != nil {
		return err
	}
	found.Runner, found.Stopped = out.Runner, out.Stopped
	for _, t := range out.Tests {
		found.Tests = append(found.Tests, resultOf(t))
	}
	return nil
}

func resultOf(t *suite.TestOutcome) TestResult {
	x := TestResult{Status: t.Status, Reason: t.Reason, Text: t.Text}
	x.Check = query.Check{
		ID:        t.ID,
		Kind:      query.CheckKind(t.Kind),
		Outcome:   query.CheckOutcome(t.Outcome),
		Message:   t.Message,
		At:        t.At,
		Seconds:   t.Seconds,
		Marks:     t.Marks,
		Trace:     t.Trace,
		Exercised: []query.Exercised{},
	}
	for _, p := range t.Parts {
		x.Exercised = append(
			x.Exercised,
			query.Exercised{
				File:     p.File,
				Function: p.Name,
				Version:  p.Version,
				From:     p.From,
				To:       p.To,
				Lines:    p.Lines,
				Content:  p.Content,
			},
		)
	}
	return x
}

// recordTests records the present outcomes of the tests. If whole is set, it drops tests that were not found.
func (s *Session) recordTests(ctx context.Context, found *TestReport, whole bool, origin Origin) error {
	head, _, err := s.store.state.Head(ctx, s.name)
	if err != nil {
		return err
	}
	var before []query.Check // what was known: of tests that did not run now
	if !whole || found.Reused > 0 {
		if before, err = s.history.Checks(ctx); err != nil {
			return err
		}
	}
	known := map[string]query.Check{}
	for _, c := range before {
		known[c.ID] = c
	}
	var now []query.Check
	fresh := map[string]bool{}
	for i := range found.Tests {
		c := &found.Tests[i].Check
		if c.Outcome == "" {
			continue // it was not reached
		}
		c.At = c.At.UTC()
		fresh[c.ID] = true
		if was := known[c.ID]; found.Tests[i].Status == suite.TestRan {
			c.Step = head + 1
		} else if was.Trace == c.Trace {
			c.Step = was.Step
		}
		now = append(now, *c)
	}
	if !whole {
		kept := []query.Check{}
		for _, c := range before {
			if !fresh[c.ID] {
				kept = append(kept, c)
			}
		}
		now = append(kept, now...)
	}
	text, err := json.Marshal(query.EncodeChecks(now))
	if err != nil {
		return fmt.Errorf("encode what is known of tests: %w", err)
	}
	if told, err := s.history.ChecksDigest(ctx, head); err != nil || found.Ran == 0 && told == state.DigestOf(text) {
		return err
	}
	d := state.Draft{
		Kind:    state.KindDeclare,
		Origin:  origin,
		Sources: [][]byte{text},
		Records: map[string]any{query.RecordTested: head + 1},
		Tested: &state.Testing{
			Ran:          found.Ran,
			Reused:       found.Reused,
			Failed:       found.Failed,
			Seconds:      found.Seconds,
			SavedSeconds: found.Saved,
			Checks:       state.DigestOf(text),
		},
	}
	if asked := s.options.Python; asked == AnyPython {
		d.Records[query.RecordPython] = ""
	} else if asked != "" {
		d.Records[query.RecordPython] = s.Python().Path
	}
	steps, err := s.store.state.Commit(ctx, s.name, head, []state.Draft{d})
	if err != nil {
		return err
	}
	found.Step = steps[0].Number
	return nil
}

// A test in a block runs as an extra block behind the block that defines it; the extra block calls the test. So it
// finds the state that the program has there. The runner observes its reads and writes like those of any block, reuses
// its result while they are valid, and undoes its changes. The runner first brings the inputs of the test up to date.
// Afterwards the program is as it was before.

// blockTest is a test in a block.
type blockTest struct {
	block int // its place in the program
	id    string
	call  string // the source that runs it
}

func (s *Session) testBlocks(ctx context.Context, o TestOptions, found *TestReport) error {
	program, _, err := s.history.Program(ctx)
	if err != nil {
		return err
	}
	var tests []blockTest
	outlines := make([]*depgraph.Outline, len(program))
	for i, b := range program {
		if outlines[i], err = languages.Outline([]byte(b.Source), b.Dialect); err != nil {
			outlines[i] = &depgraph.Outline{} // it does not parse: a run reports that
		}
		if len(o.Blocks) == 0 || slices.Contains(o.Blocks, b.ID) {
			tests = append(tests, testsIn(&b, i, outlines[i])...)
		}
	}
	if len(tests) == 0 || len(o.Choose) > 0 { // pytest's expressions do not apply to them
		return nil
	}
	own, release, err := s.withOwnEngine(ctx)
	if err != nil {
		return err
	}
	defer release()
	return own.engine.Isolated(func() error {
		for _, t := range tests {
			x, err := own.testBlock(ctx, program, outlines, t, o)
			if err != nil || x == nil {
				found.Stopped = ctx.Err()
				return err
			}
			found.Tests = append(found.Tests, *x)
			if o.OnTest != nil {
				o.OnTest(x)
			}
		}
		return nil
	})
}

// testsIn lists the tests that a block defines at its top level: functions, methods of classes, and examples in
// docstrings.
func testsIn(b *state.ProgramBlock, at int, outline *depgraph.Outline) []blockTest {
	var tests []blockTest
	add := func(name, call string) { tests = append(tests, blockTest{at, string(b.ID) + "::" + name, call}) }
	lines := strings.Split(b.Source, "\n")
	cases := map[string]bool{} // classes of unittest
	for _, d := range outline.Definitions {
		class, method, isMethod := strings.Cut(d.Name, ".")
		switch {
		case d.Class:
			cases[d.Name] = strings.Contains(d.Signature, "TestCase")
		case d.Line == 0 || isMethod && !strings.HasPrefix(method, "test"):
		case isMethod && cases[class]:
			add(
				class+"::"+method,
				fmt.Sprintf(
					"%[1]s.setUpClass()\ntry:\n    %[1]s(%[2]q).debug()\nfinally:\n    %[1]s.tearDownClass()\n",
					class,
					method,
				),
			)
		case isMethod && strings.HasPrefix(class, "Test"):
			add(class+"::"+method, fmt.Sprintf("%s().%s()\n", class, method))
		case !isMethod && strings.HasPrefix(d.Name, "test"):
			add(d.Name, d.Name+"()\n")
		}
		if !isMethod && d.Line > 0 &&
			slices.ContainsFunc(
				lines[d.Line-1:min(d.End, len(lines))],
				func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), ">>> ") },
			) {
			add(
				d.Name+" (doctest)",
				fmt.Sprintf(
					"import doctest\nfor _examples in doctest.DocTestFinder().find(%[1]s, %[1]q, globs=globals()):\n"+
						"    doctest.DebugRunner().run(_examples)\n",
					d.Name,
				),
			)
		}
	}
	return tests
}

// testBlock runs one test, or plans it. The result is nil if ctx ended.
func (s *Session) testBlock(
	ctx context.Context,
	program []state.ProgramBlock,
	outlines []*depgraph.Outline,
	t blockTest,
	o TestOptions,
) (*TestResult, error) {
	probe := state.ProgramBlock{
		ID:      BlockID(t.id),
		Dialect: python.Plain,
		Version: state.DigestOf([]byte(t.call)),
		Source:  t.call,
	}
	before := program[:t.block+1]
	x := &TestResult{Check: query.Check{ID: t.id, Kind: query.CheckBlock, Exercised: []query.Exercised{}}}
	blocks := append(slices.Clone(before), probe)
	if o.Plan {
		plan, err := s.engine.Plan(ctx, blocks)
		if err != nil {
			return nil, err
		}
		planned, err := plan.Blocks(ctx)
		if err != nil {
			return nil, err
		}
		last := planned[len(planned)-1]
		x.Status, x.Reason, x.Seconds = suite.TestWould, last.Reason, last.Seconds+last.Saved
		if last.Action == runner.ActReuse {
			x.Status = suite.TestReused
		}
		return x, nil
	}
	ro := runner.RunOptions{Timeout: o.Timeout, Part: true}
	anew := func(id BlockID, _ int) bool { return id == probe.ID }
	if o.All {
		ro.Force = anew
	}
	if o.Lines && s.Python().Minor >= sinceLines {
		ro.Lined = probe.ID
	}
	out, err := s.engine.Run(ctx, blocks, ro)
	if err != nil || out.Stopped != nil {
		return nil, err
	}
	last := &out.Blocks[len(out.Blocks)-1]
	lines, known := s.linesOf(last, before)
	reason := last.Reason
	if ro.Lined != "" && !known && ro.Force == nil && last.Err == nil && !last.Status.Skipped() {
		ro.Force = anew
		if out, err = s.engine.Run(ctx, blocks, ro); err != nil || out.Stopped != nil {
			return nil, err
		}
		last = &out.Blocks[len(out.Blocks)-1]
		lines, _ = s.linesOf(last, before)
		if reason.Code == state.ReasonReused {
			reason = state.Reason{Code: state.ReasonLines}
		}
	}
	x.Status, x.Reason, x.Outcome, x.Marks = suite.TestReused, reason, query.CheckPassed, last.Marks
	if last.Seconds > 0 {
		x.Status = suite.TestRan
	}
	reads := map[string]bool{}
	for i := range last.Nodes {
		n := &last.Nodes[i]
		if r := n.Result(); r != nil {
			x.Seconds += r.Seconds
			x.At, x.Trace = r.At.UTC(), n.Trace
			for _, a := range r.Reads {
				if a.Key.Space() == "var" {
					reads[a.Key.Name()] = true
				}
			}
		}
	}
	x.Exercised = exercisedBy(reads, lines, before, outlines)
	switch e := last.Err; {
	case last.Status.Skipped():
		x.Outcome, x.Message = query.CheckError, "it cannot run: "+query.Sentence(last.Reason)
	case e == nil:
	case e.Type == "SkipTest" || e.Type == "Skipped":
		x.Outcome, x.Message = query.CheckSkipped, e.Message
	case e.Type == "Timeout":
		x.Outcome, x.Message = query.CheckTimeout, e.Message
	case e.Type == "KernelDied":
		x.Outcome, x.Message = query.CheckCrashed, e.Message
	default:
		x.Outcome, x.Message, x.Text = query.CheckFailed, query.ErrorLine(e), strings.Join(e.Traceback, "\n")
	}
	return x, nil
}

// sinceLines is the minor version of CPython that first reports executed lines.
const sinceLines = 12

// linesOf returns the lines that a block executed in functions of the program, by block version. ok is false if some
// were not observed or belong to other versions.
func (s *Session) linesOf(b *runner.BlockOutcome, program []state.ProgramBlock) (map[Digest]runner.BlockLines, bool) {
	found := map[Digest]runner.BlockLines{}
	for i := range b.Nodes {
		lines, ok := s.engine.LinesOf(b.Nodes[i].Trace)
		if !ok {
			return nil, false
		}
		for version, more := range lines {
			if !slices.ContainsFunc(program, func(b state.ProgramBlock) bool { return b.Version == version }) {
				return nil, false
			}
			have := found[version]
			found[version] = runner.BlockLines{
				Begin:    append(have.Begin, more.Begin...),
				Executed: append(have.Executed, more.Executed...),
			}
		}
	}
	return found, true
}

// exercisedBy lists the definitions that names refer to, the last of each name. If lines are known, it lists only
// functions that were executed.
func exercisedBy(
	names map[string]bool,
	lines map[Digest]runner.BlockLines,
	program []state.ProgramBlock,
	outlines []*depgraph.Outline,
) []query.Exercised {
	found := []query.Exercised{}
	for i, b := range slices.Backward(program) {
		executed := linesOfFunctions(lines[b.Version], outlines[i])
		for j, d := range outlines[i].Definitions {
			x := query.Exercised{
				Block:    b.ID,
				Function: d.Name,
				Version:  b.Version,
				From:     d.Line,
				To:       d.End,
				Lines:    executed[j],
			}
			if d.Line > 0 && (x.Lines != "" || names[d.Name] && (lines == nil || d.Class)) {
				found = append(found, x)
			}
			if d.Line > 0 {
				delete(names, d.Name)
			}
		}
	}
	slices.Reverse(found)
	return found
}

// linesOfFunctions returns the executed lines of functions, by index in the outline, as ranges counted from the first
// line of each. A statement extends to the line before the next one. A call executes the lines before the first
// statement.
func linesOfFunctions(lines runner.BlockLines, outline *depgraph.Outline) map[int]string {
	owner := query.InnermostDefinitions(outline)
	bounds := slices.Sorted(slices.Values(slices.Concat(lines.Begin, lines.Executed)))
	hit := map[int]map[int]bool{}
	fill := func(i, line int) {
		d := outline.Definitions[i]
		end := d.End
		if at, _ := slices.BinarySearch(bounds, line+1); at < len(bounds) {
			end = min(end, bounds[at]-1)
		}
		for ; line <= end; line++ {
			hit[i][line-d.Line] = true
		}
	}
	for _, line := range lines.Executed {
		i, ok := owner[line]
		if !ok || outline.Definitions[i].Class {
			continue
		}
		if hit[i] == nil {
			hit[i] = map[int]bool{0: true}
			fill(i, outline.Definitions[i].Line)
		}
		fill(i, line)
	}
	found := map[int]string{}
	for i, lines := range hit {
		found[i] = state.Ranges(slices.Sorted(maps.Keys(lines)))
	}
	return found
}

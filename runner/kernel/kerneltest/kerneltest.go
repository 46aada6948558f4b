package kerneltest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

// Subject is a language to test.
type Subject struct {
	Language kernel.Language
	Dialect  depgraph.Dialect
	Environ  []string // NAME=value
	Texts    Texts
}

// Texts are blocks of one statement in the language. Names are as they are here: a, b and nowhere.
type Texts struct {
	Bind    string // binds a to a new mutable list of 1 and 2
	Other   string // binds a to a new mutable list of other values
	Alias   string // binds b to the list of a
	Append  string // appends to the list of a in place
	Read    string // prints something that depends on a and b
	Fail    string // raises an error
	Missing string // reads the name nowhere
	Invalid string // does not parse
	Refused string // parses, and the language does not accept it; "" without such a text
	Loop    string // runs until it is interrupted
	Die     string // ends the process, and cannot be caught
	Print   string // prints "one\n" to stdout, "two\n" to stderr, and "three\n" to stdout
}

// Run executes the sessions.
func Run(t *testing.T, s Subject) {
	for name, session := range map[string]func(*session){
		"values":  (*session).values,
		"aliases": (*session).aliases,
		"restore": (*session).restore,
		"parking": (*session).parking,
		"failure": (*session).failure,
		"verdict": (*session).verdict,
		"outputs": (*session).outputs,
		"scratch": (*session).scratch,
		"stop":    (*session).stop,
		"death":   (*session).death,
		"entry":   (*session).entry,
	} {
		t.Run(name, func(t *testing.T) { session(newSession(t, s)) })
	}
}

// session is one kernel, and the program that it has executed.
type session struct {
	*testing.T
	Subject
	kernel kernel.Kernel
	count  int
}

func newSession(t *testing.T, s Subject) *session {
	t.Helper()
	folder, spool, store := t.TempDir(), t.TempDir(), t.TempDir()
	k, err := s.Language.Start(t.Context(), kernel.Launch{
		Driver: store, Environ: s.Language.Environ(s.Environ), Folder: folder, Spool: spool, Store: store, Seed: 1,
		Dialects: []depgraph.Dialect{s.Dialect},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return &session{T: t, Subject: s, kernel: k}
}

// analyze returns the facts of a text, with names as the language has them.
func (s *session) analyze(text string) (*depgraph.Facts, error) {
	a, _, err := depgraph.AnalyserOf(s.Dialect)
	if err != nil {
		return nil, err
	}
	return a.Analyze([]byte(text), s.Dialect)
}

// node returns the node that a text is.
func (s *session) node(text string) kernel.Node {
	s.Helper()
	facts, err := s.analyze(text)
	if err != nil {
		s.Fatalf("analyse %q: %v", text, err)
	}
	if len(facts.Nodes) != 1 {
		s.Fatalf("%q has %d nodes, want 1", text, len(facts.Nodes))
	}
	n := facts.Nodes[0]
	s.count++
	return kernel.Node{
		Text: facts.Code[n.Start:n.End], ID: "b", Filename: "<b>", Line: n.Line, Future: facts.Features,
		Expr: n.Expr, Quiet: facts.Quiet, Last: true, First: s.count == 1, Certain: n.Certain,
		Uses: slices.Concat(n.Uses, n.Later),
	}
}

// try executes a text.
func (s *session) try(ctx context.Context, text string) (kernel.Observation, []output.Output, error) {
	s.Helper()
	var outputs output.Screen
	seen, err := s.kernel.Execute(ctx, s.node(text), kernel.Sink{Record: outputs.Add})
	return seen, outputs.Outputs(), err
}

// run executes a text that succeeds.
func (s *session) run(text string) kernel.Observation {
	s.Helper()
	seen, _, err := s.try(s.Context(), text)
	if err != nil {
		s.Fatalf("execute %q: %v", text, err)
	}
	if seen.Failure != nil {
		s.Fatalf("execute %q: %s: %s", text, seen.Failure.Type, seen.Failure.Message)
	}
	return seen
}

// written returns the digests that an execution wrote, by name.
func written(seen kernel.Observation) map[string]state.Digest {
	found := map[string]state.Digest{}
	for _, w := range seen.Writes {
		if !w.Deleted {
			found[w.Name] = w.Digest
		}
	}
	return found
}

// shared reports whether names are reported to share objects.
func shared(aliases [][3]string, a, b string) bool {
	return slices.ContainsFunc(aliases, func(s [3]string) bool { return s[0] == a && s[1] == b && s[2] != "" })
}

// values: equal values have equal digests, in every process, and different values have different ones.
func (s *session) values() {
	first := written(s.run(s.Texts.Bind))
	if first["a"] == "" || len(first) != 1 {
		s.Fatalf("Bind wrote %v, want a value of a and nothing else", first)
	}
	other := written(s.run(s.Texts.Other))
	if other["a"] == "" || other["a"] == first["a"] {
		s.Errorf("Other wrote %v after %v, want another digest", other, first)
	}
	again := written(newSession(s.T, s.Subject).run(s.Texts.Bind))
	if !maps.Equal(again, first) {
		s.Errorf("Bind wrote %v in another process, want %v", again, first)
	}
}

// aliases: a second name for an object is reported, and a change through one name is a write of both.
func (s *session) aliases() {
	s.run(s.Texts.Bind)
	seen := s.run(s.Texts.Alias)
	if !slices.Contains(seen.Names, "a") {
		s.Errorf("Alias read %v, want a", seen.Names)
	}
	if !shared(seen.AliasesAfter, "a", "b") {
		s.Errorf("after Alias %v share, want a and b", seen.AliasesAfter)
	}
	changed := s.run(s.Texts.Append)
	got := written(changed)
	if got["a"] == "" || got["a"] != got["b"] {
		s.Errorf("Append wrote %v, want one digest of a and b", got)
	}
	if !shared(changed.AliasesAfter, "a", "b") {
		s.Errorf("after Append %v share, want a and b", changed.AliasesAfter)
	}
}

// restore: a group that was stored comes back in another process with its digests and its sharing, and behaves as
// before.
func (s *session) restore() {
	s.run(s.Texts.Bind)
	was := s.run(s.Texts.Alias)
	want := written(s.run(s.Texts.Append))
	stored, err := s.kernel.Store(s.Context(), kernel.Storing{Names: []string{"a", "b"}})
	if err != nil || !stored.Done || stored.Path != "" {
		s.Fatalf("Store = %+v, %v; want data", stored, err)
	}
	other := newSession(s.T, s.Subject)
	loaded, err := other.kernel.Load(s.Context(), kernel.Loading{Names: []string{"a", "b"}, Data: stored.Data})
	if err != nil || !loaded.OK {
		s.Fatalf("Load = %+v, %v", loaded, err)
	}
	if !maps.Equal(loaded.Digests, want) {
		s.Errorf("Load gave %v, want %v", loaded.Digests, want)
	}
	if !shared(loaded.Shares, "a", "b") {
		s.Errorf("after Load %v share, want %v", loaded.Shares, was.AliasesAfter)
	}
	here, there := written(s.run(s.Texts.Append)), written(other.run(s.Texts.Append))
	if !maps.Equal(here, there) {
		s.Errorf("Append wrote %v after Load, want %v", there, here)
	}
}

// parking: a group that is parked is not bound, and comes back as the same objects.
func (s *session) parking() {
	want := written(s.run(s.Texts.Bind))
	g := kernel.Group(want["a"])
	park := kernel.Binding{Park: []kernel.Parking{{Group: g, Names: []string{"a"}}}, Unbind: []string{"a"}}
	if err := s.kernel.Bind(s.Context(), park); err != nil {
		s.Fatal(err)
	}
	if seen, _, err := s.try(s.Context(), s.Texts.Alias); err != nil || seen.Failure == nil {
		s.Fatalf("Alias of a parked name: %v, %v; want a failure", seen.Failure, err)
	} else if name := s.missing(seen); name != "a" {
		s.Errorf("the missing name is %q, want a", name)
	}
	if err := s.kernel.Bind(s.Context(), kernel.Binding{Unpark: []kernel.Group{g}}); err != nil {
		s.Fatal(err)
	}
	if seen := s.run(s.Texts.Alias); !shared(seen.AliasesAfter, "a", "b") {
		s.Errorf("after unparking %v share, want a and b", seen.AliasesAfter)
	}
}

// missing returns the name that the language says was missing.
func (s *session) missing(seen kernel.Observation) string {
	f := seen.Failure
	return s.Language.Missing(&state.ExecError{Type: f.Type, Message: f.Message})
}

// failure: an error is part of the observation, a missing name is reported, and the kernel continues.
func (s *session) failure() {
	seen, _, err := s.try(s.Context(), s.Texts.Fail)
	if err != nil || seen.Failure == nil || seen.Failure.Type == "" || len(seen.Failure.Traceback) == 0 {
		s.Fatalf("Fail: failure %+v, %v; want one with a type and a traceback", seen.Failure, err)
	}
	if name := s.missing(seen); name != "" {
		s.Errorf("Fail lacks the name %q, want none", name)
	}
	seen, _, err = s.try(s.Context(), s.Texts.Missing)
	if err != nil || seen.Failure == nil {
		s.Fatalf("Missing: failure %+v, %v; want one", seen.Failure, err)
	}
	if name := s.missing(seen); name != "nowhere" || seen.Failure.Name != "nowhere" {
		s.Errorf("the missing name is %q and %q, want nowhere", name, seen.Failure.Name)
	}
	if !slices.Contains(seen.Absent, "nowhere") {
		s.Errorf("Missing found %v absent, want nowhere", seen.Absent)
	}
	s.run(s.Texts.Bind)
}

// verdict: texts that are not programs are reported before they run.
func (s *session) verdict() {
	var bad *depgraph.SyntaxError
	if _, err := s.analyze(s.Texts.Invalid); !errors.As(err, &bad) {
		s.Errorf("Analyze of Invalid: %v, want a syntax error", err)
	}
	sources := []kernel.Source{{Filename: "<a>", Text: []byte(s.Texts.Bind)}}
	if s.Texts.Refused != "" {
		sources = append(sources, kernel.Source{Filename: "<b>", Text: []byte(s.Texts.Refused)})
	}
	verdicts, err := s.kernel.Check(s.Context(), sources)
	if err != nil || len(verdicts) != len(sources) || !verdicts[0].Valid {
		s.Fatalf("Check = %+v, %v; want Bind to be valid", verdicts, err)
	}
	if s.Texts.Refused == "" {
		return
	}
	if v := verdicts[1]; v.Valid || v.Type == "" || v.Message == "" {
		s.Errorf("the verdict on Refused is %+v, want a refusal", v)
	} else if e := s.Language.Refusal("b", s.Texts.Refused, v); e.Type != v.Type || e.Block != "b" {
		s.Errorf("Refusal = %+v, want the verdict %+v", e, v)
	}
}

// outputs: what a node prints comes in order, on both streams.
func (s *session) outputs() {
	_, got, err := s.try(s.Context(), s.Texts.Print)
	if err != nil {
		s.Fatal(err)
	}
	want := []output.Output{
		{Kind: "stdout", Text: "one\n"},
		{Kind: "stderr", Text: "two\n"},
		{Kind: "stdout", Text: "three\n"},
	}
	same := func(a, b output.Output) bool { return a.Kind == b.Kind && a.Text == b.Text }
	if !slices.EqualFunc(got, want, same) {
		s.Errorf("Print put out %v, want %v", got, want)
	}
}

// scratch: the same program has the same observations and outputs in every process.
func (s *session) scratch() {
	other := newSession(s.T, s.Subject)
	for _, text := range []string{s.Texts.Bind, s.Texts.Alias, s.Texts.Append, s.Texts.Read} {
		one, shown, err := s.try(s.Context(), text)
		if err != nil {
			s.Fatal(err)
		}
		two, again, err := other.try(s.Context(), text)
		if err != nil {
			s.Fatal(err)
		}
		if !slices.Equal(sorted(one.Names), sorted(two.Names)) || !maps.Equal(written(one), written(two)) {
			s.Errorf(
				"%q read %v and wrote %v; in another process %v and %v",
				text,
				one.Names,
				written(one),
				two.Names,
				written(two),
			)
		}
		if len(one.Marks)+len(two.Marks) > 0 {
			s.Errorf("%q has the marks %v and %v, want none", text, one.Marks, two.Marks)
		}
		if len(shown) != len(again) || len(shown) > 0 && shown[0].Text != again[0].Text {
			s.Errorf("%q put out %v, in another process %v", text, shown, again)
		}
	}
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }

// stop: a node that runs too long is interrupted, and the kernel answers again or is dead.
func (s *session) stop() {
	s.run(s.Texts.Bind)
	ctx, cancel := context.WithTimeout(s.Context(), 500*time.Millisecond)
	defer cancel()
	seen, _, err := s.try(ctx, s.Texts.Loop)
	switch {
	case errors.Is(err, kernel.ErrDied):
		return
	case err != nil:
		s.Fatalf("Loop: %v", err)
	case seen.Failure == nil || !s.Language.Interrupted(seen.Failure.Type):
		s.Errorf("Loop ended with %+v, want an interrupt", seen.Failure)
	}
	s.run(s.Texts.Alias)
}

// death: an interpreter that ends is an error, and its end is reported.
func (s *session) death() {
	_, _, err := s.try(s.Context(), s.Texts.Die)
	if !errors.Is(err, kernel.ErrDied) {
		s.Fatalf("Die: %v, want that the kernel died", err)
	}
	if how := s.kernel.Exit(); how == "" {
		s.Error("it is not told how the interpreter ended")
	}
	if err := s.kernel.Bind(s.Context(), kernel.Binding{Unbind: []string{"a"}}); !errors.Is(err, kernel.ErrDied) {
		s.Errorf("Bind of a dead kernel: %v, want that it died", err)
	}
}

// entry: the language is in the registry, under each of its dialects, and provides what keys need.
func (s *session) entry() {
	row, ok := lang.Of(s.Dialect)
	if !ok || row.Language.Name != s.Language.Name() {
		s.Fatalf("the dialect %q is not one of %s", s.Dialect, s.Language.Name())
	}
	for _, v := range row.Language.Variants {
		d := v.Dialect
		if e, err := kernel.Lookup(d); err != nil || e.Name != s.Language.Name() {
			s.Errorf("Lookup(%q) = %v, %v; want %s", d, e, err, s.Language.Name())
		}
	}
	environ := s.Language.Environ(s.Environ)
	if s.Language.Identity(environ) == "" || !strings.HasPrefix(s.Language.Semantics(), s.Language.Name()+" ") {
		s.Errorf("the identity is %q and the semantics %q, want the second to begin with the name",
			s.Language.Identity(environ), s.Language.Semantics())
	}
}

package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
)

func itoa(n int) string { return strconv.Itoa(n) }

// model is the store as plain maps.
type model struct {
	sessions map[string]*modelSession
	sources  map[Digest][]byte
	traces   map[Digest][]StoredTrace // by code, newest first
	blobs    map[Digest][]byte
	values   map[Digest]Value
	memos    map[string][]byte
}

type modelSession struct {
	programs [][]Block // after each step; programs[0] is empty

	artifacts []map[string]Artifact // after each step
	steps     []Step                // steps[0] is unused
	records   map[string]int
}

func (m *modelSession) head() StepNumber { return StepNumber(len(m.programs) - 1) }

// TestModel does random operations on a store and on plain maps, reopening now and then.
func TestModel(t *testing.T) {
	for i := range 4 {
		seed := sampling.Seed(t) + uint64(i)
		t.Run("seed="+strconv.FormatUint(seed, 10), func(t *testing.T) { runModel(t, seed, 250) })
	}
}

func FuzzModel(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { runModel(t, seed, 150) })
}

func runModel(t *testing.T, seed uint64, operations int) {
	r := &modelRun{T: t, Rand: rand.New(rand.NewPCG(seed, 0)), dir: storeDir(t)}
	r.model = model{
		make(map[string]*modelSession),
		make(map[Digest][]byte),
		make(map[Digest][]StoredTrace),
		make(map[Digest][]byte),
		make(map[Digest]Value),
		make(map[string][]byte),
	}
	r.now = time.Unix(1_700_000_000, 0).UTC()
	r.open()
	r.create("s0")
	for range operations {
		r.one()
	}
	r.compare()
	r.reopen()
	r.compare()
	checkClose(t, r.store)
}

type modelRun struct {
	*testing.T
	*rand.Rand
	dir   string
	now   time.Time
	store *Store
	model model
	ids   int
}

func (r *modelRun) open() {
	s, err := Open(ctx, r.dir, Options{Now: func() time.Time { return r.now }})
	if err != nil {
		r.Fatal(err)
	}
	r.store = s
}

func (r *modelRun) reopen() {
	checkClose(r.T, r.store)
	r.open()
}

func (r *modelRun) create(name string) {
	create(r.T, r.store, name)
	r.model.sessions[name] = &modelSession{
		programs:  [][]Block{nil},
		artifacts: []map[string]Artifact{nil},
		steps:     []Step{{}},
		records:   make(map[string]int),
	}
}

func (r *modelRun) pick() (string, *modelSession) {
	names := make([]string, 0, len(r.model.sessions))
	for name := range r.model.sessions {
		names = append(names, name)
	}
	slices.Sort(names)
	name := names[r.IntN(len(names))]
	return name, r.model.sessions[name]
}

func (r *modelRun) one() {
	r.now = r.now.Add(time.Duration(r.IntN(5)-1) * time.Second) // clocks go back too
	switch n := r.IntN(100); {
	case n < 55:
		r.commit()
	case n < 60:
		r.conflict()
	case n < 63 && len(r.model.sessions) < 8:
		r.fork()
	case n < 65 && len(r.model.sessions) < 8:
		r.create("s" + itoa(len(r.model.sessions)))
	case n < 75:
		r.trace()
	case n < 82:
		r.blob()
	case n < 86:
		r.value()
	case n < 90:
		r.record()
	case n < 98:
		r.look()
	default:
		r.reopen()
	}
}

// commit does one to three drafts on a random session.
func (r *modelRun) commit() {
	name, m := r.pick()
	base := m.head()
	var drafts []Draft
	var programs [][]Block
	var declared []map[string]Artifact
	program, artifacts := m.programs[base], m.artifacts[base]
	for i := range 1 + r.IntN(3) {
		n := base + 1 + StepNumber(i)
		d, after := r.draft(n, m, program)
		if r.IntN(5) == 0 {
			d, after = r.declaration(artifacts), program
		}
		artifacts = artifactsAfter(artifacts, d, n, m)
		drafts, programs, program, declared = append(
			drafts,
			d,
		), append(
			programs,
			after,
		), after, append(
			declared,
			artifacts,
		)
	}
	steps, err := r.store.Commit(ctx, name, base, drafts)
	if err != nil {
		r.Fatalf("Commit(%s, %d): %v", name, base, err)
	}
	for i, step := range steps {
		d := drafts[i]
		if step.Number != base+1+StepNumber(i) || step.Kind != d.Kind || step.Prev == "" {
			r.Errorf("Commit(%s, %d): step %d is %+v", name, base, i, step)
		}
		if diff := cmp.Diff(d.Origin, step.Origin, cmpopts.EquateEmpty()); diff != "" {
			r.Errorf("Origin: (-want +got)\n%s", diff)
		}
		for _, text := range d.Sources {
			r.model.sources[DigestOf(text)] = text
		}
		m.steps = append(m.steps, step)
		m.programs = append(m.programs, programs[i])
		m.artifacts = append(m.artifacts, declared[i])
	}
}

// declaration declares one of four artifacts, which may depend on those that come before it by name, or drops one on
// which none rests.
func (r *modelRun) declaration(artifacts map[string]Artifact) Draft {
	name := string(rune('a' + r.IntN(4)))
	needed := false
	for _, a := range artifacts {
		needed = needed || slices.Contains(a.Needs, name)
	}
	if _, ok := artifacts[name]; ok && !needed && r.IntN(2) == 0 {
		return Draft{Kind: KindDeclare, Drop: name}
	}
	a := &Artifact{
		Name:   name,
		Kind:   ArtifactKinds[r.IntN(len(ArtifactKinds))],
		Blocks: []BlockID{BlockID(itoa(r.IntN(9)))},
	}
	for other := range artifacts {
		if other < name && r.IntN(2) == 0 {
			a.Needs = append(a.Needs, other)
		}
	}
	slices.Sort(a.Needs)
	return Draft{Kind: KindDeclare, Artifact: a}
}

// artifactsAfter are those there are after a draft has become step n.
func artifactsAfter(artifacts map[string]Artifact, d Draft, n StepNumber, m *modelSession) map[string]Artifact {
	if d.Kind == KindRollback {
		return m.artifacts[d.To]
	}
	after := maps.Clone(artifacts)
	delete(after, d.Drop)
	if d.Artifact != nil {
		if after == nil {
			after = map[string]Artifact{}
		}
		a := *d.Artifact
		a.Declared = n
		after[a.Name] = a
	}
	return after
}

// draft returns a random draft for step n and the program after it.
func (r *modelRun) draft(n StepNumber, m *modelSession, program []Block) (Draft, []Block) {
	after := slices.Clone(program)
	text := fmt.Appendf(nil, "x = %d  # %s", r.IntN(50), bytes.Repeat([]byte("-"), r.IntN(600)))
	version := DigestOf(text)
	d := Draft{Origin: Origin{Agent: "agent" + itoa(r.IntN(3))}}
	at := func() (int, *Block) { i := r.IntN(len(after)); return i, &after[i] }
	place := func(b Block) BlockID {
		i := r.IntN(len(after) + 1)
		after = slices.Insert(after, i, b)
		if i == 0 {
			return ""
		}
		return after[i-1].ID
	}
	switch k := r.IntN(10); {
	case k < 4 || len(after) == 0:
		r.ids++
		d.Kind, d.Sources = KindAppend, [][]byte{text}
		b := Block{ID: BlockID("b" + itoa(r.ids)), Dialect: "python", Version: version}
		given := b
		b.Edited = n
		d.Changes = []Change{{Op: OpInsert, After: place(b), Block: &given}}
	case k < 6:
		d.Kind, d.Sources = KindPatch, [][]byte{text}
		_, b := at()
		given := *b
		given.Version, given.Status, given.Nodes = version, StatusNew, nil
		if version != b.Version {
			b.Edited = n
		}
		b.Version, b.Status, b.Nodes = version, StatusNew, nil
		d.Changes = []Change{{Op: OpUpdate, Block: &given}}
	case k < 7:
		i, b := at()
		moved := *b
		after = slices.Delete(after, i, i+1)
		d.Kind = KindMove
		d.Changes = []Change{{Op: OpMove, ID: moved.ID, After: place(moved)}}
	case k < 8:
		i, b := at()
		d.Kind = KindDelete
		d.Changes = []Change{{Op: OpDelete, ID: b.ID}}
		after = slices.Delete(after, i, i+1)
	case k < 9:
		d.Kind, d.Run = KindRun, &RunSummary{Blocks: Counts{Ran: len(after)}, Seconds: r.Float64()}
		for i := range after {
			if r.IntN(2) == 0 {
				continue
			}
			b := &after[i]
			b.Status = StatusRan
			b.Nodes = []NodeResult{{Code: b.Version, Status: StatusRan, Seconds: r.Float64()}}
			given := *b
			b.RanAt = n
			d.Changes = append(d.Changes, Change{Op: OpUpdate, Block: &given})
		}
	default:
		d.Kind, d.To = KindRollback, StepNumber(r.IntN(int(m.head())+1))
		after = slices.Clone(m.programs[d.To])
	}
	return d, after
}

func (r *modelRun) conflict() {
	name, m := r.pick()
	base := StepNumber(r.IntN(int(m.head()) + 3))
	if base == m.head() {
		return
	}
	_, err := r.store.Commit(ctx, name, base, []Draft{insert("never", "", "x")})
	var c *Conflict
	if !errors.As(err, &c) || CodeOf(err) != CodeConflict || c.Head != m.head() || c.Base != base {
		r.Errorf("Commit(%s, %d) at head %d = %v, want a conflict", name, base, m.head(), err)
	} else if base < c.Head && c.Since[0].Number != base+1 {
		r.Errorf("Conflict.Since begins with step %d, want %d", c.Since[0].Number, base+1)
	}
}

func (r *modelRun) fork() {
	from, m := r.pick()
	at := StepNumber(r.IntN(int(m.head()) + 1))
	name := "s" + itoa(len(r.model.sessions))
	s, err := r.store.Fork(ctx, name, from, at, Origin{Agent: "forker"})
	if err != nil {
		r.Fatalf("Fork(%s, %s, %d): %v", name, from, at, err)
	}
	step, err := r.store.Step(ctx, name, at+1)
	if err != nil || step.Kind != KindFork || s.Head != at+1 || s.From.Session != from || s.From.Step != at {
		r.Fatalf("Fork(%s, %s, %d) = %+v with step %+v, %v", name, from, at, s, step, err)
	}
	child := &modelSession{
		programs: slices.Clone(m.programs[:at+1]),
		steps:    slices.Clone(m.steps[:at+1]),
		records:  make(map[string]int),
	}
	for k, v := range m.records {
		child.records[k] = v
	}
	child.programs = append(child.programs, child.programs[at])
	child.steps = append(child.steps, step)
	child.artifacts = append(slices.Clone(m.artifacts[:at+1]), m.artifacts[at])
	r.model.sessions[name] = child
}

func (r *modelRun) trace() {
	code := DigestOf([]byte{byte(r.IntN(4))})
	t := Trace{
		Code:    code,
		Reads:   []Access{{"var:x", DigestOf([]byte{byte(r.IntN(45))})}},
		Seconds: r.Float64(),
		At:      r.now,
	}
	id, err := r.store.PutTrace(t)
	if err != nil {
		r.Fatal(err)
	}
	list := slices.DeleteFunc(r.model.traces[code], func(s StoredTrace) bool { return s.Digest == id })
	list = slices.Insert(list, 0, StoredTrace{id, t})
	r.model.traces[code] = list[:min(len(list), 32)]
}

func (r *modelRun) blob() {
	content := bytes.Repeat([]byte{byte(r.IntN(256))}, r.IntN(40_000))
	if r.IntN(2) == 0 {
		for i := range content {
			content[i] = byte(r.IntN(256))
		}
	}
	ref, err := r.store.PutBlob(content)
	if want := (BlobRef{DigestOf(content), int64(len(content))}); err != nil || ref != want {
		r.Fatalf("PutBlob = %v, %v, want %v", ref, err, want)
	}
	r.model.blobs[ref.Digest] = content
}

func (r *modelRun) value() {
	v := Value{
		Group: DigestOf([]byte{1, byte(r.IntN(30))}),
		Names: []string{"x"},
		Blob:  DigestOf(nil),
		Bytes: r.Int64N(1000),
	}
	if err := r.store.PutValue(v); err != nil {
		r.Fatal(err)
	}
	r.model.values[v.Group] = v
	key, memo := itoa(r.IntN(20)), []byte{byte(r.IntN(256))}
	if err := r.store.PutMemo("stat", key, memo); err != nil {
		r.Fatal(err)
	}
	r.model.memos[key] = memo
}

func (r *modelRun) record() {
	name, m := r.pick()
	key, v := "key"+itoa(r.IntN(3)), r.IntN(1000)
	if err := r.store.PutSessionRecord(ctx, name, key, v); err != nil {
		r.Fatal(err)
	}
	m.records[key] = v
}

// look compares one random program.
func (r *modelRun) look() {
	name, m := r.pick()
	r.lookAt(name, m, StepNumber(r.IntN(len(m.programs))))
}

func (r *modelRun) lookAt(name string, m *modelSession, n StepNumber) {
	got, err := r.store.ProgramAt(ctx, name, n)
	if err != nil {
		r.Fatalf("ProgramAt(%s, %d): %v", name, n, err)
	}
	if diff := cmp.Diff(m.programs[n], got, cmpopts.EquateEmpty()); diff != "" {
		r.Fatalf("ProgramAt(%s, %d): (-want +got)\n%s", name, n, diff)
	}
	d, err := r.store.Artifacts(ctx, name, n)
	if err != nil {
		r.Fatalf("Artifacts(%s, %d): %v", name, n, err)
	}
	declared := map[string]Artifact{}
	if d != nil {
		for _, a := range d.All {
			declared[a.Name] = a
		}
	}
	if diff := cmp.Diff(m.artifacts[n], declared, cmpopts.EquateEmpty()); diff != "" {
		r.Fatalf("Artifacts(%s, %d): (-want +got)\n%s", name, n, diff)
	}
	if len(got) > 0 {
		want := got[r.IntN(len(got))]
		b, found, err := r.store.BlockAt(ctx, name, n, want.ID)
		if diff := cmp.Diff(want, b); diff != "" || !found || err != nil {
			r.Errorf("BlockAt(%s, %d, %s) = %v, %v (-want +got)\n%s", name, n, want.ID, found, err, diff)
		}
	}
}

func (r *modelRun) compare() {
	for name, m := range r.model.sessions {
		r.compareSession(name, m)
	}
	for d, want := range r.model.sources {
		if got, err := r.store.Source(ctx, d); err != nil || !bytes.Equal(got, want) {
			r.Errorf("Source(%s) = %q, %v, want %q", d, got, err, want)
		}
	}
	for code, want := range r.model.traces {
		got, err := r.store.Traces(code)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			r.Errorf("Traces(%s): %v (-want +got)\n%s", code, err, diff)
		}
	}
	for d, want := range r.model.blobs {
		if got, ok, err := r.store.Blob(d); err != nil || !ok || !bytes.Equal(got, want) {
			r.Errorf("Blob(%s) = %d bytes, %v, %v, want %d bytes", d, len(got), ok, err, len(want))
		}
	}
	for joint, want := range r.model.values {
		if got, ok, err := r.store.Value(joint); err != nil || !ok || !cmp.Equal(want, got) {
			r.Errorf("Value(%s) = %+v, %v, %v, want %+v", joint, got, ok, err, want)
		}
	}
	for key, want := range r.model.memos {
		if got, ok := r.store.Memo("stat", key); !ok || !bytes.Equal(got, want) {
			r.Errorf("Memo(%s) = %q, %v, want %q", key, got, ok, want)
		}
	}
	if notices := r.store.Notices(); len(notices) > 0 {
		r.Errorf("Notices = %q, want none", notices)
	}
}

func (r *modelRun) compareSession(name string, m *modelSession) {
	for n := range m.programs {
		r.lookAt(name, m, StepNumber(n))
	}
	n := StepNumber(1)
	for step, err := range r.store.Steps(ctx, name, 0, 1<<62) {
		if err != nil {
			r.Fatal(err)
		}
		want := m.steps[n]
		if full, err := r.store.Step(ctx, name, n); err != nil || !cmp.Equal(want, full, cmpopts.EquateEmpty()) {
			r.Fatalf("Step(%s, %d): %v (-want +got)\n%s", name, n, err, cmp.Diff(want, full, cmpopts.EquateEmpty()))
		}
		want.Changes = nil
		if diff := cmp.Diff(want, step, cmpopts.EquateEmpty()); diff != "" {
			r.Fatalf("Steps(%s), step %d: (-want +got)\n%s", name, n, diff)
		}
		n++
	}
	if n-1 != m.head() {
		r.Errorf("Steps(%s) ends with step %d, want %d", name, n-1, m.head())
	}
	for key, want := range m.records {
		var got int
		if found, err := r.store.SessionRecord(ctx, name, key, &got); !found || err != nil || got != want {
			r.Errorf("SessionRecord(%s, %s) = %d, %v, %v, want %d", name, key, got, found, err, want)
		}
	}
	for _, step := range m.steps[1:] {
		got, err := r.store.StepBefore(context.Background(), name, step.Time)
		if err != nil || got < step.Number || m.steps[got].Time != step.Time {
			r.Errorf("StepBefore(%s, %v) = %d, %v, want the last step of that time", name, step.Time, got, err)
		}
	}
}

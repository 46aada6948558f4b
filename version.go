package xstate

import (
	"context"
	"fmt"
	"strconv"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
)

// VersionView is one version of a block: its text, and when the program had it.
type VersionView struct {
	Version Digest  `json:"version"`
	Block   BlockID `json:"block"`
	Source  string  `json:"source"`
	Spans   []Span  `json:"spans"`
}

// Span is a stretch of history: the steps First to Last.
type Span struct {
	First Entry      `json:"first"`
	Last  StepNumber `json:"last,omitempty"` // 0: it is still there
}

// CodeNoVersion is the code of errors about a version that no block ever had.
const CodeNoVersion state.Code = "no-version"

const leastPrefix = 4 // hex digits

// Version returns when the session's program had the version of a block that a digest, or its beginning, names: once for each
// block that had it. It reads the whole history.
func (s *Session) Version(ctx context.Context, prefix string) ([]VersionView, error) {
	t := &tracker{session: s, prefix: prefix, versions: map[versionOf]*VersionView{}}
	if len(prefix) < leastPrefix {
		return nil, &Error{Code: CodeNoVersion, Message: fmt.Sprintf("%q is too short for the digest of a version", prefix), Hint: "give 4 hex digits or more; xstate query shows them"}
	}
	for step, err := range s.store.state.Steps(ctx, s.name, 1, ^StepNumber(0)) {
		if err == nil {
			err = t.step(ctx, step)
		}
		if err != nil {
			return nil, err
		}
	}
	found := []VersionView{}
	for _, key := range t.order {
		v := t.versions[key]
		text, err := s.source(ctx, v.Version)
		if err != nil {
			return nil, err
		}
		v.Source = text
		if len(found) > 0 && found[0].Version != v.Version {
			return nil, &Error{Code: CodeNoVersion, Message: fmt.Sprintf("%q is the beginning of more than one version", prefix), Hint: "give more of its digits"}
		}
		found = append(found, *v)
	}
	if len(found) == 0 {
		return nil, &Error{Code: CodeNoVersion, Message: fmt.Sprintf("no block of session %q ever had version %s", s.name, prefix), Hint: "xstate query shows the versions at a step, xstate log --json those of each step"}
	}
	return found, nil
}

type versionOf struct {
	block   BlockID
	version Digest
}

// tracker follows the versions with a prefix through history.
type tracker struct {
	session  *Session
	prefix   string
	order    []versionOf
	versions map[versionOf]*VersionView
}

func (t *tracker) step(ctx context.Context, step Step) error {
	if step.Kind == state.KindRollback {
		return t.rollback(ctx, step)
	}
	if step.Was == step.Now || step.Block == "" {
		return nil
	}
	t.end(versionOf{step.Block, step.Was}, step.Number)
	return t.begin(ctx, versionOf{step.Block, step.Now}, step)
}

func (t *tracker) rollback(ctx context.Context, step Step) error {
	blocks, err := t.session.store.state.ProgramAt(ctx, t.session.name, step.Number)
	if err != nil {
		return err
	}
	there := map[versionOf]bool{}
	for _, b := range blocks {
		there[versionOf{b.ID, b.Version}] = true
		if err := t.begin(ctx, versionOf{b.ID, b.Version}, step); err != nil {
			return err
		}
	}
	for key := range t.versions {
		if !there[key] {
			t.end(key, step.Number)
		}
	}
	return nil
}

func (t *tracker) begin(ctx context.Context, key versionOf, step Step) error {
	if key.version == "" || len(key.version) < len(t.prefix) || string(key.version[:len(t.prefix)]) != t.prefix {
		return nil
	}
	v := t.versions[key]
	if v == nil {
		v = &VersionView{Version: key.version, Block: key.block}
		t.versions[key], t.order = v, append(t.order, key)
	}
	if n := len(v.Spans); n > 0 && v.Spans[n-1].Last == 0 {
		return nil
	}
	e, err := t.session.entry(ctx, step)
	v.Spans = append(v.Spans, Span{First: e})
	return err
}

func (t *tracker) end(key versionOf, n StepNumber) {
	if v := t.versions[key]; v != nil {
		if last := &v.Spans[len(v.Spans)-1]; last.Last == 0 {
			last.Last = n - 1
		}
	}
}

// PatchView is an edit and what came of it.
type PatchView struct {
	Step    Entry      `json:"step"`
	Diff    string     `json:"diff"` // of the block's source, unified
	NextRun StepNumber `json:"next_run,omitempty"`
	Ran     []RanBlock `json:"ran"` // what the next run executed
	TextEffect
	After *Aftermath `json:"after,omitempty"` // what became of the program by that run
}

// RanBlock is a block that a run executed, and why.
type RanBlock struct {
	Block  BlockID      `json:"block"`
	Status string       `json:"status"`
	Reason state.Reason `json:"reason"`
}

// Patches returns edits with what came of them: that of a step, when what is its number, else those of a call, by its id,
// oldest first.
func (s *Session) Patches(ctx context.Context, what string) ([]PatchView, error) {
	from, to := StepNumber(1), ^StepNumber(0)
	if n, err := strconv.ParseUint(what, 10, 64); err == nil {
		from, to = StepNumber(n), StepNumber(n)
		if _, err := s.step(ctx, from); err != nil {
			return nil, err
		}
	}
	found := []PatchView{}
	for step, err := range s.store.state.Steps(ctx, s.name, from, to) {
		if err != nil {
			return nil, err
		}
		if step.Block == "" || from != to && step.Origin.CallID != what {
			continue
		}
		v, err := s.patchView(ctx, step)
		if err != nil {
			return nil, err
		}
		found = append(found, *v)
	}
	if len(found) == 0 && from == to {
		return nil, &Error{Code: state.CodeNoStep, Message: fmt.Sprintf("step %d is no edit", from), Hint: "xstate query --at-step tells what it is"}
	}
	if len(found) == 0 {
		return nil, &Error{Code: state.CodeNoStep, Message: fmt.Sprintf("no edit was made in a call %q", what), Hint: "name the number of a step or a call id; xstate log --json has both"}
	}
	return found, nil
}

func (s *Session) patchView(ctx context.Context, step Step) (*PatchView, error) {
	snap := &Snapshot{Session: s.name}
	if err := s.describeStep(ctx, step.Number, snap); err != nil {
		return nil, err
	}
	was, err := s.source(ctx, step.Was)
	if err != nil {
		return nil, err
	}
	now, err := s.source(ctx, step.Now)
	if err != nil {
		return nil, err
	}
	dialect := depgraph.Dialect(patch.Python)
	for _, n := range []StepNumber{step.Number, step.Number - 1} {
		if b, found, err := s.store.state.BlockAt(ctx, s.name, n, step.Block); err != nil {
			return nil, err
		} else if found {
			dialect = b.Dialect
			break
		}
	}
	v := &PatchView{Step: snap.Step, TextEffect: TextEffectOf(was, now, dialect), Diff: unified(step.Block, was, now), NextRun: snap.NextRun, Ran: []RanBlock{}}
	if v.NextRun == 0 {
		return v, nil
	}
	after, err := s.At(ctx, v.NextRun)
	if err != nil {
		return nil, err
	}
	for _, b := range after.Blocks {
		if r := (RanBlock{Block: b.ID, Status: b.Status}); b.RanAt == v.NextRun && b.Status != "reused" {
			for _, n := range b.Nodes {
				if r.Reason.Code == "" || n.Status != "reused" && r.Reason.Code == "reused" {
					r.Reason = n.Reason
				}
			}
			v.Ran = append(v.Ran, r)
		}
	}
	v.After, err = s.aftermath(ctx, step.Number, after)
	return v, err
}

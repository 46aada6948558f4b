package query

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
)

// VersionView is one version of a block: its text, and the steps during which the program had it.
type VersionView struct {
	Version state.Digest  `json:"version"`
	Block   state.BlockID `json:"block"`
	Source  string        `json:"source"`
	Spans   []Span        `json:"spans"`
}

// Span is a stretch of history: the steps First to Last.
type Span struct {
	First Entry            `json:"first"`
	Last  state.StepNumber `json:"last,omitempty"` // 0: it is still there
}

// CodeNoVersion is the code of errors about a version that no block ever had.
const CodeNoVersion state.Code = "no-version"

const leastPrefix = 4 // hex digits

// Version finds the version of a block by a digest or the beginning of one. It returns when the program had that
// version, once for each block that had it. It reads the whole history: versions have no index, because few callers
// look for one.
func (h *History) Version(ctx context.Context, prefix string) ([]VersionView, error) {
	t := &tracker{history: h, prefix: prefix, versions: map[versionOf]*VersionView{}}
	if len(prefix) < leastPrefix {
		return nil, &state.Error{
			Code:    CodeNoVersion,
			Message: fmt.Sprintf("%q is too short for the digest of a version", prefix),
			Hint:    "give 4 hex digits or more; `xstate query` shows them",
		}
	}
	for step, err := range h.store.Steps(ctx, h.name, 1, ^state.StepNumber(0)) {
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
		text, err := h.Source(ctx, v.Version)
		if err != nil {
			return nil, err
		}
		v.Source = text
		if len(found) > 0 && found[0].Version != v.Version {
			return nil, &state.Error{
				Code:    CodeNoVersion,
				Message: fmt.Sprintf("%q is the beginning of more than one version", prefix),
				Hint:    "give more of its digits",
			}
		}
		found = append(found, *v)
	}
	if len(found) == 0 {
		return nil, &state.Error{
			Code:    CodeNoVersion,
			Message: fmt.Sprintf("no block of session %q ever had version %s", h.name, prefix),
			Hint:    "`xstate query` shows the versions at a step, `xstate log --json` those of each step",
		}
	}
	return found, nil
}

type versionOf struct {
	block   state.BlockID
	version state.Digest
}

// tracker follows the versions with a prefix through history.
type tracker struct {
	history  *History
	prefix   string
	order    []versionOf
	versions map[versionOf]*VersionView
}

func (t *tracker) step(ctx context.Context, step state.Step) error {
	if step.Kind == state.KindRollback {
		return t.rollback(ctx, step)
	}
	if step.Was == step.Now || step.Block == "" {
		return nil
	}
	t.end(versionOf{step.Block, step.Was}, step.Number)
	return t.begin(ctx, versionOf{step.Block, step.Now}, step)
}

func (t *tracker) rollback(ctx context.Context, step state.Step) error {
	blocks, err := t.history.store.ProgramAt(ctx, t.history.name, step.Number)
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

func (t *tracker) begin(ctx context.Context, key versionOf, step state.Step) error {
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
	e, err := t.history.EntryOf(ctx, step)
	v.Spans = append(v.Spans, Span{First: e})
	return err
}

func (t *tracker) end(key versionOf, n state.StepNumber) {
	if v := t.versions[key]; v != nil {
		if last := &v.Spans[len(v.Spans)-1]; last.Last == 0 {
			last.Last = n - 1
		}
	}
}

// PatchView is an edit and its consequences.
type PatchView struct {
	Step    Entry            `json:"step"`
	Diff    string           `json:"diff"` // the block's source, unified
	NextRun state.StepNumber `json:"next_run,omitempty"`
	Ran     []RanBlock       `json:"ran"` // what the next run executed
	EditSummary
	After *Aftermath `json:"after,omitempty"` // what became of the program by that run
}

// RanBlock is a block that a run executed, and why.
type RanBlock struct {
	Block  state.BlockID `json:"block"`
	Status string        `json:"status"`
	Reason state.Reason  `json:"reason"`
}

// Patches returns edits with their consequences, oldest first: the edit of a step if what is its number, else a call's
// edits by its id.
func (h *History) Patches(ctx context.Context, what string) ([]PatchView, error) {
	from, to := state.StepNumber(1), ^state.StepNumber(0)
	if n, err := strconv.ParseUint(what, 10, 64); err == nil {
		from, to = state.StepNumber(n), state.StepNumber(n)
		if _, err := h.Step(ctx, from); err != nil {
			return nil, err
		}
	}
	found := []PatchView{}
	for step, err := range h.store.Steps(ctx, h.name, from, to) {
		if err != nil {
			return nil, err
		}
		if step.Block == "" || from != to && step.Origin.CallID != what {
			continue
		}
		v, err := h.patchView(ctx, step)
		if err != nil {
			return nil, err
		}
		found = append(found, *v)
	}
	if len(found) == 0 && from == to {
		return nil, &state.Error{
			Code:    state.CodeNoStep,
			Message: fmt.Sprintf("step %d is no edit", from),
			Hint:    "`xstate query --at-step` tells what it is",
		}
	}
	if len(found) == 0 {
		return nil, &state.Error{
			Code:    state.CodeNoStep,
			Message: fmt.Sprintf("no edit was made in a call %q", what),
			Hint:    "name the number of a step or a call id; `xstate log --json` has both",
		}
	}
	return found, nil
}

func (h *History) patchView(ctx context.Context, step state.Step) (*PatchView, error) {
	snap := &Snapshot{Session: h.name}
	if err := h.DescribeStep(ctx, step.Number, snap); err != nil {
		return nil, err
	}
	was, err := h.Source(ctx, step.Was)
	if err != nil {
		return nil, err
	}
	now, err := h.Source(ctx, step.Now)
	if err != nil {
		return nil, err
	}
	dialect := lang.Default
	for _, n := range []state.StepNumber{step.Number, step.Number - 1} {
		if b, found, err := h.store.BlockAt(ctx, h.name, n, step.Block); err != nil {
			return nil, err
		} else if found {
			dialect = b.Dialect
			break
		}
	}
	v := &PatchView{
		Step:        snap.Step,
		EditSummary: SummarizeEdit(was, now, dialect),
		Diff:        UnifiedDiff(step.Block, was, now),
		NextRun:     snap.NextRun,
		Ran:         []RanBlock{},
	}
	if v.NextRun == 0 {
		return v, nil
	}
	after, err := h.At(ctx, v.NextRun)
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
	v.After, err = h.aftermath(ctx, step.Number, after)
	return v, err
}

// Base returns the program as an author saw it who has read one block at an earlier version: the present program, with
// that version of the block. A digest, or its beginning, names the version. A patch made from that text then merges
// with the edits since.
func (h *History) Base(ctx context.Context, version string) ([]patch.Block, error) {
	blocks, _, err := h.Program(ctx)
	if err != nil {
		return nil, err
	}
	base := PatchBlocks(blocks)
	if len(version) >= leastPrefix &&
		slices.ContainsFunc(
			blocks,
			func(b state.ProgramBlock) bool { return strings.HasPrefix(string(b.Version), version) },
		) {
		return base, nil
	}
	known, err := h.Version(ctx, version)
	if err != nil {
		return nil, err
	}
	for _, v := range known {
		if i := slices.IndexFunc(base, func(b patch.Block) bool { return b.ID == string(v.Block) }); i >= 0 {
			base[i].Source = v.Source
		} else { // it was deleted since
			base = append(base, patch.Block{ID: string(v.Block), Dialect: string(lang.Default), Source: v.Source})
		}
	}
	return base, nil
}

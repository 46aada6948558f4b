package xstate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

// upToDateRecord is a memo of a run of a file that executed and changed nothing. If the memo is missing or was made
// with other results, the runner walks the program.
type upToDateRecord struct {
	Head     Digest               `json:"head"`    // hash of the step that records the run
	Results  string               `json:"results"` // see state.Store.ResultsGeneration
	Options  string               `json:"options"`
	Summary  state.RunSummary     `json:"summary"`
	Volatile []BlockID            `json:"volatile"` // blocks whose results may differ in another run
	Standing runner.Preconditions `json:"standing"`
	Codes    map[Digest]string    `json:"codes"` // known volatile code, with its quoted reasons
}

// UpToDateRun is a run that found everything up to date.
type UpToDateRun struct {
	Step     Step
	Volatile []BlockID // reused, though another run may produce different results
}

// RunIfChanged records a run without walking the program if the last run of the same file executed nothing and none of
// its preconditions has changed since. It then records the same step as LoadFile and Run would. Its cost is that of
// checking the preconditions and does not grow with the program. Otherwise ok is false, RunIfChanged has recorded
// nothing, and the caller calls LoadFile and Run.
func (s *Session) RunIfChanged(
	ctx context.Context,
	name string,
	data []byte,
	origin Origin,
) (done UpToDateRun, ok bool, err error) {
	release, err := s.Hold(ctx)
	if err != nil {
		return done, false, err
	}
	defer release()
	key := s.loadKey(name, data)
	text, ok := s.store.state.Memo("settled", key)
	if !ok {
		return done, false, nil
	}
	var r upToDateRecord
	if json.Unmarshal(text, &r) != nil {
		return done, false, nil
	}
	head, hash, err := s.store.state.Head(ctx, s.name)
	if err != nil || hash != r.Head || r.Results != s.store.state.ResultsGeneration() ||
		r.Options != s.upToDateOptions() {
		return done, false, err
	}
	if err := s.start(ctx); err != nil {
		return done, false, err
	}
	if err := s.keepStdin(); err != nil {
		return done, false, err
	}
	if err := s.setFiles(ctx); err != nil {
		return done, false, err
	}
	codes, err := s.history.VaryingCode(ctx)
	if err != nil || !sameCodes(codes, r.Codes) {
		return done, false, err
	}
	if stands, err := s.engine.UpToDate(r.Standing); err != nil || !stands {
		return done, false, err
	}
	draft := state.Draft{Kind: state.KindRun, Origin: origin, Run: &r.Summary}
	s.addRecords(&draft)
	steps, err := s.store.state.Commit(ctx, s.name, head, []state.Draft{draft})
	if err != nil {
		if state.CodeOf(err) == state.CodeConflict {
			return done, false, nil // somebody edited it meanwhile
		}
		return done, false, err
	}
	r.Head, s.loaded = steps[0].Hash, loadedFile{key, steps[0].Number}
	return UpToDateRun{steps[0], r.Volatile}, true, s.putUpToDate(&r)
}

// rememberUpToDate stores a memo for RunIfChanged if the run executed nothing and the program was that of a file, with
// no edit between LoadFile and the run.
func (s *Session) rememberUpToDate(ctx context.Context, o *Outcome, options runner.RunOptions, step Step) error {
	if s.loaded.key == "" || s.loaded.at != step.Number-1 {
		return nil
	}
	s.loaded.at = step.Number
	if !options.Usual() || o.Stopped != nil || step.Run == nil || len(step.Changes) > 0 || o.Recomputed > 0 {
		return nil
	}
	r := upToDateRecord{
		Head:    step.Hash,
		Results: s.store.state.ResultsGeneration(),
		Options: s.upToDateOptions(),
		Summary: *step.Run,
	}
	for i := range o.Blocks {
		b := &o.Blocks[i]
		if b.Status == state.StatusNotReached {
			continue
		}
		if b.Status != state.StatusReused || slices.Contains(b.Marks, state.MarkPinned) ||
			b.Reason.Code != state.ReasonReused {
			return nil
		}
		if len(b.Marks) > 0 {
			r.Volatile = append(r.Volatile, b.ID)
		}
	}
	codes, err := s.history.VaryingCode(ctx)
	if err != nil {
		return err
	}
	r.Codes = map[Digest]string{}
	for code, why := range codes {
		r.Codes[code] = fmt.Sprintf("%q", why)
	}
	var ok bool
	if r.Standing, ok = s.engine.Preconditions(); !ok {
		return nil
	}
	return s.putUpToDate(&r)
}

func (s *Session) putUpToDate(r *upToDateRecord) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return s.store.state.PutMemo("settled", s.loaded.key, text)
}

// upToDateOptions returns the options of the session that a run records.
func (s *Session) upToDateOptions() string { return fmt.Sprintf("%q %q", s.options.Python, s.name) }

func sameCodes(now map[Digest][]string, then map[Digest]string) bool {
	if len(now) != len(then) {
		return false
	}
	for code, why := range now {
		if then[code] != fmt.Sprintf("%q", why) {
			return false
		}
	}
	return true
}

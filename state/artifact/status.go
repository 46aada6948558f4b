package artifact

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Status rates an artifact. The last value is the worst.
type Status string

// A stale artifact was right once: something that it depends on has changed since.
const (
	Fresh      Status = "fresh"
	Unverified Status = "unverified" // nothing shows that it works
	Stale      Status = "stale"
	Failing    Status = "failing"
)

var artifactOrder = []Status{Fresh, Unverified, Stale, Failing}

// View is an artifact with its status after a step.
type View struct {
	Name       string               `json:"name"`
	Kind       state.ArtifactKind   `json:"kind"`
	Status     Status               `json:"status"`
	Reason     string               `json:"reason"` // a sentence
	Blocks     []state.BlockID      `json:"blocks"`
	Files      []state.ArtifactFile `json:"files"`
	Parts      []string             `json:"artifacts"`
	Needs      []Need               `json:"needs"`
	References []ReferenceView      `json:"references"`
	Declared   state.StepNumber     `json:"declared"`
	Origin     state.Origin         `json:"origin"` // that step's
}

// List returns the artifacts after step n, by name, each with its status. It executes nothing. It reads workspace files
// for the last step only. For other steps, it knows their content as far as it was declared.
func List(ctx context.Context, h *query.History, n state.StepNumber) ([]View, error) {
	j, err := NewAssessor(ctx, h, n)
	if err != nil {
		return nil, err
	}
	found := []View{}
	for _, a := range j.artifacts() {
		v, err := j.View(ctx, &a)
		if err != nil {
			return nil, err
		}
		found = append(found, *v)
	}
	return found, nil
}

// Get returns one of them.
func Get(ctx context.Context, h *query.History, n state.StepNumber, name string) (*View, error) {
	all, err := List(ctx, h, n)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
	}
	declared, err := h.Store().Artifacts(ctx, h.Name(), n)
	if err != nil {
		return nil, err
	}
	return nil, NoArtifact(h, declared, name)
}

// Assessor assesses artifacts. It assesses an artifact after those that it depends on, because their status passes on.
type Assessor struct {
	*assessment
	History *query.History
	views   map[string]*View
}

// NewAssessor returns an assessor for the session after step n.
func NewAssessor(ctx context.Context, h *query.History, n state.StepNumber) (*Assessor, error) {
	m, err := assess(ctx, h, n)
	if err != nil {
		return nil, err
	}
	return &Assessor{History: h, assessment: m, views: map[string]*View{}}, nil
}

func (j *Assessor) View(ctx context.Context, a *state.Artifact) (*View, error) {
	if v := j.views[a.Name]; v != nil {
		return v, nil
	}
	step, err := j.History.Step(ctx, a.Declared)
	if err != nil {
		return nil, err
	}
	v := &View{
		Name:       a.Name,
		Kind:       a.Kind,
		Status:     Fresh,
		Blocks:     orEmpty(a.Blocks),
		Files:      orEmpty(a.Files),
		Parts:      orEmpty(a.Parts),
		Declared:   a.Declared,
		Origin:     step.Origin,
		References: []ReferenceView{},
	}
	j.views[a.Name] = v
	if a.Kind == state.ArtifactDocs {
		if v.References, err = referencesAt(ctx, j.History, a, j.assessment); err != nil {
			return nil, err
		}
	}
	v.Needs = j.needs(a, v.References)
	for _, judged := range []func(context.Context, *state.Artifact, *View) error{j.Members, j.texts, j.fences, j.rests,
		j.proofs} {
		if err := judged(ctx, a, v); err != nil {
			return nil, err
		}
	}
	if v.Status == Fresh {
		v.Reason = j.freshText(a)
	}
	return v, nil
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// worse lowers the status to the given one, unless it is as bad already. So the first reason of the worst status stays.
func (v *View) worse(status Status, format string, args ...any) {
	if slices.Index(artifactOrder, status) > slices.Index(artifactOrder, v.Status) {
		v.Status, v.Reason = status, fmt.Sprintf(format, args...)
	}
}

// Members checks the blocks and files that an artifact contains.
func (j *Assessor) Members(ctx context.Context, a *state.Artifact, v *View) error {
	for _, id := range a.Blocks {
		b, err := j.Snapshot.Block(id)
		if err != nil {
			since, err := deletedIn(ctx, j.History, j.Snapshot.Step.Number, id)
			if err != nil {
				return err
			}
			v.worse(Failing, "holds block %s, which is gone%s", id, since)
			continue
		}
		if b.Failed() {
			v.worse(
				Failing,
				"block %s %s in step %d%s",
				id,
				map[string]string{"failed": "failed", "blocked": "was blocked"}[b.Status],
				b.RanAt,
				colon(brief(b.Error)),
			)
		}
		if b.Lost() {
			v.worse(Unverified, "the record of block %s is gone: what it read and made is not known", id)
		}
		switch why := j.pending[id]; {
		case why == "":
		case b.RanAt == 0 && j.lastRun < b.Edited && j.lastRun == 0:
			v.worse(Unverified, "block %s %s", id, why)
		default:
			v.worse(Stale, "block %s %s", id, why)
		}
	}
	for _, f := range a.Files {
		if !j.Latest {
			continue
		}
		have := j.Content(f.Path)
		written, by := wrote(j.Snapshot, f.Path)
		switch {
		case have == state.Absent:
			v.worse(Failing, "holds %s, which is gone", f.Path)
		case a.Kind != state.ArtifactData || have == written || written == state.Absent && have == f.Digest:
		case written != state.Absent:
			v.worse(Stale, "%s is not what %s wrote", f.Path, by)
		default:
			v.worse(Stale, "%s has changed since step %d, which declares it", f.Path, a.Declared)
		}
	}
	return nil
}

// deletedIn names the step that deleted a block, for a sentence.
func deletedIn(ctx context.Context, h *query.History, n state.StepNumber, id state.BlockID) (string, error) {
	for step, err := range h.Ancestors(ctx, n) {
		if err != nil {
			return "", err
		}
		if step.Kind == state.KindDelete && step.Block == id {
			return fmt.Sprintf(" since step %d", step.Number), nil
		}
	}
	return "", nil
}

// texts checks what docs mention.
func (j *Assessor) texts(_ context.Context, _ *state.Artifact, v *View) error {
	for _, r := range v.References {
		at := fmt.Sprintf("line %d of %s speaks of `%s`", r.Line, strings.TrimPrefix(r.File, BlockText), r.Text)
		since := ""
		if r.Since > 0 {
			since = fmt.Sprintf(" since step %d", r.Since)
		}
		switch {
		case r.Status == ReferenceVanished && r.Signature == "":
			v.worse(Stale, "%s, which %s does not define", at, r.Where)
		case r.Status == ReferenceVanished:
			v.worse(Stale, "%s, which is gone%s", at, since)
		case r.Status == ReferenceSignature:
			v.worse(Stale, "%s, which%s is %s, not %s", at, since, r.Now, r.Signature)
		}
	}
	return nil
}

// rests checks the artifacts that an artifact contains or needs. An inferred need does not pass a status on: two
// artifacts may read from one another in turns, and each would make the other stale for ever.
func (j *Assessor) rests(ctx context.Context, a *state.Artifact, v *View) error {
	for _, name := range a.Parts {
		part, err := j.View(ctx, j.Declared.Artifact(name))
		if err != nil {
			return err
		}
		v.worse(part.Status, "contains %s, which is %s: %s", name, part.Status, part.Reason)
	}
	for _, need := range a.Needs {
		b := j.Declared.Artifact(need)
		other, err := j.View(ctx, b)
		if err != nil {
			return err
		}
		if other.Status == Stale || other.Status == Failing {
			v.worse(Stale, "needs %s, which is %s: %s", need, other.Status, other.Reason)
		}
		if changed, since := j.changed(b), j.settled(a); changed > since {
			v.worse(Stale, "needs %s, which changed in step %d, after step %d", need, changed, since)
		}
	}
	return nil
}

// changed is the last step that changed an artifact, or an artifact that it contains.
func (j *Assessor) changed(a *state.Artifact) state.StepNumber {
	last := a.Declared
	for _, id := range a.Blocks {
		if b, err := j.Snapshot.Block(id); err == nil {
			last = max(last, b.Edited)
		}
	}
	for _, name := range a.Parts {
		last = max(last, j.changed(j.Declared.Artifact(name)))
	}
	return last
}

// settled is the last step that brought an artifact up to date: its declaration or, if it contains blocks, a run.
func (j *Assessor) settled(a *state.Artifact) state.StepNumber {
	if len(a.Blocks) > 0 {
		return max(a.Declared, j.lastRun)
	}
	return a.Declared
}

// proofs looks for checks of what an artifact contains.
func (j *Assessor) proofs(_ context.Context, a *state.Artifact, v *View) error {
	switch a.Kind {
	case state.ArtifactCode:
		for _, id := range a.Blocks {
			if b, err := j.Snapshot.Block(id); err == nil && len(j.Coverage(b).Checks) == 0 {
				v.worse(Unverified, "no check exercised the present version of block %s", id)
			}
		}
		for _, f := range a.Files {
			if InFile(f.Path) &&
				!slices.ContainsFunc(
					j.Checks,
					func(c CheckView) bool { return c.Proves() && c.exercisedFile(f.Path) },
				) {
				v.worse(Unverified, "no check exercised %s as it is", f.Path)
			}
		}
	case state.ArtifactTests:
		for _, id := range a.Blocks {
			j.suite(v, "block "+string(id), func(c *CheckView) bool { return c.ofBlock(id) })
		}
		for _, f := range a.Files {
			if filepath.Base(f.Path) != "conftest.py" {
				j.suite(v, f.Path, func(c *CheckView) bool { return c.ofFile(f.Path) })
			}
		}
	}
	return nil
}

// suite looks at the checks of one block or file of tests.
func (j *Assessor) suite(v *View, what string, of func(*CheckView) bool) {
	ran, proved := false, false
	for i := range j.Checks {
		c := &j.Checks[i]
		if !of(c) {
			continue
		}
		ran, proved = true, proved || c.Proves()
		switch {
		case c.Outcome.Bad():
			v.worse(Failing, "%s %s in step %d%s", c.ID, c.Outcome, c.Step, colon(c.Message))
		case !c.Current:
			v.worse(Stale, "what %s exercised has changed since it ran in step %d", c.ID, c.Step)
		}
	}
	switch {
	case !ran:
		v.worse(Unverified, "no check of %s was run", what)
	case !proved:
		v.worse(Unverified, "no check of %s passed that proves anything", what)
	}
}

// freshText explains why an artifact is fresh.
func (j *Assessor) freshText(a *state.Artifact) string {
	switch {
	case a.Kind == state.ArtifactDocs:
		return "what it speaks of is as it was when it was declared"
	case a.Kind == state.ArtifactTests:
		return "its checks passed on the present code"
	case a.Kind == state.ArtifactCode && (len(a.Blocks) > 0 ||
		slices.ContainsFunc(a.Files, func(f state.ArtifactFile) bool { return InFile(f.Path) })):
		return "checks that passed exercised every block and file that it holds, as it is" + j.missedText(a)
	case len(a.Blocks) > 0:
		return "the results of its blocks hold"
	case len(a.Files) > 0:
		if a.Kind != state.ArtifactData {
			return "its files are there"
		}
		return "its files are as they were declared or written"
	}
	return "so is all that it contains"
}

// missedText names the lines of files that no check executed.
func (j *Assessor) missedText(a *state.Artifact) string {
	text := ""
	for _, f := range a.Files {
		if c, ok := j.FileCoverage(f.Path); ok && c.MissedLines != "" {
			text += fmt.Sprintf("; of %s not lines %s", f.Path, strings.ReplaceAll(c.MissedLines, ",", ", "))
		}
	}
	return text
}

// fences checks the code in Markdown files of docs and examples. That code is a separate program, in the session named
// after the file. If this is that session, the blocks belong to it.
func (j *Assessor) fences(ctx context.Context, a *state.Artifact, v *View) error {
	if !j.Latest || a.Kind != state.ArtifactDocs && a.Kind != state.ArtifactExample {
		return nil
	}
	for _, f := range a.Files {
		if !slices.Contains(markdownEndings, filepath.Ext(f.Path)) {
			continue
		}
		data, err := readIn(j.folder, f.Path)
		if err != nil {
			continue // Members reports that it is gone
		}
		program, bad := patch.Parse(f.Path, data)
		if bad != nil {
			continue // it holds no code
		}
		if err := j.fencesOf(ctx, v, f.Path, program); err != nil {
			return err
		}
	}
	return nil
}

func (j *Assessor) fencesOf(ctx context.Context, v *View, path string, program *patch.Program) error {
	s := j.History
	name, err := filepath.Rel(filepath.Dir(s.Store().Dir()), filepath.Join(j.folder, filepath.FromSlash(path)))
	if err != nil {
		return nil // it lies outside of the workspace: no session is named after it
	}
	other, err := query.Open(ctx, s.Store(), filepath.ToSlash(name))
	if state.CodeOf(err) == state.CodeNoSession {
		v.worse(Unverified, "the code in %s was never run", path)
		return nil
	} else if err != nil {
		return err
	}
	edits, _, head, err := other.Compare(ctx, program.Blocks)
	if err != nil {
		return err
	}
	snap, err := other.At(ctx, head)
	if err != nil {
		return err
	}
	for _, b := range snap.Blocks {
		switch {
		case b.Failed():
			v.worse(
				Failing,
				"block %s of %s failed in step %d of its session%s",
				b.ID,
				path,
				b.RanAt,
				colon(brief(b.Error)),
			)
		case b.RanAt == 0:
			v.worse(Stale, "block %s of %s has not run as it is", b.ID, path)
		}
	}
	if len(edits) > 0 {
		v.worse(Stale, "the code in %s was edited and has not run since", path)
	}
	return nil
}

package xstate

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/state"
)

// ArtifactStatus tells what an artifact is worth, the worst last.
type ArtifactStatus string

// A stale one was right once: something that it rests on has changed since.
const (
	ArtifactFresh      ArtifactStatus = "fresh"
	ArtifactUnverified ArtifactStatus = "unverified" // nothing shows that it works
	ArtifactStale      ArtifactStatus = "stale"
	ArtifactFailing    ArtifactStatus = "failing"
)

var artifactOrder = []ArtifactStatus{ArtifactFresh, ArtifactUnverified, ArtifactStale, ArtifactFailing}

// ArtifactView is an artifact with what became of it after a step.
type ArtifactView struct {
	Name       string               `json:"name"`
	Kind       state.ArtifactKind   `json:"kind"`
	Status     ArtifactStatus       `json:"status"`
	Reason     string               `json:"reason"` // a sentence
	Blocks     []BlockID            `json:"blocks"`
	Files      []state.ArtifactFile `json:"files"`
	Parts      []string             `json:"artifacts"`
	Needs      []Need               `json:"needs"`
	References []ReferenceView      `json:"references"`
	Declared   StepNumber           `json:"declared"`
	Origin     Origin               `json:"origin"` // of that step
}

// Need is an artifact that another depends on.
type Need struct {
	Artifact string `json:"artifact"`
	Evidence string `json:"evidence"`          // "declared"; else observed in executions, predicted from the text, or "reference": a text speaks of it
	Through  []Via  `json:"through,omitempty"` // how, where that was inferred
}

// Artifacts returns the artifacts there are after step n, by name, each with its status. Nothing is executed. The files of
// the workspace are looked at for the last step only: what they held at others is known as far as it was declared.
func (s *Session) Artifacts(ctx context.Context, n StepNumber) ([]ArtifactView, error) {
	j, err := s.judgeAt(ctx, n)
	if err != nil {
		return nil, err
	}
	found := []ArtifactView{}
	for _, a := range j.artifacts() {
		v, err := j.view(ctx, &a)
		if err != nil {
			return nil, err
		}
		found = append(found, *v)
	}
	return found, nil
}

// Artifact returns one of them.
func (s *Session) Artifact(ctx context.Context, n StepNumber, name string) (*ArtifactView, error) {
	all, err := s.Artifacts(ctx, n)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
	}
	declared, err := s.store.state.Artifacts(ctx, s.name, n)
	if err != nil {
		return nil, err
	}
	return nil, s.noArtifact(declared, name)
}

// judge finds the status of artifacts, those that others rest on first.
type judge struct {
	*moment
	session *Session
	views   map[string]*ArtifactView
}

// judgeAt returns one for the session after step n.
func (s *Session) judgeAt(ctx context.Context, n StepNumber) (*judge, error) {
	m, err := s.momentAt(ctx, n)
	if err != nil {
		return nil, err
	}
	return &judge{session: s, moment: m, views: map[string]*ArtifactView{}}, nil
}

func (j *judge) view(ctx context.Context, a *state.Artifact) (*ArtifactView, error) {
	if v := j.views[a.Name]; v != nil {
		return v, nil
	}
	step, err := j.session.step(ctx, a.Declared)
	if err != nil {
		return nil, err
	}
	v := &ArtifactView{Name: a.Name, Kind: a.Kind, Status: ArtifactFresh, Blocks: orEmpty(a.Blocks), Files: orEmpty(a.Files), Parts: orEmpty(a.Parts),
		Declared: a.Declared, Origin: step.Origin, References: []ReferenceView{}}
	j.views[a.Name] = v
	if a.Kind == state.ArtifactDocs {
		if v.References, err = j.session.referencesAt(ctx, a, j.moment); err != nil {
			return nil, err
		}
	}
	v.Needs = j.needs(a, v.References)
	for _, judged := range []func(context.Context, *state.Artifact, *ArtifactView) error{j.members, j.texts, j.fences, j.rests, j.proofs} {
		if err := judged(ctx, a, v); err != nil {
			return nil, err
		}
	}
	if v.Status == ArtifactFresh {
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

// worse makes the status what it is said to be, unless it is as bad already.
func (v *ArtifactView) worse(status ArtifactStatus, format string, args ...any) {
	if slices.Index(artifactOrder, status) > slices.Index(artifactOrder, v.Status) {
		v.Status, v.Reason = status, fmt.Sprintf(format, args...)
	}
}

// members looks at the blocks and files that an artifact holds.
func (j *judge) members(ctx context.Context, a *state.Artifact, v *ArtifactView) error {
	for _, id := range a.Blocks {
		b, err := j.snap.Block(id)
		if err != nil {
			since, err := j.session.deletedIn(ctx, j.snap.Step.Number, id)
			if err != nil {
				return err
			}
			v.worse(ArtifactFailing, "holds block %s, which is gone%s", id, since)
			continue
		}
		if b.Failed() {
			v.worse(ArtifactFailing, "block %s %s in step %d%s", id, map[string]string{"failed": "failed", "blocked": "was blocked"}[b.Status], b.RanAt, colon(brief(b.Error)))
		}
		switch why := j.pending[id]; {
		case why == "":
		case b.RanAt == 0 && j.lastRun < b.Edited && j.lastRun == 0:
			v.worse(ArtifactUnverified, "block %s %s", id, why)
		default:
			v.worse(ArtifactStale, "block %s %s", id, why)
		}
	}
	for _, f := range a.Files {
		if !j.now {
			continue
		}
		have := j.content(f.Path)
		written, by := wrote(j.snap, f.Path)
		switch {
		case have == state.Absent:
			v.worse(ArtifactFailing, "holds %s, which is gone", f.Path)
		case a.Kind != state.ArtifactData || have == written || written == state.Absent && have == f.Digest:
		case written != state.Absent:
			v.worse(ArtifactStale, "%s is not what %s wrote", f.Path, by)
		default:
			v.worse(ArtifactStale, "%s has changed since step %d, which declares it", f.Path, a.Declared)
		}
	}
	return nil
}

// wrote is what a program last wrote to a file of the workspace, and which node did.
func wrote(snap *Snapshot, path string) (d Digest, by string) {
	for _, b := range snap.Blocks {
		for _, n := range b.Nodes {
			for _, w := range n.Writes {
				if w.Key == Key("file:"+path) {
					d, by = w.Digest, n.Name
				}
			}
		}
	}
	return d, by
}

// deletedIn names the step that deleted a block, for a sentence.
func (s *Session) deletedIn(ctx context.Context, n StepNumber, id BlockID) (string, error) {
	for step, err := range s.lineage(ctx, n) {
		if err != nil {
			return "", err
		}
		if step.Kind == state.KindDelete && step.Block == id {
			return fmt.Sprintf(" since step %d", step.Number), nil
		}
	}
	return "", nil
}

// texts looks at what docs speak of.
func (j *judge) texts(_ context.Context, _ *state.Artifact, v *ArtifactView) error {
	for _, r := range v.References {
		at := fmt.Sprintf("line %d of %s speaks of `%s`", r.Line, strings.TrimPrefix(r.File, blockText), r.Text)
		since := ""
		if r.Since > 0 {
			since = fmt.Sprintf(" since step %d", r.Since)
		}
		switch {
		case r.Status == ReferenceVanished && r.Signature == "":
			v.worse(ArtifactStale, "%s, which %s does not define", at, r.Where)
		case r.Status == ReferenceVanished:
			v.worse(ArtifactStale, "%s, which is gone%s", at, since)
		case r.Status == ReferenceSignature:
			v.worse(ArtifactStale, "%s, which%s is %s, not %s", at, since, r.Now, r.Signature)
		}
	}
	return nil
}

// rests looks at the artifacts that one contains or needs.
func (j *judge) rests(ctx context.Context, a *state.Artifact, v *ArtifactView) error {
	for _, name := range a.Parts {
		part, err := j.view(ctx, j.declared.Artifact(name))
		if err != nil {
			return err
		}
		v.worse(part.Status, "contains %s, which is %s: %s", name, part.Status, part.Reason)
	}
	for _, need := range a.Needs {
		b := j.declared.Artifact(need)
		other, err := j.view(ctx, b)
		if err != nil {
			return err
		}
		if other.Status == ArtifactStale || other.Status == ArtifactFailing {
			v.worse(ArtifactStale, "needs %s, which is %s: %s", need, other.Status, other.Reason)
		}
		if changed, since := j.changed(b), j.settled(a); changed > since {
			v.worse(ArtifactStale, "needs %s, which changed in step %d, after step %d", need, changed, since)
		}
	}
	return nil
}

// changed is the last step that made an artifact another, or one that it contains.
func (j *judge) changed(a *state.Artifact) StepNumber {
	last := a.Declared
	for _, id := range a.Blocks {
		if b, err := j.snap.Block(id); err == nil {
			last = max(last, b.Edited)
		}
	}
	for _, name := range a.Parts {
		last = max(last, j.changed(j.declared.Artifact(name)))
	}
	return last
}

// settled is the last step that brought an artifact up to date: its declaration or, where it holds blocks, a run.
func (j *judge) settled(a *state.Artifact) StepNumber {
	if len(a.Blocks) > 0 {
		return max(a.Declared, j.lastRun)
	}
	return a.Declared
}

// proofs looks for checks of what an artifact holds.
func (j *judge) proofs(_ context.Context, a *state.Artifact, v *ArtifactView) error {
	switch a.Kind {
	case state.ArtifactCode:
		for _, id := range a.Blocks {
			if b, err := j.snap.Block(id); err == nil && len(j.coverage(b).Checks) == 0 {
				v.worse(ArtifactUnverified, "no check exercised the present version of block %s", id)
			}
		}
		for _, f := range a.Files {
			if inFile(f.Path) && !slices.ContainsFunc(j.checks, func(c CheckView) bool { return c.Proves() && c.exercisedFile(f.Path) }) {
				v.worse(ArtifactUnverified, "no check exercised %s as it is", f.Path)
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
func (j *judge) suite(v *ArtifactView, what string, of func(*CheckView) bool) {
	ran, proved := false, false
	for i := range j.checks {
		c := &j.checks[i]
		if !of(c) {
			continue
		}
		ran, proved = true, proved || c.Proves()
		switch {
		case c.Outcome.Bad():
			v.worse(ArtifactFailing, "%s %s in step %d%s", c.ID, c.Outcome, c.Step, colon(c.Message))
		case !c.Current:
			v.worse(ArtifactStale, "what %s exercised has changed since it ran in step %d", c.ID, c.Step)
		}
	}
	switch {
	case !ran:
		v.worse(ArtifactUnverified, "no check of %s was run", what)
	case !proved:
		v.worse(ArtifactUnverified, "no check of %s passed that proves anything", what)
	}
}

// brief is an error in a line.
func brief(e *state.ExecError) string {
	if e == nil {
		return ""
	}
	first, _, _ := strings.Cut(e.Message, "\n")
	return e.Type + colon(first)
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// ofBlock reports whether the check is written in a block: its id is that of a node of the block, or BLOCK::test.
func (c *CheckView) ofBlock(id BlockID) bool {
	name, _, _ := strings.Cut(c.ID, "::")
	node, _, _ := strings.Cut(name, "#")
	return (c.Kind == CheckBlock || c.Kind == CheckAssert) && node == string(id)
}

// ofFile reports whether the check is written in a file.
func (c *CheckView) ofFile(path string) bool {
	name, _, _ := strings.Cut(c.ID, "::")
	return c.Kind != CheckBlock && c.Kind != CheckAssert && name == path
}

func (c *CheckView) exercisedFile(path string) bool {
	return slices.ContainsFunc(c.Exercised, func(x Exercised) bool { return x.File == path })
}

// freshText says why an artifact is fresh.
func (j *judge) freshText(a *state.Artifact) string {
	switch {
	case a.Kind == state.ArtifactDocs:
		return "what it speaks of is as it was when it was declared"
	case a.Kind == state.ArtifactTests:
		return "its checks passed on the present code"
	case a.Kind == state.ArtifactCode && (len(a.Blocks) > 0 || slices.ContainsFunc(a.Files, func(f state.ArtifactFile) bool { return inFile(f.Path) })):
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
func (j *judge) missedText(a *state.Artifact) string {
	text := ""
	for _, f := range a.Files {
		if c, ok := j.fileCoverage(f.Path); ok && c.MissedLines != "" {
			text += fmt.Sprintf("; of %s not lines %s", f.Path, strings.ReplaceAll(c.MissedLines, ",", ", "))
		}
	}
	return text
}

package artifact

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Spec is an artifact as its author names its contents.
type Spec struct {
	Name string
	Kind state.ArtifactKind
	// Blocks, artifacts and files; "block:x", "artifact:x" or "file:x" if the name alone is ambiguous.
	Members []string
	Needs   []string // artifacts that it depends on, beside those that are inferred
	Folder  string   // that files are named from; the workspace when empty
}

// artifactName matches the names that an artifact may have. It leaves out what flags, lists and prefixes use.
var artifactName = regexp.MustCompile(`^[\pL\pN_][\pL\pN_. +-]*$`)

// Declare records an artifact, in place of an earlier one of that name. It also records the content of the artifact's
// files and the signatures that its texts mention. A later change of these makes the artifact stale. To declare it
// again accepts the present state.
func Declare(ctx context.Context, h *query.History, d Spec, origin state.Origin) (state.Step, error) {
	snap, declared, err := declaring(ctx, h)
	if err != nil {
		return state.Step{}, err
	}
	switch {
	// A bound in the expression would make the compiled expression large.
	case !artifactName.MatchString(d.Name) || utf8.RuneCountInString(d.Name) > 100:
		return state.Step{}, &state.Error{
			Code:    state.CodeInvalid,
			Message: fmt.Sprintf("%q cannot be the name of an artifact", d.Name),
			Hint:    "use letters, digits, and _ . + - within it, at most 100",
		}
	case !slices.Contains(state.ArtifactKinds, d.Kind):
		kinds := kindNames()
		return state.Step{}, &state.Error{
			Code:    state.CodeInvalid,
			Message: fmt.Sprintf("there is no kind of artifact %q", d.Kind),
			Hint:    query.DidYouMean(string(d.Kind), kinds) + "the kinds are: " + strings.Join(kinds, ", "),
		}
	case len(d.Members) == 0:
		return state.Step{}, &state.Error{
			Code:    state.CodeInvalid,
			Message: fmt.Sprintf("the artifact %q would hold nothing", d.Name),
			Hint:    "name at least one block, file or artifact that it holds",
		}
	}
	a := &state.Artifact{Name: d.Name, Kind: d.Kind}
	for _, word := range d.Members {
		if err := member(h, a, snap, declared, word, d.Folder); err != nil {
			return state.Step{}, err
		}
	}
	for _, name := range d.Needs {
		if name != d.Name && declared.Artifact(name) == nil {
			return state.Step{}, NoArtifact(h, declared, name)
		}
		a.Needs = query.AppendNew(a.Needs, name)
	}
	if a.References, err = references(ctx, h, a, snap, declared); err != nil {
		return state.Step{}, err
	}
	return declare(ctx, h, snap.Step.Number, state.Draft{Kind: state.KindDeclare, Origin: origin, Artifact: a})
}

// Drop removes an artifact's declaration. Its blocks and files stay; earlier steps still show it. It fails if
// another artifact contains or needs this one.
func Drop(ctx context.Context, h *query.History, name string, origin state.Origin) (state.Step, error) {
	snap, declared, err := declaring(ctx, h)
	if err != nil {
		return state.Step{}, err
	}
	if declared.Artifact(name) == nil {
		return state.Step{}, NoArtifact(h, declared, name)
	}
	for _, a := range declared.All {
		if slices.Contains(a.Parts, name) || slices.Contains(a.Needs, name) {
			return state.Step{}, &state.Error{
				Code:    state.CodeInvalid,
				Message: fmt.Sprintf("the artifact %q rests on %q", a.Name, name),
				Hint:    fmt.Sprintf("drop %s first, or declare it again without %s", a.Name, name),
			}
		}
	}
	return declare(ctx, h, snap.Step.Number, state.Draft{Kind: state.KindDeclare, Origin: origin, Drop: name})
}

// declaring returns what a declaration depends on.
func declaring(ctx context.Context, h *query.History) (*query.Snapshot, *state.Declaration, error) {
	head, _, err := h.Store().Head(ctx, h.Name())
	if err != nil {
		return nil, nil, err
	}
	snap, err := h.At(ctx, head)
	if err != nil {
		return nil, nil, err
	}
	declared, err := h.Store().Artifacts(ctx, h.Name(), head)
	return snap, declared, err
}

func declare(ctx context.Context, h *query.History, head state.StepNumber, d state.Draft) (state.Step, error) {
	steps, err := h.Store().Commit(ctx, h.Name(), head, []state.Draft{d})
	if err != nil {
		return state.Step{}, err
	}
	return steps[0], nil
}

// member adds the block, artifact or file that a word means to an artifact.
func member(
	h *query.History,
	a *state.Artifact,
	snap *query.Snapshot,
	declared *state.Declaration,
	word, folder string,
) error {
	sort, name, given := strings.Cut(word, ":")
	if given = given && slices.Contains([]string{"block", "artifact", "file"}, sort); !given {
		name = word
	}
	can := func(what string) bool { return !given || sort == what }
	var found []string
	if _, err := snap.Block(state.BlockID(name)); can("block") && err == nil {
		found = append(found, "block")
	}
	if can("artifact") && (declared.Artifact(name) != nil || name == a.Name) {
		found = append(found, "artifact")
	}
	file, err := workspaceFile(h, name, folder)
	if can("file") && err == nil {
		found = append(found, "file")
	}
	if len(found) == 2 && name == a.Name { // a word means the artifact itself only with its prefix
		found = slices.DeleteFunc(found, func(what string) bool { return what == "artifact" })
	}
	switch {
	case len(found) > 1:
		return &state.Error{
			Code:    state.CodeInvalid,
			Message: fmt.Sprintf("%q is %s", word, strings.Join(found, " and ")),
			Hint:    fmt.Sprintf("say which: %s:%s", strings.Join(found, ":"+name+" or "), name),
		}
	case len(found) == 0 && can("file") && state.CodeOf(err) != "":
		return err // something has that name, but an artifact cannot contain it
	case len(found) == 0 && given && sort == "artifact":
		return NoArtifact(h, declared, name)
	case len(found) == 0:
		return noMember(h, snap, declared, word)
	}
	switch found[0] {
	case "block":
		a.Blocks = query.AppendNew(a.Blocks, state.BlockID(name))
	case "artifact":
		a.Parts = query.AppendNew(a.Parts, name)
	case "file":
		if !slices.ContainsFunc(a.Files, func(f state.ArtifactFile) bool { return f.Path == file.Path }) {
			a.Files = append(a.Files, file)
		}
	}
	return nil
}

// workspaceFile looks at a file of the workspace.
func workspaceFile(h *query.History, name, folder string) (state.ArtifactFile, error) {
	if folder == "" {
		folder = h.Workspace()
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, name)
	}
	digest, err := digestFile(path)
	if err != nil {
		return state.ArtifactFile{}, err
	}
	rel := parents.Below(h.Workspace(), path)
	if rel == "" {
		return state.ArtifactFile{}, &state.Error{
			Code:    state.CodeInvalid,
			Message: fmt.Sprintf("the file %s lies outside the workspace %s", name, h.Workspace()),
			Hint:    "an artifact holds files of its session's workspace; copy it there",
		}
	}
	return state.ArtifactFile{Path: filepath.ToSlash(rel), Digest: digest}, nil
}

func noMember(h *query.History, snap *query.Snapshot, declared *state.Declaration, word string) error {
	known := append(query.IDs(query.SnapshotBlocks(snap)), Names(declared)...)
	return &state.Error{
		Code:    query.CodeNoBlock,
		Message: fmt.Sprintf("%q is no block or artifact of session %q, and no file of its workspace", word, h.Name()),
		Hint: query.DidYouMean(word, known) + "its blocks are: " +
			query.Shorten(query.IDs(query.SnapshotBlocks(snap))),
	}
}

func kindNames() []string {
	var names []string
	for _, k := range state.ArtifactKinds {
		names = append(names, string(k))
	}
	return names
}

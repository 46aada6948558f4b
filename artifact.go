package xstate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"

	"github.com/xstate-engine/xstate/state"
)

// Declaring is an artifact as its author names what is in it.
type Declaring struct {
	Name    string
	Kind    state.ArtifactKind
	Members []string // blocks, artifacts and files; "block:x", "artifact:x" or "file:x" where the name alone means several
	Needs   []string // artifacts that it depends on, beside those that are inferred
	Folder  string   // that files are named from; the workspace when empty
}

// CodeNoArtifact is the code of errors about an artifact that is not declared.
const CodeNoArtifact state.Code = "no-artifact"

// artifactName is what may be the name of an artifact: what flags, lists and prefixes leave.
var artifactName = regexp.MustCompile(`^[\pL\pN_][\pL\pN_. +-]*$`)

// Declare records that there is an artifact, in place of the one of that name. What its files hold and its texts speak of is
// recorded with it: what has changed since makes it stale, and to declare it again says that it holds for what is there now.
func (s *Session) Declare(ctx context.Context, d Declaring, origin Origin) (Step, error) {
	snap, declared, err := s.declaring(ctx)
	if err != nil {
		return Step{}, err
	}
	switch {
	case !artifactName.MatchString(d.Name) || utf8.RuneCountInString(d.Name) > 100: // a bound in the expression makes it large
		return Step{}, &Error{Code: state.CodeInvalid, Message: fmt.Sprintf("%q cannot be the name of an artifact", d.Name), Hint: "use letters, digits, and _ . + - within it, at most 100"}
	case !slices.Contains(state.ArtifactKinds, d.Kind):
		kinds := kindNames()
		return Step{}, &Error{Code: state.CodeInvalid, Message: fmt.Sprintf("there is no kind of artifact %q", d.Kind), Hint: meant(string(d.Kind), kinds) + "the kinds are: " + strings.Join(kinds, ", ")}
	case len(d.Members) == 0:
		return Step{}, &Error{Code: state.CodeInvalid, Message: fmt.Sprintf("the artifact %q would hold nothing", d.Name), Hint: "name at least one block, file or artifact that it holds"}
	}
	a := &state.Artifact{Name: d.Name, Kind: d.Kind}
	for _, word := range d.Members {
		if err := s.member(a, snap, declared, word, d.Folder); err != nil {
			return Step{}, err
		}
	}
	for _, name := range d.Needs {
		if name != d.Name && declared.Artifact(name) == nil {
			return Step{}, s.noArtifact(declared, name)
		}
		a.Needs = appendNew(a.Needs, name)
	}
	if a.References, err = s.references(ctx, a, snap, declared); err != nil {
		return Step{}, err
	}
	return s.declare(ctx, snap.Step.Number, state.Draft{Kind: state.KindDeclare, Origin: origin, Artifact: a})
}

// DropArtifact records that an artifact is one no more. One that others contain or need is not dropped.
func (s *Session) DropArtifact(ctx context.Context, name string, origin Origin) (Step, error) {
	snap, declared, err := s.declaring(ctx)
	if err != nil {
		return Step{}, err
	}
	if declared.Artifact(name) == nil {
		return Step{}, s.noArtifact(declared, name)
	}
	for _, a := range declared.All {
		if slices.Contains(a.Parts, name) || slices.Contains(a.Needs, name) {
			return Step{}, &Error{Code: state.CodeInvalid, Message: fmt.Sprintf("the artifact %q rests on %q", a.Name, name), Hint: fmt.Sprintf("drop %s first, or declare it again without %s", a.Name, name)}
		}
	}
	return s.declare(ctx, snap.Step.Number, state.Draft{Kind: state.KindDeclare, Origin: origin, Drop: name})
}

// declaring returns what a declaration builds on.
func (s *Session) declaring(ctx context.Context) (*Snapshot, *state.Declaration, error) {
	head, _, err := s.store.state.Head(ctx, s.name)
	if err != nil {
		return nil, nil, err
	}
	snap, err := s.At(ctx, head)
	if err != nil {
		return nil, nil, err
	}
	declared, err := s.store.state.Artifacts(ctx, s.name, head)
	return snap, declared, err
}

func (s *Session) declare(ctx context.Context, head StepNumber, d state.Draft) (Step, error) {
	steps, err := s.store.state.Commit(ctx, s.name, head, []state.Draft{d})
	if err != nil {
		return Step{}, err
	}
	return steps[0], nil
}

// member adds what a word means to an artifact.
func (s *Session) member(a *state.Artifact, snap *Snapshot, declared *state.Declaration, word, folder string) error {
	sort, name, given := strings.Cut(word, ":")
	if given = given && slices.Contains([]string{"block", "artifact", "file"}, sort); !given {
		name = word
	}
	can := func(what string) bool { return !given || sort == what }
	var found []string
	if _, err := snap.Block(BlockID(name)); can("block") && err == nil {
		found = append(found, "block")
	}
	if can("artifact") && (declared.Artifact(name) != nil || name == a.Name) {
		found = append(found, "artifact")
	}
	file, err := s.workspaceFile(name, folder)
	if can("file") && err == nil {
		found = append(found, "file")
	}
	if len(found) == 2 && name == a.Name { // itself is meant only where it is named so
		found = slices.DeleteFunc(found, func(what string) bool { return what == "artifact" })
	}
	switch {
	case len(found) > 1:
		return &Error{Code: state.CodeInvalid, Message: fmt.Sprintf("%q is %s", word, strings.Join(found, " and ")), Hint: fmt.Sprintf("say which: %s:%s", strings.Join(found, ":"+name+" or "), name)}
	case len(found) == 0 && can("file") && state.CodeOf(err) != "":
		return err // there is something of that name, and it cannot be held
	case len(found) == 0 && given && sort == "artifact":
		return s.noArtifact(declared, name)
	case len(found) == 0:
		return s.noMember(snap, declared, word)
	}
	switch found[0] {
	case "block":
		a.Blocks = appendNew(a.Blocks, BlockID(name))
	case "artifact":
		a.Parts = appendNew(a.Parts, name)
	case "file":
		if !slices.ContainsFunc(a.Files, func(f state.ArtifactFile) bool { return f.Path == file.Path }) {
			a.Files = append(a.Files, file)
		}
	}
	return nil
}

// workspaceFile looks at a file of the workspace.
func (s *Session) workspaceFile(name, folder string) (state.ArtifactFile, error) {
	if folder == "" {
		folder = s.options.Workspace
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, name)
	}
	digest, err := digestFile(path)
	if err != nil {
		return state.ArtifactFile{}, err
	}
	rel, err := filepath.Rel(s.options.Workspace, path)
	if err != nil || !filepath.IsLocal(rel) {
		return state.ArtifactFile{}, &Error{Code: state.CodeInvalid, Message: fmt.Sprintf("the file %s lies outside the workspace %s", name, s.options.Workspace), Hint: "an artifact holds files of its session's workspace; copy it there"}
	}
	return state.ArtifactFile{Path: filepath.ToSlash(rel), Digest: digest}, nil
}

// digestFile returns the digest of what a file holds, as traces have it. A folder is none.
func digestFile(path string) (Digest, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", &Error{Code: state.CodeInvalid, Message: fmt.Sprintf("%s is no file, but a folder or the like", path), Hint: "name the files in it, such as " + filepath.Base(path) + "/*"}
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return Digest(hex.EncodeToString(h.Sum(nil))), nil
}

func (s *Session) noMember(snap *Snapshot, declared *state.Declaration, word string) error {
	known := append(ids(patchBlocks(snap)), artifactNames(declared)...)
	return &Error{Code: CodeNoBlock, Message: fmt.Sprintf("%q is no block or artifact of session %q, and no file of its workspace", word, s.name),
		Hint: meant(word, known) + "its blocks are: " + shorten(ids(patchBlocks(snap)))}
}

func (s *Session) noArtifact(declared *state.Declaration, name string) error {
	names := artifactNames(declared)
	e := &Error{Code: CodeNoArtifact, Message: fmt.Sprintf("session %q has no artifact %q", s.name, name), Hint: "xstate artifact declare NAME --kind KIND BLOCK|FILE… declares one"}
	if len(names) > 0 {
		e.Hint = meant(name, names) + "its artifacts are: " + shorten(names)
	}
	return e
}

func artifactNames(d *state.Declaration) []string {
	var names []string
	if d != nil {
		for _, a := range d.All {
			names = append(names, a.Name)
		}
	}
	return names
}

func kindNames() []string {
	var names []string
	for _, k := range state.ArtifactKinds {
		names = append(names, string(k))
	}
	return names
}

// meant asks whether the nearest of some names was meant, where one is near.
func meant(word string, names []string) string {
	best, least := "", len(word)/2+1
	for _, name := range names {
		d := diffmatchpatch.New()
		if n := d.DiffLevenshtein(d.DiffMain(word, name, false)); n < least || strings.EqualFold(word, name) {
			best, least = name, n
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "? "
}

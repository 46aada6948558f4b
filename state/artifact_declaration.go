package state

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/bbolt"
)

// ArtifactKind is what an artifact is for.
type ArtifactKind string

// The kinds there are.
const (
	ArtifactCode    ArtifactKind = "code"
	ArtifactTests   ArtifactKind = "tests"
	ArtifactDocs    ArtifactKind = "docs"
	ArtifactExample ArtifactKind = "example"
	ArtifactData    ArtifactKind = "data"
)

// ArtifactKinds are all of them, in the order in which people are told.
var ArtifactKinds = []ArtifactKind{ArtifactCode, ArtifactTests, ArtifactDocs, ArtifactExample, ArtifactData}

// Artifact is a named group of blocks, files and other artifacts, as a step declared it.
type Artifact struct {
	Name       string         `cbor:"name" json:"name"`
	Kind       ArtifactKind   `cbor:"kind" json:"kind"`
	Blocks     []BlockID      `cbor:"blocks,omitempty" json:"blocks"`
	Files      []ArtifactFile `cbor:"files,omitempty" json:"files"`
	Parts      []string       `cbor:"parts,omitempty" json:"artifacts"` // the artifacts that it contains
	Needs      []string       `cbor:"needs,omitempty" json:"needs"`     // those that it was said to depend on
	References []Reference    `cbor:"refs,omitempty" json:"references"` // what its texts spoke of when it was declared
	Declared   StepNumber     `cbor:"declared" json:"declared"`         // the step that says so; filled in by Commit
}

// ArtifactFile is a file of the workspace, and what it held when its artifact was declared.
type ArtifactFile struct {
	Path   string `cbor:"path" json:"path"` // in the workspace, with slashes
	Digest Digest `cbor:"digest" json:"digest"`
}

// Reference is a place in a text that speaks of something that a program defines.
type Reference struct {
	File      string `cbor:"file" json:"file"`
	Line      int    `cbor:"line" json:"line"`                       // from 1
	Text      string `cbor:"text" json:"text"`                       // as it is written
	Name      string `cbor:"name" json:"name"`                       // what it means, a dotted name
	Where     string `cbor:"where,omitempty" json:"where,omitempty"` // the block or file that defined it
	Signature string `cbor:"signature" json:"signature"`             // how it is called; of a variable its name
}

// Declaration says which artifacts there are from a step on.
type Declaration struct {
	Name string     `cbor:"name"`          // of the one that was declared, or dropped
	All  []Artifact `cbor:"all,omitempty"` // sorted by name
}

// Artifact returns one of them, or nil.
func (d *Declaration) Artifact(name string) *Artifact {
	if d == nil {
		return nil
	}
	for i := range d.All {
		if d.All[i].Name == name {
			return &d.All[i]
		}
	}
	return nil
}

// with returns what is declared when an artifact is added in place of the one of that name; nil drops that.
func (d *Declaration) with(name string, a *Artifact, n StepNumber) *Declaration {
	next := &Declaration{Name: name}
	if d != nil {
		next.All = slices.DeleteFunc(slices.Clone(d.All), func(old Artifact) bool { return old.Name == name })
	}
	if a != nil {
		added := *a
		added.Name, added.Declared = name, n
		next.All = append(next.All, added)
		slices.SortFunc(next.All, func(a, b Artifact) int { return strings.Compare(a.Name, b.Name) })
	}
	return next
}

// After returns what is declared after a draft that is committed on d.
func (x Draft) ApplyTo(d *Declaration) *Declaration {
	switch {
	case x.Artifact != nil:
		return d.with(x.Artifact.Name, x.Artifact, 0)
	case x.Drop != "":
		return d.with(x.Drop, nil, 0)
	}
	return d
}

// Same reports whether two artifacts, or none, were declared alike, in whichever step.
func (a *Artifact) SameDeclaration(b *Artifact) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	x.Declared, y.Declared = 0, 0
	return bytes.Equal(encode(x), encode(y))
}

// CodeArtifactCycle is the code of errors about an artifact that would depend on itself.
const CodeArtifactCycle Code = "artifact-cycle"

// check tells what is wrong with what is declared in step n.
func (d *Declaration) check(n StepNumber) error {
	for i := range d.All {
		a := &d.All[i]
		switch {
		case a.Name == "" || a.Declared == 0 || a.Declared > n || a.Name == d.Name && a.Declared != n:
			return fmt.Errorf("the artifact %q is said to be declared in step %d", a.Name, a.Declared)
		case i > 0 && d.All[i-1].Name >= a.Name:
			return fmt.Errorf("there are two artifacts %q, or they are out of order", a.Name)
		case !slices.Contains(ArtifactKinds, a.Kind):
			return fmt.Errorf("the artifact %q is of kind %q, which there is not", a.Name, a.Kind)
		}
		for _, to := range a.rests() {
			if d.Artifact(to) == nil {
				return fmt.Errorf("the artifact %q rests on %q, which is not declared", a.Name, to)
			}
		}
	}
	if ring := d.cycle(); ring != nil {
		return &Error{Code: CodeArtifactCycle, Message: "an artifact would depend on itself: " + strings.Join(ring, " -> "),
			Hint: "what an artifact contains or needs must not contain or need it, directly or in turn; xstate artifact list shows what is declared"}
	}
	return nil
}

// rests are the artifacts that an artifact contains or needs.
func (a *Artifact) rests() []string { return append(slices.Clone(a.Parts), a.Needs...) }

// cycle returns a way from an artifact back to itself, or nil.
func (d *Declaration) cycle() []string {
	const open, done = 1, 2
	seen := map[string]int{}
	var way []string
	var visit func(name string) []string
	visit = func(name string) []string {
		switch seen[name] {
		case done:
			return nil
		case open:
			return append(slices.Clone(way[slices.Index(way, name):]), name)
		}
		seen[name], way = open, append(way, name)
		for _, to := range d.Artifact(name).rests() {
			if ring := visit(to); ring != nil {
				return ring
			}
		}
		seen[name], way = done, way[:len(way)-1]
		return nil
	}
	for i := range d.All {
		if ring := visit(d.All[i].Name); ring != nil {
			return ring
		}
	}
	return nil
}

// Artifacts returns what was declared of artifacts after step n; nil where nothing was. It reads two steps at most.
func (s *Store) Artifacts(ctx context.Context, session string, n StepNumber) (d *Declaration, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		l, head, err := s.find(tx, session)
		if err != nil {
			return err
		}
		if n > head.Step {
			return noStep(session, n, head.Step)
		}
		d, _, err = s.declaredAt(tx, l, n)
		return err
	})
	return d, err
}

// declaredAt returns what holds after step n, and the step that declared it; nil and 0 where there is none.
func (s *Store) declaredAt(tx *bbolt.Tx, l *lineage, n StepNumber) (*Declaration, StepNumber, error) {
	if n == 0 {
		return nil, 0, nil
	}
	h, _, _, err := s.readStep(tx, l, n)
	if err != nil || h.Artifacts == 0 {
		return nil, 0, err
	}
	at := h.Artifacts
	if at != n {
		if h, _, _, err = s.readStep(tx, l, at); err != nil {
			return nil, 0, err
		}
	}
	if h.Declared == nil {
		return nil, 0, badStep(l, at, fmt.Errorf("it declares no artifact, but step %d says so", n))
	}
	return h.Declared, at, nil
}

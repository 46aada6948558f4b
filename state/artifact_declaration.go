package state

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/bbolt"
)

// ArtifactKind is the purpose of an artifact.
type ArtifactKind string

// The kinds of artifacts.
const (
	ArtifactCode    ArtifactKind = "code"
	ArtifactTests   ArtifactKind = "tests"
	ArtifactDocs    ArtifactKind = "docs"
	ArtifactExample ArtifactKind = "example"
	ArtifactData    ArtifactKind = "data"
)

// ArtifactKinds lists all kinds, in the order in which commands print them.
var ArtifactKinds = []ArtifactKind{ArtifactCode, ArtifactTests, ArtifactDocs, ArtifactExample, ArtifactData}

// Artifact is a named group of blocks, files and other artifacts, as a step declared it.
type Artifact struct {
	Name   string         `cbor:"name" json:"name"`
	Kind   ArtifactKind   `cbor:"kind" json:"kind"`
	Blocks []BlockID      `cbor:"blocks,omitempty" json:"blocks"`
	Files  []ArtifactFile `cbor:"files,omitempty" json:"files"`
	Parts  []string       `cbor:"parts,omitempty" json:"artifacts"` // names of artifacts that it contains
	// Needs: names of artifacts that its author declared as dependencies
	Needs []string `cbor:"needs,omitempty" json:"needs"`
	// References: names that its texts mentioned when it was declared
	References []Reference `cbor:"refs,omitempty" json:"references"`
	Declared   StepNumber  `cbor:"declared" json:"declared"` // the step that declared it; Commit fills it in
}

// ArtifactFile is a file of the workspace, with its content at the time of the declaration.
type ArtifactFile struct {
	Path   string `cbor:"path" json:"path"` // relative to the workspace, with slashes
	Digest Digest `cbor:"digest" json:"digest"`
}

// Reference is a place in a text that mentions something that a program defines.
type Reference struct {
	File  string `cbor:"file" json:"file"`
	Line  int    `cbor:"line" json:"line"`                       // from 1
	Text  string `cbor:"text" json:"text"`                       // as it is written
	Name  string `cbor:"name" json:"name"`                       // the dotted name that Text resolves to
	Where string `cbor:"where,omitempty" json:"where,omitempty"` // the block or file that defined it
	// Signature: of a function its parameters, of a variable its name
	Signature string `cbor:"signature" json:"signature"`
}

// Declaration is the complete list of artifacts from a step on.
type Declaration struct {
	Name string     `cbor:"name"`          // the artifact that the step declared or dropped
	All  []Artifact `cbor:"all,omitempty"` // sorted by name
}

// Artifact returns the artifact of a name, or nil. A nil Declaration has none.
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

// with returns the list after artifact a replaced the one of that name. A nil artifact removes it.
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

// ApplyTo returns the artifacts that are declared once the draft is committed on top of d.
func (x Draft) ApplyTo(d *Declaration) *Declaration {
	switch {
	case x.Artifact != nil:
		return d.with(x.Artifact.Name, x.Artifact, 0)
	case x.Drop != "":
		return d.with(x.Drop, nil, 0)
	}
	return d
}

// SameDeclaration reports whether two artifacts were declared alike, regardless of the step. Both may be nil.
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

// check returns an error if the list cannot be the one that step n declared. Check runs it on every stored list too
// (invariant 13), so it also rejects what only damage can produce.
func (d *Declaration) check(n StepNumber) error {
	for i := range d.All {
		a := &d.All[i]
		switch {
		case a.Name == "" || a.Declared == 0 || a.Declared > n || a.Name == d.Name && a.Declared != n:
			return fmt.Errorf("the artifact %q names step %d as its declaration", a.Name, a.Declared)
		case i > 0 && d.All[i-1].Name >= a.Name:
			return fmt.Errorf("there are two artifacts %q, or they are out of order", a.Name)
		case !slices.Contains(ArtifactKinds, a.Kind):
			return fmt.Errorf("the artifact %q has the unknown kind %q", a.Name, a.Kind)
		}
		for _, to := range a.dependencies() {
			if d.Artifact(to) == nil {
				return fmt.Errorf("the artifact %q depends on %q, which is not declared", a.Name, to)
			}
		}
	}
	if ring := d.cycle(); ring != nil {
		return &Error{
			Code:    CodeArtifactCycle,
			Message: "an artifact would depend on itself: " + strings.Join(ring, " -> "),
			Hint: "an artifact must not contain or need itself, directly or through others; " +
				"`xstate artifact list` shows the declarations",
		}
	}
	return nil
}

// dependencies returns the names of the artifacts that an artifact contains or needs.
func (a *Artifact) dependencies() []string { return append(slices.Clone(a.Parts), a.Needs...) }

// cycle returns a path from an artifact back to itself, or nil. It is a depth-first search: a name that is still open
// is on the current path.
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
		for _, to := range d.Artifact(name).dependencies() {
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

// Artifacts returns the artifacts declared after step n; nil if there are none. It reads at most two steps.
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

// declaredAt returns the artifacts after step n and the step that holds their list; nil and 0 if there are none.
func (s *Store) declaredAt(tx *bbolt.Tx, l *forkChain, n StepNumber) (*Declaration, StepNumber, error) {
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
		return nil, 0, badStep(l, at, fmt.Errorf("it declares no artifact, but step %d refers to it", n))
	}
	return h.Declared, at, nil
}

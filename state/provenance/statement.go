package provenance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/artifact"
	"github.com/xstate-engine/xstate/state/query"
)

// This file writes evidence in the form that other tools read: an in-toto Statement v1 (in-toto attestation framework
// 1.2) whose predicate is SLSA Provenance v1 (SLSA specification 1.0). The build is the run of a program. Its products
// are files, values and blocks.

const (
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://slsa.dev/provenance/v1"
	buildType     = "https://github.com/xstate-engine/xstate/run/v1"
	builderID     = "https://github.com/xstate-engine/xstate"
)

// valueDigest names the algorithm of digests of values. They are digests of the canonical form, which other tools
// cannot compute, so they must not pass for SHA-256.
const valueDigest = "xstate-value"

// Statement is an in-toto statement.
type Statement struct {
	Type          string     `json:"_type"`
	Subject       []Resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     Provenance `json:"predicate"`
}

// Resource is what in-toto calls a resource descriptor.
type Resource struct {
	Name        string            `json:"name,omitempty"`
	Digest      map[string]string `json:"digest,omitempty"`
	Annotations map[string]any    `json:"annotations,omitempty"`
}

// Provenance is the predicate.
type Provenance struct {
	BuildDefinition struct {
		BuildType            string         `json:"buildType"`
		ExternalParameters   map[string]any `json:"externalParameters"`
		InternalParameters   map[string]any `json:"internalParameters,omitempty"`
		ResolvedDependencies []Resource     `json:"resolvedDependencies,omitempty"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID      string            `json:"id"`
			Version map[string]string `json:"version,omitempty"`
		} `json:"builder"`
		Metadata struct {
			InvocationID string    `json:"invocationId,omitempty"`
			StartedOn    time.Time `json:"startedOn,omitzero"`
			FinishedOn   time.Time `json:"finishedOn,omitzero"`
		} `json:"metadata"`
		Byproducts []Resource `json:"byproducts,omitempty"`
	} `json:"runDetails"`
}

// Statement returns the evidence as a statement. It fails for code that did not run, because there is nothing to state.
func (e *Evidence) Statement(version string) (*Statement, error) {
	for _, n := range e.Nodes {
		if n.Status == "new" {
			return nil, &state.Error{
				Code:    query.CodeNotExecuted,
				Message: fmt.Sprintf("%s rests on %s, which was not run as it is", e.Of, n.Name),
				Hint:    "run it first: `xstate run FILE`",
			}
		}
	}
	st := &Statement{Type: statementType, PredicateType: predicateType, Subject: e.subjects()}
	if len(st.Subject) == 0 {
		return nil, &state.Error{
			Code:    query.CodeNotExecuted,
			Message: fmt.Sprintf("%s has no result to make a statement about", e.Of),
			Hint:    "run it first: `xstate run FILE`",
		}
	}
	p := &st.Predicate
	p.BuildDefinition.BuildType = buildType
	p.BuildDefinition.ExternalParameters = map[string]any{
		"session": e.Session,
		"of":      e.Of,
		"sort":    e.Sort,
		"step":    e.Step,
	}
	p.BuildDefinition.InternalParameters = map[string]any{"hash": e.Hash, "marks": e.Marks}
	if len(e.Foreign) > 0 { // the signer did not see them executed
		p.BuildDefinition.InternalParameters["foreign"] = e.Foreign
	}
	for _, patch := range e.Patches {
		p.BuildDefinition.ResolvedDependencies = append(
			p.BuildDefinition.ResolvedDependencies,
			Resource{
				Name:        artifact.BlockText + string(patch.Block),
				Digest:      sha256Of(patch.Version),
				Annotations: patchNotes(patch),
			},
		)
	}
	for _, x := range e.Inputs {
		p.BuildDefinition.ResolvedDependencies = append(
			p.BuildDefinition.ResolvedDependencies,
			resourceOf(x.Key, x.Digest),
		)
	}
	p.RunDetails.Builder.ID = builderID
	p.RunDetails.Builder.Version = map[string]string{"xstate": version}
	p.RunDetails.Metadata.InvocationID = fmt.Sprintf("%s@%d:%s", e.Session, e.Step, e.Hash)
	if len(e.Runs) > 0 {
		first, last := e.Runs[0], e.Runs[len(e.Runs)-1]
		p.RunDetails.Metadata.StartedOn, p.RunDetails.Metadata.FinishedOn = first.Time.UTC(), last.Time.UTC()
		if first.Run != nil {
			p.RunDetails.Metadata.StartedOn = first.Time.Add(-time.Duration(first.Run.Seconds * float64(time.Second))).
				UTC()
		}
	}
	p.RunDetails.Byproducts = append(
		p.RunDetails.Byproducts,
		Resource{Name: "status", Annotations: map[string]any{"status": e.Status, "reason": e.Reason}},
	)
	for _, c := range e.Checks {
		p.RunDetails.Byproducts = append(
			p.RunDetails.Byproducts,
			Resource{
				Name: "check:" + c.ID,
				Annotations: map[string]any{
					"kind":    c.Kind,
					"outcome": c.Outcome,
					"current": c.Current,
					"step":    c.Step,
					"at":      c.At.UTC(),
				},
			},
		)
	}
	return st, nil
}

// subjects are the subjects of the statement: the results and, if the caller named code, that code.
func (e *Evidence) subjects() []Resource {
	var all []Resource
	add := func(r Resource) {
		if len(r.Digest) > 0 && !slices.ContainsFunc(all, func(x Resource) bool { return x.Name == r.Name }) {
			all = append(all, r)
		}
	}
	for _, r := range e.Results {
		add(resourceOf(r.Key, r.Digest))
	}
	if e.Sort == "name" || e.Sort == "file" {
		return all
	}
	for i := range e.snap.Blocks {
		b := &e.snap.Blocks[i]
		if !slices.ContainsFunc(
			e.Roots,
			func(node string) bool { id, _, _ := strings.Cut(node, "#"); return id == string(b.ID) },
		) {
			continue
		}
		add(Resource{Name: artifact.BlockText + string(b.ID), Digest: sha256Of(b.Version)})
		text := ""
		for _, o := range b.Outputs {
			if o.Kind == "stdout" {
				text += o.Text
			}
		}
		if text != "" {
			add(Resource{Name: "stdout:" + string(b.ID), Digest: sha256Of(state.DigestOf([]byte(text)))})
		}
	}
	for _, x := range e.Inputs {
		if e.Sort == "artifact" && len(x.By) == 0 && x.Key.Space() == "file" {
			add(resourceOf(x.Key, x.Digest))
		}
	}
	return all
}

func sha256Of(d state.Digest) map[string]string { return map[string]string{"sha256": string(d)} }

// resourceOf names a file as people do, and everything else by its key.
func resourceOf(k depgraph.Key, d state.Digest) Resource {
	switch {
	case d == state.Absent:
		return Resource{Name: string(k)}
	case k.Space() == "file" && len(d) == 64:
		return Resource{Name: k.Name(), Digest: sha256Of(d)}
	case k.Space() == "file":
		return Resource{Name: k.Name(), Annotations: map[string]any{"is": string(d)}} // a folder, a link
	}
	return Resource{Name: string(k), Digest: map[string]string{valueDigest: string(d)}}
}

// NamesFile reports whether a resource is a file, by its name in the workspace.
func NamesFile(r Resource) bool {
	sort, _, prefixed := strings.Cut(r.Name, ":")
	return len(r.Digest["sha256"]) == 64 && !(prefixed && (sort == "block" || sort == "stdout"))
}

// patchNotes name the author of a version.
func patchNotes(p EvidencePatch) map[string]any {
	notes := map[string]any{"step": p.Step.Number, "at": p.Step.Time.UTC(), "hash": p.Step.Hash}
	o := p.Step.Origin
	for name, value := range map[string]string{"agent": o.Agent, "model": o.Model, "call_id": o.CallID,
		"action": o.Action, "reason": o.Reason, "author": string(o.Author)} {
		if value != "" {
			notes[name] = value
		}
	}
	return notes
}

// Bytes is the statement as JSON: equal statements are equal bytes.
func (st *Statement) Bytes() ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(st); err != nil {
		return nil, fmt.Errorf("encode a statement: %w", err)
	}
	return out.Bytes(), nil
}

// CodeStatement is the code of errors about a file that is not a statement of this kind.
const CodeStatement state.Code = "statement-malformed"

func readStatement(data []byte) (*Statement, error) {
	bad := func(format string, args ...any) error {
		return &state.Error{
			Code:    CodeStatement,
			Message: "this is no statement that xstate makes: " + fmt.Sprintf(format, args...),
			Hint:    "`xstate evidence OF --format in-toto` makes one",
		}
	}
	st := &Statement{}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // steps are shown as they are
	if err := dec.Decode(st); err != nil {
		return nil, bad("%v", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, bad("there is text after the statement")
	}
	switch {
	case st.Type != statementType:
		return nil, bad("its _type is %q, not %q", st.Type, statementType)
	case st.PredicateType != predicateType:
		return nil, bad("its predicateType is %q, not %q", st.PredicateType, predicateType)
	case len(st.Subject) == 0:
		return nil, bad("it has no subject")
	}
	for _, r := range st.Subject {
		if r.Name == "" || len(r.Digest) == 0 {
			return nil, bad("the subject %q has no name or no digest", r.Name)
		}
	}
	return st, nil
}

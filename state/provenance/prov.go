package provenance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/artifact"
	"github.com/xstate-engine/xstate/state/query"
)

// A program and what became of it, in the terms of PROV-DM (W3C Recommendation 2013), as PROV-JSON (W3C Member
// Submission 24 April 2013):
//
//	entity      a version of a block; a value or a file: a key with its digest; an environment's fact that was read
//	activity    a step that edited a block; a run; the execution of a node; a check
//	agent       the author of a step; a model, which acted on behalf of its user
//
//	wasGeneratedBy      version by edit, value by execution
//	used                execution of versions and values, check of versions
//	wasDerivedFrom      version from the version before it
//	wasInformedBy       execution by the edit of its block; run by its executions
//	wasAttributedTo     version to agent
//	wasAssociatedWith   edit or run with agent

// provNamespace is that of what PROV has no name for.
const provNamespace = "https://github.com/xstate-engine/xstate/ns#"

// provDoc is a PROV-JSON document. encoding/json writes maps by sorted keys, so that equal graphs are equal bytes.
type provDoc struct {
	Prefix     map[string]string  `json:"prefix"`
	Entity     map[string]provRow `json:"entity,omitempty"`
	Activity   map[string]provRow `json:"activity,omitempty"`
	Agent      map[string]provRow `json:"agent,omitempty"`
	Generated  map[string]provRow `json:"wasGeneratedBy,omitempty"`
	Used       map[string]provRow `json:"used,omitempty"`
	Informed   map[string]provRow `json:"wasInformedBy,omitempty"`
	Derived    map[string]provRow `json:"wasDerivedFrom,omitempty"`
	Attributed map[string]provRow `json:"wasAttributedTo,omitempty"`
	Associated map[string]provRow `json:"wasAssociatedWith,omitempty"`
	Behalf     map[string]provRow `json:"actedOnBehalfOf,omitempty"`
}

type provRow map[string]any

// provTyped is a value that JSON has no type for.
type provTyped struct {
	Value string `json:"$"`
	Type  string `json:"type"`
}

func provName(name string) provTyped { return provTyped{name, "prov:QUALIFIED_NAME"} }

func provTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func exportPROV(ctx context.Context, h *query.History, n state.StepNumber) ([]byte, error) {
	snap, err := h.At(ctx, n)
	if err != nil {
		return nil, err
	}
	return provOf(ctx, h, snap, func(string) bool { return true }, nil)
}

// PROV is the evidence in PROV-JSON: the executions that it holds with their code and values, and its checks.
func PROV(ctx context.Context, h *query.History, e *Evidence) ([]byte, error) {
	return provOf(ctx, h, e.snap, e.keeps, e.Checks)
}

// provOf describes the nodes that keep selects, the selected blocks without nodes, and their checks.
func provOf(
	ctx context.Context,
	h *query.History,
	snap *query.Snapshot,
	keep func(name string) bool,
	checks []artifact.CheckView,
) ([]byte, error) {
	p := &prov{
		doc: provDoc{
			Prefix: map[string]string{
				"prov": "http://www.w3.org/ns/prov#",
				"xsd":  "http://www.w3.org/2001/XMLSchema#",
				"xs":   provNamespace,
			},
			Entity:     map[string]provRow{},
			Activity:   map[string]provRow{},
			Agent:      map[string]provRow{},
			Generated:  map[string]provRow{},
			Used:       map[string]provRow{},
			Informed:   map[string]provRow{},
			Derived:    map[string]provRow{},
			Attributed: map[string]provRow{},
			Associated: map[string]provRow{},
			Behalf:     map[string]provRow{},
		},
	}
	for i := range snap.Blocks {
		b := &snap.Blocks[i]
		nodes := slices.DeleteFunc(slices.Clone(b.Nodes), func(n query.NodeView) bool { return !keep(n.Name) })
		if len(nodes) == 0 && (len(b.Nodes) > 0 || !keep(string(b.ID))) {
			continue
		}
		if err := provEdit(ctx, h, p, b); err != nil {
			return nil, err
		}
		if b.RanAt > 0 {
			step, err := h.Step(ctx, b.RanAt)
			if err != nil {
				return nil, err
			}
			p.run(step)
		}
		for j := range nodes {
			p.execution(b, &nodes[j])
		}
	}
	for i := range checks {
		p.check(&checks[i])
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(p.doc); err != nil {
		return nil, fmt.Errorf("encode provenance: %w", err)
	}
	return out.Bytes(), nil
}

type prov struct {
	doc provDoc
}

// provEdit adds the version of a block with the step that made it.
func provEdit(ctx context.Context, h *query.History, p *prov, b *query.BlockView) error {
	if b.Edited == 0 {
		return nil
	}
	step, err := h.Step(ctx, b.Edited)
	if err != nil {
		return err
	}
	version, edit := versionID(b.ID, b.Version), stepID(step.Number)
	p.doc.Entity[version] = provRow{
		"prov:type":  provName("xs:Version"),
		"prov:label": string(b.ID),
		"xs:digest":  string(b.Version),
		"prov:value": b.Source,
	}
	p.step(edit, "xs:Edit", step)
	p.doc.Generated[relation("gen", version, edit)] = provRow{
		"prov:entity":   version,
		"prov:activity": edit,
		"prov:time":     provTime(step.Time),
	}
	if step.Was != "" && step.Block == b.ID {
		before := versionID(b.ID, step.Was)
		source, err := h.Source(ctx, step.Was)
		if err != nil {
			return err
		}
		p.doc.Entity[before] = provRow{
			"prov:type":  provName("xs:Version"),
			"prov:label": string(b.ID),
			"xs:digest":  string(step.Was),
			"prov:value": source,
		}
		p.doc.Derived[relation("der", version, before)] = provRow{
			"prov:generatedEntity": version,
			"prov:usedEntity":      before,
			"prov:activity":        edit,
			"prov:type":            provName("prov:Revision"),
		}
	}
	if who := step.Origin.Agent; who != "" {
		p.doc.Attributed[relation("att", version, agentID(who))] = provRow{
			"prov:entity": version,
			"prov:agent":  agentID(who),
		}
	}
	return nil
}

// step adds an activity with its agents.
func (p *prov) step(id, kind string, step state.Step) {
	if p.doc.Activity[id] != nil {
		return
	}
	row := provRow{
		"prov:type":      provName(kind),
		"prov:label":     fmt.Sprintf("step %d: %s", step.Number, step.Kind),
		"prov:startTime": provTime(step.Time),
		"prov:endTime":   provTime(step.Time),
		"xs:step":        int(step.Number),
		"xs:hash":        string(step.Hash),
	}
	o := &step.Origin
	for name, value := range map[string]string{"xs:call": o.CallID, "xs:action": o.Action, "xs:reason": o.Reason,
		"xs:author": string(o.Author),
		"xs:client": o.Client, "xs:prompt": o.Prompt, "xs:answers": o.Answers.String(),
		"xs:traceparent": o.TraceParent} {
		if value != "" {
			row[name] = value
		}
	}
	if run := step.Run; run != nil {
		row["prov:startTime"] = provTime(step.Time.Add(-time.Duration(run.Seconds * float64(time.Second))))
		row["xs:seconds"], row["xs:interpreter"] = run.Seconds, run.Interpreter
	}
	p.doc.Activity[id] = row
	who, model := step.Origin.Agent, step.Origin.Model
	if who != "" {
		p.doc.Agent[agentID(who)] = provRow{"prov:type": provName("prov:SoftwareAgent"), "prov:label": who}
		p.doc.Associated[relation("ass", id, agentID(who))] = provRow{"prov:activity": id, "prov:agent": agentID(who)}
	}
	if model == "" {
		return
	}
	p.doc.Agent[modelID(model)] = provRow{"prov:type": provName("prov:SoftwareAgent"), "prov:label": model}
	p.doc.Associated[relation("ass", id, modelID(model))] = provRow{"prov:activity": id, "prov:agent": modelID(model)}
	if who != "" {
		p.doc.Behalf[relation("act", modelID(model), agentID(who))] = provRow{
			"prov:delegate":    modelID(model),
			"prov:responsible": agentID(who),
		}
	}
}

func (p *prov) run(step state.Step) { p.step(stepID(step.Number), "xs:Run", step) }

// execution adds what a node read and wrote.
func (p *prov) execution(b *query.BlockView, n *query.NodeView) {
	if n.Trace == "" || n.Lost {
		return
	}
	id, version := "xs:execution-"+string(n.Trace), versionID(b.ID, b.Version)
	p.doc.Activity[id] = provRow{
		"prov:type":  provName("xs:Execution"),
		"prov:label": n.Name,
		"xs:code":    string(n.Code),
		"xs:seconds": n.Seconds,
		"xs:status":  n.Status,
	}
	p.doc.Used[relation("use", id, version)] = provRow{
		"prov:activity": id,
		"prov:entity":   version,
		"prov:role":     provName("xs:code"),
	}
	p.doc.Informed[relation("inf", id, stepID(b.Edited))] = provRow{
		"prov:informed":  id,
		"prov:informant": stepID(b.Edited),
	}
	if b.RanAt > 0 {
		p.doc.Informed[relation("inf", stepID(b.RanAt), id)] = provRow{
			"prov:informed":  stepID(b.RanAt),
			"prov:informant": id,
		}
	}
	for _, r := range n.Reads {
		if r.Digest != "" {
			value := p.value(r)
			p.doc.Used[relation("use", id, value)] = provRow{"prov:activity": id, "prov:entity": value}
		}
	}
	for _, w := range n.Writes {
		if w.Digest != "" {
			value := p.value(w)
			p.doc.Generated[relation("gen", value, id)] = provRow{"prov:entity": value, "prov:activity": id}
		}
	}
}

// check adds a check with the versions that it executed.
func (p *prov) check(c *artifact.CheckView) {
	id := "xs:check-" + string(state.DigestOf(fmt.Appendf(nil, "%q %d", c.ID, c.Step)))
	p.doc.Activity[id] = provRow{
		"prov:type":    provName("xs:Check"),
		"prov:label":   c.ID,
		"xs:kind":      string(c.Kind),
		"xs:outcome":   string(c.Outcome),
		"prov:endTime": provTime(c.At),
		"xs:step":      int(c.Step),
	}
	for _, x := range c.Exercised {
		version := versionID(x.Block, x.Version)
		if p.doc.Entity[version] != nil {
			p.doc.Used[relation("use", id, version)] = provRow{
				"prov:activity": id,
				"prov:entity":   version,
				"prov:role":     provName("xs:code"),
			}
		}
	}
}

// value adds a key with its digest. Two executions that write or read equal values refer to the same entity: that is
// how the graph shows early cutoff.
func (p *prov) value(a query.AccessView) string {
	id := "xs:value-" + string(state.DigestOf(fmt.Appendf(nil, "%q %q", a.Key, a.Digest)))
	row := p.doc.Entity[id]
	if row == nil {
		row = provRow{"prov:type": provName("xs:Value"), "prov:label": string(a.Key), "xs:digest": string(a.Digest)}
		p.doc.Entity[id] = row
	}
	if v := a.Value; v != nil {
		row["xs:bytes"] = v.Bytes
		for name, text := range map[string]string{"xs:type": v.Type, "xs:repr": v.Repr, "xs:shape": v.Shape} {
			if text != "" {
				row[name] = text
			}
		}
	}
	return id
}

// Names consist of digests and numbers, because qualified names allow few characters.
func stepID(n state.StepNumber) string { return fmt.Sprintf("xs:step-%d", n) }

func versionID(block state.BlockID, version state.Digest) string {
	return "xs:version-" + string(state.DigestOf(fmt.Appendf(nil, "%q %s", block, version)))
}

func agentID(name string) string { return "xs:agent-" + string(state.DigestOf([]byte(name))) }
func modelID(name string) string { return "xs:model-" + string(state.DigestOf([]byte(name))) }

// relation names a relation by its ends, so that the document holds it once.
func relation(kind, a, b string) string {
	return "_:" + kind + "-" + string(state.DigestOf(fmt.Appendf(nil, "%s %s", a, b)))[:32]
}

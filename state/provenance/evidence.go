package provenance

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/artifact"
	"github.com/xstate-engine/xstate/state/query"
)

// Evidence is all that a result depends on, back to the first files and the environment: code with its authors,
// executions, inputs by content, and the checks that exercised the code. It prints as JSON and is immutable.
type Evidence struct {
	Of       string               `json:"of"`
	Sort     string               `json:"sort"` // artifact, block, name or file
	Session  string               `json:"session"`
	Step     state.StepNumber     `json:"step"`
	Hash     state.Digest         `json:"hash"` // that step's: it vouches for all steps before
	Status   artifact.Status      `json:"status"`
	Reason   string               `json:"reason"`
	Roots    []string             `json:"roots"`    // the nodes that it begins with
	Results  []query.AccessView   `json:"results"`  // the variables and files that it is, or wrote
	Nodes    []EvidenceNode       `json:"nodes"`    // executions, in program order
	Inputs   []EvidenceInput      `json:"inputs"`   // what no node made: files, environment, packages, the interpreter
	Patches  []EvidencePatch      `json:"patches"`  // the edits that wrote the code, oldest first
	Runs     []query.Entry        `json:"runs"`     // in which the nodes were executed
	Agents   []string             `json:"agents"`   // the authors of edits and runs, and their models
	Checks   []artifact.CheckView `json:"checks"`   // that exercised the code, whatever came of them
	Coverage []artifact.Coverage  `json:"coverage"` // each block's, by checks that passed
	// Why the recorded result is one of several possible ones: clock, network, …
	Marks []string `json:"marks"`
	// Calls are those of tools and models that the nodes depend on, with who decided about them.
	Calls []query.CallSketch `json:"calls,omitempty"`
	// Foreign are the nodes whose results came with an archive that the user does not trust: they were not executed
	// here.
	Foreign []string `json:"foreign,omitempty"`

	snap *query.Snapshot
	kept map[string]bool // nodes of the slice
}

// EvidenceNode is an execution.
type EvidenceNode struct {
	Block   state.BlockID    `json:"block"`
	Version state.Digest     `json:"version"`
	RanAt   state.StepNumber `json:"ran_at,omitempty"` // the run that it is of
	Rests   []query.Via      `json:"rests_on"`         // the nodes that it depends on, and through what
	query.NodeView
}

// EvidenceInput is something that the program read and that no node of it made.
type EvidenceInput struct {
	Key    depgraph.Key `json:"key"`
	Digest state.Digest `json:"digest"`         // for a file: SHA-256 of its content
	Text   string       `json:"text,omitempty"` // for an interpreter: its name and version
	By     []string     `json:"by"`             // the nodes that read it
}

// EvidencePatch is the edit that gave a block its version.
type EvidencePatch struct {
	Block   state.BlockID `json:"block"`
	Version state.Digest  `json:"version"`
	Step    query.Entry   `json:"edit"`
}

// EvidenceOf returns the dependencies of an artifact, a block (or one of its nodes), a name or a file after step n. It
// executes nothing.
func EvidenceOf(ctx context.Context, h *query.History, n state.StepNumber, of string) (*Evidence, error) {
	judge, err := artifact.NewAssessor(ctx, h, n)
	if err != nil {
		return nil, err
	}
	j := &collector{judge}
	e := &Evidence{
		Of:       of,
		Session:  h.Name(),
		Step:     n,
		Hash:     j.Snapshot.Step.Hash,
		Roots:    []string{},
		Results:  []query.AccessView{},
		Nodes:    []EvidenceNode{},
		Inputs:   []EvidenceInput{},
		Patches:  []EvidencePatch{},
		Runs:     []query.Entry{},
		Agents:   []string{},
		Checks:   []artifact.CheckView{},
		Coverage: []artifact.Coverage{},
		Marks:    []string{},
		snap:     j.Snapshot,
		kept:     map[string]bool{},
	}
	if err := j.begin(ctx, e); err != nil {
		return nil, err
	}
	j.slice(e)
	for _, collect := range []func(context.Context, *Evidence) error{j.collectNodes, j.collectSteps} {
		if err := collect(ctx, e); err != nil {
			return nil, err
		}
	}
	for _, node := range e.Nodes {
		if node.Lost && e.Status == artifact.Fresh {
			e.Status = artifact.Unverified
			e.Reason = fmt.Sprintf("the record of block %s, on which it rests, is gone", node.Block)
		}
	}
	j.collectChecks(e)
	return e, nil
}

// collector collects the evidence of one result.
type collector struct{ *artifact.Assessor }

// begin finds the roots of the slice, and the status of the result.
func (j *collector) begin(ctx context.Context, e *Evidence) error {
	sort, name, given := strings.Cut(e.Of, ":")
	if given = given && slices.Contains([]string{"artifact", "block", "file"}, sort); !given {
		sort, name = "", e.Of
	}
	if a := j.Declared.Artifact(name); a != nil && (sort == "" || sort == "artifact") {
		return j.beginArtifact(ctx, e, a)
	}
	if sort == "artifact" {
		return artifact.NoArtifact(j.History, j.Declared, name)
	}
	if sort == "file" {
		name = e.Of
	} else if e.Of = name; sort == "" && !j.known(name) {
		known := append(query.IDs(query.SnapshotBlocks(j.Snapshot)), artifact.Names(j.Declared)...)
		return &state.Error{Code: query.CodeNoBlock,
			Message: fmt.Sprintf("%q is no artifact, block, name or file of session %q after step %d", name,
				j.History.Name(), e.Step),
			Hint: query.DidYouMean(name, known) + "its blocks are: " +
				query.Shorten(query.IDs(query.SnapshotBlocks(j.Snapshot)))}
	}
	if key := depgraph.Key("file:" + filepath.ToSlash(filepath.Clean(strings.TrimPrefix(name, "file:")))); j.Writes(
		key,
	) &&
		j.noBlock(name) {
		e.Sort, e.Of = "file", key.Name()
		e.Roots = []string{j.LastWriter(key)}
	} else if err := j.beginNodes(e, name); err != nil {
		return err
	}
	e.Status, e.Reason = artifact.Fresh, "the results that it rests on hold"
	v := &artifact.View{Status: artifact.Fresh}
	for _, root := range e.Roots {
		if err := j.Members(ctx, &state.Artifact{Blocks: []state.BlockID{j.Writer(root).ID}}, v); err != nil {
			return err
		}
	}
	if v.Status != artifact.Fresh {
		e.Status, e.Reason = v.Status, v.Reason
	}
	return nil
}

func (j *collector) noBlock(name string) bool {
	_, err := j.Snapshot.Block(state.BlockID(name))
	return err != nil
}

func (j *collector) known(name string) bool {
	_, _, err := j.Dependencies.Node(name)
	return err == nil || j.Writes(depgraph.Key("file:"+filepath.ToSlash(filepath.Clean(name))))
}

// beginNodes begins with a block, a node or a name.
func (j *collector) beginNodes(e *Evidence, name string) error {
	ids, key, err := j.Dependencies.Node(name)
	if err != nil {
		return err
	}
	e.Sort = "block"
	switch {
	case key.Space() == "var":
		e.Sort, e.Roots = "name", []string{j.Dependencies.NodeName(ids[len(ids)-1])} // its last binding
		return nil
	case key != "" && slices.ContainsFunc(j.Snapshot.Blocks, func(b query.BlockView) bool { return b.Lost() }):
		return &state.Error{
			Code:    query.CodeNoBlock,
			Message: fmt.Sprintf("it is not known what makes %s: records of blocks are gone", key.Name()),
			Hint:    "`xstate doctor --check` tells how many; the next run makes them again",
		}
	case key != "":
		return &state.Error{
			Code:    query.CodeNoBlock,
			Message: fmt.Sprintf("no block makes %s; it is an input", key.Name()),
			Hint:    "`xstate query --affected-by " + key.Name() + "` tells what rests on it",
		}
	}
	for _, id := range ids {
		if j.Dependencies.Nodes[id] != nil {
			e.Roots = append(e.Roots, j.Dependencies.NodeName(id))
		}
	}
	if len(e.Roots) == 0 {
		return &state.Error{
			Code:    query.CodeNoBlock,
			Message: fmt.Sprintf("block %s holds no statement that could be executed", name),
			Hint:    "`xstate query " + name + "` shows it",
		}
	}
	return nil
}

// beginArtifact takes as roots all that an artifact and its parts contain: blocks, the writers of its files, and the
// definitions that its texts mention.
func (j *collector) beginArtifact(ctx context.Context, e *Evidence, a *state.Artifact) error {
	v, err := j.View(ctx, a)
	if err != nil {
		return err
	}
	e.Of, e.Sort, e.Status, e.Reason = a.Name, "artifact", v.Status, v.Reason
	for name := range j.Within(a) {
		part, err := j.View(ctx, j.Declared.Artifact(name))
		if err != nil {
			return err
		}
		for _, id := range part.Blocks {
			e.Roots = append(e.Roots, j.NodesOf(id)...)
		}
		for _, f := range part.Files {
			if by := j.LastWriter(depgraph.Key("file:" + f.Path)); by != "" {
				e.Roots = append(e.Roots, by)
				continue
			}
			x := EvidenceInput{Key: depgraph.Key("file:" + f.Path), Digest: f.Digest}
			if now := j.Content(f.Path); j.Latest && part.Kind != state.ArtifactData && now != state.Absent {
				x.Digest = now // for data, the declared content counts
			}
			e.input(x, "")
		}
		for _, r := range part.References {
			if !artifact.InFile(r.Where) {
				e.Roots = append(e.Roots, j.definers(r)...)
			}
		}
	}
	slices.Sort(e.Roots)
	e.Roots = slices.Compact(e.Roots)
	return nil
}

// definers are the nodes that define what a text mentions.
func (j *collector) definers(r artifact.ReferenceView) []string {
	first, _, _ := strings.Cut(r.Name, ".")
	ids, key, err := j.Dependencies.Node(first)
	if err != nil || key.Space() != "var" {
		return nil
	}
	return []string{j.Dependencies.NodeName(ids[len(ids)-1])}
}

// slice finds the nodes that the roots depend on. A node that ran contributes its observed reads; a node that did not,
// what its text says. So an edit hides nothing.
func (j *collector) slice(e *Evidence) {
	var visit func(node string)
	visit = func(node string) {
		if e.kept[node] || j.Nodes[node] == nil {
			return
		}
		e.kept[node] = true
		for _, r := range j.Links()[node] {
			visit(r.From)
		}
	}
	for _, root := range e.Roots {
		visit(root)
	}
}

// collectNodes describes the executions and what they read from outside of the program.
func (j *collector) collectNodes(ctx context.Context, e *Evidence) error {
	for i := range j.Snapshot.Blocks {
		b := &j.Snapshot.Blocks[i]
		for _, name := range j.NodesOf(b.ID) {
			if !e.kept[name] {
				continue
			}
			node := EvidenceNode{
				Block:   b.ID,
				Version: b.Version,
				RanAt:   b.RanAt,
				NodeView: query.NodeView{
					Name:   name,
					Status: "new",
					Reads:  []query.AccessView{},
					Writes: []query.AccessView{},
				},
			}
			for _, n := range b.Nodes {
				if n.Name == name {
					node.NodeView = n
					if n.Trust == state.TierForeign {
						e.Foreign = append(e.Foreign, name)
					}
				}
			}
			node.Rests = []query.Via{}
			for _, r := range j.Links()[name] {
				node.Rests = append(node.Rests, r.Via)
			}
			slices.SortFunc(
				node.Rests,
				func(a, b query.Via) int { return strings.Compare(a.From+" "+string(a.Key), b.From+" "+string(b.Key)) },
			)
			e.Nodes = append(e.Nodes, node)
			for _, mark := range b.Marks {
				e.Marks = query.AppendNew(e.Marks, mark)
			}
			for _, r := range node.Reads {
				if err := j.call(ctx, e, r); err != nil {
					return err
				}
				if r.By == "" && r.Digest != state.Absent && r.Key.Space() != "var" {
					e.input(EvidenceInput{Key: r.Key, Digest: r.Digest}, name)
				}
			}
			for _, w := range node.Writes {
				if space := w.Key.Space(); slices.Contains(e.Roots, name) && (space == "var" || space == "file") &&
					w.Digest != state.Absent {
					w.By = name
					if e.Sort == "block" || e.Sort == "artifact" || w.Key == depgraph.Key("file:"+e.Of) ||
						w.Key == depgraph.Var(e.Of) {
						e.result(w)
					}
				}
			}
		}
	}
	slices.SortFunc(e.Inputs, func(a, b EvidenceInput) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return nil
}

// result adds what a node wrote, in the place of what an earlier one did.
func (e *Evidence) result(w query.AccessView) {
	e.Results = append(slices.DeleteFunc(e.Results, func(r query.AccessView) bool { return r.Key == w.Key }), w)
}

func (e *Evidence) input(x EvidenceInput, by string) {
	at := slices.IndexFunc(e.Inputs, func(y EvidenceInput) bool { return y.Key == x.Key && y.Digest == x.Digest })
	if at < 0 {
		x.By = []string{}
		at, e.Inputs = len(e.Inputs), append(e.Inputs, x)
	}
	if by != "" {
		e.Inputs[at].By = query.AppendNew(e.Inputs[at].By, by)
	}
}

// call adds the call that a node read.
func (j *collector) call(ctx context.Context, e *Evidence, r query.AccessView) error {
	c, err := j.History.Call(ctx, r.Key)
	if err != nil || c == nil || slices.ContainsFunc(e.Calls, func(o query.CallSketch) bool { return o.ID == c.ID }) {
		return err
	}
	e.Calls = append(e.Calls, query.SketchOfCall(c.AsOf(r.Digest, e.Step+1)))
	return nil
}

// collectSteps describes the edits and runs, and their authors.
func (j *collector) collectSteps(ctx context.Context, e *Evidence) error {
	runs := map[state.StepNumber]bool{}
	for i := range j.Snapshot.Blocks {
		b := &j.Snapshot.Blocks[i]
		if !slices.ContainsFunc(e.Nodes, func(n EvidenceNode) bool { return n.Block == b.ID }) {
			continue
		}
		edit, err := j.entry(ctx, b.Edited)
		if err != nil {
			return err
		}
		e.Patches = append(e.Patches, EvidencePatch{b.ID, b.Version, edit})
		if b.RanAt > 0 {
			runs[b.RanAt] = true
		}
	}
	slices.SortStableFunc(e.Patches, func(a, b EvidencePatch) int { return int(a.Step.Number) - int(b.Step.Number) })
	for _, n := range slices.Sorted(maps.Keys(runs)) {
		run, err := j.entry(ctx, n)
		if err != nil {
			return err
		}
		e.Runs = append(e.Runs, run)
		if run.Run != nil {
			e.input(
				EvidenceInput{Key: "interpreter:" + depgraph.Key(run.Run.Interpreter), Text: run.Run.Interpreter},
				"",
			)
		}
	}
	for _, p := range e.Patches {
		e.agent(p.Step.Origin)
	}
	for _, r := range e.Runs {
		e.agent(r.Origin)
	}
	return nil
}

func (j *collector) entry(ctx context.Context, n state.StepNumber) (query.Entry, error) {
	step, err := j.History.Step(ctx, n)
	if err != nil {
		return query.Entry{}, err
	}
	return j.History.EntryOf(ctx, step)
}

func (e *Evidence) agent(o state.Origin) {
	who := o.Agent
	if o.Model != "" {
		who = strings.TrimSpace(who + " (" + o.Model + ")")
	}
	if who != "" {
		e.Agents = query.AppendNew(e.Agents, who)
	}
}

// collectChecks lists the checks that exercised the code, and which parts they exercised. A check proves something only
// about the version that it executed.
func (j *collector) collectChecks(e *Evidence) {
	blocks := map[state.BlockID]bool{}
	for _, n := range e.Nodes {
		blocks[n.Block] = true
	}
	for _, c := range j.Checks {
		c.Exercised = slices.DeleteFunc(
			slices.Clone(c.Exercised),
			func(x query.Exercised) bool { return !blocks[x.Block] && !e.reads(x.File) },
		)
		if len(c.Exercised) > 0 {
			e.Checks = append(e.Checks, c)
		}
	}
	for i := range j.Snapshot.Blocks {
		if b := &j.Snapshot.Blocks[i]; blocks[b.ID] {
			e.Coverage = append(e.Coverage, j.Coverage(b))
		}
	}
	for _, x := range e.Inputs {
		if x.Key.Space() != "file" || j.Content(x.Key.Name()) != x.Digest {
			continue // no file of the workspace, or changed since
		}
		if c, ok := j.FileCoverage(x.Key.Name()); ok {
			e.Coverage = append(e.Coverage, c)
		}
	}
}

// reads reports whether a file of the workspace is among the inputs: its content, or as a module.
func (e *Evidence) reads(file string) bool {
	return file != "" && slices.ContainsFunc(e.Inputs, func(x EvidenceInput) bool {
		module := strings.TrimSuffix(strings.TrimSuffix(file, ".py"), "/__init__")
		return x.Key == depgraph.Key("file:"+file) ||
			x.Key == depgraph.Key("module:"+strings.ReplaceAll(module, "/", "."))
	})
}

// keeps reports whether a node is part of the evidence, or a block that was not run.
func (e *Evidence) keeps(name string) bool {
	return e.kept[name] ||
		slices.ContainsFunc(e.Nodes, func(n EvidenceNode) bool { return n.Status == "new" && string(n.Block) == name })
}

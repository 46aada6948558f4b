package xstate

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// Evidence is what a result rests on, back to the files and the environment that it began with: code with who wrote it, executions,
// inputs by content, and the checks that exercised the code. It prints as JSON and does not change.
type Evidence struct {
	Of       string          `json:"of"`
	Sort     string          `json:"sort"` // artifact, block, name or file
	Session  string          `json:"session"`
	Step     StepNumber      `json:"step"`
	Hash     Digest          `json:"hash"` // of that step: it vouches for all steps before
	Status   ArtifactStatus  `json:"status"`
	Reason   string          `json:"reason"`
	Roots    []string        `json:"roots"`    // the nodes that it begins with
	Results  []AccessView    `json:"results"`  // the variables and files that it is, or wrote
	Nodes    []EvidenceNode  `json:"nodes"`    // executions, in program order
	Inputs   []EvidenceInput `json:"inputs"`   // what no node made: files, environment, packages, the interpreter
	Patches  []EvidencePatch `json:"patches"`  // the edits that the code is by, oldest first
	Runs     []Entry         `json:"runs"`     // in which the nodes were executed
	Agents   []string        `json:"agents"`   // who made edits and runs, and their models
	Checks   []CheckView     `json:"checks"`   // that exercised the code, whatever came of them
	Coverage []Coverage      `json:"coverage"` // of each block, by checks that passed
	Marks    []string        `json:"marks"`    // why what was recorded is one of several possible results: clock, network, …

	snap *Snapshot
	kept map[string]bool // nodes of the slice
}

// EvidenceNode is an execution.
type EvidenceNode struct {
	Block   BlockID    `json:"block"`
	Version Digest     `json:"version"`
	RanAt   StepNumber `json:"ran_at,omitempty"` // the run that it is of
	Rests   []Via      `json:"rests_on"`         // the nodes that it rests on, and through what
	NodeView
}

// EvidenceInput is something that was read and that no node of the program made.
type EvidenceInput struct {
	Key    Key      `json:"key"`
	Digest Digest   `json:"digest"`         // of a file SHA-256 of its content
	Text   string   `json:"text,omitempty"` // of an interpreter its name and version
	By     []string `json:"by"`             // the nodes that read it
}

// EvidencePatch is the edit that gave a block its version.
type EvidencePatch struct {
	Block   BlockID `json:"block"`
	Version Digest  `json:"version"`
	Step    Entry   `json:"edit"`
}

// Evidence returns what an artifact, a block (or node of it), a name or a file rests on after step n. Nothing is executed.
func (s *Session) Evidence(ctx context.Context, n StepNumber, of string) (*Evidence, error) {
	judge, err := s.judgeAt(ctx, n)
	if err != nil {
		return nil, err
	}
	j := &collector{judge}
	e := &Evidence{Of: of, Session: s.name, Step: n, Hash: j.snap.Step.Hash, Roots: []string{}, Results: []AccessView{}, Nodes: []EvidenceNode{}, Inputs: []EvidenceInput{}, Patches: []EvidencePatch{}, Runs: []Entry{},
		Agents: []string{}, Checks: []CheckView{}, Coverage: []Coverage{}, Marks: []string{}, snap: j.snap, kept: map[string]bool{}}
	if err := j.begin(ctx, e); err != nil {
		return nil, err
	}
	j.slice(e)
	for _, collect := range []func(context.Context, *Evidence) error{j.collectNodes, j.collectSteps} {
		if err := collect(ctx, e); err != nil {
			return nil, err
		}
	}
	j.collectChecks(e)
	return e, nil
}

// collector makes the evidence of one result.
type collector struct{ *judge }

// begin finds where the slice begins, and what the result is worth.
func (j *collector) begin(ctx context.Context, e *Evidence) error {
	sort, name, given := strings.Cut(e.Of, ":")
	if given = given && slices.Contains([]string{"artifact", "block", "file"}, sort); !given {
		sort, name = "", e.Of
	}
	if a := j.declared.Artifact(name); a != nil && (sort == "" || sort == "artifact") {
		return j.beginArtifact(ctx, e, a)
	}
	if sort == "artifact" {
		return j.session.noArtifact(j.declared, name)
	}
	if sort == "file" {
		name = e.Of
	} else if e.Of = name; sort == "" && !j.known(name) {
		known := append(ids(patchBlocks(j.snap)), artifactNames(j.declared)...)
		return &Error{Code: CodeNoBlock, Message: fmt.Sprintf("%q is no artifact, block, name or file of session %q after step %d", name, j.session.name, e.Step),
			Hint: meant(name, known) + "its blocks are: " + shorten(ids(patchBlocks(j.snap)))}
	}
	if key := Key("file:" + filepath.ToSlash(filepath.Clean(strings.TrimPrefix(name, "file:")))); j.writes(key) && j.noBlock(name) {
		e.Sort, e.Of = "file", key.Name()
		e.Roots = []string{j.lastWriter(key)}
	} else if err := j.beginNodes(e, name); err != nil {
		return err
	}
	e.Status, e.Reason = ArtifactFresh, "the results that it rests on hold"
	v := &ArtifactView{Status: ArtifactFresh}
	for _, root := range e.Roots {
		if err := j.members(ctx, &state.Artifact{Blocks: []BlockID{j.writer(root).ID}}, v); err != nil {
			return err
		}
	}
	if v.Status != ArtifactFresh {
		e.Status, e.Reason = v.Status, v.Reason
	}
	return nil
}

func (j *collector) noBlock(name string) bool {
	_, err := j.snap.Block(BlockID(name))
	return err != nil
}

func (j *collector) known(name string) bool {
	_, _, err := j.deps.Node(name)
	return err == nil || j.writes(Key("file:"+filepath.ToSlash(filepath.Clean(name))))
}

// beginNodes begins with a block, a node or a name.
func (j *collector) beginNodes(e *Evidence, name string) error {
	ids, key, err := j.deps.Node(name)
	if err != nil {
		return err
	}
	e.Sort = "block"
	switch {
	case key.Space() == "var":
		e.Sort, e.Roots = "name", []string{j.deps.NodeName(ids[len(ids)-1])} // who binds it last
		return nil
	case key != "":
		return &Error{Code: CodeNoBlock, Message: fmt.Sprintf("no block makes %s; it is an input", key.Name()), Hint: "xstate query --affected-by " + key.Name() + " tells what rests on it"}
	}
	for _, id := range ids {
		if j.deps.nodes[id] != nil {
			e.Roots = append(e.Roots, j.deps.NodeName(id))
		}
	}
	if len(e.Roots) == 0 {
		return &Error{Code: CodeNoBlock, Message: fmt.Sprintf("block %s holds no statement that could be executed", name), Hint: "xstate show " + name + " shows it"}
	}
	return nil
}

// beginArtifact begins with all that an artifact and its parts hold: blocks, what made its files, what its texts speak of.
func (j *collector) beginArtifact(ctx context.Context, e *Evidence, a *state.Artifact) error {
	v, err := j.view(ctx, a)
	if err != nil {
		return err
	}
	e.Of, e.Sort, e.Status, e.Reason = a.Name, "artifact", v.Status, v.Reason
	for name := range j.within(a) {
		part, err := j.view(ctx, j.declared.Artifact(name))
		if err != nil {
			return err
		}
		for _, id := range part.Blocks {
			e.Roots = append(e.Roots, j.nodesOf(id)...)
		}
		for _, f := range part.Files {
			if by := j.lastWriter(Key("file:" + f.Path)); by != "" {
				e.Roots = append(e.Roots, by)
				continue
			}
			x := EvidenceInput{Key: Key("file:" + f.Path), Digest: f.Digest}
			if now := j.content(f.Path); j.now && part.Kind != state.ArtifactData && now != state.Absent {
				x.Digest = now // of data, what it was declared to hold counts
			}
			e.input(x, "")
		}
		for _, r := range part.References {
			if !inFile(r.Where) {
				e.Roots = append(e.Roots, j.definers(r)...)
			}
		}
	}
	slices.Sort(e.Roots)
	e.Roots = slices.Compact(e.Roots)
	return nil
}

// definers are the nodes that define what a text speaks of.
func (j *collector) definers(r ReferenceView) []string {
	first, _, _ := strings.Cut(r.Name, ".")
	ids, key, err := j.deps.Node(first)
	if err != nil || key.Space() != "var" {
		return nil
	}
	return []string{j.deps.NodeName(ids[len(ids)-1])}
}

// slice finds the nodes that the roots rest on.
func (j *collector) slice(e *Evidence) {
	var visit func(node string)
	visit = func(node string) {
		if e.kept[node] || j.places[node] == nil {
			return
		}
		e.kept[node] = true
		for _, r := range j.links()[node] {
			visit(r.From)
		}
	}
	for _, root := range e.Roots {
		visit(root)
	}
}

// collectNodes describes the executions and what they read from outside.
func (j *collector) collectNodes(ctx context.Context, e *Evidence) error {
	for i := range j.snap.Blocks {
		b := &j.snap.Blocks[i]
		for _, name := range j.nodesOf(b.ID) {
			if !e.kept[name] {
				continue
			}
			node := EvidenceNode{Block: b.ID, Version: b.Version, RanAt: b.RanAt, NodeView: NodeView{Name: name, Status: "new", Reads: []AccessView{}, Writes: []AccessView{}}}
			for _, n := range b.Nodes {
				if n.Name == name {
					node.NodeView = n
				}
			}
			node.Rests = []Via{}
			for _, r := range j.links()[name] {
				node.Rests = append(node.Rests, r.Via)
			}
			slices.SortFunc(node.Rests, func(a, b Via) int { return strings.Compare(a.From+" "+string(a.Key), b.From+" "+string(b.Key)) })
			e.Nodes = append(e.Nodes, node)
			for _, mark := range b.Marks {
				e.Marks = appendNew(e.Marks, mark)
			}
			for _, r := range node.Reads {
				if r.By == "" && r.Digest != state.Absent && r.Key.Space() != "var" {
					e.input(EvidenceInput{Key: r.Key, Digest: r.Digest}, name)
				}
			}
			for _, w := range node.Writes {
				if space := w.Key.Space(); slices.Contains(e.Roots, name) && (space == "var" || space == "file") && w.Digest != state.Absent {
					w.By = name
					if e.Sort == "block" || e.Sort == "artifact" || w.Key == Key("file:"+e.Of) || w.Key == depgraph.Var(e.Of) {
						e.Results = append(e.Results, w)
					}
				}
			}
		}
	}
	slices.SortFunc(e.Inputs, func(a, b EvidenceInput) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return nil
}

func (e *Evidence) input(x EvidenceInput, by string) {
	at := slices.IndexFunc(e.Inputs, func(y EvidenceInput) bool { return y.Key == x.Key && y.Digest == x.Digest })
	if at < 0 {
		x.By = []string{}
		at, e.Inputs = len(e.Inputs), append(e.Inputs, x)
	}
	if by != "" {
		e.Inputs[at].By = appendNew(e.Inputs[at].By, by)
	}
}

// collectSteps describes the edits and runs, and who made them.
func (j *collector) collectSteps(ctx context.Context, e *Evidence) error {
	runs := map[StepNumber]bool{}
	for i := range j.snap.Blocks {
		b := &j.snap.Blocks[i]
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
			e.input(EvidenceInput{Key: "interpreter:" + Key(run.Run.Interpreter), Text: run.Run.Interpreter}, "")
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

func (j *collector) entry(ctx context.Context, n StepNumber) (Entry, error) {
	step, err := j.session.step(ctx, n)
	if err != nil {
		return Entry{}, err
	}
	return j.session.entry(ctx, step)
}

func (e *Evidence) agent(o Origin) {
	who := o.Agent
	if o.Model != "" {
		who = strings.TrimSpace(who + " (" + o.Model + ")")
	}
	if who != "" {
		e.Agents = appendNew(e.Agents, who)
	}
}

// collectChecks lists the checks that exercised the code, and what of it they did.
func (j *collector) collectChecks(e *Evidence) {
	blocks := map[BlockID]bool{}
	for _, n := range e.Nodes {
		blocks[n.Block] = true
	}
	for _, c := range j.checks {
		c.Exercised = slices.DeleteFunc(slices.Clone(c.Exercised), func(x Exercised) bool { return !blocks[x.Block] && !e.reads(x.File) })
		if len(c.Exercised) > 0 {
			e.Checks = append(e.Checks, c)
		}
	}
	for i := range j.snap.Blocks {
		if b := &j.snap.Blocks[i]; blocks[b.ID] {
			e.Coverage = append(e.Coverage, j.coverage(b))
		}
	}
	for _, x := range e.Inputs {
		if x.Key.Space() != "file" || j.content(x.Key.Name()) != x.Digest {
			continue // no file of the workspace, or another by now
		}
		if c, ok := j.fileCoverage(x.Key.Name()); ok {
			e.Coverage = append(e.Coverage, c)
		}
	}
}

// reads reports whether a file of the workspace is among the inputs: its content, or as a module.
func (e *Evidence) reads(file string) bool {
	return file != "" && slices.ContainsFunc(e.Inputs, func(x EvidenceInput) bool {
		module := strings.TrimSuffix(strings.TrimSuffix(file, ".py"), "/__init__")
		return x.Key == Key("file:"+file) || x.Key == Key("module:"+strings.ReplaceAll(module, "/", "."))
	})
}

// keeps reports whether a node is part of the evidence, or a block that was not run.
func (e *Evidence) keeps(name string) bool {
	return e.kept[name] || slices.ContainsFunc(e.Nodes, func(n EvidenceNode) bool { return n.Status == "new" && string(n.Block) == name })
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/artifact"
	"github.com/xstate-engine/xstate/state/keys"
	"github.com/xstate-engine/xstate/state/provenance"
	"github.com/xstate-engine/xstate/state/query"
)

type evidenceFlags struct {
	verb.Evidence
	format, key, out string
	force            bool
}

// The formats of evidence.
const (
	evidenceTree   = "tree"
	evidencePROV   = "prov"
	evidenceInToto = "in-toto"
)

func (a *app) evidenceVerb() *cobra.Command {
	var f evidenceFlags
	cmd := &cobra.Command{
		Use:   "evidence ARTIFACT|BLOCK|NAME|FILE",
		Short: "show what a result depends on: data, code, patches, agents, runs, checks",
		Long: `Evidence goes back from a result to everything that it depends on: the executions, the versions of their
code with the edits and agents that wrote them, the files and the environment that were read, and the checks that
exercised the code. Nothing is executed. Where a name means several things, write artifact:NAME, block:NAME or
file:NAME.

--format prov writes PROV-JSON (W3C), --format in-toto an in-toto Statement v1 with SLSA Provenance v1. --key signs the
statement in a DSSE envelope with an Ed25519 key in PEM (of openssl, PKCS #8, or of ssh-keygen). xstate evidence verify
verifies it, offline and without the store.`,
		Example: `  xstate evidence report
  xstate evidence out/summary.csv --at-step 19 --json
  xstate evidence report --format in-toto --key key.pem --out report.intoto.json
  xstate evidence verify report.intoto.json --key pub.pem`,
		Args:              takes(1, 1, "an ARTIFACT, BLOCK, NAME or FILE"),
		ValidArgsFunction: a.completeBlocks,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Of = args[0]
			return a.evidence(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	momentFlags(cmd, &f.Moment)
	flags.StringVar(&f.format, "format", "", "tree, prov or in-toto (default: tree; with --key in-toto)")
	flags.StringVar(&f.key, "key", "", "sign with the private key in `FILE`")
	flags.StringVar(&f.out, "out", "", "write to `FILE` instead of stdout")
	flags.BoolVar(&f.force, "force", false, "overwrite an existing file")
	cmd.AddCommand(a.evidenceVerifyVerb())
	return a.ofSession(cmd)
}

// check completes the flags, and refuses those that do not go together.
func (f *evidenceFlags) check(json bool) error {
	hint := "use `--format` tree, prov or in-toto"
	if f.format == "" {
		if f.format = evidenceTree; f.key != "" {
			f.format = evidenceInToto
		}
	}
	switch {
	case f.format != evidenceTree && f.format != evidencePROV && f.format != evidenceInToto:
		return &usageError{err: fmt.Errorf("evidence has no format %q", f.format), hint: hint}
	case f.key != "" && f.format != evidenceInToto:
		return &usageError{
			err:  errors.New("only in-toto statements can be signed"),
			hint: "leave out `--key`, or use `--format in-toto`",
		}
	case f.out != "" && f.format == evidenceTree:
		return &usageError{
			err:  errors.New("--out needs --format prov or in-toto"),
			hint: "send the tree to a file with >",
		}
	case json && f.format != evidenceTree && f.out == "":
		return &usageError{
			err:  errors.New("--json needs --out FILE, because the document goes to stdout"),
			hint: "`xstate evidence OF --format " + f.format + " --out FILE --json`",
		}
	}
	return nil
}

func (a *app) evidence(ctx context.Context, f evidenceFlags) error {
	if err := f.check(a.ui.JSON); err != nil {
		return err
	}
	return a.lookAt(ctx, f.Moment, func(o *opened, n xstate.StepNumber) error {
		e, err := provenance.EvidenceOf(ctx, o.history, n, fileOrName(o, f.Of))
		if err != nil {
			return err
		}
		if f.format != evidenceTree {
			return a.exportEvidence(ctx, o, e, f)
		}
		edited, err := editedResults(ctx, o, e)
		if err != nil {
			return err
		}
		if a.ui.JSON {
			return a.ui.Document(api.Evidence{Version: api.Version, Evidence: e, Edited: edited})
		}
		a.printEvidence(e)
		for _, name := range edited {
			a.ui.Talk("%s was edited after the program wrote it; this is about what the program wrote", name)
		}
		return nil
	})
}

// editedResults returns the files among the results of the last step that have another content in the workspace.
func editedResults(ctx context.Context, o *opened, e *provenance.Evidence) ([]string, error) {
	files, err := o.history.Files(ctx)
	if err != nil {
		return nil, err
	}
	folder, err := beneath.Open(o.history.Workspace())
	if err != nil {
		return nil, nil // it is gone: nothing in it was edited
	}
	defer folder.Close()
	var edited []string
	for _, r := range e.Results {
		name := r.Key.Name()
		if r.Key.Space() != "file" || files[name].Left != state.Digest(r.Digest) {
			continue // a file of an earlier step, or one that a later block wrote again
		}
		if data, err := folder.ReadFile(name); err == nil &&
			state.DigestOf(data) != files[name].Left {
			edited = append(edited, name)
		}
	}
	return edited, nil
}

// fileOrName makes of a file that is named from the working directory one that is named from the workspace.
func fileOrName(o *opened, of string) string {
	if info, err := o.stat(of); err != nil || !info.Mode().IsRegular() {
		return of
	}
	path, err := o.abs(of)
	if err != nil {
		return of
	}
	if rel := parents.Below(o.history.Workspace(), path); rel != "" {
		return filepath.ToSlash(rel)
	}
	return of
}

func (a *app) exportEvidence(ctx context.Context, o *opened, e *provenance.Evidence, f evidenceFlags) error {
	data, err := evidenceBytes(ctx, o, e, f)
	if err != nil {
		return err
	}
	if f.out == "" {
		a.ui.File(string(data))
		return nil
	}
	path, err := a.abs(f.out)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil && !f.force {
		return &state.Error{
			Code:    api.CodeFileExists,
			Message: fmt.Sprintf("the file %s exists already", f.out),
			Hint:    "choose another name, or overwrite it with `--force`",
		}
	}
	if err := writeText(o.history.Workspace(), path, data); err != nil {
		return err
	}
	if a.ui.JSON {
		return a.ui.Document(
			api.Export{
				Version: api.Version,
				Session: e.Session,
				Step:    e.Step,
				Hash:    e.Hash,
				Format:  f.format,
				File:    path,
				Bytes:   int64(len(data)),
			},
		)
	}
	a.ui.Talk("wrote %s, %s, about %s after step %d", f.out, term.Size(int64(len(data))), e.Of, e.Step)
	return nil
}

func evidenceBytes(ctx context.Context, o *opened, e *provenance.Evidence, f evidenceFlags) ([]byte, error) {
	if f.format == evidencePROV {
		return provenance.PROV(ctx, o.history, e)
	}
	statement, err := e.Statement(buildVersion())
	if err != nil {
		return nil, err
	}
	if f.key == "" {
		return statement.Bytes()
	}
	text, err := o.readKey(f.key)
	if err != nil {
		return nil, err
	}
	key, err := keys.Private(text)
	if err != nil {
		return nil, err
	}
	return statement.Sign(ctx, key)
}

func (c caller) readKey(path string) ([]byte, error) {
	text, err := c.readFile(path)
	if err != nil {
		return nil, &state.Error{
			Code:    api.CodeUnreadable,
			Message: fmt.Sprintf("the key %s cannot be read: %v", path, errors.Unwrap(err)),
			Hint:    "check the name after `--key`",
		}
	}
	return text, nil
}

// printEvidence draws the slice as a tree, then lists what it ends in.
func (w *printer) printEvidence(e *provenance.Evidence) {
	u := w.ui
	u.Print("%s  %s  %s: %s\n", u.Bold(e.Of), e.Sort, e.Status, e.Reason)
	tree := &evidenceTreeView{
		e:       e,
		nodes:   map[string]*provenance.EvidenceNode{},
		patches: map[xstate.BlockID]*provenance.EvidencePatch{},
		shown:   map[string]bool{},
	}
	for i := range e.Nodes {
		tree.nodes[e.Nodes[i].Name] = &e.Nodes[i]
	}
	for i := range e.Patches {
		tree.patches[e.Patches[i].Block] = &e.Patches[i]
	}
	tops := tree.tops()
	for i, root := range tops {
		tree.draw(root, "", "", i == len(tops)-1)
	}
	u.Table(tree.rows)
	w.evidenceList("results", func(add func(...string)) {
		for _, r := range e.Results {
			add(string(r.Key), valueOr(r.Value, r.Digest), "by "+r.By)
		}
	})
	w.evidenceList("inputs", func(add func(...string)) {
		for _, x := range e.Inputs {
			switch {
			case x.Key.Space() == "conf": // as the interpreter begins
			case x.Key.Space() == "call" || countsCalls(x.Key): // in a separate list
			case x.Text != "":
				add(x.Text, "", "")
			default:
				by := ""
				if len(x.By) > 0 {
					by = "read by " + strings.Join(x.By, ", ")
				}
				add(string(x.Key), term.Short(string(x.Digest)), by)
			}
		}
	})
	w.evidenceList("calls", func(add func(...string)) {
		for _, row := range callRows(e.Calls) {
			row[0] = strings.TrimSpace(row[0])
			add(row...)
		}
	})
	w.evidenceList("edits", func(add func(...string)) {
		for _, p := range e.Patches {
			add(
				append(
					[]string{
						fmt.Sprintf("step %d", p.Step.Number),
						string(p.Block),
						"version " + term.Short(string(p.Version)),
						p.Step.Time.In(w.zone()).Format(timeFormat),
					},
					originText(p.Step.Origin),
				)...)
		}
	})
	w.evidenceList("runs", func(add func(...string)) {
		for _, r := range e.Runs {
			add(w.entryRow(r)...)
		}
	})
	w.evidenceList("checks", func(add func(...string)) {
		for _, c := range e.Checks {
			add(c.ID, string(c.Outcome), fmt.Sprintf("step %d", c.Step), exercisedText(&c))
		}
	})
	w.evidenceList("covered", func(add func(...string)) {
		for _, c := range e.Coverage {
			add(coverageRow(&c)...)
		}
	})
	if len(e.Marks) > 0 {
		u.Talk("one of several possible results: %s", strings.Join(e.Marks, ", "))
	}
	if len(e.Foreign) > 0 {
		u.Talk("foreign: the results of %s came with an archive and were not executed here",
			query.Shorten(e.Foreign))
	}
	u.Talk("%s after step %d, hash %s", term.Plural(len(e.Nodes), "execution"), e.Step, e.Hash)
}

// evidenceList prints a list under its title, if there is anything in it.
func (w *printer) evidenceList(title string, fill func(add func(...string))) {
	var rows [][]string
	fill(func(row ...string) { rows = append(rows, append([]string{" "}, row...)) })
	if len(rows) > 0 {
		w.ui.Print("%s\n%s", title, term.Columns(rows))
	}
}

func exercisedText(c *artifact.CheckView) string {
	if !c.Current {
		return "of code that is another by now"
	}
	var parts []string
	for _, x := range c.Exercised {
		what := string(x.Block) + x.File
		if x.Function != "" {
			what = x.Function + " in " + what
		}
		if !slices.Contains(parts, what) {
			parts = append(parts, what)
		}
	}
	return "of " + strings.Join(parts, ", ")
}

// coverageRow shows how much of a block was exercised, by which checks, and what was not.
func coverageRow(c *artifact.Coverage) []string {
	row := []string{string(c.Block) + c.File, fmt.Sprintf("%d of %s", c.Covered, term.Plural(c.Lines, "line"))}
	if len(c.Checks) == 0 {
		return append(row, "by no check")
	}
	text := "by " + strings.Join(c.Checks, ", ")
	if len(c.Missed) > 0 {
		text += "; not " + functionsText(c.Missed)
	}
	if c.MissedLines != "" {
		text += "; not lines " + strings.ReplaceAll(c.MissedLines, ",", ", ")
	}
	switch {
	case len(c.Whole) > 3:
		text += fmt.Sprintf("; lines not observed of %d functions", len(c.Whole))
	case len(c.Whole) > 0:
		text += "; lines not observed of " + functionsText(c.Whole)
	}
	return append(row, text)
}

func functionsText(names []string) string {
	names = slices.Clone(names)
	for i, name := range names {
		if name == "" {
			names[i] = "all outside of functions"
		}
	}
	return strings.Join(names, ", ")
}

// evidenceTreeView draws the dependencies as a tree. It draws a node once with its dependencies, then only names it.
type evidenceTreeView struct {
	e       *provenance.Evidence
	nodes   map[string]*provenance.EvidenceNode
	patches map[xstate.BlockID]*provenance.EvidencePatch
	shown   map[string]bool
	rows    [][]string
}

// tops are the roots that no other root depends on, the last of the program first.
func (t *evidenceTreeView) tops() []string {
	seen := map[string]bool{}
	var reach func(node string)
	reach = func(node string) {
		if n := t.nodes[node]; n != nil && !seen[node] {
			seen[node] = true
			children, _ := t.below(n)
			for _, child := range children {
				reach(child)
			}
		}
	}
	var tops []string
	for _, n := range slices.Backward(t.e.Nodes) {
		if slices.Contains(t.e.Roots, n.Name) && !seen[n.Name] {
			tops = append(tops, n.Name)
			reach(n.Name)
		}
	}
	return tops
}

func (t *evidenceTreeView) draw(node, through, margin string, last bool) {
	n := t.nodes[node]
	if n == nil {
		return
	}
	branch, inner := "├─ ", margin+"│  "
	if last {
		branch, inner = "└─ ", margin+"   "
	}
	row := []string{margin + branch + strings.TrimSpace(node+"  "+through)}
	if t.shown[node] {
		t.rows = append(t.rows, append(row, "as above"))
		return
	}
	t.shown[node] = true
	text := n.Status
	if p := t.patches[n.Block]; p != nil {
		text += fmt.Sprintf(", version %s of step %d", term.Short(string(p.Version)), p.Step.Number)
		if by := whoText(p.Step.Origin); by != "" {
			text += " by " + by
		}
	}
	t.rows = append(t.rows, append(row, text))
	children, keys := t.below(n)
	for i, child := range children {
		t.draw(child, strings.Join(keys[child], ", "), inner, i == len(children)-1)
	}
}

// below are the dependencies of a node, in program order, each with its keys.
func (t *evidenceTreeView) below(n *provenance.EvidenceNode) ([]string, map[string][]string) {
	keys := map[string][]string{}
	for _, via := range n.Rests {
		if t.nodes[via.From] != nil {
			keys[via.From] = append(keys[via.From], string(via.Key))
		}
	}
	var children []string
	for _, other := range t.e.Nodes {
		if keys[other.Name] != nil {
			children = append(children, other.Name)
		}
	}
	return children, keys
}

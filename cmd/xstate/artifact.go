package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/artifact"
)

type declareFlags struct {
	kind   string
	needs  []string
	origin xstate.Origin
}

func (a *app) artifactVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "artifact",
		Short: "named groups of blocks and files, and what they are worth at a step",
		Long: `An artifact is a named group of blocks, files of the workspace and other artifacts, of a kind: code, tests, docs, example or
data. It depends on those that it was said to need, and on those that its blocks were seen to read from, or its texts speak of.

A declaration is a step of the history: it has an origin, it is undone by undo and rollback, and --at-step asks what was declared
then. What the status says:
  failing      a block failed or a test does, or something that it holds is gone
  stale        it was right once: a block or file has changed and nothing ran since, or docs speak of what changed or is gone
  unverified   nothing shows that it works: code that no check exercised in its present version, tests that never ran
  fresh        none of these`,
		Example: `  xstate artifact declare cleaning --kind code clean helpers
  xstate artifact declare guide --kind docs guide.md --needs cleaning
  xstate artifact list --at-step 12`,
		Args: takes(1, 1<<20, "declare, list, show or drop"),
		RunE: func(_ *cobra.Command, args []string) error {
			return &usageError{err: fmt.Errorf("xstate artifact cannot %q", args[0]), hint: "it can declare, list, show and drop"}
		},
	}
	cmd.AddCommand(a.artifactDeclareVerb(), a.artifactListVerb(), a.artifactShowVerb(), a.artifactDropVerb())
	return cmd
}

func (a *app) artifactDeclareVerb() *cobra.Command {
	var f declareFlags
	cmd := &cobra.Command{
		Use:   "declare NAME --kind KIND BLOCK|FILE|ARTIFACT…",
		Short: "declare an artifact, or declare it again",
		Long: `Declare records that the artifact NAME holds these blocks, files and artifacts, in place of what was declared of it before. Where
a name means several of these, block:NAME, file:NAME or artifact:NAME says which.

What data files hold, and what docs speak of in inline code, is recorded with it: what has changed since makes it stale, and to
declare it again says that it holds for what is there now.`,
		Example: `  xstate artifact declare cleaning --kind code clean helpers
  xstate artifact declare penguins --kind data penguins.csv
  xstate artifact declare paper --kind docs paper.md cleaning --needs penguins --agent writer`,
		Args:              takes(1, 1<<20, "a NAME, and what it holds"),
		ValidArgsFunction: a.completeBlocks,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.declareArtifact(cmd.Context(), args, f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.kind, "kind", "", "what it is: code, tests, docs, example or data")
	flags.StringSliceVar(&f.needs, "needs", nil, "the `NAME` of an artifact that it depends on; may be repeated")
	originFlags(cmd, &f.origin)
	return a.sessionFlag(cmd)
}

// artifactDocument is what the verbs that change artifacts print.
type artifactDocument struct {
	answerDocument
	Artifact *artifact.View `json:"artifact,omitempty"` // as it is now; absent when it was dropped
	Dropped  string         `json:"dropped,omitempty"`
}

func (a *app) declareArtifact(ctx context.Context, args []string, f declareFlags) error {
	if f.kind == "" {
		return &usageError{err: fmt.Errorf("xstate artifact declare needs --kind KIND"), hint: "the kinds are: code, tests, docs, example, data"}
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	return a.change(ctx, func(o *opened) error {
		step, err := artifact.Declare(ctx, o.session.History(), artifact.Spec{Name: args[0], Kind: state.ArtifactKind(f.kind), Members: args[1:], Needs: f.needs, Folder: folder}, f.origin)
		if err != nil {
			return err
		}
		v, err := artifact.Get(ctx, o.session.History(), step.Number, args[0])
		if err != nil {
			return err
		}
		if a.ui.json {
			return a.ui.document(artifactDocument{atStep(o.session.Name(), step.Number), v, ""})
		}
		a.printArtifact(v)
		a.ui.talk("step %d: declared %s", step.Number, v.Name)
		return nil
	})
}

func (a *app) artifactListVerb() *cobra.Command {
	var at moment
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "the artifacts there are, each with its status and why",
		Example: "  xstate artifact list\n  xstate artifact list --at-step 12 --json",
		Args:    takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.lookAt(cmd.Context(), at, func(o *opened, n xstate.StepNumber) error { return a.listArtifacts(cmd.Context(), o, n) })
		},
	}
	cmd.Flags().SortFlags = false
	at.flags(cmd)
	return a.sessionFlag(cmd)
}

func (a *app) listArtifacts(ctx context.Context, o *opened, n xstate.StepNumber) error {
	found, err := artifact.List(ctx, o.session.History(), n)
	if err != nil {
		return err
	}
	unrecorded, err := o.unrecorded(ctx, n)
	if err != nil {
		return err
	}
	if a.ui.json {
		return a.ui.document(struct {
			answerDocument
			Artifacts  []artifact.View `json:"artifacts"`
			Unrecorded []string        `json:"unrecorded"`
		}{atStep(o.session.Name(), n), found, unrecorded})
	}
	var rows [][]string
	for _, v := range found {
		rows = append(rows, []string{v.Name, string(v.Kind), string(v.Status), v.Reason})
	}
	a.ui.write(columns(rows))
	a.ui.talk("%s after step %d", plural(len(found), "artifact"), n)
	if len(unrecorded) > 0 {
		a.ui.talk("%s holds edits that no step has, and that do not count here: %s", fromHere(o.file), strings.Join(unrecorded, ", "))
	}
	return nil
}

// unrecorded are the blocks of the session's file that differ from the program after its last step; none at other steps.
func (o *opened) unrecorded(ctx context.Context, n xstate.StepNumber) ([]string, error) {
	ids := []string{}
	blocks := o.blocks()
	if blocks == nil {
		return ids, nil
	}
	edits, _, head, err := o.session.History().Compare(ctx, blocks)
	if err != nil || n != head {
		return ids, err
	}
	for _, e := range edits {
		ids = appendNew(ids, e.ID)
	}
	return ids, nil
}

func (a *app) artifactShowVerb() *cobra.Command {
	var at moment
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "what an artifact holds, what it depends on, and what it is worth",
		Example: "  xstate artifact show guide\n  xstate artifact show guide --at-step 12",
		Args:    takes(1, 1, "the NAME of an artifact"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.lookAt(cmd.Context(), at, func(o *opened, n xstate.StepNumber) error {
				v, err := artifact.Get(cmd.Context(), o.session.History(), n, args[0])
				if err != nil {
					return err
				}
				if a.ui.json {
					return a.ui.document(artifactDocument{atStep(o.session.Name(), n), v, ""})
				}
				a.printArtifact(v)
				return nil
			})
		},
	}
	cmd.Flags().SortFlags = false
	at.flags(cmd)
	return a.sessionFlag(cmd)
}

func (a *app) printArtifact(v *artifact.View) {
	a.ui.print("%s  %s  %s: %s\n", a.ui.bold(v.Name), v.Kind, v.Status, v.Reason)
	var rows [][]string
	for _, id := range v.Blocks {
		rows = append(rows, []string{"holds", "block", string(id)})
	}
	for _, f := range v.Files {
		rows = append(rows, []string{"holds", "file", f.Path + "  " + short(string(f.Digest))})
	}
	for _, name := range v.Parts {
		rows = append(rows, []string{"holds", "artifact", name})
	}
	for _, n := range v.Needs {
		var through []string
		for _, via := range n.Through {
			through = append(through, strings.TrimSpace(string(via.Key)+" "+from(via.From)))
		}
		rows = append(rows, []string{"needs", n.Artifact, strings.TrimSpace(n.Evidence + "  " + strings.Join(through, ", "))})
	}
	for _, r := range v.References {
		text := string(r.Status)
		switch {
		case r.Status == artifact.ReferenceSignature:
			text = "now " + r.Now
		case r.Status == artifact.ReferenceFresh:
			text = r.Signature
		}
		rows = append(rows, []string{"speaks of", r.Name, fmt.Sprintf("%s  line %d of %s", text, r.Line, r.File)})
	}
	a.ui.write(columns(rows))
	a.ui.print("declared in step %d", v.Declared)
	if by := originText(v.Origin); by != "" {
		a.ui.print(" by %s", by)
	}
	a.ui.print("\n")
}

func from(node string) string {
	if node == "" {
		return ""
	}
	return "from " + node
}

func (a *app) artifactDropVerb() *cobra.Command {
	var origin xstate.Origin
	cmd := &cobra.Command{
		Use:   "drop NAME",
		Short: "an artifact is one no more; its blocks and files stay",
		Long: `Drop records that the artifact is one no more. Its blocks and files stay, and what was declared of it is still told at earlier
steps. One that others contain or need is not dropped.`,
		Example: "  xstate artifact drop guide",
		Args:    takes(1, 1, "the NAME of an artifact"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.change(cmd.Context(), func(o *opened) error {
				step, err := artifact.Drop(cmd.Context(), o.session.History(), args[0], origin)
				if err != nil {
					return err
				}
				if a.ui.json {
					return a.ui.document(artifactDocument{atStep(o.session.Name(), step.Number), nil, args[0]})
				}
				a.ui.talk("step %d: dropped %s", step.Number, args[0])
				return nil
			})
		},
	}
	cmd.Flags().SortFlags = false
	originFlags(cmd, &origin)
	return a.sessionFlag(cmd)
}

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
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
		Short: "declare named groups of blocks and files, and show the status of each",
		Long: `An artifact is a named group of blocks, files of the workspace and other artifacts. Its kind is code,
tests, docs, example or data. It depends on the artifacts that --needs names, on those that its blocks were seen to read
from, and on what its texts mention.

A declaration is a step of the history: it has an origin, undo and rollback take it back, and --at-step shows what was
declared then. The status is one of:
  failing      a block or test fails, or a member is missing
  stale        a block or file changed and nothing ran since, or docs mention what changed or is gone
  unverified   no check covers the present code, or tests never ran
  fresh        none of these`,
		Example: `  xstate artifact declare cleaning --kind code clean helpers
  xstate artifact declare guide --kind docs guide.md --needs cleaning
  xstate artifact list --at-step 12`,
		Args: takes(1, 1<<20, "declare, list, show or drop"),
		RunE: func(_ *cobra.Command, args []string) error {
			return &usageError{
				err:  fmt.Errorf("xstate artifact cannot %q", args[0]),
				hint: "it can declare, list, show and drop",
			}
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
		Long: `Declare records that the artifact NAME contains these blocks, files and artifacts. It replaces the
earlier declaration of NAME. Where a name means several things, write block:NAME, file:NAME or artifact:NAME.

The declaration records what data files hold, and what docs mention in inline code. A later change makes the artifact
stale. Declare it again to say that it is right for what is there now.`,
		Example: `  xstate artifact declare cleaning --kind code clean helpers
  xstate artifact declare penguins --kind data penguins.csv
  xstate artifact declare paper --kind docs paper.md cleaning --needs penguins --agent writer`,
		Args:              takes(1, 1<<20, "a NAME, and what it holds"),
		ValidArgsFunction: a.completeBlocks,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.declareArtifact(cmd.Context(), args, f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.kind, "kind", "", "the kind: code, tests, docs, example or data")
	flags.StringSliceVar(&f.needs, "needs", nil, "the `NAME` of an artifact that it depends on; may be repeated")
	a.originFlags(cmd, &f.origin)
	return a.sessionFlag(cmd)
}

func (a *app) declareArtifact(ctx context.Context, args []string, f declareFlags) error {
	if f.kind == "" {
		return &usageError{
			err:  fmt.Errorf("xstate artifact declare needs --kind KIND"),
			hint: "the kinds are: code, tests, docs, example, data",
		}
	}
	folder, err := a.here()
	if err != nil {
		return err
	}
	return a.change(ctx, func(o *opened) error {
		step, err := artifact.Declare(
			ctx,
			o.history,
			artifact.Spec{
				Name:    args[0],
				Kind:    state.ArtifactKind(f.kind),
				Members: args[1:],
				Needs:   f.needs,
				Folder:  folder,
			},
			f.origin,
		)
		if err != nil {
			return err
		}
		v, err := artifact.Get(ctx, o.history, step.Number, args[0])
		if err != nil {
			return err
		}
		if a.ui.JSON {
			return a.ui.Document(api.Artifact{Answer: api.AnswerAt(o.history.Name(), step.Number), Artifact: v})
		}
		a.printArtifact(v)
		a.ui.Talk("step %d: declared %s", step.Number, v.Name)
		return nil
	})
}

func (a *app) artifactListVerb() *cobra.Command {
	var at verb.Moment
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "list the artifacts, each with its status and the reason",
		Example: "  xstate artifact list\n  xstate artifact list --at-step 12 --json",
		Args:    takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.lookAt(
				cmd.Context(),
				at,
				func(o *opened, n xstate.StepNumber) error { return a.listArtifacts(cmd.Context(), o, n) },
			)
		},
	}
	cmd.Flags().SortFlags = false
	momentFlags(cmd, &at)
	return a.ofSession(cmd)
}

func (a *app) listArtifacts(ctx context.Context, o *opened, n xstate.StepNumber) error {
	found, err := artifact.List(ctx, o.history, n)
	if err != nil {
		return err
	}
	unrecorded, err := o.unrecorded(ctx, n)
	if err != nil {
		return err
	}
	if a.ui.JSON {
		return a.ui.Document(
			api.Artifacts{Answer: api.AnswerAt(o.history.Name(), n), Artifacts: found, Unrecorded: unrecorded},
		)
	}
	var rows [][]string
	for _, v := range found {
		rows = append(rows, []string{v.Name, string(v.Kind), string(v.Status), v.Reason})
	}
	a.ui.Table(rows)
	a.ui.Talk("%s after step %d", term.Plural(len(found), "artifact"), n)
	if len(unrecorded) > 0 {
		a.ui.Talk(
			"%s has edits that no step has; they do not count here: %s",
			o.fromHere(o.file),
			strings.Join(unrecorded, ", "),
		)
	}
	return nil
}

// unrecorded returns the blocks of the session's file that differ from the program after its last step; none for other
// steps.
func (o *opened) unrecorded(ctx context.Context, n xstate.StepNumber) ([]string, error) {
	ids := []string{}
	blocks := o.blocks()
	if blocks == nil {
		return ids, nil
	}
	edits, _, head, err := o.history.Compare(ctx, blocks)
	if err != nil || n != head {
		return ids, err
	}
	for _, e := range edits {
		ids = appendNew(ids, e.ID)
	}
	return ids, nil
}

func (a *app) artifactShowVerb() *cobra.Command {
	var at verb.Moment
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "show what an artifact contains, what it depends on, and its status",
		Example: "  xstate artifact show guide\n  xstate artifact show guide --at-step 12",
		Args:    takes(1, 1, "the NAME of an artifact"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.lookAt(cmd.Context(), at, func(o *opened, n xstate.StepNumber) error {
				v, err := artifact.Get(cmd.Context(), o.history, n, args[0])
				if err != nil {
					return err
				}
				if a.ui.JSON {
					return a.ui.Document(api.Artifact{Answer: api.AnswerAt(o.history.Name(), n), Artifact: v})
				}
				a.printArtifact(v)
				return nil
			})
		},
	}
	cmd.Flags().SortFlags = false
	momentFlags(cmd, &at)
	return a.ofSession(cmd)
}

func (w *printer) printArtifact(v *artifact.View) {
	w.ui.Print("%s  %s  %s: %s\n", w.ui.Bold(v.Name), v.Kind, v.Status, v.Reason)
	var rows [][]string
	for _, id := range v.Blocks {
		rows = append(rows, []string{"holds", "block", string(id)})
	}
	for _, f := range v.Files {
		rows = append(rows, []string{"holds", "file", f.Path + "  " + term.Short(string(f.Digest))})
	}
	for _, name := range v.Parts {
		rows = append(rows, []string{"holds", "artifact", name})
	}
	for _, n := range v.Needs {
		var through []string
		for _, via := range n.Through {
			through = append(through, strings.TrimSpace(string(via.Key)+" "+from(via.From)))
		}
		rows = append(
			rows,
			[]string{"needs", n.Artifact, strings.TrimSpace(n.Evidence + "  " + strings.Join(through, ", "))},
		)
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
	w.ui.Table(rows)
	w.ui.Print("declared in step %d", v.Declared)
	if by := originText(v.Origin); by != "" {
		w.ui.Print(" by %s", by)
	}
	w.ui.Print("\n")
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
		Short: "remove the declaration of an artifact; its blocks and files stay",
		Long: `Drop removes an artifact's declaration. Its blocks and files stay; earlier steps still show it. Drop
fails if another artifact contains or needs it.`,
		Example: "  xstate artifact drop guide",
		Args:    takes(1, 1, "the NAME of an artifact"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.change(cmd.Context(), func(o *opened) error {
				step, err := artifact.Drop(cmd.Context(), o.history, args[0], origin)
				if err != nil {
					return err
				}
				if a.ui.JSON {
					return a.ui.Document(
						api.Artifact{Answer: api.AnswerAt(o.history.Name(), step.Number), Dropped: args[0]},
					)
				}
				a.ui.Talk("step %d: dropped %s", step.Number, args[0])
				return nil
			})
		},
	}
	cmd.Flags().SortFlags = false
	a.originFlags(cmd, &origin)
	return a.ofSession(cmd)
}

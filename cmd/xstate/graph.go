package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
)

func (a *app) graphVerb() *cobra.Command {
	format, path := "", false
	cmd := &cobra.Command{
		Use:   "graph [--path A B]",
		Short: "print the dependency graph, or a path in it",
		Long: `Graph prints what depends on what in the program as it was last recorded: import, symbol and order edges, known from
the text (predicted), from executions (observed) or both. With --path, a shortest chain of dependencies from the first
to the second of two blocks or nodes.`,
		Example: `  xstate graph | dot -Tsvg > graph.svg
  xstate graph --format mermaid
  xstate graph --path load report`,
		Args: func(cmd *cobra.Command, args []string) error {
			if path {
				return takes(2, 2, "two blocks for --path")(cmd, args)
			}
			return takes(0, 0, "")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.graph(cmd.Context(), format, args) },
	}
	cmd.Flags().StringVar(&format, "format", "dot", "dot, mermaid or json")
	cmd.Flags().BoolVar(&path, "path", false, "print a path from block A to block B instead")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"dot", "mermaid", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return a.sessionFlag(cmd)
}

func (a *app) graph(ctx context.Context, format string, path []string) error {
	if a.ui.json {
		format = "json"
	}
	if format != "dot" && format != "mermaid" && format != "json" {
		return &usageError{err: fmt.Errorf("there is no format %q", format), hint: "use --format dot, mermaid or json"}
	}
	o, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer o.Close()
	head, err := o.head(ctx)
	if err != nil {
		return err
	}
	d, err := o.session.Dependencies(ctx, head)
	if err != nil {
		return err
	}
	if len(path) == 2 {
		return a.printPath(d, path[0], path[1], format)
	}
	switch format {
	case "json":
		return a.ui.document(d.Graph)
	case "mermaid":
		a.ui.text(d.Graph.Mermaid())
		return nil
	}
	dot, err := d.Graph.DOT()
	if err != nil {
		return err
	}
	a.ui.text(dot)
	return nil
}

func (a *app) printPath(d *xstate.Dependencies, from, to, format string) error {
	nodes, err := d.Path(from, to)
	if err != nil {
		return err
	}
	if format == "json" {
		return a.ui.document(struct {
			Version int      `json:"version"`
			Path    []string `json:"path"`
		}{1, nodes})
	}
	if len(nodes) == 0 {
		a.ui.talk("%s does not depend on %s", to, from)
		return nil
	}
	a.ui.print("%s\n", strings.Join(nodes, " -> "))
	return nil
}

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
)

func (a *app) graphVerb() *cobra.Command {
	format := ""
	var at verb.Moment
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "print the dependency graph",
		Long: `Graph prints the dependencies after a step. An edge has a type (import, symbol, order) and is predicted
from the source, observed in executions, or both. query --path finds a shortest chain. For SVG, graph uses Graphviz
(dot) if it is installed, and otherwise draws the graph itself.`,
		Example: `  xstate graph --format svg > graph.svg
  xstate graph --format mermaid
  xstate graph --at-step 5`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, args []string) error { return a.graph(cmd.Context(), format, at) },
	}
	momentFlags(cmd, &at)
	cmd.Flags().StringVar(&format, "format", "",
		"text, dot, mermaid, svg or json (default: text on a terminal, else dot)")
	_ = cmd.RegisterFlagCompletionFunc(
		"format",
		cobra.FixedCompletions(graphFormats, cobra.ShellCompDirectiveNoFileComp),
	)
	return a.ofSession(cmd)
}

func (a *app) graph(ctx context.Context, format string, at verb.Moment) error {
	if a.ui.JSON {
		format = "json"
	}
	if format == "" {
		if format = "dot"; a.ui.OutTerminal {
			format = "text"
		}
	}
	if !slices.Contains(graphFormats, format) {
		return noGraph(format)
	}
	return a.lookAt(ctx, at, func(o *opened, n xstate.StepNumber) error {
		d, err := o.history.Dependencies(ctx, n)
		if err != nil {
			return err
		}
		switch format {
		case "json":
			return a.ui.Document(api.GraphAt(o.history.Name(), n, d.Graph))
		case "text":
			a.ui.File(d.Graph.Text())
			return nil
		case "mermaid":
			a.ui.File(term.LineEnded(d.Graph.Mermaid()))
			return nil
		}
		dot, err := d.Graph.DOT()
		if err != nil {
			return err
		}
		if format == "svg" {
			dot = o.pictureOf(ctx, dot, d.Graph)
		}
		a.ui.File(term.LineEnded(dot))
		return nil
	})
}

func noGraph(format string) error {
	return &usageError{err: fmt.Errorf("there is no format %q", format),
		hint: "name one of text, dot, mermaid, svg or json"}
}

var graphFormats = []string{"text", "dot", "mermaid", "svg", "json"}

// pictureOf returns a graph as SVG, by Graphviz if it is there and does it.
func (c caller) pictureOf(ctx context.Context, dot string, g *depgraph.Graph) string {
	cmd := c.command(ctx, "dot", "-Tsvg")
	cmd.Stdin = strings.NewReader(dot)
	if svg, err := cmd.Output(); err == nil && len(svg) > 0 {
		return string(svg)
	}
	return g.SVG()
}

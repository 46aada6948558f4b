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
	"github.com/xstate-engine/xstate/state/flow"
)

func (a *app) flowVerb() *cobra.Command {
	var f verb.Flow
	cmd := &cobra.Command{
		Use:   "flow",
		Short: "show what reached each call of a tool or model, and what became of its answer",
		Long: `Flow compares the texts that a program took in (files, and answers of calls) with the requests of its
calls, and with its results: what blocks printed and the files that the program left. It says which of them each call
was given, to the part, which it depends on in another form, and which cannot have reached it; where its answer went;
and what a reader should look at: parts that no call was given, two calls with one part, texts that were cut, answers
that were dropped. Nothing is executed.`,
		Example: `  xstate flow review.py
  xstate flow --call 7              all that is known of call 7
  xstate flow --at-step 12 --json`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.flow(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(callNumber{&f.Call}, "call", "show this `CALL` whole")
	momentFlags(cmd, &f.Moment)
	return a.ofSession(cmd)
}

// callNumber is the value of a flag that names a call.
type callNumber struct{ id *state.CallID }

func (n callNumber) String() string { return "" }
func (n callNumber) Type() string   { return "CALL" }

func (n callNumber) Set(text string) (err error) {
	*n.id, err = parseCall(text)
	return err
}

func (a *app) flow(ctx context.Context, f verb.Flow) error {
	return a.lookAt(ctx, f.Moment, func(o *opened, n xstate.StepNumber) error {
		d, err := flow.Of(ctx, o.history, n, f.Call)
		switch {
		case err != nil:
			return err
		case a.ui.JSON:
			return a.ui.Document(api.Flow{Version: api.Version, Flow: d})
		case f.Call != 0:
			a.printFlowOf(d, &d.Calls[0])
			return nil
		}
		a.printFlow(d)
		return nil
	})
}

// printFlow lists the calls, and then what to look at.
func (w *printer) printFlow(d *flow.Flow) {
	var rows [][]string
	for i := range d.Calls {
		c := &d.Calls[i]
		rows = append(rows, []string{fmt.Sprint(c.ID), c.Tool, c.Node, passagesText(c.Given, "nothing, by its words"),
			"→ " + passagesText(c.Answer, "nothing, by its words")})
	}
	w.ui.Table(rows)
	counts := map[string]int{}
	for _, s := range d.Sources {
		counts[s.Status]++
	}
	for _, x := range d.Findings {
		w.ui.Text(x.Code + ": " + x.Text)
	}
	w.ui.Talk("%s; of %s %d given, %d maybe in another form, %d that reached nothing; %s to look at",
		term.Plural(len(d.Calls), "call"), term.Plural(len(d.Sources), "source"), counts[flow.Given], counts[flow.May],
		counts[flow.Never], term.Plural(len(d.Findings), "thing"))
}

// printFlowOf prints all that is known of one call.
func (w *printer) printFlowOf(d *flow.Flow, c *flow.CallFlow) {
	rows := [][]string{{"call", c.Text}, {"node", c.Node}}
	for _, p := range c.Given {
		rows = append(rows, []string{"given", p.Text()})
	}
	for _, list := range []struct {
		name  string
		names []string
	}{{"maybe", c.May}, {"never", c.Never}, {"unseen", c.Unseen}} {
		for _, name := range list.names {
			rows = append(rows, []string{list.name, name})
		}
	}
	for _, p := range c.Answer {
		rows = append(rows, []string{"answer in", p.Text()})
	}
	if len(c.Answer) == 0 {
		rows = append(rows, []string{"answer in", "no later request and no result, as far as its words show"})
	}
	for _, x := range d.Findings {
		rows = append(rows, []string{x.Code, x.Text})
	}
	w.ui.Table(rows)
}

// mostPassages is how many passages a row names.
const mostPassages = 4

func passagesText(list []flow.Passage, none string) string {
	if len(list) == 0 {
		return none
	}
	var texts []string
	for _, p := range list[:min(len(list), mostPassages)] {
		texts = append(texts, p.Text())
	}
	if more := len(list) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, ", ")
}

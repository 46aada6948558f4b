package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

func (a *app) callsVerb() *cobra.Command {
	var f verb.Calls
	cmd := &cobra.Command{
		Use:   "calls [CALL]",
		Short: "list the calls of tools and models, or show one whole",
		Long: `Calls lists the calls of tools and models, the questions to people and the recorded steps of a session,
newest first: number, state, tool, arguments, result or error, class, tokens, cost, time, the block and line that made
it, and whether this session made it or is served another one's. With a CALL it shows all that is recorded of it.

A call that is waiting needs a decision: xstate approve CALL.`,
		Example: `  xstate calls
  xstate calls --waiting
  xstate calls --cost --since 12
  xstate calls 7`,
		Args: takes(0, 1, "one CALL, by its number"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				id, err := parseCall(args[0])
				if err != nil {
					return err
				}
				return a.showCall(cmd.Context(), id)
			}
			return a.listCalls(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.Waiting, "waiting", false, "only calls of the present program that wait for a decision")
	flags.StringVar(&f.Tool, "tool", "", "only calls of this `TOOL` or model")
	flags.StringVar(&f.Block, "block", "", "only calls of this `BLOCK`")
	flags.Var(stepNumber{&f.Since}, "since", "only calls of runs after this `STEP`")
	flags.BoolVar(&f.Cost, "cost", false, "print what each tool has cost, instead of the calls")
	flags.BoolVar(&f.Budgets, "budgets", false,
		"print what files allow the program to spend and what it spent, instead of the calls")
	a.completeBlockFlags(cmd, "block")
	cmd.AddCommand(a.revertVerb(), a.typesVerb())
	return a.ofSession(cmd)
}

func (a *app) listCalls(ctx context.Context, f verb.Calls) error {
	return a.look(ctx, func(o *opened) error {
		if f.Budgets {
			return a.listBudgets(ctx, o)
		}
		found, err := o.history.Calls(ctx, query.CallFilter{Waiting: f.Waiting, Tool: f.Tool,
			Block: xstate.BlockID(f.Block), Since: f.Since})
		if err != nil {
			return err
		}
		d := api.Calls{Version: api.Version, Session: o.history.Name(), Calls: []api.CallRow{}}
		byTool := map[string]*api.CallTotal{}
		for i := range found {
			c := &found[i]
			row, err := api.CallOf(o.store.State(), &c.Call, false)
			if err != nil {
				return err
			}
			row.Used, row.Served = c.Used, c.Served
			d.Calls = append(d.Calls, row)
			if byTool[c.Tool] == nil {
				byTool[c.Tool] = &api.CallTotal{}
			}
			byTool[c.Tool].Add(&c.Call)
			d.Total.Add(&c.Call)
		}
		if f.Cost {
			for tool, t := range byTool {
				d.Costs = append(d.Costs, api.CallToolCost{Tool: tool, CallTotal: *t})
			}
			slices.SortFunc(d.Costs, func(a, b api.CallToolCost) int {
				return cmp.Or(cmp.Compare(b.MicroUSD, a.MicroUSD), cmp.Compare(a.Tool, b.Tool))
			})
		}
		if a.ui.JSON {
			return a.ui.Document(d)
		}
		a.printCalls(&d)
		return nil
	})
}

func (w *printer) printCalls(d *api.Calls) {
	var rows [][]string
	if d.Costs != nil {
		for _, c := range d.Costs {
			rows = append(rows, []string{c.Tool, term.Plural(c.Calls, "call"), c.Tokens(), c.Dollars(),
				term.Seconds(c.Seconds)})
		}
	} else {
		for i := range d.Calls {
			rows = append(rows, callRow(&d.Calls[i]))
		}
	}
	w.ui.Table(withoutEmpty(rows))
	text := term.Plural(d.Total.Calls, "call") + ", " + term.Seconds(d.Total.Seconds)
	for _, part := range []string{d.Total.Tokens(), d.Total.Dollars()} {
		if part != "" {
			text += ", " + part
		}
	}
	if d.Total.Waiting > 0 {
		text += fmt.Sprintf(", %d waiting: xstate approve CALL", d.Total.Waiting)
	}
	w.ui.Talk("%s", text)
}

// withoutEmpty drops columns that no row has a text in.
func withoutEmpty(rows [][]string) [][]string {
	kept := make([][]string, len(rows))
	for at := 0; len(rows) > 0 && at < len(rows[0]); at++ {
		if slices.ContainsFunc(rows, func(row []string) bool { return row[at] != "" }) {
			for i, row := range rows {
				kept[i] = append(kept[i], row[at])
			}
		}
	}
	return kept
}

// callRow is a call in columns.
func callRow(c *api.CallRow) []string {
	by := "made"
	if c.Served {
		by = "served"
	}
	return []string{fmt.Sprintf("call %d", c.Call), c.State, c.Tool, shortJSON(c.Arguments), callOutcome(c), c.Class,
		c.Tokens(), c.Dollars(), term.Seconds(c.Seconds), callPlace(c), by}
}

// callOutcome is what came of a call, on one line.
func callOutcome(c *api.CallRow) string {
	switch {
	case c.Waiting != nil:
		return c.Waiting.Question
	case c.Approval != nil && c.Result == nil:
		return c.Approval.Choice
	case c.Error != nil:
		return term.Cut(c.Error.Message, callText)
	case c.State == string(state.CallSent):
		return ""
	}
	return "→ " + shortJSON(c.Result)
}

// callPlace is the block and the line that made a call.
func callPlace(c *api.CallRow) string {
	if c.Line == 0 {
		return string(c.Block)
	}
	return fmt.Sprintf("%s:%d", c.Block, c.Line)
}

func (a *app) showCall(ctx context.Context, id state.CallID) error {
	if id == 0 {
		return noCallNumber("0")
	}
	return a.inStore(ctx, state.Options{ReadOnly: true}, func(store *xstate.Store) error {
		c, err := store.State().Call(ctx, id)
		if err != nil {
			return err
		}
		d, err := api.WholeCall(store.State(), c)
		if err != nil {
			return err
		}
		if a.ui.JSON {
			return a.ui.Document(d)
		}
		a.printCall(&d)
		return nil
	})
}

func (w *printer) printCall(d *api.Call) {
	var rows [][]string
	add := func(name, text string) {
		if text != "" {
			rows = append(rows, []string{name, text})
		}
	}
	add("tool", strings.TrimSpace(d.Tool+" "+d.ToolVersion))
	add("kind", d.Kind+", "+cmp.Or(d.Class, "no class"))
	add("scope", d.Scope)
	add("made by", strings.TrimSpace(strings.Join([]string{d.Session, callPlace(&d.CallRow), d.Agent}, "  ")))
	if d.Parent != 0 {
		add("within", fmt.Sprintf("call %d", d.Parent))
	}
	if !d.Began.IsZero() {
		add("began", d.Began.In(w.zone()).Format(timeFormat)+", "+term.Seconds(d.Seconds))
	}
	add("spent", strings.TrimSpace(d.Tokens()+" "+d.Dollars()))
	add("arguments", string(d.Arguments))
	add("result", string(d.Result))
	if e := d.Error; e != nil {
		add("error", string(e.Code)+": "+e.Message)
	}
	for i, x := range d.Attempts {
		add(fmt.Sprintf("attempt %d", i+1), fmt.Sprintf("lost after %s: %s", term.Seconds(x.Seconds), x.Error.Message))
	}
	if w := d.Waiting; w != nil {
		add("waits", strings.TrimSpace(w.Question+" "+w.Why))
		add("choices", strings.Join(w.Choices, ", "))
	}
	if x := d.Approval; x != nil {
		add("decided", strings.TrimSpace(fmt.Sprintf("%s %s", x.Choice, byText(x))))
	}
	if u := d.Undo; u != nil && u.Done != 0 {
		add("undone by", fmt.Sprintf("call %d of %s", u.Done, u.Tool))
	} else if u != nil {
		add("undone by", fmt.Sprintf("%s, if asked: xstate calls revert %d", u.Tool, d.Call))
	}
	add("key", fmt.Sprintf("%s, number %d", term.Short(string(d.Key)), d.Number))
	w.ui.Print("%s\n", w.ui.Bold(fmt.Sprintf("call %d  %s", d.Call, d.State)))
	w.ui.Write(term.Columns(rows))
}

// byText says who decided, and why.
func byText(x *state.Approval) string {
	text := ""
	if x.By != "" {
		text = "by " + x.By
	}
	if x.Reason != "" {
		text += ": " + x.Reason
	}
	return text
}

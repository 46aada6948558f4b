package preflight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/journal/rule"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// checker makes a report.
type checker struct {
	t *Text
	h *Host
	r *Report

	found map[found]*journal.Tool // what calls name → what it is; nil: nothing offers it
}

// Check holds a program against its surroundings.
func Check(ctx context.Context, t *Text, h *Host) (*Report, error) {
	r := &Report{Findings: []Finding{}, Differences: []rule.Deviation{}, Calls: t.Calls, Forecast: h.Forecast}
	if r.Calls == nil {
		r.Calls = []Call{}
	}
	if r.Forecast.Unknown == nil {
		r.Forecast.Unknown = []state.BlockID{}
	}
	c := checker{t: t, h: h, r: r}
	c.text()
	c.unjudged()
	c.packages()
	c.files()
	c.tools(ctx)
	t.Uses.Irreversible = c.irreversible()
	r.Uses = t.Uses
	if err := c.rules(ctx); err != nil {
		return nil, err
	}
	c.varying()
	c.manifest()
	c.loops()
	c.budgets()
	r.Findings = append(r.Findings, h.Uncovered...)
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return slices.Index(verdicts, b.Verdict) - slices.Index(verdicts, a.Verdict)
	})
	if r.Verdict = Ready; len(r.Findings) > 0 {
		r.Verdict = r.Findings[0].Verdict
	}
	return r, nil
}

func (c *checker) find(kind string, v Verdict, at Place, message, hint string) {
	c.r.Findings = append(c.r.Findings, Finding{kind, v, at, message, hint})
}

// text reports blocks that do not parse, and undefined names.
func (c *checker) text() {
	for i := range c.t.Blocks {
		if b := &c.t.Blocks[i]; b.Err != nil {
			c.find(KindSyntax, Refuse, Place{b.ID, b.Err.Line}, b.Err.Msg, "")
		}
	}
	for _, u := range c.t.undefinedNames(c.h.Offers) {
		hint := ""
		if u.other != "" {
			hint = fmt.Sprintf("a comment hands over the value of another language: xstate: from %s import %s",
				u.other, u.name)
		}
		switch {
		case u.later:
			c.find(KindName, Ask, u.Place, fmt.Sprintf("a function reads %s, which nothing defines", u.name), hint)
		case u.below != "":
			c.find(KindName, Ask, u.Place, fmt.Sprintf("%s is read before block %s defines it", u.name, u.below), "")
		default:
			c.find(KindName, Refuse, u.Place, fmt.Sprintf("nothing defines %s", u.name), hint)
		}
	}
}

// unjudged notes what is not looked at in blocks of other languages, at the first of each.
func (c *checker) unjudged() {
	said := map[string]bool{"": true}
	for i := range c.t.Blocks {
		b := &c.t.Blocks[i]
		if said[b.space] {
			continue
		}
		said[b.space] = true
		what := "calls, hosts and files of JavaScript and TypeScript are not judged"
		if l, ok := lang.InSpace(b.space); ok && l.Space != lang.SpaceJS {
			what = "names, commands, hosts and files of " + l.Variants[0].Title + " are not judged"
		}
		c.find(KindUnjudged, Ready, Place{b.ID, 1}, what, "docs/calls.md")
	}
}

// packages reports modules that are not there, and notes those that are packages.
func (c *checker) packages() {
	for _, space := range c.t.Spaces() {
		hint := "install it, or name another `--python`"
		if space != "" {
			hint = "install it beside the program"
		}
		for _, name := range c.t.Imports(space) {
			where := c.h.Offers[space].Packages[name]
			if where == Installed || where == Missing {
				c.t.Uses.Packages = append(c.t.Uses.Packages, name)
			}
			if where != Missing {
				continue
			}
			at, sure := c.importer(space, name)
			v := Ask
			if sure {
				v = Refuse
			}
			c.find(KindPackage, v, at, fmt.Sprintf("there is no module %s", name), hint)
		}
	}
	slices.Sort(c.t.Uses.Packages)
	c.t.Uses.Packages = slices.Compact(c.t.Uses.Packages)
}

// importer returns where a module is imported first. sure: by a separate statement, which nothing guards.
func (c *checker) importer(space, module string) (at Place, sure bool) {
	for i := range c.t.Blocks {
		if c.t.Blocks[i].Facts == nil || c.t.Blocks[i].space != space {
			continue
		}
		for _, n := range c.t.Blocks[i].Facts.Nodes {
			for _, m := range n.Imports {
				if moduleOf(space, m) == module {
					return Place{c.t.Blocks[i].ID, n.Line}, n.Kind == depgraph.KindImport
				}
			}
		}
	}
	return at, false
}

// files reports files that are read, do not exist, and that nothing of the program writes. Blocks of other languages
// write files that their texts do not show.
func (c *checker) files() {
	if spaces := c.t.Spaces(); len(spaces) > 1 || len(spaces) == 1 && spaces[0] != "" {
		return
	}
	said := map[string]bool{}
	for _, f := range c.t.files {
		if f.mode != depgraph.Reads || said[f.name] || c.t.asked[f.name] || c.h.Exists(f.name) ||
			slices.Contains(c.t.Uses.Writes, f.name) || strings.Contains(f.name, "://") {
			continue
		}
		said[f.name] = true
		c.find(KindFile, Ask, f.Place, fmt.Sprintf("there is no file %s, and no block writes it", f.name), "")
	}
}

// tools finds the tools and models of the calls, and reports those that nothing offers.
func (c *checker) tools(ctx context.Context) {
	c.found = map[found]*journal.Tool{}
	for i := range c.t.Calls {
		call := &c.t.Calls[i]
		if call.Kind == journal.KindAsk || call.Name == "" {
			continue
		}
		of := found{call.Kind, call.Name}
		tool, asked := c.found[of]
		if !asked {
			tool = c.ask(ctx, call)
			c.found[of] = tool
		}
		if tool != nil {
			call.Class = string(tool.Class)
		}
	}
}

// found is what a call names.
type found struct {
	kind journal.Kind
	name string
}

// ask returns the tool that a call means; nil where nothing offers it, which it reports.
func (c *checker) ask(ctx context.Context, call *Call) *journal.Tool {
	name := call.Name
	if call.Kind == journal.KindModel && name == DefaultModel {
		name = ""
	}
	tool, err := c.h.Find(ctx, call.Kind, name)
	if err == nil {
		return &tool
	}
	v := Ask
	if c.h.Certain {
		v = Refuse
	}
	message, hint := err.Error(), ""
	if e, ok := errors.AsType[*state.Error](err); ok {
		message, hint = e.Message, e.Hint
	}
	c.find(KindTool, v, call.Place, message, cmp.Or(c.h.Untrusted, hint))
	return nil
}

// tool returns the tool that a call means; nil if it is not known.
func (c *checker) tool(call *Call) *journal.Tool { return c.found[found{call.Kind, call.Name}] }

// irreversible returns the tools that cannot be undone, and notes for each call what precedes it.
func (c *checker) irreversible() (names []string) {
	asked := ""
	for i := range c.t.Calls {
		call := &c.t.Calls[i]
		if call.Kind == journal.KindAsk {
			asked = fmt.Sprintf("block %s, line %d", call.Block, call.Line)
		}
		if call.Class != string(journal.Irreversible) || call.Kind != journal.KindTool {
			continue
		}
		names = append(names, call.Name)
		call.Approval, call.Checkpoint = asked, c.checkpoint(call.Place)
	}
	slices.Sort(names)
	if names = slices.Compact(names); names == nil {
		names = []string{}
	}
	return names
}

// checkpoint returns the last line before the node of a place: what ran until there is kept.
func (c *checker) checkpoint(at Place) *Place {
	var last *Place
	for i := range c.t.Blocks {
		b := &c.t.Blocks[i]
		if b.Facts == nil {
			continue
		}
		for _, n := range b.Facts.Nodes {
			if b.ID == at.Block && n.EndLine >= at.Line {
				return last
			}
			last = &Place{b.ID, n.EndLine}
		}
	}
	return last
}

// rules reports what rules say about the program, and about its calls as far as its text shows them.
func (c *checker) rules(ctx context.Context) error {
	if c.h.Rules != nil {
		v, err := c.h.Rules.Program(ctx, &c.t.Uses)
		if err != nil {
			return err
		}
		switch v.Action {
		case journal.Deny:
			c.find(KindRule, Refuse, Place{}, "the program is denied: "+v.Reason, v.Hint)
		case journal.Ask:
			c.find(KindRule, Ask, Place{}, "a rule asks about the program: "+v.Reason, v.Hint)
		}
	}
	for i := range c.t.Calls {
		call := &c.t.Calls[i]
		if call.Kind == journal.KindAsk || call.Name == "" {
			continue
		}
		j := journal.Call{Request: journal.Request{Kind: call.Kind, Tool: call.Name,
			Caller: state.Caller{Block: call.Block}}}
		if tool := c.tool(call); tool != nil {
			j.Def, j.Tool = *tool, tool.Name
		}
		v, err := c.h.Rules.Foresee(ctx, &j, c.h.Generated)
		if err != nil {
			return err
		}
		switch {
		case v.Action == journal.Deny:
			c.find(KindRule, Refuse, call.Place, fmt.Sprintf("the call of %s is denied: %s", call.Name, v.Reason),
				v.Hint)
		case v.Action == journal.Ask:
			call.Approval = cmp.Or(v.Rule, call.Approval)
			c.find(KindRule, Ready, call.Place, fmt.Sprintf("the call of %s will ask: %s", call.Name, v.Reason), "")
		case call.Class == string(journal.Irreversible) && call.Approval == "":
			c.find(KindIrreversible, Ask, call.Place,
				fmt.Sprintf("what %s does cannot be undone, and nobody is asked before", call.Name),
				`call xstate.ask before it, or write a rule: then = "ask"`)
		}
	}
	return nil
}

// varying warns of calls that cannot be undone and whose arguments may vary: another run may not know them again, and
// then asks a person. Which arguments come from which source is not looked at.
func (c *checker) varying() {
	for _, n := range c.t.varying() {
		for i := range c.t.Calls {
			call := &c.t.Calls[i]
			if call.Block != n.block || call.Line < n.from || call.Line > n.to || call.Kind != journal.KindTool ||
				call.Class != string(journal.Irreversible) {
				continue
			}
			if tool := c.tool(call); tool != nil && len(tool.Identity) > 0 {
				continue
			}
			c.find(KindVarying, Ready, call.Place,
				fmt.Sprintf("arguments of %s may vary from run to run: %s in block %s, line %d; "+
					"its identity would tell its calls apart", call.Name, n.source.name, n.source.Block, n.source.Line),
				"declare it in xstate.toml: [tools."+call.Name+`] identity = ["…"]`)
		}
	}
}

// manifest reports what differs from the manifest.
func (c *checker) manifest() {
	m := c.t.Manifest
	if m == nil {
		return
	}
	c.r.Manifest = m.At.String()
	if all := m.Compare(&c.t.Uses); all != nil {
		c.r.Differences = all
	}
	for _, d := range c.r.Differences {
		v, what := Ask, "uses"
		if d.What == "tools" || d.What == "models" {
			v, what = Refuse, "calls" // and would be denied
		}
		if len(d.Missing) > 0 {
			c.find(KindUndeclared, v, Place{},
				fmt.Sprintf("the program %s what its manifest does not declare: %s %s", what,
					d.What, strings.Join(d.Missing, ", ")), "add it to "+m.At.String()+", if the program is to do that")
		}
		if len(d.Unneeded) > 0 {
			c.find(KindUnneeded, Ready, Place{},
				fmt.Sprintf("the manifest declares what the program does not seem to use: "+
					"%s %s", d.What, strings.Join(d.Unneeded, ", ")), "")
		}
	}
}

// loops reports calls that repeat without a bound, unless a budget bounds them.
func (c *checker) loops() {
	bounded := slices.ContainsFunc(c.h.Budgets, func(b policy.Budget) bool {
		return !b.Soft && (b.What == policy.BudgetUSD || b.What == policy.BudgetTokens ||
			strings.HasPrefix(b.What, policy.BudgetCalls))
	})
	said := map[Place]bool{}
	for _, call := range c.t.unbounded() {
		if said[call.Place] {
			continue
		}
		said[call.Place] = true
		v, hint := Ask, "bound the loop, or give the run a budget: `--budget calls=50`"
		if bounded {
			v, hint = Ready, ""
		}
		c.find(KindUnbounded, v, call.Place, fmt.Sprintf("%s is called in a loop that nothing bounds",
			cmp.Or(call.Name, "a "+string(call.Kind))), hint)
	}
}

// budgets reports limits that the forecast exceeds.
func (c *checker) budgets() {
	f := c.h.Forecast
	for _, b := range c.h.Budgets {
		amount, counted := map[string]int64{
			policy.BudgetUSD: int64(f.USD * 1e6), policy.BudgetTokens: f.Tokens, policy.BudgetCalls: f.Calls,
			policy.BudgetWall: int64(f.Seconds * 1e9),
		}[b.What]
		if counted && b.Scope == policy.ScopeRun && amount > b.Amount {
			v := Ask
			if b.Soft {
				v = Ready
			}
			c.find(KindBudget, v, Place{},
				fmt.Sprintf("by recorded runs the program takes %s=%s, more than %s (%s)", b.What,
					b.Text(amount), b.Text(b.Amount), b.At), "")
		}
	}
}

package rule

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// spending counts what was spent, and holds it against the budgets.
type spending struct {
	budgets  []policy.Budget
	spent    map[string]*sum // by scope
	warned   []bool          // by budget
	warnings []string
	session  string
	agent    string // the run's
}

// sum is what was spent in one scope.
type sum struct {
	microUSD, tokens, calls int64
	callsOf                 map[string]int64
	wall, cpu               time.Duration // for a single run
	executions              int64         // likewise
}

func (s *sum) add(u state.Usage) {
	s.microUSD += u.MicroUSD
	s.tokens += u.InputTokens + u.OutputTokens
}

func (s *sum) call(tool string, n int64) {
	if s.calls += n; s.callsOf == nil {
		s.callsOf = map[string]int64{}
	}
	s.callsOf[tool] += n
}

// amount returns what was spent of what a budget bounds.
func (s *sum) amount(what string) int64 {
	switch what {
	case policy.BudgetUSD:
		return s.microUSD
	case policy.BudgetTokens:
		return s.tokens
	case policy.BudgetCalls:
		return s.calls
	case policy.BudgetWall:
		return int64(s.wall)
	case policy.BudgetCPU:
		return int64(s.cpu)
	case policy.BudgetExecutions:
		return s.executions
	}
	var n int64
	for tool, calls := range s.callsOf {
		if sameTool(tool, strings.TrimPrefix(what, policy.BudgetCallsOf)) {
			n += calls
		}
	}
	return n
}

func (s *sum) row() sumRow {
	return sumRow{USD: float64(s.microUSD) / 1e6, Tokens: s.tokens, Calls: s.calls}
}

func (p *spending) of(scope string) *sum {
	if p.spent == nil {
		p.spent = map[string]*sum{}
	}
	if p.spent[scope] == nil {
		p.spent[scope] = &sum{}
	}
	return p.spent[scope]
}

func (p *spending) row() spentRow {
	return spentRow{Run: p.of(policy.ScopeRun).row(), Session: p.of(policy.ScopeSession).row()}
}

// scopes are those that a call of the run spends from.
func (p *spending) scopes() []string {
	all := []string{policy.ScopeRun, policy.ScopeSession}
	if p.agent != "" {
		all = append(all, policy.ScopeAgent+p.agent)
	}
	return all
}

// begin starts the counts of a run. The records hold what session and agent spent before.
func (p *spending) begin(ctx context.Context, store *state.Store, budgets []policy.Budget, agent string) error {
	*p = spending{budgets: budgets, warned: make([]bool, len(budgets)), session: p.session, agent: agent}
	if store == nil {
		return nil
	}
	return store.Calls(ctx, 0, func(c *state.Call) bool {
		if c.Caller.Session == p.session {
			p.record(policy.ScopeSession, c)
		}
		if p.agent != "" && c.Caller.Agent == p.agent {
			p.record(policy.ScopeAgent+p.agent, c)
		}
		return true
	})
}

// record adds what a recorded call spent, with its lost attempts.
func (p *spending) record(scope string, c *state.Call) {
	made := int64(len(c.Attempts))
	decided := c.Approval != nil &&
		(c.Approval.Choice == journal.ChoiceHappened || c.Approval.Choice == journal.ChoiceFailed)
	if c.State == state.CallSent || c.State.Ended() && !decided {
		made++
	}
	if counts(journal.Kind(c.Kind)) && made > 0 {
		p.of(scope).call(c.Tool, made)
	}
	p.of(scope).add(c.Usage)
	for _, a := range c.Attempts {
		p.of(scope).add(a.Usage)
	}
}

// counts reports whether calls of a kind count: steps run in the program, and questions are answered by people.
func counts(k journal.Kind) bool { return k == journal.KindTool || k == journal.KindModel }

// take counts a call that is about to be made, unless a hard limit is reached.
func (p *spending) take(c *journal.Call) journal.Verdict {
	if !counts(c.Kind) {
		return journal.Verdict{}
	}
	for _, b := range p.budgets {
		if b.Soft || !slices.Contains(p.scopes(), b.Scope) {
			continue
		}
		spent := p.of(b.Scope).amount(b.What)
		over := spent >= b.Amount
		switch b.What {
		case policy.BudgetUSD:
			over = over || spent+c.Def.Price > b.Amount
		case policy.BudgetWall, policy.BudgetCPU, policy.BudgetExecutions:
			continue // between nodes
		default:
			if tool, is := strings.CutPrefix(b.What, policy.BudgetCallsOf); is && !sameTool(tool, fullName(c)) {
				continue
			}
		}
		if over {
			return journal.Verdict{Action: journal.Deny, Code: journal.CodeBudget, Rule: b.At.String(),
				Reason: reached(b, spent), Hint: spentHint(b)}
		}
	}
	for _, scope := range p.scopes() {
		p.of(scope).call(fullName(c), 1)
	}
	p.warn()
	return journal.Verdict{}
}

// reached says that a limit is reached.
func reached(b policy.Budget, spent int64) string {
	limit := "the budget"
	if b.Soft {
		limit = "the soft budget"
	}
	return fmt.Sprintf("%s %s=%s of the %s is spent: %s (%s)", limit, b.What, b.Text(b.Amount),
		ScopeText(b), b.Text(spent), b.At)
}

// spentHint says how to continue.
func spentHint(b policy.Budget) string {
	if b.Scope != policy.ScopeRun {
		return fmt.Sprintf("raise it in %s, and run again: what was answered is not called again", b.At)
	}
	return fmt.Sprintf("a run with the budget %s=LARGER goes on: what was answered is not called again", b.What)
}

// used adds what an answer cost.
func (p *spending) used(c *state.Call) {
	usage := c.Usage
	if c.State == state.CallLost && len(c.Attempts) > 0 {
		usage = c.Attempts[len(c.Attempts)-1].Usage
	}
	for _, scope := range p.scopes() {
		p.of(scope).add(usage)
	}
	p.warn()
}

// warn notes soft limits that are reached, once each.
func (p *spending) warn() {
	for i, b := range p.budgets {
		if !b.Soft || p.warned[i] || !slices.Contains(p.scopes(), b.Scope) {
			continue
		}
		if spent := p.of(b.Scope).amount(b.What); spent >= b.Amount {
			p.warned[i] = true
			p.warnings = append(p.warnings, reached(b, spent))
		}
	}
}

// node counts an execution of a node that is about to begin, unless a hard limit of the run is reached.
func (p *spending) node(wall, cpu time.Duration) error {
	run := p.of(policy.ScopeRun)
	run.wall, run.cpu = wall, cpu
	p.warn()
	for _, b := range p.budgets {
		between := b.What == policy.BudgetWall || b.What == policy.BudgetCPU || b.What == policy.BudgetExecutions
		if spent := run.amount(b.What); between && !b.Soft && b.Scope == policy.ScopeRun && spent >= b.Amount {
			return &state.Error{Code: journal.CodeBudget, Message: reached(b, spent), Hint: spentHint(b)}
		}
	}
	run.executions++
	p.warn()
	return nil
}

// ScopeText is the scope of a budget as people read it.
func ScopeText(b policy.Budget) string { return strings.Replace(b.Scope, ".", " ", 1) }

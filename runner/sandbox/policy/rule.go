package policy

import (
	"errors"
	"strings"
)

// checkRules refuses rules that lack something, and budgets of another name.
func checkRules(found []Setting) error {
	said := map[string]map[string]bool{} // by the number of the rule
	first := map[string]*Setting{}
	for i := range found {
		s := &found[i]
		switch s.parts[0] {
		case "budget":
			if _, err := s.budget(); err != nil {
				return err
			}
		case "rule":
			n := s.parts[1]
			if said[n] == nil {
				said[n], first[n] = map[string]bool{}, s
			}
			said[n][s.field] = true
		}
	}
	for n, has := range said {
		if !has[fieldRuleWhen] || !has[fieldRuleThen] {
			return first[n].refuse(CodeInvalid, `write when = "…" and then = "deny"`,
				"[[rule]] number %s lacks when or then", n)
		}
	}
	return nil
}

// budget is the limit that a setting is.
func (s *Setting) budget() (Budget, error) {
	parts := s.parts[1:]
	scope := ScopeRun
	switch {
	case parts[0] == "session":
		scope, parts = ScopeSession, parts[1:]
	case parts[0] == "agent" && len(parts) > 2:
		scope, parts = ScopeAgent+parts[1], parts[2:]
	}
	b, err := ParseBudget(strings.Join(parts, "."), s.Value)
	if err == nil && scope != ScopeRun && (b.What == BudgetWall || b.What == BudgetCPU || b.What == BudgetExecutions) {
		err = errors.New("a run alone has this budget")
	}
	if err != nil {
		return b, s.refuse(CodeInvalid, budgetHint, "%s = %s: %v", s.Field, s.Value, err)
	}
	b.Scope, b.At = scope, Place{s.File, s.Line, s.Column}
	return b, nil
}

// rulesOf returns the rules and budgets of a file.
func rulesOf(found []Setting, rank Rank) (rules []Rule, budgets []Budget) {
	at := map[string]int{}
	for i := range found {
		s := &found[i]
		if s.parts[0] == "budget" {
			budgets = append(budgets, must(s.budget()))
		}
		if s.parts[0] != "rule" {
			continue
		}
		n, known := at[s.parts[1]]
		if !known {
			n = len(rules)
			at[s.parts[1]] = n
			rules = append(rules, Rule{Rank: rank, On: "call"})
		}
		switch r := &rules[n]; s.field {
		case fieldRuleWhen:
			r.When, r.At = s.Value, s.begin
		case fieldRuleThen:
			if r.Then = s.Value; r.Then == "allow" && rank == Stranger {
				s.Ignored = s.untrusted()
			}
		case fieldRuleOn:
			r.On = s.Value
		case fieldRuleReason:
			r.Reason = s.Value
		}
	}
	return rules, budgets
}

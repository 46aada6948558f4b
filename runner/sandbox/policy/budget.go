package policy

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Rank says how much the file of a rule or of a budget counts.
type Rank int

// Ranks, from the lowest.
const (
	Stranger Rank = iota // the file of an untrusted folder: it only narrows
	Trusted              // the file of a folder that the user trusts
	Own                  // the file of the user
)

// Rule decides about calls, or about a program before it runs: [[rule]]. Package rule compiles it.
type Rule struct {
	When   string // an expression in the Common Expression Language
	Then   string // allow, ask or deny
	On     string // call, or program
	Reason string
	At     Place // start of the text of the expression
	Rank   Rank
}

// Scopes of budgets. ScopeAgent is the beginning of that of one agent: "agent.coder".
const (
	ScopeRun     = "run"
	ScopeSession = "session"
	ScopeAgent   = "agent."
)

// Budget is one limit on what calls and executions spend: a line of [budget].
type Budget struct {
	Scope  string // run, session or agent.NAME
	What   string // usd, tokens, calls, calls.TOOL, wall, cpu or executions
	Soft   bool   // it warns, and stops nothing
	Amount int64
	At     Place
}

// ParseBudget reads one limit: its name as in [budget], and its amount. "soft." before the name makes it soft.
func ParseBudget(name, amount string) (b Budget, err error) {
	b.Scope = ScopeRun
	b.What, b.Soft = strings.CutPrefix(name, "soft.")
	switch tool, of := strings.CutPrefix(b.What, BudgetCallsOf); {
	case b.What == BudgetUSD:
		var usd float64
		usd, err = parseMoney(amount)
		b.Amount = int64(math.Round(usd * 1e6))
	case b.What == BudgetWall || b.What == BudgetCPU:
		var d time.Duration
		d, err = parseDuration(amount)
		b.Amount = int64(d)
	case b.What == BudgetTokens || b.What == BudgetCalls || b.What == BudgetExecutions || of && tool != "":
		var n int
		if n, err = parseCount(amount); err != nil || n < 0 {
			err = errors.New("this is no whole number")
		}
		b.Amount = int64(n)
	default:
		err = errors.New("no budget has this name")
	}
	return b, err
}

// Name is the name of the limit, as in [budget].
func (b Budget) Name() string {
	if b.Soft {
		return "soft." + b.What
	}
	return b.What
}

// Text is an amount of what the limit bounds, as a file has it.
func (b Budget) Text(amount int64) string {
	switch b.What {
	case BudgetUSD:
		return fmt.Sprintf("%.6g", float64(amount)/1e6)
	case BudgetWall, BudgetCPU:
		return time.Duration(amount).Round(time.Millisecond).String()
	}
	return fmt.Sprint(amount)
}

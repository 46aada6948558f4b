package rule

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

func order(args string) *journal.Call {
	return &journal.Call{
		Request: journal.Request{Kind: journal.KindTool, Tool: "order", Args: json.RawMessage(args),
			Caller: state.Caller{Session: "s", Agent: "coder", Block: "b"}},
		Def: journal.Tool{Name: "order", Class: journal.Irreversible, Source: "shop", Scope: "shop"},
	}
}

func rules(texts ...string) (all []policy.Rule) {
	for i, text := range texts {
		parts := strings.SplitN(text, ": ", 3) // whose: then: when
		rank := map[string]policy.Rank{"own": policy.Own, "folder": policy.Trusted,
			"stranger": policy.Stranger}[parts[0]]
		all = append(all, policy.Rule{Then: parts[1], When: parts[2], Rank: rank,
			At: policy.Place{File: parts[0] + ".toml", Line: i + 1, Column: 8}})
	}
	return all
}

// TestRules is a table: the rules, a call, and what they decide together.
func TestRules(t *testing.T) {
	dear := `call.tool == "order" && call.args.amount > 100`
	for _, test := range []struct {
		name      string
		rules     []policy.Rule
		args      string
		generated bool
		want      journal.Action
		reason    string
	}{
		{"no rule, own code", nil, `{}`, false, journal.Allow, ""},
		{"no rule, generated code", nil, `{}`, true, journal.Ask, "cannot be undone"},
		{"a rule settles the default", rules("own: allow: call.class == 'irreversible'"), `{}`, true, journal.Allow,
			""},
		{"deny", rules("own: deny: " + dear), `{"amount": 101}`, false, journal.Deny, "(own.toml:1:8)"},
		{"not so dear", rules("own: deny: " + dear), `{"amount": 100}`, false, journal.Allow, ""},
		{"an amount that is a float", rules("own: deny: " + dear), `{"amount": 100.5}`, false, journal.Deny, ""},
		{"deny wins over ask", rules("own: ask: true", "own: deny: true", "own: allow: true"), `{}`, false,
			journal.Deny, ""},
		{"ask wins over allow", rules("own: allow: true", "own: ask: true"), `{}`, false, journal.Ask, ""},
		{"the user's file wins", rules("folder: deny: true", "own: allow: true"), `{}`, false, journal.Allow, ""},
		{"the user's file wins in any order", rules("own: allow: true", "folder: deny: true"), `{}`, false,
			journal.Allow, ""},
		{"a stranger narrows", rules("stranger: deny: true"), `{}`, false, journal.Deny, "(stranger.toml:1:8)"},
		{"a stranger allows nothing", rules("stranger: allow: true"), `{}`, true, journal.Ask, ""},
		{"a stranger against a trusted folder", rules("folder: allow: true", "stranger: ask: true"), `{}`, false,
			journal.Ask, ""},
		{"who calls", rules(`own: deny: call.agent == "coder" && call.block == "b" && call.session == "s"`), `{}`,
			false,
			journal.Deny, ""},
		{"what it " +
			"is", rules(`own: deny: call.kind == "tool" && call.source == "shop" && call.scope == "shop" &&` +
			` call.sample == 0`),
			`{}`, false, journal.Deny, ""},
		{"a text is no number: deny holds", rules("own: deny: " + dear), `{"amount": "101"}`, false, journal.Deny,
			"cannot be evaluated"},
		{"a missing argument: deny holds", rules("own: deny: " + dear), `{}`, false, journal.Deny,
			"cannot be evaluated"},
		{"a missing argument: allow does not", rules("own: allow: " + dear), `{}`, true, journal.Ask, ""},
		{"has", rules("own: deny: has(call.args.amount) && call.args.amount > 100"), `{}`, false, journal.Allow, ""},
		{"nested", rules(`own: deny: call.args.to.exists(x, x.endsWith("@evil.example"))`),
			`{"to": ["a@b.c", "x@evil.example"]}`, false, journal.Deny, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			set, err := Compile(test.rules)
			if err != nil {
				t.Fatal(err)
			}
			g := NewGate("s", nil)
			g.Use(Run{Rules: set, Generated: test.generated})
			v, err := g.Decide(t.Context(), order(test.args))
			if err != nil || v.Action != test.want || !strings.Contains(v.Reason, test.reason) {
				t.Errorf("Decide = %+v, %v, want action %d with %q", v, err, test.want, test.reason)
			}
		})
	}
}

func TestProgramRules(t *testing.T) {
	set, err := Compile([]policy.Rule{{On: OnProgram, Then: "deny", Reason: "no shell",
		When: `"subprocess" in program.imports || program.hosts.exists(h, h != "a.example")`,
		At:   policy.Place{File: "x", Line: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		program Program
		want    journal.Action
	}{
		{Program{}, journal.Allow},
		{Program{Hosts: []string{"a.example"}}, journal.Allow},
		{Program{Hosts: []string{"b.example"}}, journal.Deny},
		{Program{Imports: []string{"subprocess"}}, journal.Deny},
	} {
		if v, err := set.Program(context.Background(), &test.program); err != nil || v.Action != test.want {
			t.Errorf("Program(%+v) = %+v, %v, want %d", test.program, v, err, test.want)
		}
	}
}

// A rule that does not compile is refused with its place.
func TestRuleErrors(t *testing.T) {
	for _, test := range []struct{ when, want string }{
		{"call.tool = 3", `own.toml:7:18: the rule "call.tool = 3"`},
		{"true &&\n  call.tol == 1", `own.toml:8:`},
		{"call.tol == 1", "undefined field 'tol'"},
		{"call.tool", "it gives string"},
		{"program.imports == []", "undeclared reference to 'program'"},
	} {
		_, err := Compile([]policy.Rule{{When: test.when, Then: "deny",
			At: policy.Place{File: "own.toml", Line: 7, Column: 8}}})
		var e *state.Error
		if !errors.As(err, &e) || e.Code != CodeInvalid || !strings.Contains(e.Message, test.want) || e.Hint == "" {
			t.Errorf("Compile(%q) = %v, want %q", test.when, err, test.want)
		}
	}
}

package rule

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// Codes of errors about rules.
const (
	CodeInvalid state.Code = "rule-invalid"   // a rule does not compile
	CodeDenied  state.Code = "program-denied" // a rule forbids the program
)

// Subjects of a rule.
const (
	OnCall    = "call"
	OnProgram = "program"
)

// Actions as rules name them.
var actions = map[string]journal.Action{"allow": journal.Allow, "ask": journal.Ask, "deny": journal.Deny}

// Set is compiled rules.
type Set struct {
	rules  []compiled
	digest state.Digest
}

type compiled struct {
	policy.Rule
	action  journal.Action
	program cel.Program
	partial cel.Program // for a rule about calls: it tolerates that a part of a call is not known yet
	spent   bool        // it reads what was spent, so its verdict holds for the moment
}

// environments are made when the first rule is compiled, because that takes milliseconds.
var environments = sync.OnceValues(func() (map[string]*cel.Env, error) {
	found := map[string]*cel.Env{}
	for on, rows := range map[string]map[string]any{
		OnCall: {"call": callRow{}, "spent": spentRow{}}, OnProgram: {"program": programRow{}},
	} {
		args := []any{types.ParseStructTag("json"), reflect.TypeFor[sumRow]()}
		options := []cel.EnvOption{ext.Strings(), cel.CrossTypeNumericComparisons(true)}
		for name, row := range rows {
			args = append(args, reflect.TypeOf(row))
			options = append(options, cel.Variable(name, cel.ObjectType(reflect.TypeOf(row).String())))
		}
		env, err := cel.NewEnv(append([]cel.EnvOption{ext.NativeTypes(args...)}, options...)...)
		if err != nil {
			return nil, fmt.Errorf("make the environment of rules: %w", err)
		}
		found[on] = env
	}
	return found, nil
})

// Compile compiles rules. An error names the file, the line and the column.
func Compile(rules []policy.Rule) (*Set, error) {
	set := &Set{}
	var text strings.Builder
	for _, r := range rules {
		if r.Rank == policy.Stranger && r.Then == "allow" {
			continue // without effect, see policy.Policy.Remarks
		}
		c, err := compile(r)
		if err != nil {
			return nil, err
		}
		set.rules = append(set.rules, c)
		fmt.Fprintf(&text, "%d %s %s %q %q\n", r.Rank, r.On, r.Then, r.When, r.Reason)
	}
	set.digest = state.DigestOf([]byte(text.String()))
	return set, nil
}

func compile(r policy.Rule) (compiled, error) {
	if r.On == "" {
		r.On = OnCall
	}
	all, err := environments()
	if err != nil {
		return compiled{}, err
	}
	action, known := actions[r.Then]
	env := all[r.On]
	switch {
	case !known:
		return compiled{}, refuse(r, 1, 0, fmt.Sprintf("then is %q", r.Then), `write "allow", "ask" or "deny"`)
	case env == nil:
		return compiled{}, refuse(r, 1, 0, fmt.Sprintf("on is %q", r.On), `write "call" or "program"`)
	}
	tree, issues := env.Compile(r.When)
	if issues.Err() != nil {
		e := issues.Errors()[0]
		message, _, _ := strings.Cut(e.Message, " expecting {") // and a list of every kind of token
		return compiled{}, refuse(r, e.Location.Line(), max(e.Location.Column(), 0), strings.TrimSpace(message),
			"there are "+strings.Join(Names(r.On), "; "))
	}
	if tree.OutputType() != cel.BoolType {
		return compiled{}, refuse(r, 1, 0, fmt.Sprintf("it gives %s", tree.OutputType()),
			"an expression gives true or false, such as call.tool == \"order\"")
	}
	program, err := env.Program(tree, cel.InterruptCheckFrequency(256))
	if err != nil {
		return compiled{}, refuse(r, 1, 0, err.Error(), "write it in another way")
	}
	c := compiled{Rule: r, action: action, program: program}
	if r.On == OnCall {
		if c.partial, err = env.Program(tree, cel.EvalOptions(cel.OptPartialEval)); err != nil {
			return c, refuse(r, 1, 0, err.Error(), "write it in another way")
		}
	}
	for _, ref := range tree.NativeRep().ReferenceMap() {
		c.spent = c.spent || ref.Name == "spent"
	}
	return c, nil
}

// refuse is an error about a rule. line and column are in the expression: from 1, and from 0.
func refuse(r policy.Rule, line, column int, message, hint string) error {
	at := r.At
	if at.Column += column; line > 1 {
		at.Line, at.Column = at.Line+line-1, column+1
	}
	return &state.Error{Code: CodeInvalid, Message: fmt.Sprintf("%s: the rule %q: %s", at, brief(r.When), message),
		Hint: hint}
}

// brief is the beginning of an expression, on one line.
func brief(text string) string {
	words := strings.Join(strings.Fields(text), " ")
	if len(words) > 80 {
		words = strings.ToValidUTF8(words[:80], "") + "…"
	}
	return words
}

// Names lists the variables of expressions about calls or programs with their fields.
func Names(on string) []string {
	if on == OnProgram {
		return []string{"program: " + strings.Join(fields(programRow{}), ", ")}
	}
	return []string{"call: " + strings.Join(fields(callRow{}), ", "),
		"spent.run and spent.session: " + strings.Join(fields(sumRow{}), ", ")}
}

func fields(row any) (names []string) {
	t := reflect.TypeOf(row)
	for i := range t.NumField() {
		names = append(names, t.Field(i).Tag.Get("json"))
	}
	return names
}

// Digest names the rules by their text.
func (s *Set) Digest() state.Digest { return s.digest }

// verdict is that of one rule.
type verdict struct {
	journal.Verdict
	rank  policy.Rank
	spent bool
}

// decide returns the verdict of the rules that match. found is false where none does.
func (s *Set) decide(ctx context.Context, on string, vars map[string]any) (v verdict, found bool, err error) {
	for i := range s.rules {
		r := &s.rules[i]
		if r.On != on {
			continue
		}
		rank := max(r.Rank, policy.Trusted) // folders are one origin
		if found && (rank < v.rank || rank == v.rank && r.action <= v.Action) {
			continue
		}
		matches, why, err := r.matches(ctx, vars)
		if err != nil {
			return v, false, err
		}
		if matches {
			v, found = verdict{r.says(why), rank, r.spent}, true
		}
	}
	return v, found, nil
}

// matches evaluates a rule. why says that it matches because it cannot be evaluated.
func (c *compiled) matches(ctx context.Context, vars map[string]any) (is bool, why string, err error) {
	out, _, err := c.program.ContextEval(ctx, vars)
	switch {
	case err == nil:
		return out.Value() == true, "", nil
	case ctx.Err() != nil:
		return false, "", ctx.Err()
	}
	return c.action != journal.Allow, "the rule cannot be evaluated: " + err.Error(), nil
}

// says is the verdict of a rule that matches.
func (c *compiled) says(why string) journal.Verdict {
	reason := c.Reason
	if reason == "" {
		reason = "when " + brief(c.When)
	}
	v := journal.Verdict{Action: c.action, Reason: fmt.Sprintf("%s (%s)", reason, c.At), Rule: c.At.String()}
	if why != "" {
		v.Reason += "; " + why
		v.Hint = "has(call.args.NAME) and type(x) == double tell what there is"
	}
	if c.spent && v.Action == journal.Deny {
		v.Code = journal.CodeBudget
	}
	return v
}

// Program decides about a program before it runs.
func (s *Set) Program(ctx context.Context, p *Program) (journal.Verdict, error) {
	v, _, err := s.decide(ctx, OnProgram, map[string]any{"program": programOf(p)})
	return v.Verdict, err
}

// Foresee returns what rules say about a call that is known but for its arguments, and for who makes it when. A rule
// that depends on these says nothing.
func (s *Set) Foresee(ctx context.Context, c *journal.Call, generated bool) (journal.Verdict, error) {
	c.Args = []byte("{}")
	row, err := callOf(c)
	if err != nil {
		return journal.Verdict{}, err
	}
	vars, err := cel.PartialVars(map[string]any{"call": row}, cel.AttributePattern("spent"),
		cel.AttributePattern("call").QualString("args"), cel.AttributePattern("call").QualString("sample"),
		cel.AttributePattern("call").QualString("agent"), cel.AttributePattern("call").QualString("session"))
	if err != nil {
		return journal.Verdict{}, err
	}
	var v verdict
	found := false
	for i := range s.all() {
		r := &s.rules[i]
		rank := max(r.Rank, policy.Trusted)
		if r.On != OnCall || found && (rank < v.rank || rank == v.rank && r.action <= v.Action) {
			continue
		}
		out, _, err := r.partial.ContextEval(ctx, vars)
		if ctx.Err() != nil {
			return v.Verdict, ctx.Err()
		}
		if err == nil && out.Value() == true {
			v, found = verdict{r.says(""), rank, r.spent}, true
		}
	}
	if !found {
		return byDefault(c, generated), nil
	}
	return v.Verdict, nil
}

func (s *Set) all() []compiled {
	if s == nil {
		return nil
	}
	return s.rules
}

// byDefault is the verdict where no rule says anything.
func byDefault(c *journal.Call, generated bool) journal.Verdict {
	if generated && c.Kind == journal.KindTool && c.Def.Class == journal.Irreversible {
		return journal.Verdict{Action: journal.Ask, Rule: "default",
			Reason: fmt.Sprintf("what %s does cannot be undone, and the code is not the user's own", c.Tool)}
	}
	return journal.Verdict{}
}

// About reports whether there is a rule about calls, or programs.
func (s *Set) About(on string) bool {
	return slices.ContainsFunc(s.all(), func(c compiled) bool { return c.On == on })
}

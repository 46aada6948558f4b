package query

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"

	"github.com/xstate-engine/xstate/state"
)

// CodeExpression is the code of errors about an expression of a Filter.
const CodeExpression state.Code = "bad-expression"

// Subject is what a filter picks.
type Subject string

const (
	AboutBlocks Subject = "blocks" // those of a program
	AboutTraces Subject = "traces" // recorded executions, one for each node of a program
	AboutSteps  Subject = "steps"  // those of the history up to a step
)

// Filter is a compiled expression in the Common Expression Language (cel.dev) that selects blocks, traces or steps. Its
// variables are block, trace, step and origin, with the fields that Names lists. The variables that an expression names
// decide its subject: trace, else block, else step; origin alone selects blocks. In an expression about blocks, step is
// the step that gave the block its version.
type Filter struct {
	Subject Subject
	program cel.Program
	lines   bool // the expression may read how many lines a step added or removed
}

// The variables as expressions see them. They are separate types, so that a renamed field of the engine does not break
// stored expressions.
type (
	originRow struct {
		Agent   string            `json:"agent"`
		Model   string            `json:"model"`
		CallID  string            `json:"call_id"`
		Action  string            `json:"action"`
		Reason  string            `json:"reason"`
		Labels  map[string]string `json:"labels"`
		Author  string            `json:"author"`
		Client  string            `json:"client"`
		Prompt  string            `json:"prompt_digest"`
		Answers string            `json:"answers"`
		Span    string            `json:"trace_parent"`
		In      int64             `json:"tokens_in"`
		Out     int64             `json:"tokens_out"`
		Cost    float64           `json:"cost_usd"`
	}
	blockRow struct {
		ID       string    `json:"id"`
		Index    int       `json:"index"`
		Title    string    `json:"title"`
		Dialect  string    `json:"dialect"`
		Version  string    `json:"version"`
		Source   string    `json:"source"`
		Edited   int       `json:"edited"`
		EditedAt time.Time `json:"edited_at"`
		Status   string    `json:"status"`
		RanAt    int       `json:"ran_at"`
		Verified int       `json:"verified"`
		Seconds  float64   `json:"seconds"`
		Output   string    `json:"output"`
		Error    string    `json:"error"`
		Marks    []string  `json:"marks"`
		Reads    []string  `json:"reads"`
		Writes   []string  `json:"writes"`
	}
	traceRow struct {
		Node    string      `json:"node"`
		Block   string      `json:"block"`
		Status  string      `json:"status"`
		Reason  string      `json:"reason"`
		Key     string      `json:"key"` // the reason's
		Code    string      `json:"code"`
		Digest  string      `json:"digest"`
		Seconds float64     `json:"seconds"`
		Lost    bool        `json:"lost"`
		Reads   []accessRow `json:"reads"`
		Writes  []accessRow `json:"writes"`
	}
	accessRow struct {
		Key    string `json:"key"`
		Digest string `json:"digest"`
		By     string `json:"by"`
		Type   string `json:"type"`
		Repr   string `json:"repr"`
		Shape  string `json:"shape"`
		Bytes  int64  `json:"bytes"`
	}
	stepRow struct {
		Number  int       `json:"number"`
		Time    time.Time `json:"time"`
		Kind    string    `json:"kind"`
		Block   string    `json:"block"`
		Was     string    `json:"was"`
		Now     string    `json:"now"`
		Added   int       `json:"added"`
		Removed int       `json:"removed"`
		Ran     int       `json:"ran"`
		Reused  int       `json:"reused"`
		Failed  int       `json:"failed"`
		Blocked int       `json:"blocked"`
		Missed  int       `json:"not_reached"`
		Seconds float64   `json:"seconds"`
		Saved   float64   `json:"saved_seconds"`
		To      int       `json:"to"`
		Undoes  int       `json:"undoes"`
		Hash    string    `json:"hash"`
	}
)

var rows = []struct {
	variable string
	row      any
}{{"block", blockRow{}}, {"trace", traceRow{}}, {"step", stepRow{}}, {"origin", originRow{}}}

// Names lists the variables of expressions with their fields, a line each.
func Names() []string {
	var lines []string
	for _, r := range rows {
		lines = append(lines, r.variable+": "+strings.Join(fields(reflect.TypeOf(r.row)), ", "))
	}
	return lines
}

func fields(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("json")
		if f.Type == reflect.TypeFor[[]accessRow]() {
			name += "[" + strings.Join(fields(f.Type.Elem()), " ") + "]"
		}
		names = append(names, name)
	}
	return names
}

// environment is created when the first expression is compiled, because that takes milliseconds.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	args := []any{types.ParseStructTag("json"), reflect.TypeFor[accessRow]()}
	options := []cel.EnvOption{ext.Strings(), cel.CrossTypeNumericComparisons(true)}
	for _, r := range rows {
		args = append(args, reflect.TypeOf(r.row))
		options = append(
			options,
			cel.Variable(r.variable, cel.ObjectType(strings.TrimPrefix(reflect.TypeOf(r.row).String(), "*"))),
		)
	}
	return cel.NewEnv(append([]cel.EnvOption{ext.NativeTypes(args...)}, options...)...)
})

// NewFilter compiles an expression. Errors have CodeExpression; they name the place and list the names that exist.
func NewFilter(expression string) (*Filter, error) {
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("make the environment of expressions: %w", err)
	}
	tree, issues := env.Compile(expression)
	if err := issues.Err(); err != nil {
		e := issues.Errors()[0]
		return nil, badExpression(expression, e.Location.Line(), e.Location.Column(), e.Message)
	}
	if tree.OutputType() != cel.BoolType {
		return nil, badExpression(
			expression,
			1,
			0,
			fmt.Sprintf("it gives %s, and must give true or false", tree.OutputType()),
		)
	}
	program, err := env.Program(tree, cel.InterruptCheckFrequency(256))
	if err != nil {
		return nil, badExpression(expression, 1, 0, err.Error())
	}
	named := map[string]bool{}
	for _, r := range tree.NativeRep().ReferenceMap() {
		named[r.Name] = true
	}
	f := &Filter{
		Subject: AboutBlocks,
		program: program,
		lines:   strings.Contains(expression, "added") || strings.Contains(expression, "removed"),
	}
	switch {
	case named["trace"]:
		f.Subject = AboutTraces
	case named["step"] && !named["block"]:
		f.Subject = AboutSteps
	}
	return f, nil
}

func badExpression(expression string, line, column int, message string) error {
	message, _, _ = strings.Cut(message, " expecting {") // and a list of every kind of token
	column = max(column, 0)
	where := fmt.Sprintf("column %d", column+1)
	if strings.Contains(expression, "\n") {
		where = fmt.Sprintf("line %d, column %d", line, column+1)
	}
	return &state.Error{
		Code:    CodeExpression,
		Message: fmt.Sprintf("the expression is wrong at %s: %s", where, strings.TrimSpace(message)),
		Hint: "there are " + strings.Join(
			Names(),
			"; ",
		) + `; for example: block.status == "failed" && origin.agent == "coder"`,
	}
}

func (f *Filter) holds(ctx context.Context, vars map[string]any) (bool, error) {
	out, _, err := f.program.ContextEval(ctx, vars)
	if err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		return false, &state.Error{
			Code:    CodeExpression,
			Message: "the expression fails: " + err.Error(),
			Hint:    "has(x.y) and size(x) tell whether there is something; x in y whether it is in it",
		}
	}
	return out.Value() == true, nil
}

func originOf(o state.Origin) originRow {
	return originRow{
		Agent:   o.Agent,
		Model:   o.Model,
		CallID:  o.CallID,
		Action:  o.Action,
		Reason:  o.Reason,
		Labels:  o.Labels,
		Author:  string(o.Author),
		Client:  o.Client,
		Prompt:  o.Prompt,
		Answers: o.Answers.String(),
		Span:    o.TraceParent,
		In:      o.TokensIn,
		Out:     o.TokensOut,
		Cost:    o.Cost.Dollars(),
	}
}

func blockOf(b *BlockView) blockRow {
	r := blockRow{
		ID:      string(b.ID),
		Index:   b.Index,
		Title:   b.Title,
		Dialect: string(b.Dialect),
		Version: string(b.Version),
		Source:  b.Source,
		Edited: int(
			b.Edited,
		),
		EditedAt: b.EditedAt,
		Status:   b.Status,
		RanAt:    int(b.RanAt),
		Verified: int(b.Verified),
		Seconds:  b.Seconds,
		Output:   Text(b.Outputs),
		Error:    ErrorText(b.Error),
		Marks:    b.Marks,
	}
	for _, n := range b.Nodes {
		for _, a := range n.Reads {
			r.Reads = AppendNew(r.Reads, string(a.Key))
		}
		for _, a := range n.Writes {
			r.Writes = AppendNew(r.Writes, string(a.Key))
		}
	}
	slices.Sort(r.Reads)
	slices.Sort(r.Writes)
	return r
}

func traceOf(b *BlockView, n *NodeView) traceRow {
	return traceRow{
		Node:    n.Name,
		Block:   string(b.ID),
		Status:  n.Status,
		Reason:  n.Reason.Code,
		Key:     string(n.Reason.Key),
		Code:    string(n.Code),
		Digest:  string(n.Trace),
		Seconds: n.Seconds,
		Lost:    n.Lost,
		Reads:   accesses(n.Reads),
		Writes:  accesses(n.Writes),
	}
}

func accesses(list []AccessView) []accessRow {
	var out []accessRow
	for _, a := range list {
		r := accessRow{Key: string(a.Key), Digest: string(a.Digest), By: a.By}
		if a.Value != nil {
			r.Type, r.Repr, r.Shape, r.Bytes = a.Value.Type, a.Value.Repr, a.Value.Shape, a.Value.Bytes
		}
		out = append(out, r)
	}
	return out
}

func stepOf(e Entry) stepRow {
	r := stepRow{
		Number:  int(e.Number),
		Time:    e.Time,
		Kind:    string(e.Kind),
		Block:   string(e.Block),
		Was:     string(e.Was),
		Now:     string(e.Now),
		Added:   e.Added,
		Removed: e.Removed,
		To:      int(e.To),
		Undoes:  int(e.Undoes),
		Hash:    string(e.Hash),
	}
	if e.Run != nil {
		c := e.Run.Blocks
		r.Ran, r.Reused, r.Failed, r.Blocked, r.Missed = c.Ran, c.Reused, c.Failed, c.Blocked, c.NotReached
		r.Seconds, r.Saved = e.Run.Seconds, e.Run.SavedSeconds
	}
	return r
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/state"
)

// originFields describe who makes a step, and why. Each is given by a flag, or by a variable of that name (--call-id,
// XSTATE_CALL_ID). If several give it, the last of these counts: the variable XSTATE_ORIGIN, the other variables,
// --origin, the other flags.
var originFields = []struct {
	name, usage string
	set         func(c caller, o *xstate.Origin, text string) error
}{
	{
		"agent",
		"the `NAME` of the agent that does it",
		func(_ caller, o *xstate.Origin, s string) error { o.Agent = s; return nil },
	},
	{"model", "the `NAME` of the model", func(_ caller, o *xstate.Origin, s string) error { o.Model = s; return nil }},
	{
		"call-id",
		"the `ID` of the model call",
		func(_ caller, o *xstate.Origin, s string) error { o.CallID = s; return nil },
	},
	{"action", "the `NAME` of the action", func(_ caller, o *xstate.Origin, s string) error {
		o.Action = s
		return nil
	}},
	{"reason", "a `TEXT` that says why", func(_ caller, o *xstate.Origin, s string) error { o.Reason = s; return nil }},
	{
		"author",
		"`WHO` the author is: human or machine",
		func(_ caller, o *xstate.Origin, s string) error { o.Author = state.Author(s); return nil },
	},
	{
		"client",
		"the `NAME` of the client program, such as an editor",
		func(_ caller, o *xstate.Origin, s string) error { o.Client = s; return nil },
	},
	{
		"prompt-digest",
		"the `DIGEST` of the prompt",
		func(_ caller, o *xstate.Origin, s string) error { o.Prompt = s; return nil },
	},
	{"answers", "the `STEP` that this answers, or BLOCK@STEP for a failure", setAnswers},
	{
		"tokens-in",
		"the `NUMBER` of tokens of the prompt; give a call's cost once",
		func(_ caller, o *xstate.Origin, s string) error { return setCount(&o.TokensIn, s) },
	},
	{
		"tokens-out",
		"the `NUMBER` of tokens of the answer",
		func(_ caller, o *xstate.Origin, s string) error { return setCount(&o.TokensOut, s) },
	},
	{
		"cost",
		"the cost of the call in `DOLLARS`",
		func(_ caller, o *xstate.Origin, s string) (err error) {
			o.Cost, err = state.ParseDollars(s)
			return err
		},
	},
	{
		"trace-parent",
		"the `SPAN` of W3C Trace Context (default: $TRACEPARENT)",
		func(_ caller, o *xstate.Origin, s string) error { o.TraceParent = s; return nil },
	},
	{"label", "a label `NAME=VALUE`; may be repeated", setLabel},
	{
		"origin",
		"who does it and why as a `JSON` object, or @FILE: agent, model, call_id, action, reason,\n" +
			"author, client, prompt_digest, answers, tokens_in, tokens_out, cost_usd,\ntrace_parent, labels",
		setOrigin,
	},
}

// shownOrigin are the flags that help has. The others are fields of --origin, and work as flags for one more release.
var shownOrigin = []string{"agent", "reason", "call-id", "origin"}

// originFlags adds the flags, and fills in o when they are read.
func (c caller) originFlags(cmd *cobra.Command, o *xstate.Origin) {
	told := &originFlag{caller: c, into: o}
	for i := range originFields {
		f := &originFields[i]
		cmd.Flags().Var(&originFlag{caller: c, into: o, field: i, all: told}, f.name, f.usage)
		cmd.Flags().Lookup(f.name).Hidden = !slices.Contains(shownOrigin, f.name)
	}
	check := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := told.fill(); err != nil {
			return err
		}
		return check(cmd, args)
	}
}

// originFlag is one of the flags, or the values of all of them.
type originFlag struct {
	caller
	into  *xstate.Origin
	field int
	all   *originFlag
	given []givenField
}

type givenField struct {
	field int
	text  string
}

func (f *originFlag) Set(text string) error {
	f.all.given = append(f.all.given, givenField{f.field, text})
	return originFields[f.field].set(f.caller, &xstate.Origin{}, text)
}

func (f *originFlag) String() string { return "" }
func (f *originFlag) Type() string   { return "" }

// fill makes the origin from the environment and the flags.
func (f *originFlag) fill() error {
	if span := (&xstate.Origin{TraceParent: f.env("TRACEPARENT")}); span.Check() == nil {
		f.into.TraceParent = span.TraceParent // left out if its version is unknown: it was not set for xstate
	}
	for _, whole := range []bool{true, false} {
		for i := range originFields {
			if err := f.fromEnvironment(i, whole); err != nil {
				return err
			}
		}
	}
	for _, whole := range []bool{true, false} {
		for _, g := range f.given {
			if isWhole(g.field) == whole {
				if err := originFields[g.field].set(f.caller, f.into, g.text); err != nil {
					return err
				}
			}
		}
	}
	if err := f.into.Check(); err != nil {
		return &usageError{
			err: err,
			hint: "check `--origin`, the flags of the verb, and the variables XSTATE_AUTHOR, XSTATE_TRACE_PARENT, " +
				"XSTATE_ORIGIN",
		}
	}
	return nil
}

// wholeOrigin is the field that is the whole origin, the last one.
var wholeOrigin = len(originFields) - 1

func isWhole(field int) bool { return field == wholeOrigin }

// variable is the environment variable for a flag.
func variable(flag string) string {
	return "XSTATE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func (f *originFlag) fromEnvironment(field int, whole bool) error {
	name := variable(originFields[field].name)
	text := f.env(name)
	if text == "" || isWhole(field) != whole {
		return nil
	}
	texts := []string{text}
	if originFields[field].name == "label" {
		texts = strings.Split(text, ",")
	}
	for _, text := range texts {
		if err := originFields[field].set(f.caller, f.into, text); err != nil {
			return &usageError{
				err:  fmt.Errorf("%q is no value for $%s: %w", text, name, err),
				hint: "unset or correct it",
			}
		}
	}
	return nil
}

func setCount(n *int64, text string) (err error) {
	if *n, err = strconv.ParseInt(text, 10, 64); err == nil && *n < 0 {
		return errors.New("it is negative")
	}
	return err
}

func setAnswers(_ caller, o *xstate.Origin, text string) error {
	block, step := "", text
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		block, step = text[:i], text[i+1:]
	}
	n, err := parseStep(step)
	o.Answers = &state.Answer{Step: n, Block: xstate.BlockID(block)}
	return err
}

func setLabel(_ caller, o *xstate.Origin, text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return errors.New("want NAME=VALUE")
	}
	if o.Labels == nil {
		o.Labels = map[string]string{}
	}
	o.Labels[name] = value
	return nil
}

func setOrigin(c caller, o *xstate.Origin, text string) error {
	if name, ok := strings.CutPrefix(text, "@"); ok {
		data, err := c.readFile(name)
		if err != nil {
			return err
		}
		text = string(data)
	}
	return json.Unmarshal([]byte(text), o)
}

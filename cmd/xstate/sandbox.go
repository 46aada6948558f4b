package main

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Variables that a server sets for the calls that it carries out: their level, and the names of variables that the
// program gets because the caller named them, with commas between them.
const (
	sandboxVariable = "XSTATE_SANDBOX"
	passVariable    = "XSTATE_PASS"
)

// standards are the default levels of verbs: code that an agent wrote is bounded, the user's own is not.
var standards = map[string]policy.Level{
	"exec": policy.Workspace, "serve": policy.Workspace, "mcp": policy.Workspace,
}

// sandboxFlag adds --sandbox to the flags of a verb.
func (a *app) sandboxFlag(flags *pflag.FlagSet, verb string) {
	standard := standards[verb]
	flags.Var(&a.bounds.asked, "sandbox", "bound what the program may do: `LEVEL` is "+policy.Levels()+
		"\n(default: that of the last run and of xstate.toml, or else "+string(cmp.Or(standard, policy.Off))+")")
}

// recordFlag adds --record-network to the flags of a verb.
func (a *app) recordFlag(flags *pflag.FlagSet) {
	flags.Var(&a.bounds.record, "record-network",
		"record the requests of the program over HTTP, and serve them again\n"+
			"(default: as the last run, and as xstate.toml says)")
	flags.Lookup("record-network").NoOptDefVal = "true"
}

// budgetFlag adds --budget to the flags of a verb.
func (a *app) budgetFlag(flags *pflag.FlagSet) {
	flags.Var(&a.bounds.budgets, "budget", "stop when calls or blocks have spent this: `LIMITS` such as\n"+
		"usd=1.50,tokens=100000,calls=50,calls.search=10,wall=10m,cpu=5m,executions=200;\nsoft.usd=1 only warns")
}

// askedLevel is the level that the caller asks for; "" if it does not.
func (a *app) askedLevel() (policy.Level, error) {
	if a.bounds.asked != "" {
		return policy.Level(a.bounds.asked), nil
	}
	text := a.env(sandboxVariable)
	if text == "" {
		return "", nil
	}
	level, ok := policy.ParseLevel(text)
	if !ok {
		return "", &usageError{err: errors.New(sandboxVariable + " is " + text), hint: "use " + policy.Levels()}
	}
	return level, nil
}

// policyOptions are what policies for a folder are read with.
func (a *app) policyOptions(folder, workspace string) (policy.Options, error) {
	asked, err := a.askedLevel()
	o := policy.Options{
		Asked: asked, Default: a.bounds.standard, Folder: folder, Workspace: workspace,
		Generated: a.bounds.standard != "" || a.env(sandboxVariable) != "", // or else a server has the call from one
		User:      policy.UserFile(a.env), Home: a.env("HOME"), Record: a.bounds.record.made,
	}
	if names := a.env(passVariable); names != "" {
		o.Pass = strings.Split(names, ",")
	}
	return o, err
}

// bounded sets the policy under which a session is to run or to be planned, and prints what there is to say of it.
func (a *app) bounded(ctx context.Context, store *xstate.Store, name string, so *xstate.SessionOptions) error {
	if err := a.setPolicy(ctx, store, name, so); err != nil {
		return err
	}
	for _, remark := range so.Policy.Remarks() {
		a.ui.Talk("%s", remark)
	}
	return nil
}

// setPolicy is bounded, and prints nothing.
func (a *app) setPolicy(ctx context.Context, store *xstate.Store, name string, so *xstate.SessionOptions) error {
	workspace := so.Workspace
	if workspace == "" {
		begun, err := store.State().Session(ctx, name)
		if err != nil && state.CodeOf(err) != state.CodeNoSession {
			return err
		}
		workspace = cmp.Or(begun.Workspace, a.folder)
	}
	folder := workspace
	if file := sessionFile(store.State().Dir(), name); slices.Contains(programKinds, filepath.Ext(file)) {
		folder = filepath.Dir(file)
	}
	o, err := a.policyOptions(folder, workspace)
	if err != nil {
		return err
	}
	remembered := ""
	if _, err := store.State().SessionRecord(ctx, name, query.RecordSandbox, &remembered); err != nil &&
		state.CodeOf(err) != state.CodeNoSession {
		return err
	}
	if _, err := store.State().SessionRecord(ctx, name, query.RecordNetwork, &o.Recorded); err != nil &&
		state.CodeOf(err) != state.CodeNoSession {
		return err
	}
	o.Default = policy.Stricter(o.Default, policy.Level(remembered))
	so.Budgets = a.bounds.budgets
	so.Policy, err = policy.Read(o)
	return err
}

// callLevel adds the level of a server's calls to their environment.
func (a *app) callLevel(folder string) ([]string, error) {
	o, err := a.policyOptions(folder, "")
	if err != nil {
		return nil, err
	}
	p, err := policy.Read(o)
	if err != nil {
		return nil, err
	}
	return append(slices.Clone(a.environ), sandboxVariable+"="+string(p.Level)), nil
}

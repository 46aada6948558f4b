package source

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
)

// Of returns the sources that a policy names. Models come first: a call that needs one starts no server.
func Of(c policy.Calls, o Options) (all []journal.Source) {
	if o.Wait == nil {
		o.Wait = wait
	}
	models := newModels(c.Models, o)
	if len(c.Models) > 0 {
		all = append(all, models)
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCP)) {
		all = append(all, newServer(name, c.MCP[name], o, models))
	}
	for _, name := range slices.Sorted(maps.Keys(c.OpenAPI)) {
		all = append(all, newAPI(name, c.OpenAPI[name], o))
	}
	all = append(all, o.Sources...)
	if len(c.Tools) == 0 {
		return all
	}
	for i, s := range all {
		all[i] = &declared{s, c.Tools}
	}
	return all
}

// declared is a source whose tools have what the user says of them.
type declared struct {
	journal.Source
	tools map[string]policy.Tool
}

// Connected reports whether the source lists its tools at once.
func (d *declared) Connected() bool {
	r, remote := d.Source.(journal.Remote)
	return !remote || r.Connected()
}

func (d *declared) Tools(ctx context.Context) ([]journal.Tool, error) {
	found, err := d.Source.Tools(ctx)
	return d.Declared(found), err
}

// Declared returns tools of the source with what the user says of them.
func (d *declared) Declared(found []journal.Tool) []journal.Tool {
	tools := slices.Clone(found)
	for i := range tools {
		t := &tools[i]
		for _, name := range []string{t.Name, d.Name() + "." + t.Name} { // the longer name says more
			if says, ok := d.tools[name]; ok && t.Kind != journal.KindModel {
				*t = declare(*t, says)
			}
		}
	}
	return tools
}

// declare returns a tool with what the user says of it.
func declare(t journal.Tool, says policy.Tool) journal.Tool {
	class := says.Class
	if class == "" && says.Undo != "" && cmp.Or(t.Class, journal.Irreversible) == journal.Irreversible {
		class = string(journal.Reversible)
	}
	class = cmp.Or(class, string(t.Class), string(journal.Irreversible))
	t.Class = journal.Class(policy.StricterClass(class, says.AtLeast))
	t.Scope, t.Undo = cmp.Or(says.Scope, t.Scope), cmp.Or(says.Undo, t.Undo)
	t.Lifetime, t.Timeout = cmp.Or(says.Lifetime, t.Lifetime), cmp.Or(says.Timeout, t.Timeout)
	if len(says.Identity) > 0 {
		t.Identity = says.Identity
	}
	t.Price = cmp.Or(int64(math.Round(says.Price*1e6)), t.Price)
	return t
}

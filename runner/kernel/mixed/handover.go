package mixed

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/languages"
	"github.com/xstate-engine/xstate/runner/kernel"
)

// Dialects of the two nodes that a handover executes. The text of a Give is a JSON list of names; the language reads
// them, and sends their plain forms as a document. The text of a Take is such a document; the language binds its names.
const (
	Give depgraph.Dialect = "xstate/give"
	Take depgraph.Dialect = "xstate/take"
)

// document is the plain form of values by name. Dialect is that of the block that takes them.
type document struct {
	Names   map[string]json.RawMessage `json:"names"`
	Dialect depgraph.Dialect           `json:"dialect,omitempty"`
}

// hand executes a handover: one language gives, the other takes. The observation is that of both.
func (u *union) hand(
	ctx context.Context, h languages.Handover, to space, n kernel.Node, sink kernel.Sink,
) (kernel.Observation, error) {
	var asked []string
	for _, name := range h.Names {
		asked = append(asked, name[0])
	}
	slices.Sort(asked)
	give := n
	give.Dialect, give.Expr, give.Quiet, give.Certain = string(Give), false, true, nil
	give.Text, _ = json.Marshal(slices.Compact(asked)) // a list of texts has a form
	given, err := u.execute(ctx, space(h.From), give, kernel.Sink{Record: sink.Record, Show: sink.Show})
	if err != nil || given.Failure != nil || given.Stale || given.Lists || len(given.Again) > 0 {
		return given, err
	}
	text, err := renamed(h, given.Plain, depgraph.Dialect(n.Dialect))
	if err != nil {
		return given, err
	}
	take := n
	take.Dialect, take.Expr, take.Quiet = string(Take), false, true
	take.Text, take.Uses, take.Reach = text, nil, nil
	taken, err := u.execute(ctx, to, take, sink)
	if err == nil {
		join(&taken, given)
	}
	return taken, err
}

// renamed returns the document with the names that the values are to have.
func renamed(h languages.Handover, plain []byte, dialect depgraph.Dialect) ([]byte, error) {
	var given document
	if err := json.Unmarshal(plain, &given); err != nil {
		return nil, fmt.Errorf("the plain form of values: %w", err)
	}
	wanted := document{map[string]json.RawMessage{}, dialect}
	for _, name := range h.Names {
		value, there := given.Names[name[0]]
		if !there {
			return nil, fmt.Errorf("the plain form of values lacks %s", name[0])
		}
		wanted.Names[name[1]] = value
	}
	return json.Marshal(wanted)
}

// join adds to the observation of a node that takes that of the one that gave: it read values, and may have changed
// them.
func join(taken *kernel.Observation, given kernel.Observation) {
	taken.Seconds += given.Seconds
	taken.Names = append(taken.Names, given.Names...)
	taken.Absent, taken.Comembers = append(taken.Absent, given.Absent...), append(taken.Comembers, given.Comembers...)
	taken.Everything = taken.Everything || given.Everything
	taken.HiddenReads = append(taken.HiddenReads, given.HiddenReads...)
	taken.EnvironReads = append(taken.EnvironReads, given.EnvironReads...)
	taken.Writes, taken.Deleted = append(taken.Writes, given.Writes...), append(taken.Deleted, given.Deleted...)
	taken.BindOrder = append(taken.BindOrder, given.BindOrder...)
	taken.Altered = append(taken.Altered, given.Altered...)
	taken.AliasSensitive = append(taken.AliasSensitive, given.AliasSensitive...)
	taken.AliasesAfter = append(taken.AliasesAfter, given.AliasesAfter...)
	taken.Dropped, taken.Unparked = append(taken.Dropped, given.Dropped...), append(taken.Unparked, given.Unparked...)
	taken.Restored, taken.Classes = append(taken.Restored, given.Restored...), append(taken.Classes, given.Classes...)
	taken.Imports.Modules = append(taken.Imports.Modules, given.Imports.Modules...)
	taken.Imports.Files = append(taken.Imports.Files, given.Imports.Files...)
	taken.Imports.Libraries = merged(taken.Imports.Libraries, given.Imports.Libraries)
	taken.Imports.Loads = merged(taken.Imports.Loads, given.Imports.Loads)
	taken.Hidden, taken.Environ = merged(taken.Hidden, given.Hidden), merged(taken.Environ, given.Environ)
	taken.ModuleState, taken.Quiet = merged(taken.ModuleState, given.ModuleState), merged(taken.Quiet, given.Quiet)
	taken.Modules = append(taken.Modules, given.Modules...)
	taken.Files.Reads = merged(taken.Files.Reads, given.Files.Reads)
	taken.Files.Writes = merged(taken.Files.Writes, given.Files.Writes)
	taken.Files.Used = append(taken.Files.Used, given.Files.Used...)
	taken.Files.Open = merged(taken.Files.Open, given.Files.Open)
	taken.Marks = append(taken.Marks, given.Marks...)
}

func (u *union) Execute(ctx context.Context, n kernel.Node, sink kernel.Sink) (kernel.Observation, error) {
	s, err := spaceNamed(depgraph.Dialect(n.Dialect))
	if err != nil {
		return kernel.Observation{}, err
	}
	if h, is := languages.ReadHandover(string(n.Text)); is {
		return u.hand(ctx, h, s, n, sink)
	}
	return u.execute(ctx, s, n, sink)
}

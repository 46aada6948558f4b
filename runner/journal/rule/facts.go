package rule

import (
	"cmp"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xstate-engine/xstate/runner/journal"
)

// Program is what the text of a program says before it runs, for rules with on = "program" and for preflight. All lists
// are sorted. They are predictions: a name that is computed is not in them.
type Program struct {
	Imports      []string `json:"imports"`  // top-level modules
	Packages     []string `json:"packages"` // those of Imports that are installed or missing; none if not queried
	Tools        []string `json:"tools"`
	Models       []string `json:"models"` // that calls of models name
	Hosts        []string `json:"hosts"`
	Reads        []string `json:"reads"`        // files
	Writes       []string `json:"writes"`       // files
	Irreversible []string `json:"irreversible"` // those of Tools, as far as their sources could be asked
}

// The variables as expressions see them. They are separate types, so that a renamed field of the engine does not break
// written rules.
type (
	callRow struct {
		Kind    string           `json:"kind"`
		Tool    string           `json:"tool"`
		Class   string           `json:"class"`
		Scope   string           `json:"scope"`
		Source  string           `json:"source"`
		Args    *structpb.Struct `json:"args"`
		Sample  int64            `json:"sample"`
		Block   string           `json:"block"`
		Agent   string           `json:"agent"`
		Session string           `json:"session"`
	}
	spentRow struct {
		Run     sumRow `json:"run"`
		Session sumRow `json:"session"`
	}
	sumRow struct {
		USD    float64 `json:"usd"`
		Tokens int64   `json:"tokens"`
		Calls  int64   `json:"calls"`
	}
	programRow struct {
		Imports      []string `json:"imports"`
		Tools        []string `json:"tools"`
		Models       []string `json:"models"`
		Hosts        []string `json:"hosts"`
		Files        []string `json:"files"`
		Reads        []string `json:"reads"`
		Writes       []string `json:"writes"`
		Irreversible bool     `json:"irreversible"`
	}
)

// nameOf is the name of what a call calls, as its source has it. A program may put the name of the source before it.
func nameOf(c *journal.Call) string { return cmp.Or(c.Def.Name, c.Tool) }

// fullName has the name of the source before it.
func fullName(c *journal.Call) string {
	if c.Def.Source == "" || c.Kind != journal.KindTool {
		return nameOf(c)
	}
	return c.Def.Source + "." + nameOf(c)
}

func callOf(c *journal.Call) (callRow, error) {
	r := callRow{
		Kind: string(c.Kind), Tool: nameOf(c), Class: string(c.Def.Class), Scope: c.Def.Scope, Source: c.Def.Source,
		Sample: int64(c.Sample), Args: &structpb.Struct{}, Block: string(c.Caller.Block), Agent: c.Caller.Agent,
		Session: c.Caller.Session,
	}
	return r, r.Args.UnmarshalJSON(c.Args)
}

func programOf(p *Program) programRow {
	return programRow{
		Imports: p.Imports, Tools: p.Tools, Models: p.Models, Hosts: p.Hosts, Reads: p.Reads, Writes: p.Writes,
		Files: append(append([]string{}, p.Reads...), p.Writes...), Irreversible: len(p.Irreversible) > 0,
	}
}

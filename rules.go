package xstate

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/journal/rule"
	"github.com/xstate-engine/xstate/runner/preflight"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// decides returns what decides about a run of the program: rules, its manifest, budgets.
func (s *Session) decides(program []state.ProgramBlock, agent string) (r rule.Run, err error) {
	r.Agent = agent
	if r.Manifest, err = rule.ManifestIn(s.options.File); r.Manifest == nil && err == nil {
		r.Manifest, err = manifestOf(program)
	}
	if err != nil {
		return r, err
	}
	if p := s.options.Policy; p != nil {
		if r.Rules, err = rule.Compile(p.Rules); err != nil {
			return r, err
		}
		r.Generated = p.Generated
		r.Budgets = p.Budgets
	}
	r.Budgets = rule.Limits(r.Budgets, s.options.Budgets, r.Manifest)
	return r, nil
}

func manifestOf(program []state.ProgramBlock) (*rule.Manifest, error) {
	return rule.ManifestOf(func(yield func(name, text string) bool) {
		for _, b := range program {
			if !yield("block "+string(b.ID), b.Source) {
				return
			}
		}
	})
}

// admit begins a run, unless a rule denies the program: then nothing starts.
func (s *Session) admit(ctx context.Context, program []state.ProgramBlock, o *runner.RunOptions,
	by state.Caller) error {
	o.Caller = by
	r, err := s.decides(program, by.Agent)
	if err != nil {
		return err
	}
	if r.Rules.About(rule.OnProgram) {
		text, err := preflight.Read(program)
		if err != nil {
			return err
		}
		v, err := r.Rules.Program(ctx, &text.Uses)
		if err != nil {
			return err
		}
		if v.Action != journal.Allow {
			return &Error{Code: rule.CodeDenied, Message: "the program is not run: " + v.Reason,
				Hint: "xstate preflight shows what it would use"}
		}
	}
	if err := s.gate.Begin(ctx, r); err != nil {
		return err
	}
	if rule.BoundsNodes(r.Budgets) {
		o.BeforeNode = s.gate.BeforeNode
	}
	return nil
}

// undeclared says how what a run was seen to use differs from the manifest: of tools, models, and files of the
// workspace. Reused results count, for the program uses them.
func (s *Session) undeclared(ctx context.Context, m *rule.Manifest, o *Outcome) (notices []string, err error) {
	if m == nil || o.Stopped != nil {
		return nil, nil
	}
	var used rule.Program
	for i := range o.Blocks {
		for j := range o.Blocks[i].Nodes {
			t := o.Blocks[i].Nodes[j].Result()
			if t == nil {
				return nil, nil // what the program uses is not known
			}
			for _, a := range t.Writes {
				used.Writes = addFile(used.Writes, a.Key)
			}
			for _, a := range t.Reads {
				used.Reads = addFile(used.Reads, a.Key)
				c, err := s.history.Call(ctx, a.Key)
				switch {
				case err != nil:
					return nil, err
				case c == nil:
				case c.Kind == string(journal.KindTool):
					used.Tools = query.AppendNew(used.Tools, c.Tool)
				case c.Kind == string(journal.KindModel):
					used.Models = query.AppendNew(used.Models, c.Tool)
				}
			}
		}
	}
	for _, d := range m.Compare(&used) {
		if d.What == "hosts" || d.What == "packages" {
			continue
		}
		if len(d.Missing) > 0 {
			notices = append(notices, fmt.Sprintf("used, and not in the manifest (%s): %s %s", m.At, d.What,
				strings.Join(d.Missing, ", ")))
		}
		if len(d.Unneeded) > 0 {
			notices = append(notices, fmt.Sprintf("in the manifest (%s), and not used: %s %s", m.At, d.What,
				strings.Join(d.Unneeded, ", ")))
		}
	}
	return notices, nil
}

// addFile adds the file of the workspace that a key names. Modules of the workspace are part of the program.
func addFile(to []string, k Key) []string {
	if name := k.Name(); k.Space() == "file" && !filepath.IsAbs(name) && filepath.Ext(name) != ".py" {
		return query.AppendNew(to, name)
	}
	return to
}

// rulesText is what of the rules decides whether a program may run as it is.
func (s *Session) rulesText() string {
	var b strings.Builder
	if p := s.options.Policy; p != nil {
		for _, r := range p.Rules {
			b.WriteString(r.Then + " " + r.On + " " + r.When + "\n")
		}
	}
	return b.String()
}

// Revert takes the effect of a call back, by the tool that its record names, and returns that tool's call. Rules and
// budgets decide about it, and not what the program declares that it needs. A program that still makes the reverted
// call makes it again.
func (s *Session) Revert(ctx context.Context, id state.CallID, origin Origin) (*state.Call, error) {
	r, err := s.decides(nil, origin.Agent)
	if err != nil {
		return nil, err
	}
	if err := s.gate.Begin(ctx, r); err != nil {
		return nil, err
	}
	head, _, err := s.store.state.Head(ctx, s.name)
	if err != nil {
		return nil, err
	}
	return s.journal.Revert(ctx, id, state.Caller{Session: s.name, Step: head, Agent: origin.Agent})
}

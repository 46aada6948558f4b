package xstate

import (
	"context"
	"slices"

	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Going back. A session has two things that can be at another step than its head: its history, and the file that people
// edit. Rollback and Fork change the history, by a step or a session more, and run nothing: the next run finds all results
// by content, and loads values when a block asks for them. The file follows when it is written with Text; where it is
// not, the next LoadFile finds it to be what it was before, and records that as edits. Unrecorded tells what would be
// lost if the file were written.
//
// Files that programs write are not versioned with steps: a record of the session tells what each held before the program.
// Forks in one workspace share them; a run takes what a relative left for a leftover, and puts the file where its own
// program has it, or takes it away.

// Fork makes a session that begins as this one was after step n. It costs the same whatever the length of the history.
func (s *Session) Fork(ctx context.Context, name string, n StepNumber, origin Origin) (state.Session, error) {
	return s.store.state.Fork(ctx, name, s.name, n, origin)
}

// Rollback makes the program, with what was known of it, that after step n. It is a step of its own: nothing is erased,
// and a rollback to the step before it takes it back.
func (s *Session) Rollback(ctx context.Context, n StepNumber, origin Origin) (Step, error) {
	head, _, err := s.store.state.Head(ctx, s.name)
	if err != nil {
		return Step{}, err
	}
	steps, err := s.store.state.Commit(ctx, s.name, head, []state.Draft{{Kind: state.KindRollback, To: n, Origin: origin}})
	if err != nil {
		return Step{}, err
	}
	return steps[0], nil
}

// Family returns the sessions that have an ancestor with one of them, itself included, sorted by name: the versions of one
// program.
func (s *Store) Family(ctx context.Context, name string) ([]state.Session, error) {
	all, err := s.state.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	parents := map[string]string{}
	for _, x := range all {
		if x.From != nil {
			parents[x.Name] = x.From.Session
		}
	}
	root := func(name string) string {
		for parents[name] != "" {
			name = parents[name]
		}
		return name
	}
	return slices.DeleteFunc(all, func(x state.Session) bool { return root(x.Name) != root(name) }), nil
}

// relatives returns the records of files of the other versions of the program in this workspace.
func (s *Session) relatives(ctx context.Context) ([]map[string]runner.FileRecord, error) {
	family, err := s.store.Family(ctx, s.name)
	if err != nil {
		return nil, err
	}
	var found []map[string]runner.FileRecord
	for _, x := range family {
		if x.Name == s.name || x.Workspace != s.options.Workspace {
			continue
		}
		files := map[string]runner.FileRecord{}
		if _, err := s.store.state.SessionRecord(ctx, x.Name, query.RecordFiles, &files); err != nil {
			return nil, err
		}
		found = append(found, files)
	}
	return found, nil
}

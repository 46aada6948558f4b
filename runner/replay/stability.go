package replay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// VerifyOptions are the choices of VerifyBlock.
type VerifyOptions struct {
	Times   int           // how often; 0: three times
	Timeout time.Duration // for one node; 0 means none
}

// Stability is the outcome of executing a block several times from the same state.
type Stability struct {
	Block   state.BlockID    `json:"block"`
	Step    state.StepNumber `json:"step"` // that records it
	Times   int              `json:"times"`
	Stable  bool             `json:"stable"`
	Differs []Variation      `json:"differs"`
	Marks   []string         `json:"marks"`   // what was observed, that may make it differ
	Seconds float64          `json:"seconds"` // spent executing
}

// Variation is a result that was not the same each time.
type Variation struct {
	Node    string   `json:"node"`
	What    string   `json:"what"`              // status, output, error, "value NAME" or "file NAME"
	Values  []string `json:"values"`            // the different results, in the order of their first occurrence
	Follows bool     `json:"follows,omitempty"` // an input of the node differed already
}

const defaultTimes = 3

// VerifyBlock executes a block several times from the same state, each time in a fresh interpreter, and reports which
// results vary. The session remembers code that varies: the runner marks its results state.MarkVaried until it is
// edited, in this session and in those forked from it. VerifyBlock records a step. It restores files; effects outside
// the workspace happen each time.
func VerifyBlock(
	ctx context.Context,
	s *Subject,
	id state.BlockID,
	o VerifyOptions,
	origin state.Origin,
) (*Stability, error) {
	if o.Times == 0 {
		o.Times = defaultTimes
	}
	if o.Times < 2 {
		return nil, &state.Error{
			Code:    state.CodeInvalid,
			Message: "what is executed once cannot differ",
			Hint:    "execute it twice or more: `--times 3`",
		}
	}
	engine, release, err := s.Engine(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	program, head, at, err := s.programWith(ctx, id)
	if err != nil {
		return nil, err
	}
	var outs []*runner.BlockOutcome
	err = engine.Isolated(func() (err error) {
		outs, err = repeat(ctx, engine, program[:at+1], o)
		return err
	})
	if err != nil {
		return nil, err
	}
	found := &Stability{Block: id, Times: o.Times, Differs: []Variation{}, Marks: []string{}}
	roots, err := vary(s, found, outs)
	if err != nil {
		return nil, err
	}
	step, err := recordStability(ctx, s, head, program[at].Before, found, roots, origin)
	found.Step = step.Number
	return found, err
}

// repeat executes the last block of a program several times, after bringing its dependencies up to date.
func repeat(
	ctx context.Context,
	engine *runner.Engine,
	program []state.ProgramBlock,
	o VerifyOptions,
) ([]*runner.BlockOutcome, error) {
	last := len(program) - 1
	id := program[last].ID
	out, err := engine.Run(ctx, program[:last], runner.RunOptions{Timeout: o.Timeout, Part: true})
	if err == nil {
		err = out.Stopped
	}
	var outs []*runner.BlockOutcome
	for err == nil && len(outs) < o.Times {
		if err = engine.Close(); err != nil { // another interpreter, to which addresses and all that is hidden are new
			break
		}
		out, err = engine.Run(
			ctx,
			program,
			runner.RunOptions{
				Timeout: o.Timeout,
				Discard: true,
				Part:    true,
				Force:   func(block state.BlockID, _ int) bool { return block == id },
			},
		)
		if err == nil {
			err = out.Stopped
		}
		if err == nil && (len(out.Blocks[last].Nodes) == 0 || out.Blocks[last].Nodes[0].Result() == nil) {
			err = &state.Error{
				Code:    query.CodeNotExecuted,
				Message: fmt.Sprintf("block %s cannot be executed: %s", id, query.Sentence(out.Blocks[last].Reason)),
				Hint:    "`xstate why " + string(id) + "` tells more",
			}
		}
		if err == nil {
			outs = append(outs, &out.Blocks[last])
		}
	}
	return outs, err
}

// vary fills in what differs between outcomes of a block, and returns the code that differs by itself. A node whose
// inputs differ already is not the cause.
func vary(s *Subject, found *Stability, outs []*runner.BlockOutcome) (map[state.Digest][]string, error) {
	roots := map[state.Digest][]string{}
	for _, b := range outs {
		found.Seconds += b.Seconds
		for _, m := range b.Marks {
			found.Marks = query.AppendNew(found.Marks, m)
		}
	}
	for j := range outs[0].Nodes {
		var sets []map[string]string
		follows := false
		first := outs[0].Nodes[j].Result()
		for _, b := range outs {
			t := b.Nodes[j].Result()
			set, err := comesTo(s, t)
			if err != nil {
				return nil, err
			}
			sets = append(sets, set)
			follows = follows || t == nil || first == nil || !slices.Equal(first.Reads, t.Reads)
		}
		n := outs[0].Nodes[j]
		name, code := query.NodeName(outs[0].ID, j, state.Statements(outs[0].Nodes), n.Part), n.Code
		for _, v := range variations(sets) {
			v.Node, v.Follows = name, follows
			found.Differs = append(found.Differs, v)
			if !follows {
				roots[code] = append(roots[code], v.What)
			}
		}
	}
	found.Stable = len(found.Differs) == 0
	return roots, nil
}

// comesTo returns the results of an execution, by kind and name.
func comesTo(s *Subject, t *state.Trace) (map[string]string, error) {
	if t == nil {
		return map[string]string{"status": "blocked"}, nil
	}
	outputs, _, err := s.Store().Outputs(t)
	set := map[string]string{"status": failure(t), "output": query.Text(outputs), "error": query.ErrorText(t.Failure())}
	for _, a := range t.Writes {
		what := map[string]string{"var": "value ", "file": "file "}[a.Key.Space()]
		if what != "" && !(a.Key.Space() == "var" && byLineage(a.Digest)) {
			set[what+a.Key.Name()] = described(a.Digest, t.Info[a.Key])
		}
	}
	return set, err
}

// variations are the entries that are not the same in all sets.
func variations(sets []map[string]string) []Variation {
	var names []string
	for _, set := range sets {
		for name := range set {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var found []Variation
	for _, name := range slices.Compact(names) {
		v := Variation{What: name}
		for _, set := range sets {
			v.Values = query.AppendNew(v.Values, set[name])
		}
		if len(v.Values) > 1 {
			found = append(found, v)
		}
	}
	return found
}

// recordStability commits the finding about a block. If the block varies, an earlier confirmation does not count any
// more.
func recordStability(
	ctx context.Context,
	s *Subject,
	head state.StepNumber,
	b *state.Block,
	found *Stability,
	roots map[state.Digest][]string,
	origin state.Origin,
) (state.Step, error) {
	d := state.Draft{
		Kind:     state.KindDeclare,
		Origin:   origin,
		Block:    found.Block,
		Repeated: &state.Repetition{Times: found.Times},
	}
	for _, v := range found.Differs {
		d.Repeated.Differs = query.AppendNew(d.Repeated.Differs, v.What)
	}
	if len(roots) > 0 {
		volatile, err := s.VaryingCode(ctx)
		if err != nil {
			return state.Step{}, err
		}
		for code, what := range roots {
			for _, w := range what {
				if !slices.Contains(volatile[code], w) {
					volatile[code] = append(volatile[code], w)
				}
			}
		}
		d.Records = map[string]any{query.RecordVarying: volatile}
		if b.Verified != 0 {
			now := *b
			now.Verified = 0
			d.Changes = []state.Change{{Op: state.OpUpdate, ID: b.ID, Block: &now}}
		}
	}
	steps, err := s.Store().Commit(ctx, s.Name(), head, []state.Draft{d})
	if err != nil {
		return state.Step{}, err
	}
	return steps[0], nil
}

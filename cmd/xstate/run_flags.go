package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dustin/go-humanize"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// givenBlocks returns the blocks of a program by the ids that they have in given contents of its file.
func givenBlocks(file string, contents *string, program []state.ProgramBlock) (map[string]xstate.BlockID, error) {
	if contents == nil {
		return nil, nil
	}
	p, err := patch.Parse(file, []byte(*contents))
	if err != nil || len(p.Blocks) != len(program) { // others have edited it since
		return nil, err
	}
	given := map[string]xstate.BlockID{}
	for i, name := range patch.Names(p.Blocks) {
		given[name] = program[i].ID
	}
	return given, nil
}

// until returns the block that the flag --until names; "" if it is not given.
func (f *runFlags) until(given map[string]xstate.BlockID, blocks []state.ProgramBlock) (xstate.BlockID, error) {
	if f.Until == "" {
		return "", nil
	}
	id, known := given[f.Until]
	if !known {
		id = query.Shown(xstate.BlockID(f.Until), query.PatchBlocks(blocks))
	}
	if !isBlock(blocks, id) {
		return "", &state.Error{
			Code:    query.CodeNoBlock,
			Message: fmt.Sprintf("there is no block %q to run until", f.Until),
			Hint:    "`xstate query` lists the blocks",
		}
	}
	return id, nil
}

func isBlock(blocks []state.ProgramBlock, id xstate.BlockID) bool {
	return slices.ContainsFunc(blocks, func(b state.ProgramBlock) bool { return b.ID == id })
}

// pins returns what the flags --always and --never say of the blocks of a program.
func (f *runFlags) pins(blocks []state.ProgramBlock) (map[xstate.BlockID]runner.Pin, error) {
	if len(f.Always)+len(f.Never) == 0 {
		return nil, nil
	}
	for _, list := range [][]string{f.Always, f.Never} {
		for i, id := range list {
			list[i] = string(query.Shown(xstate.BlockID(id), query.PatchBlocks(blocks)))
		}
	}
	pins := map[xstate.BlockID]runner.Pin{}
	for _, id := range slices.Concat(f.Always, f.Never) {
		if !isBlock(blocks, xstate.BlockID(id)) {
			return nil, &state.Error{
				Code:    query.CodeNoBlock,
				Message: fmt.Sprintf("there is no block %q to pin", id),
				Hint:    "`xstate query` lists the blocks",
			}
		}
	}
	for _, id := range f.Always {
		pins[xstate.BlockID(id)] = runner.PinAlways
	}
	for _, id := range f.Never {
		if pins[xstate.BlockID(id)] != "" {
			return nil, &usageError{
				err:  fmt.Errorf("block %q is pinned to always and to never", id),
				hint: "name it with `--always` or with `--never`",
			}
		}
		pins[xstate.BlockID(id)] = runner.PinNever
	}
	return pins, nil
}

// runFlags are the flags of run.
type runFlags struct {
	verb.Run
	all, watch bool
	retry      func(xstate.BlockID) bool
	given      invocationFlags
	invocation *runner.Invocation // as given; nil means that of the last run
}

// byteSize is a number of bytes as people write it. No bytes at all is -1, because 0 means the usual number.
type byteSize int64

func (b *byteSize) Set(text string) error {
	n, err := humanize.ParseBytes(text)
	if err != nil || n > 1<<62 {
		return errors.New("want a size such as 500MB or 2GiB")
	}
	if *b = byteSize(n); n == 0 {
		*b = -1
	}
	return nil
}

// most is the size as a bound where 0 means unbounded. A bound of no bytes becomes one byte, into which nothing fits.
func (b byteSize) most() int64 {
	if b < 0 {
		return 1
	}
	return int64(b)
}

func (b *byteSize) String() string { return "" }
func (b *byteSize) Type() string   { return "size" }

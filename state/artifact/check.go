package artifact

import (
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// CheckView is a check as seen after a step.
type CheckView struct {
	query.Check
	Current bool `json:"current"` // what it exercised is unchanged, so a run would repeat its outcome
}

// Proves reports whether the check passed on the present code. A volatile check proves nothing, for its next run may
// fail. Nor does a check that kept an outdated result.
func (c *CheckView) Proves() bool {
	return c.Current && c.Outcome == query.CheckPassed && !slices.Contains(c.Marks, state.MarkVaried) &&
		!slices.Contains(c.Marks, state.MarkPinned)
}

// CheckAssert is the kind of a part of a block that asserts something. It is a check of its block, and of all that it
// read.
const CheckAssert query.CheckKind = "assert"

// brief is an error in a line.
func brief(e *state.ExecError) string {
	if e == nil {
		return ""
	}
	first, _, _ := strings.Cut(e.Message, "\n")
	return e.Type + colon(first)
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// ofBlock reports whether the check is written in a block: its id is that of a node of the block, or BLOCK::test.
func (c *CheckView) ofBlock(id state.BlockID) bool {
	name, _, _ := strings.Cut(c.ID, "::")
	node, _, _ := strings.Cut(name, "#")
	return (c.Kind == query.CheckBlock || c.Kind == CheckAssert) && node == string(id)
}

// ofFile reports whether the check is written in a file.
func (c *CheckView) ofFile(path string) bool {
	name, _, _ := strings.Cut(c.ID, "::")
	return c.Kind != query.CheckBlock && c.Kind != CheckAssert && name == path
}

func (c *CheckView) exercisedFile(path string) bool {
	return slices.ContainsFunc(c.Exercised, func(x query.Exercised) bool { return x.File == path })
}

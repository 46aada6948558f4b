package xstatetest

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// A Claim says that the programs of some files have some outcome. It is a digest, so claims are equal if the files and
// the outcomes are.
type Claim string

// ClaimOf returns the claim that an outcome makes of the files in the workspace before the run, and of what else is
// given: every status, output and error of a block, every value and every file that the program wrote. If varies, what
// is marked is left out, because it may differ from run to run; if not, a difference shows.
func ClaimOf(files map[string][]byte, out *xstate.Outcome, varies bool, given string) Claim {
	var b strings.Builder
	b.WriteString(given)
	for i := range out.Blocks {
		block := &out.Blocks[i]
		if varies && len(block.AllMarks) > 0 {
			fmt.Fprintf(&b, "block %q varies: %q\n", block.ID, block.AllMarks)
			continue
		}
		status := block.Status
		if status == state.StatusReused {
			status = state.StatusRan
		}
		fmt.Fprintf(&b, "block %q %s %q %q\n", block.ID, status, query.Text(block.Outputs), query.ErrorText(block.Err))
		if block.Ending != nil {
			fmt.Fprintf(&b, "ends with %d\n", block.Ending.Code)
		}
	}
	claimDigests(&b, "value ", out.Values, out, varies)
	claimDigests(&b, "file ", out.Files, out, varies)
	return ClaimText(files, b.String())
}

// ClaimText returns the claim that the outcome of files is a text.
func ClaimText(files map[string][]byte, outcome string) Claim {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "file %q %q\n", name, files[name])
	}
	return Claim(claimDigest(b.String() + outcome))
}

// claimDigests adds a line for each name. Digests by lineage differ though the values are equal, see replay.Compare.
func claimDigests(b *strings.Builder, what string, digests map[string]state.Digest, out *xstate.Outcome, varies bool) {
	for _, name := range slices.Sorted(maps.Keys(digests)) {
		d := digests[name]
		if len(d) == sha256.Size*2 {
			d = "by lineage"
		}
		if !varies || out.VaryingKeys[what+name] == nil {
			fmt.Fprintf(b, "%s%q %s\n", what, name, d)
		}
	}
}

// claimDigest is short, because thousands of claims are in the tree: 48 bits.
func claimDigest(text string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:12]
}

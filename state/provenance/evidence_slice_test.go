package provenance_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/provenance"
	"github.com/xstate-engine/xstate/state/query"
)

// TestEvidenceSlices: what the evidence of a block holds is enough. The program of nothing but the nodes in it, from
// scratch in a fresh folder, comes to the same results of the block. By itself the test takes every thirtieth session
// of testdata, and the last two blocks of each; XSTATE_TEST_EVIDENCE=all takes all, XSTATE_TEST_EVIDENCE=TEXT all
// blocks of those that have the text in their names.
func TestEvidenceSlices(t *testing.T) {
	xstatetest.SamplePrograms(
		t,
		"XSTATE_TEST_EVIDENCE",
		1,
		func(t *testing.T, python string, steps []xstatetest.ProgramStep) {
			o := xstate.SessionOptions{
				Python:    python,
				Seed:      7,
				Observe:   os.Getenv("XSTATE_TEST_OBSERVE"),
				Workspace: t.TempDir(),
			}
			session := xstatetest.OpenSession(
				t,
				xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName)),
				o,
			)
			files := map[string][]byte{}
			var whole *xstate.Outcome
			for _, s := range steps {
				xstatetest.WriteFiles(t, o.Workspace, s.Files)
				s.AddTo(files)
				whole = xstatetest.Blank(
					xstatetest.RunFile(t, t.Context(), session, o.Workspace, files, steps[0].Timeout),
					o.Workspace,
				)
			}
			if files[xstatetest.StdinFile] != nil {
				return // what a block finds there depends on those before it that read lines
			}
			least := max(0, len(whole.Blocks)-2)
			if os.Getenv("XSTATE_TEST_EVIDENCE") != "" {
				least = 0
			}
			for i := least; i < len(whole.Blocks); i++ {
				if b := &whole.Blocks[i]; len(b.AllMarks) == 0 && b.Err == nil && len(b.Nodes) > 0 {
					slicedRun(t, session, b, files, o)
				}
			}
		},
	)
}

// slicedRun compares what a block came to with what it comes to in the program of its evidence.
func slicedRun(
	t *testing.T,
	session *xstate.Session,
	b *runner.BlockOutcome,
	files map[string][]byte,
	o xstate.SessionOptions,
) {
	t.Helper()
	head, _, err := session.Store().State().Head(t.Context(), session.Name())
	if err != nil {
		t.Fatal(err)
	}
	e, err := provenance.EvidenceOf(t.Context(), session.History(), head, "block:"+string(b.ID))
	if err != nil {
		t.Fatal(err)
	}
	program, err := session.History().ProgramAt(t.Context(), head)
	if err != nil {
		t.Fatal(err)
	}
	sliced := maps.Clone(files)
	maps.DeleteFunc(sliced, func(name string, _ []byte) bool { return strings.HasPrefix(name, "prog.") })
	source := slicedSource(t, program, e)
	sliced["prog.py"] = []byte(source)
	have := xstatetest.FromScratch(t, t.Context(), sliced, o, 0)
	at := slices.IndexFunc(have.Blocks, func(x runner.BlockOutcome) bool { return x.Title == string(b.ID) })
	if at < 0 {
		t.Fatalf("block %s is not in the program of its evidence:\n%s", b.ID, source)
	}
	if x := &have.Blocks[at]; query.Text(x.Outputs) != query.Text(b.Outputs) || x.Err != nil {
		t.Errorf(
			"block %s prints %q (%v) in the program of its evidence, %q in all of it\n%s",
			b.ID,
			query.Text(x.Outputs),
			x.Err,
			query.Text(b.Outputs),
			source,
		)
	}
	for _, r := range e.Results {
		if name := r.Key.Name(); r.Key.Space() == "var" && len(r.Digest) == 40 && have.Values[name] != r.Digest {
			t.Errorf(
				"%s of block %s is %s in the program of its evidence, %s in all of it\n%s",
				name,
				b.ID,
				have.Values[name],
				r.Digest,
				source,
			)
		}
	}
}

// slicedSource is the text of the nodes that evidence holds, in the lines where they stand, a cell for each block.
func slicedSource(t *testing.T, program []state.ProgramBlock, e *provenance.Evidence) string {
	t.Helper()
	var b strings.Builder
	for _, block := range program {
		facts, err := python.Analyze([]byte(block.Source), block.Dialect)
		if err != nil {
			continue
		}
		lines := strings.SplitAfter(string(facts.Code)+"\n", "\n")
		keep := make([]bool, len(lines)+1)
		kept := false
		for j, n := range facts.Nodes {
			name := string(block.ID)
			if len(facts.Nodes) > 1 {
				name = fmt.Sprintf("%s#%d", block.ID, j+1)
			}
			if slices.ContainsFunc(e.Nodes, func(kept provenance.EvidenceNode) bool { return kept.Name == name }) {
				kept = true
				for line := n.Line; line <= n.EndLine; line++ {
					keep[line] = true
				}
			}
		}
		if slices.ContainsFunc(e.Nodes, func(n provenance.EvidenceNode) bool {
			return strings.HasPrefix(n.Name, string(block.ID)+"#") && strings.Contains(n.Name, "[")
		}) { // it calls a function whose statements are nodes
			kept = true
			for line := range keep {
				keep[line] = true
			}
		}
		if !kept {
			continue
		}
		fmt.Fprintf(&b, "# %%%% %s\n", block.ID)
		for i, line := range lines {
			if !keep[i+1] {
				line = "# \n"
			}
			b.WriteString(line)
		}
	}
	return b.String()
}

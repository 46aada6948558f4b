package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
)

// TestAhead has a program whose blocks tell which process executes them: those that do not rest on one another are not
// executed by one, what rests on all of them comes to the same, and events come in the order of the program.
func TestAhead(t *testing.T) {
	program := `# %% start
import os
home = os.getpid()
base = [1, 2, 3]

# %% left
left = sum(base)
left_at = os.getpid()
print("left")

# %% right
right = [x * 2 for x in base]
right_at = os.getpid()
print("right")

# %% changes
base.append(4)

# %% writes
with open("notes.txt", "a") as f:
    f.write("once\n")

# %% reads
read = open("notes.txt").read()

# %% all
print(left, right, base, read, left_at == home, right_at == home)
`
	for jobs, want := range map[int]string{1: "True True", 2: "True False", 3: "True False"} {
		t.Run(fmt.Sprint(jobs), func(t *testing.T) {
			dir := t.TempDir()
			s := xstatetest.OpenSession(
				t,
				xstatetest.OpenStore(t, filepath.Join(dir, xstate.StoreName)),
				xstate.SessionOptions{Python: xstatetest.Pythons()[0], Workspace: dir, Seed: 7},
			)
			parsed, err := patch.Parse("prog.py", []byte(program))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Load(t.Context(), parsed.Blocks, xstate.Origin{}); err != nil {
				t.Fatal(err)
			}
			var events []string
			out, _, err := s.Run(t.Context(), runner.RunOptions{Jobs: jobs, OnEvent: func(e runner.Event) {
				if line := fmt.Sprint(e.Block, " ", e.Node, " ", e.Kind); len(events) == 0 ||
					events[len(events)-1] != line { // outputs come in pieces
					events = append(events, line)
				}
			}}, xstate.Origin{})
			if err != nil {
				t.Fatal(err)
			}
			last := out.Blocks[len(out.Blocks)-1]
			if last.Err != nil || len(last.Outputs) != 1 ||
				last.Outputs[0].Text != "6 [2, 4, 6] [1, 2, 3, 4] once\n "+want+"\n" {
				t.Errorf("the last block: %+v, error %v; want %s", last.Outputs, last.Err, want)
			}
			if text, err := os.ReadFile(filepath.Join(dir, "notes.txt")); string(text) != "once\n" {
				t.Errorf("the file holds %q, %v", text, err)
			}
			var order []string
			for _, b := range out.Blocks {
				for i := range b.Nodes {
					order = append(order, fmt.Sprint(b.ID, " ", i, " begin"))
					if strings.Contains("left right all", string(b.ID)) && i == len(b.Nodes)-1 {
						order = append(order, fmt.Sprint(b.ID, " ", i, " output"))
					}
					order = append(order, fmt.Sprint(b.ID, " ", i, " end"))
				}
			}
			if d := gocmp.Diff(order, events); d != "" {
				t.Errorf("events (-want +got):\n%s", d)
			}
			again, _, err := s.Run(t.Context(), runner.RunOptions{Jobs: jobs}, xstate.Origin{})
			if err != nil || len(xstatetest.RanBlocks(again)) > 0 {
				t.Errorf("a second run executed %v, %v", xstatetest.RanBlocks(again), err)
			}
		})
	}
}

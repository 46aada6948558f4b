package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
)

// TestExecAsNotebook: code that is submitted call by call prints and fails as in a notebook, where one interpreter
// executes cell after cell, also after cells that failed half way. And at the end the program, run from the top, gives
// the same. The cells are unlike each other, so that none is taken for a correction of another.
func TestExecAsNotebook(t *testing.T) {
	seed := sampling.Seed(t)
	r := rand.New(rand.NewPCG(seed, 3))
	cells := notebookCells(r, 60)
	want := notebook(t, cells)
	dir := t.TempDir()
	s := xstatetest.OpenSession(t, xstatetest.OpenStore(t, dir+"/"+xstate.StoreName),
		xstate.SessionOptions{Workspace: dir, Python: xstatetest.Pythons()[0]})
	var last *xstate.Outcome
	again, kept := 0, 0
	for i, code := range cells {
		done, err := s.Exec(t.Context(), code, xstate.ExecOptions{})
		if err != nil {
			t.Fatalf("seed %d, cell %d: %v", seed, i, err)
		}
		last = done.Outcome
		if len(done.Edits) == 0 {
			again++
		}
		kept += len(done.Placements) - len(done.Blocks)
		if got := printed(done); got != want[i] {
			t.Fatalf("seed %d, cell %d\n%s\nprints %q, want %q; it is block %s (%+v)\nafter:\n%s", seed, i, code, got,
				want[i], done.Block, done.Placements[len(done.Placements)-1].Decision,
				strings.Join(cells[:i], "\n--\n"))
		}
	}
	if again == 0 || kept == 0 {
		t.Errorf("seed %d: %d cells were unchanged, of %d a part was kept: too few to show anything", seed, again, kept)
	}
	found, err := replay.Verify(t.Context(), s.Subject(), last, runner.RunOptions{})
	if err != nil || len(found) > 0 {
		t.Errorf("seed %d: not equal to a run from scratch: %v, %v", seed, found, err)
	}
}

// TestExecTakenBack: a call that is interrupted leaves what the program says that is left, also in files that a block
// before the interrupted one wrote.
func TestExecTakenBack(t *testing.T) {
	session, dir := newSession(t)
	runText(t, t.Context(), session, "# %% write\nn = 1\nopen('n.txt', 'w').write(str(n))\n"+
		"\n# %% read\nimport time\nread = open('n.txt').read()\nprint('read', read)\n"+
		"while read == '2':\n    time.sleep(0.01)\n", nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done, err := session.Exec(ctx, "n = 2\nopen('n.txt', 'w').write(str(n))\n", xstate.ExecOptions{
		Target: xstate.Target{Block: "write"},
		Run: runner.RunOptions{OnEvent: func(ev runner.Event) {
			if strings.Contains(ev.Output.Text, "read 2") {
				cancel()
			}
		}},
	})
	if err != nil || len(done.Undone) == 0 {
		t.Fatalf("the interrupted call is not taken back: %v", err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "n.txt")); string(data) != "1" {
		t.Errorf("n.txt holds %q (%v), want what the program writes", data, err)
	}
	program, _, err := session.History().Program(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range program {
		if b.Before.Status != state.StatusReused && b.Before.Status != state.StatusRan {
			t.Errorf("block %s is %s, want its kept result", b.ID, b.Before.Status)
		}
	}
}

// notebookCells makes cells that bind, change, look and fail.
func notebookCells(r *rand.Rand, n int) []string {
	words := strings.Fields("ash elm oak fir yew box bay may fig sal zelkova rowan larch hazel alder cedar maple birch")
	cells := []string{"xs = []", "table = {}", "count = 0", "squares = (n * n for n in range(99))"}
	bound, failing := 0, r.Perm(len(words)) // two failed cells of one word are alike: the second corrects the first
	for i := range n {
		word := words[r.IntN(len(words))]
		switch r.IntN(10) {
		case 0:
			cells = append(cells, fmt.Sprintf("%s%d = [len(xs), %d]", word, i, r.IntN(9)))
			bound = len(cells) - 1
		case 1:
			cells = append(cells, fmt.Sprintf("xs.append('%s %d')", word, i))
		case 2:
			cells = append(cells, fmt.Sprintf("table['%s%d'] = len(xs)", word, i))
		case 3:
			if len(failing) == 0 {
				continue
			}
			word, failing = words[failing[0]], failing[1:]
			cells = append(cells,
				fmt.Sprintf("xs.extend(['%s', %d])\nprint('before %d')\n%s_%d()", word, i, i, word, i))
		case 4:
			cells = append(cells, fmt.Sprintf("%s_%d = xs[:%d]\nraise KeyError(%d)", word, i, i, i),
				fmt.Sprintf("print('it is', %s_%d)", word, i))
		case 5:
			if name, _, ok := strings.Cut(cells[bound], " = ["); ok && bound > 0 {
				cells = append(cells, fmt.Sprintf("print(%s)", name))
			}
		case 6: // alike, and no correction
			cells = append(cells, fmt.Sprintf("table['again', %d] = 1\nsize = len(table)\nprint(size, 'items')", i))
		case 7: // the same code again, which changes what it reads
			cells = append(cells, []string{"count += 1\nprint(count)", "xs.append('again')", "print(next(squares))",
				"xs.reverse()"}[r.IntN(4)])
		default:
			looks := []string{"print(xs)", "print(sorted(table))", "print(len(xs), len(table))"}
			cells = append(cells, looks[r.IntN(3)])
		}
	}
	return cells
}

// notebook returns what one interpreter prints for each cell, and how the cell fails.
func notebook(t *testing.T, cells []string) (texts []string) {
	t.Helper()
	const run = `
import contextlib, io, json, sys
names, texts = {}, []
for cell in json.load(sys.stdin):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(cell, names)
        except Exception as e:
            print(type(e).__name__)
    texts.append(out.getvalue())
json.dump(texts, sys.stdout)
`
	data, err := json.Marshal(cells)
	if err != nil {
		t.Fatal(err)
	}
	python := "python3"
	if pythons := xstatetest.Pythons(); pythons[0] != "" {
		python = pythons[0]
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", run)
	cmd.Stdin = strings.NewReader(string(data))
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &texts)
	}
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// printed returns what the blocks that the code became print, and how the last one fails.
func printed(done *xstate.ExecResult) (text string) {
	for _, b := range done.Outcome.Blocks {
		if b.ID != done.Block {
			continue
		}
		for _, o := range b.Outputs {
			text += o.Text
		}
		if b.Err != nil {
			text += b.Err.Type + "\n"
		} else if b.Status.Bad() {
			text += b.Status.String() + "\n"
		}
	}
	return text
}

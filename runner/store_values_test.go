package runner

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	dialect "github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/statetest"
)

// growing is a program that makes a frame and adds columns to it, one a block. Its last block prints what came of it.
func growing(rows, columns, more int) []state.ProgramBlock {
	blocks := []state.ProgramBlock{
		textBlock("make", fmt.Sprintf("import numpy as np, pandas as pd\nrng = np.random.default_rng(1)\n"+
			"df = pd.DataFrame({f'a{i}': rng.random(%d) for i in range(%d)})\n", rows, columns)),
	}
	for i := range more {
		blocks = append(blocks, textBlock(fmt.Sprintf("b%d", i), fmt.Sprintf("df['b%d'] = rng.random(%d)\n", i, rows)))
	}
	return append(blocks, textBlock("show", "print(df.shape, float(df.to_numpy().sum()))\n"))
}

func textBlock(id, source string) state.ProgramBlock {
	return state.ProgramBlock{
		ID:      state.BlockID(id),
		Dialect: dialect.Plain,
		Version: state.DigestOf([]byte(source)),
		Source:  source,
	}
}

// storing returns an engine that stores every value, whatever it costs.
func storing(t testing.TB, dir string) *Engine {
	t.Helper()
	store := statetest.CheckedOpen(t, filepath.Join(dir, ".xstate"), state.Options{})
	found, err := python.Identify(t.Context(), store.Dir(), withPandas(t), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(Config{Store: store, Session: "s", Workspace: dir, Language: found, Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	e.ledger.all = true
	t.Cleanup(func() { e.Close() })
	return e
}

func withPandas(t testing.TB) string {
	python, _, _ := strings.Cut(os.Getenv("XSTATE_TEST_PYTHONS"), ":")
	python = cmp.Or(python, "python3")
	if exec.Command(python, "-c", "import pandas").Run() != nil {
		t.Skip("no interpreter with pandas; XSTATE_TEST_PYTHONS names one")
	}
	path, err := exec.LookPath(python)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func blobBytes(t testing.TB, dir string) (total int64) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, ".xstate", "blobs"), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			var info fs.FileInfo
			info, err = e.Info()
			total += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}

// A frame that gains a column is stored as one more column, and comes back whole.
func TestStoredByColumn(t *testing.T) {
	dir := t.TempDir()
	const rows, columns, more = 40_000, 4, 8
	blocks := growing(rows, columns, more)
	out, err := storing(t, dir).Run(t.Context(), blocks, RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := out.Blocks[len(blocks)-1].Outputs
	if stored, final := blobBytes(t, dir), int64(8*rows*(columns+more)); stored > final*3/2 {
		t.Errorf("%d bytes are stored for a frame that ends with %d", stored, final)
	}
	for _, at := range []int{2, more} { // a new process, with the frame as it was before an edited block
		e := storing(t, dir)
		edited := append(
			blocks[:at:at],
			textBlock("show", blocks[len(blocks)-1].Source+"# here\nprint(len(df.columns))\n"),
		)
		out, err := e.Run(t.Context(), edited, RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := out.Blocks[at].Outputs; len(got) != 1 ||
			!strings.Contains(got[0].Text, fmt.Sprintf("(%d, %d)", rows, columns+at-1)) {
			t.Errorf("after %d blocks: %v, errors %v", at, got, out.Blocks[at].Err)
		}
		if out.Recomputed > 0 {
			t.Errorf("after %d blocks: %d nodes ran again to rebuild the frame", at, out.Recomputed)
		}
	}
	fresh, err := storing(t, t.TempDir()).Run(t.Context(), blocks, RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fresh.Blocks[len(blocks)-1].Outputs; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("from scratch: %v, want %v", got, want)
	}
}

// BenchmarkCheckpoints stores a frame of 200 MB after each of 100 blocks that give it a column more.
func BenchmarkCheckpoints(b *testing.B) {
	const rows, columns, more = 250_000, 100, 100
	for b.Loop() {
		dir := b.TempDir()
		if _, err := storing(b, dir).Run(b.Context(), growing(rows, columns, more), RunOptions{}); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(blobBytes(b, dir))/(8*rows*(columns+more)), "stored/final")
	}
}

package runner

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	dialect "github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/kernel/mixed"
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
	found, err := python.Identify(t.Context(), kernel.Search{Cache: store.Dir(), Environ: os.Environ()}, withPandas(t))
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(Config{Store: store, Session: "s", Workspace: dir, Languages: mixed.Only(found),
		Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	e.ledger.all = true
	t.Cleanup(func() { e.Close() })
	return e
}

// runOnce runs blocks in an engine and a store of their own, and closes both, so that what was stored is on disk.
func runOnce(t testing.TB, dir string, blocks []state.ProgramBlock) *Outcome {
	t.Helper()
	e := storing(t, dir)
	out, err := e.Run(t.Context(), blocks, RunOptions{})
	if err = errors.Join(err, e.Close(), e.cfg.Store.Close()); err != nil {
		t.Fatal(err)
	}
	return out
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
	const rows, columns, more = 200_000, 4, 8 // large enough to be watched
	blocks := growing(rows, columns, more)
	out := runOnce(t, dir, blocks)
	want := out.Blocks[len(blocks)-1].Outputs
	if stored, final := blobBytes(t, dir), int64(8*rows*(columns+more)); stored > final*3/2 {
		t.Errorf("%d bytes are stored for a frame that ends with %d", stored, final)
	}
	for _, at := range []int{2, more} { // a new process, with the frame as it was before an edited block
		edited := append(
			blocks[:at:at],
			textBlock("show", blocks[len(blocks)-1].Source+"# here\nprint(len(df.columns))\n"),
		)
		out := runOnce(t, dir, edited)
		if got := out.Blocks[at].Outputs; len(got) != 1 ||
			!strings.Contains(got[0].Text, fmt.Sprintf("(%d, %d)", rows, columns+at-1)) {
			t.Errorf("after %d blocks: %v, errors %v", at, got, out.Blocks[at].Err)
		}
		if out.Recomputed > 0 {
			t.Errorf("after %d blocks: %d nodes ran again to rebuild the frame", at, out.Recomputed)
		}
	}
	fresh := runOnce(t, t.TempDir(), blocks)
	if got := fresh.Blocks[len(blocks)-1].Outputs; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("from scratch: %v, want %v", got, want)
	}
}

// Arrays of every layout, written to, viewed and replaced from block to block, come back in a new process as a fresh
// run makes them. No block runs again for it.
func TestStoredParts(t *testing.T) {
	sources := []string{
		"import numpy as np, pandas as pd\nrng = np.random.default_rng(1)\n",
		"df = pd.DataFrame({f'a{i}': rng.random(200_000) for i in range(3)})\ndf['g'] = np.arange(200_000) % 7\n",
		"s = df['a0']\ndf.loc[7, 'a1'] = 5.0\n",
		"a = rng.random(300_000)\nv = a[10:]\n",
		"v[200_000] = -1\n",
		"f = np.asfortranarray(rng.random((1000, 400)))\n",
		"r = rng.random(200_000)\nr.flags.writeable = False\n",
		"t = pd.date_range('2020-01-01', periods=200_000, freq='h').to_series()\nd = t.to_numpy()\n",
		"z = np.zeros(200_000, dtype=[('x', 'f8'), ('y', 'i4')])\nz['x'] = a[:200_000]\n",
		"df['b'] = s * 2\nr2 = r.copy()\nr2[3] = 0\n",
		"u = np.array(['x', 'yy'] * 100_000)\nc = rng.random(200_000) > 0.5\n",
	}
	show := "for x in (df, s, a, v, f, r, t, d, z, r2, u, c):\n" +
		"    n = x.to_numpy() if hasattr(x, 'to_numpy') else x\n" +
		"    print(type(x).__name__, n.dtype, n.shape, n.flags.f_contiguous, n.flags.owndata, n.flags.writeable,\n" +
		"          hash(n.tobytes()))\nv[5] = 3\nprint(a[15], f.flags.owndata, r.flags.writeable)\n"
	program := func(last string) (blocks []state.ProgramBlock) {
		for i, source := range append(sources[:len(sources):len(sources)], last) {
			blocks = append(blocks, textBlock(fmt.Sprintf("b%d", i), source))
		}
		return blocks
	}
	dir := t.TempDir()
	runOnce(t, dir, program("print(1)\n"))
	restored, fresh := runOnce(t, dir, program(show)), runOnce(t, t.TempDir(), program(show))
	got, want := restored.Blocks[len(sources)], fresh.Blocks[len(sources)]
	if want.Err != nil || fmt.Sprint(got.Outputs) != fmt.Sprint(want.Outputs) {
		t.Errorf("restored: %v %v\nwant %v %v", got.Outputs, got.Err, want.Outputs, want.Err)
	}
	if b := restored.Blocks[len(sources)-1]; b.Status != state.StatusReused {
		t.Errorf("block %s: %v, want %v", b.ID, b.Status, state.StatusReused)
	}
	if restored.Recomputed > 0 {
		t.Errorf("%d nodes ran again to rebuild values", restored.Recomputed)
	}
}

// A part that was damaged in the store is found out when its value is loaded, and removed. The value is computed again.
func TestDamagedPart(t *testing.T) {
	dir := t.TempDir()
	blocks := growing(200_000, 2, 2)
	out := runOnce(t, dir, blocks)
	paths, err := filepath.Glob(filepath.Join(dir, ".xstate", "blobs", "*", "*.raw"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no parts: %v", err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.Chmod(path, 0o644)
		}
		if err == nil {
			data[len(data)/2]++
			err = os.WriteFile(path, data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	last := len(blocks) - 1
	blocks[last] = textBlock("show", strings.Replace(blocks[last].Source, ".sum()))", ".sum()), sep=' ')", 1))
	again := runOnce(t, dir, blocks)
	if got, want := again.Blocks[last].Outputs[0], out.Blocks[last].Outputs[0]; got.Text != want.Text {
		t.Errorf("with damaged parts: %q, want %q", got.Text, want.Text)
	}
	if again.Recomputed == 0 {
		t.Error("the value was not computed again")
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

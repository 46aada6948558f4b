package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// columnBlocks is how many blocks compute a column.
const columnBlocks = 100

// columnsProgram is a program whose blocks each compute a column from those of a frame of 200,000 rows. oneFrame: each
// adds its column to the frame. If not, each binds a name of its own, and the last block uses them all. The block
// edited has another constant for each edit.
func columnsProgram(oneFrame bool, edited, edit int) string {
	var b strings.Builder
	b.WriteString("# %% imports\nimport numpy as np\nimport pandas as pd\n\n")
	b.WriteString("# %% data\nrng = np.random.default_rng(7)\nn = 200_000\n")
	b.WriteString("df = pd.DataFrame({'a': rng.normal(size=n), 'b': rng.normal(size=n), 'c': rng.random(n), " +
		"'g': rng.integers(0, 50, n)})\n")
	for i := range columnBlocks {
		by := fmt.Sprintf("%d", i+1)
		if i == edited {
			by = fmt.Sprintf("%d.%03d", i+1, edit)
		}
		name := fmt.Sprintf("f%d", i)
		target := name
		if oneFrame {
			target = "df['" + name + "']"
		}
		work := []string{
			"np.sin(df['a'] * %s) + np.exp(-df['b'] ** 2) * np.log1p(df['c']) + np.arctan(df['a'] * df['c'])",
			"df.groupby('g')['a'].transform('mean') * %s + np.tanh(df['b']) * np.sqrt(df['c']) + np.cos(df['a'])",
			"(df['a'] * %s).rolling(7, min_periods=1).mean() + np.cos(df['b']) * np.exp(df['c'])",
			"(df['c'] * %s).rank(pct=True)",
			"np.where(df['a'] > df['b'], np.exp(df['c'] * %s / 100), np.arctan(df['a'])) ** 2 + np.sinh(df['b'])",
		}[i%5]
		fmt.Fprintf(&b, "\n# %%%% %s\n%s = %s\n", name, target, fmt.Sprintf(work, by))
	}
	b.WriteString("\n# %% last\n")
	if oneFrame {
		b.WriteString("print(df[['f3', 'f17', 'f50', 'f81']].mean().round(6).to_dict())\n")
	} else {
		names := make([]string, columnBlocks)
		for i := range names {
			names[i] = fmt.Sprintf("f%d", i)
		}
		fmt.Fprintf(&b, "print([round(float(np.mean(f)), 6) for f in (%s)])\n", strings.Join(names, ", "))
	}
	return b.String()
}

// BenchmarkColumns times an edit of a block in the middle, in a new process, against the same program given to the same
// interpreter. In "frame" the blocks add columns to one frame, in "names" each binds a name. The first run is timed,
// too.
func BenchmarkColumns(b *testing.B) {
	for _, kind := range []struct {
		name     string
		oneFrame bool
	}{{"frame", true}, {"names", false}} {
		b.Run(kind.name, func(b *testing.B) {
			bed := newBed(b)
			if needs([]byte("import numpy, pandas"), bed.python) {
				b.Skip("no pandas")
			}
			times := map[string][]time.Duration{}
			bed.write("program.py", []byte(columnsProgram(kind.oneFrame, -1, 0)))
			first, took := bed.run(bed.xstate, "run", "program.py")
			times["first"] = append(times["first"], took)
			edit := 0
			for b.Loop() {
				edit++
				bed.write("program.py", []byte(columnsProgram(kind.oneFrame, columnBlocks/2, edit)))
				plain, took := bed.run(bed.python, "program.py")
				times["plain"] = append(times["plain"], took)
				out, took := bed.run(bed.xstate, "run", "program.py")
				times["edit"] = append(times["edit"], took)
				if !strings.Contains(string(out), strings.TrimSpace(string(plain))) {
					b.Fatalf("the edited program printed %s, want %s (at first %s)", out, plain, first)
				}
			}
			bed.report([]string{"plain", "first", "edit"}, times)
			b.ReportMetric(storeSize(b, bed.folder), "stored-MB")
		})
	}
}

// storeSize returns the megabytes of the store in a folder.
func storeSize(b *testing.B, folder string) (size float64) {
	b.Helper()
	err := filepath.Walk(filepath.Join(folder, ".xstate"), func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			size += float64(info.Size()) / 1e6
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return size
}

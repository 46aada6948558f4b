package bench

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkFunctionPrograms times the first run of the programs of testdata/functions, which call a function whose
// statements are nodes, against the same programs with "# xstate: whole". Both run as whole processes, in turn, and
// each in a new folder. A ratio is that of the least times. Programs whose packages are missing are left out.
func BenchmarkFunctionPrograms(b *testing.B) {
	files, err := filepath.Glob("testdata/functions/*.py")
	if err != nil || len(files) == 0 {
		b.Fatalf("no programs: %v", err)
	}
	bed := newBed(b)
	sides := map[string][2][]byte{}
	least := map[string]*[2]float64{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		if needs(text, bed.python) {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(file), ".py")
		whole := bytes.ReplaceAll(text, []byte("\ndef "), []byte("\n# xstate: whole\ndef "))
		sides[name], least[name] = [2][]byte{whole, text}, &[2]float64{math.Inf(1), math.Inf(1)}
	}
	for b.Loop() {
		for name, texts := range sides {
			for i, text := range texts {
				bed.folder = b.TempDir()
				bed.write("program.py", text)
				_, took := bed.run(bed.xstate, "run", "program.py")
				least[name][i] = min(least[name][i], took.Seconds())
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	var all []float64
	for name, took := range least {
		all = append(all, took[1]/took[0])
		b.ReportMetric(took[1]/took[0], name+"/whole")
	}
	b.ReportMetric(median(all), "median/whole")
}

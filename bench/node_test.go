package bench

import (
	"cmp"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkNodePrograms times the first run of the programs of testdata/node in a new folder against the same file
// given to Node, whole processes both in turn, as BenchmarkPrograms does for Python. "start-added-ms" is what xstate
// adds to a program that does nothing.
func BenchmarkNodePrograms(b *testing.B) {
	files, err := filepath.Glob("testdata/node/*.js")
	if err != nil || len(files) == 0 {
		b.Fatalf("no programs: %v", err)
	}
	node := measuredNode(b)
	bed := newBed(b)
	texts := map[string][]byte{"empty": []byte("void 0\n")}
	for _, file := range files {
		if texts[strings.TrimSuffix(filepath.Base(file), ".js")], err = os.ReadFile(file); err != nil {
			b.Fatal(err)
		}
	}
	least := map[string]*[2]float64{}
	for name := range texts {
		least[name] = &[2]float64{math.Inf(1), math.Inf(1)}
	}
	for b.Loop() {
		for name, text := range texts {
			for i, side := range [][]string{{node, "program.js"}, {bed.xstate, "run", "program.js"}} {
				bed.folder = b.TempDir()
				bed.write("program.js", text)
				_, took := bed.run(side[0], side[1:]...)
				least[name][i] = min(least[name][i], took.Seconds())
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	var all []float64
	for name, took := range least {
		if name == "empty" {
			b.ReportMetric((took[1]-took[0])*1000, "start-added-ms")
			continue
		}
		all = append(all, took[1]/took[0])
		b.ReportMetric(took[1]/took[0], name+"/plain")
	}
	b.ReportMetric(median(all), "median/plain")
}

// BenchmarkNodeEmpty times nodes of JavaScript that do nothing, in a program with a hundred names.
func BenchmarkNodeEmpty(b *testing.B) {
	measuredNode(b)
	s := newSession(b)
	timeEmptyNodes(b, s, "program.js", "// %%%% v%d\nlet v%d = [%d]\n", "// %%%% n%d\nif (%d < 0) ;\n")
}

// measuredNode returns the Node to measure with.
func measuredNode(b *testing.B) string {
	b.Helper()
	path, err := exec.LookPath(cmp.Or(os.Getenv("XSTATE_NODE"), "node"))
	if err != nil {
		b.Skip("no node")
	}
	return path
}

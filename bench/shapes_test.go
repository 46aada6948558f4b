package bench

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var table = flag.String("table", "", "write the table of BenchmarkShapes to this file")

// shapeTimes are the least seconds of a program of testdata/shapes: plain by its interpreter alone, and by the command.
// An edit changes a number that the last block prints.
type shapeTimes struct {
	plain, first, process, warm, fork float64
}

// BenchmarkShapes times programs that make, derive and use data of one shape each, whole processes in turn: the
// interpreter alone, the first run in a new folder, which leaves a server behind, an edit of the last block with it,
// an edit in a new process, and the first edit of a fork when there was one before. Each figure is the least of all
// rounds: what else a machine does only ever adds. Programs whose packages are missing are left out. -table FILE
// writes them as the table of docs/benchmarks.md.
func BenchmarkShapes(b *testing.B) {
	files, err := filepath.Glob("testdata/shapes/*.js")
	python, err2 := filepath.Glob("testdata/shapes/*.py")
	if err != nil || err2 != nil || len(python) == 0 {
		b.Fatalf("no programs: %v, %v", err, err2)
	}
	files = append(python, files...)
	bed, node := newBed(b), measuredNode(b)
	b.Setenv("XSTATE_WARM", "1")
	found := map[string]*shapeTimes{}
	for b.Loop() {
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			plain := bed.python
			if filepath.Ext(file) == ".js" {
				plain = node
			} else if needs(text, bed.python) {
				continue
			}
			name := filepath.Base(file)
			if found[name] == nil {
				never := math.Inf(1)
				found[name] = &shapeTimes{never, never, never, never, never}
			}
			bed.shape(found[name], plain, string(text), filepath.Ext(file))
		}
	}
	b.ReportMetric(0, "ns/op")
	rows := "| shape of the data | plain | first run | edit, new process | edit, warm | edit, fork |\n" +
		"|---|---|---|---|---|---|\n"
	for _, extension := range []string{".py", ".js"} {
		var all [4][]float64
		for _, file := range files {
			t := found[filepath.Base(file)]
			if filepath.Ext(file) != extension || t == nil {
				continue
			}
			name := filepath.Base(file)
			ratios := []float64{t.first / t.plain, t.process / t.plain, t.warm / t.plain, t.fork / t.plain}
			for i, what := range []string{"first", "process", "warm", "fork"} {
				all[i] = append(all[i], ratios[i])
				b.ReportMetric(ratios[i], name+"-"+what+"/plain")
			}
			rows += fmt.Sprintf("| %s | %.2f s | %.2f | %.2f | %.2f | %.2f |\n", name, t.plain,
				ratios[0], ratios[1], ratios[2], ratios[3])
		}
		if len(all[0]) == 0 {
			continue
		}
		rows += fmt.Sprintf("| **%s, median** | | **%.2f** | **%.2f** | **%.2f** | **%.2f** |\n", extension,
			median(all[0]), median(all[1]), median(all[2]), median(all[3]))
		b.ReportMetric(median(all[0]), "median"+extension+"-first/plain")
		b.ReportMetric(median(all[2]), "median"+extension+"-warm/plain")
	}
	if *table != "" {
		if err := os.WriteFile(*table, []byte(rows), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// shape times one program once.
func (t *bed) shape(times *shapeTimes, plain, text, extension string) {
	t.b.Helper()
	file, edition := "program"+extension, 0
	edit := func(file string) {
		edition++
		t.write(file, []byte(strings.ReplaceAll(text, "EDITION", strconv.Itoa(edition))))
	}
	timed := func(least *float64, command string, args ...string) {
		out, took := t.run(command, args...)
		*least = min(*least, took.Seconds())
		if !bytes.Contains(out, []byte(" "+strconv.Itoa(edition)+"\n")) {
			t.b.Fatalf("%s printed %q", command, out)
		}
	}
	t.folder = t.b.TempDir()
	edit(file)
	timed(&times.plain, plain, file)
	timed(&times.first, t.xstate, "run", file)
	edit(file)
	t.run(t.xstate, "run", file) // it waits until the first run's results are stored
	edit(file)
	timed(&times.warm, t.xstate, "run", file)
	forked := func(name string, least *float64) {
		t.run(t.xstate, "fork", name, "--session", file)
		edit(name)
		timed(least, t.xstate, "run", name)
	}
	ready := math.Inf(1)
	forked("first"+extension, &ready) // for it, the server makes a template
	forked("second"+extension, &times.fork)
	t.run(t.xstate, "serve", "--stop")
	edit(file)
	timed(&times.process, t.xstate, "run", "--no-server", file)
}

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hundred is a program of 100 blocks, each of which reads what the one before wrote.
func hundred() []byte {
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "# %%%% block %d\ndef step%d(x):\n    return x + %d\n\n\nvalue%d = ", i, i, i, i)
		if i == 0 {
			text.WriteString("1\n\n")
		} else {
			fmt.Fprintf(&text, "step%d(value%d)\nprint(value%d)\n\n", i, i-1, i)
		}
	}
	return []byte(text.String())
}

// BenchmarkNullRun times "xstate run" of an unchanged program of 100 blocks against "python3 -c pass".
func BenchmarkNullRun(b *testing.B) {
	bed := newBed(b)
	bed.write("program.py", hundred())
	if n := bed.ran("program.py"); n != 100 {
		b.Fatalf("the first run executed %d blocks, want 100", n)
	}
	if bed.started() == 0 {
		b.Fatal("the first run started no interpreter: the wrapper does not count")
	}
	if n := bed.ran("program.py"); n != 0 {
		b.Fatalf("the second run executed %d blocks, want 0", n)
	}
	before := bed.started()
	times := map[string][]time.Duration{}
	for b.Loop() {
		_, took := bed.run(bed.python, "-c", "pass")
		times["python"] = append(times["python"], took)
		_, took = bed.run(bed.xstate, "run", "program.py")
		times["null"] = append(times["null"], took)
	}
	if n := bed.started() - before; n != 0 {
		b.Fatalf("runs in which nothing changed started %d interpreters, want 0", n)
	}
	bed.report([]string{"python", "null"}, times)
}

// BenchmarkDemo times the program of testdata/demo: as plain Python, its first run, and the run after a function of it
// was edited.
func BenchmarkDemo(b *testing.B) {
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("..", "testdata", "demo", name))
		if err != nil {
			b.Fatal(err)
		}
		return data
	}
	data, program, edited := read("penguins.csv"), read("analysis.py"), read("edits/02-function.py")
	times := map[string][]time.Duration{}
	bed := newBed(b)
	timed := func(name, command string, args ...string) {
		_, took := bed.run(command, args...)
		times[name] = append(times[name], took)
	}
	for b.Loop() {
		bed.folder = b.TempDir()
		bed.write("penguins.csv", data)
		bed.write("analysis.py", program)
		timed("plain", bed.python, "analysis.py")
		bed.folder = b.TempDir()
		bed.write("penguins.csv", data)
		bed.write("analysis.py", program)
		timed("first", bed.xstate, "run", "analysis.py")
		bed.write("analysis.py", edited)
		timed("edit", bed.xstate, "run", "analysis.py")
		timed("null", bed.xstate, "run", "analysis.py")
	}
	bed.report([]string{"plain", "first", "edit", "null"}, times)
}

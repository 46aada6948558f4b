package bench

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
)

// BenchmarkPrograms times the first run of the programs of testdata/programs against the same text given to the same
// interpreter, whole processes both in turn, and compares the interpreters' peak memory. "output" is a run in this
// process, from a folder without a store until the last output is known (runner.Outcome.ResultSeconds). Each ratio is
// that of the least times: what else a machine does only ever adds. Programs whose packages are missing are left out.
func BenchmarkPrograms(b *testing.B) {
	files, err := filepath.Glob("testdata/programs/*.py")
	if err != nil || len(files) == 0 {
		b.Fatalf("no programs: %v", err)
	}
	bed := newBed(b)
	type least struct {
		took, peak [2]float64
		output     float64
	}
	costs := map[string]*least{}
	for b.Loop() {
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			if needs(text, bed.python) {
				continue
			}
			name := strings.TrimSuffix(filepath.Base(file), ".py")
			c := costs[name]
			if c == nil {
				never := [2]float64{math.Inf(1), math.Inf(1)}
				c = &least{never, never, never[0]}
				costs[name] = c
			}
			for i, side := range [][]string{{bed.python, "program.py"}, {bed.xstate, "run", "program.py"}} {
				bed.folder = b.TempDir()
				bed.write("program.py", append(text, peakOf...))
				out, took := bed.run(side[0], side[1:]...)
				c.took[i] = min(c.took[i], took.Seconds())
				c.peak[i] = min(c.peak[i], number(b, out, "peak="))
			}
			c.output = min(c.output, toOutput(b, bed.python, string(text)))
		}
	}
	b.ReportMetric(0, "ns/op")
	var all, allPeaks, outputs []float64
	for name, c := range costs {
		outputs = append(outputs, c.output/c.took[0])
		b.ReportMetric(outputs[len(outputs)-1], name+"-output/plain")
		all, allPeaks = append(all, c.took[1]/c.took[0]), append(allPeaks, c.peak[1]/c.peak[0])
		b.ReportMetric(all[len(all)-1], name+"/plain")
		b.ReportMetric(allPeaks[len(all)-1], name+"-peak/plain")
	}
	b.ReportMetric(median(outputs), "median-output/plain")
	b.ReportMetric(median(all), "median/plain")
	b.ReportMetric(median(allPeaks), "median-peak/plain")
}

// toOutput returns the seconds from opening a new store until the last output of a first run is known.
func toOutput(b *testing.B, python, text string) float64 {
	b.Helper()
	began := time.Now()
	s := newSessionWith(b, python)
	defer s.close()
	wall, out := s.load(text)
	return time.Since(began).Seconds() - wall + out.ResultSeconds
}

// peakOf has a program say the peak of its interpreter's memory. Not by getrusage: that counts the process that
// started it.
const peakOf = "\n# %% peak\nprint('peak=', *(line.split()[1] for line in open('/proc/self/status') if " +
	"line.startswith('VmHWM')))\n"

// BenchmarkGlobals times loops that do little but read and write globals, in the program against plain.
func BenchmarkGlobals(b *testing.B) {
	loop := "# %% loop\na = b = c = 0\nfor i in range(8_000_000):\n    a += 1\n    b = a + c\n    c = b - a\nprint(c)\n"
	bed := newBed(b)
	var ratios []float64
	for b.Loop() {
		var took [2]float64
		for i, side := range [][]string{{bed.python, "program.py"}, {bed.xstate, "run", "program.py"}} {
			for _, text := range []string{loop, "# %% empty\n0\n"} { // what a start takes cancels out
				bed.folder = b.TempDir()
				bed.write("program.py", []byte(text))
				_, t := bed.run(side[0], side[1:]...)
				if text == loop {
					took[i] += t.Seconds()
				} else {
					took[i] -= t.Seconds()
				}
			}
		}
		ratios = append(ratios, took[1]/took[0])
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(ratios), "run/plain")
}

// BenchmarkNode times nodes that do nothing, in a program with a hundred names.
func BenchmarkNode(b *testing.B) {
	timeEmptyNodes(b, newSession(b), "program.py", "# %%%% v%d\nv%d = [%d]\n", "# %%%% n%d\nif %d < 0: pass\n")
}

// timeEmptyNodes times nodes that do nothing. name and node are formats: of a block that binds a name to a list, and of
// a block that does nothing.
func timeEmptyNodes(b *testing.B, s *session, file, name, node string) {
	text := ""
	for i := range 100 {
		text += fmt.Sprintf(name, i, i, i)
	}
	s.file = file
	s.run(text)
	const count = 200
	var each []float64
	for b.Loop() {
		more := ""
		for i := range count {
			more += fmt.Sprintf(node, i, len(each)*count+i)
		}
		wall, _ := s.run(text + more)
		each = append(each, wall/count*1000)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(each), "ms/node")
}

// BenchmarkHead times what a look at a frame of a gigabyte takes beside what the look itself takes.
func BenchmarkHead(b *testing.B) {
	s := newSession(b)
	if needs([]byte("import numpy, pandas"), s.SessionOptions.Python) {
		b.Skip("no pandas")
	}
	text := "# %% make\nimport numpy as np\nimport pandas as pd\n\n# %% frame\n" +
		"df = pd.DataFrame({f'c{i}': np.arange(12_500_000) * 1.5 + i for i in range(10)})\n"
	s.run(text)
	var each []float64
	for b.Loop() {
		text += fmt.Sprintf("\n# %%%% look %d\ndf.head(%d)\n", len(each), len(each)+1)
		wall, inside := s.run(text)
		each = append(each, (wall-inside)*1000)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(each), "added-ms")
}

// BenchmarkRestart has a gigabyte in thirty variables, a new process, and a block that reads one of them: how long
// until its result is there, against loading as many bytes from a file of NumPy's in a new process.
func BenchmarkRestart(b *testing.B) {
	s := newSession(b)
	if needs([]byte("import numpy"), s.SessionOptions.Python) {
		b.Skip("no numpy")
	}
	text := "# %% make\nimport time\nimport numpy as np\n"
	for i := range 30 { // slow, so that it is worth storing
		text += fmt.Sprintf("\n# %%%% v%d\ntime.sleep(1.5)\nv%d = np.arange(4_400_000) * 1.5 + %d\n", i, i, i)
	}
	s.run(text)
	plain := "import time\nstart = time.time()\nimport numpy as np\na = np.load('a.npy')\nprint(float(a.sum()))\n" +
		"print('took', time.time() - start)\n"
	save := "import numpy as np; np.save('" + s.Workspace + "/a.npy', np.arange(4_400_000) * 1.5)"
	if out, err := exec.Command(s.SessionOptions.Python, "-c", save).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	var own, load []float64
	for b.Loop() {
		s.restart()
		text += fmt.Sprintf("\n# %%%% one %d\nprint(float(v17.sum()), %d)\n", len(own), len(own))
		wall, _ := s.run(text)
		own = append(own, wall)
		cmd := exec.Command(s.SessionOptions.Python, "-c", plain)
		cmd.Dir = s.Workspace
		start := time.Now()
		if _, err := cmd.Output(); err != nil {
			b.Fatal(err)
		}
		load = append(load, time.Since(start).Seconds())
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(own)*1000, "restart-ms")
	b.ReportMetric(median(load)*1000, "load-ms")
	b.ReportMetric(median(own)/median(load), "restart/load")
}

// session is a session whose interpreter stays between runs.
type session struct {
	*xstate.Session
	xstate.SessionOptions
	b     *testing.B
	store *xstate.Store
	file  string // the name of the program
}

func newSession(b *testing.B) *session {
	b.Helper()
	s := newSessionWith(b, measuredPython(b))
	b.Cleanup(s.close)
	return s
}

// newSessionWith opens a session with an interpreter. The caller closes it.
func newSessionWith(b *testing.B, python string) *session {
	b.Helper()
	dir := b.TempDir()
	store, err := xstate.Open(b.Context(), filepath.Join(dir, xstate.StoreName), xstate.Options{})
	if err != nil {
		b.Fatal(err)
	}
	s := &session{
		b:              b,
		store:          store,
		file:           "program.py",
		SessionOptions: xstate.SessionOptions{Workspace: dir, Python: python, Seed: 1},
	}
	s.open()
	return s
}

func (s *session) close() {
	s.Session.Close()
	s.store.Close()
}

func (s *session) open() {
	var err error
	if s.Session, err = s.store.Session(s.b.Context(), "bench", s.SessionOptions); err != nil {
		s.b.Fatal(err)
	}
}

func (s *session) restart() {
	if err := s.Session.Close(); err != nil {
		s.b.Fatal(err)
	}
	s.open()
}

// run makes the program what text says and runs it; returns the seconds that took, and those spent in the program.
func (s *session) run(text string) (wall, inside float64) {
	wall, out := s.load(text)
	return wall, out.Seconds
}

// load makes the program what text says and runs it; returns the seconds that the run took, and its outcome.
func (s *session) load(text string) (wall float64, out *xstate.Outcome) {
	s.b.Helper()
	s.revise(text)
	start := time.Now()
	out, _, err := s.Run(context.Background(), runner.RunOptions{}, xstate.Origin{})
	wall = time.Since(start).Seconds()
	if err != nil {
		s.b.Fatal(err)
	}
	for _, block := range out.Blocks {
		if block.Err != nil {
			s.b.Fatalf("block %s: %s: %s", block.ID, block.Err.Type, block.Err.Message)
		}
	}
	return wall, out
}

// revise makes the program what text says.
func (s *session) revise(text string) {
	s.b.Helper()
	program, err := patch.Parse(s.file, []byte(text))
	if err == nil {
		_, err = s.Load(context.Background(), program.Blocks, xstate.Origin{})
	}
	if err != nil {
		s.b.Fatal(err)
	}
}

// measuredPython returns the interpreter to measure with: the last to test with, for it has the packages, else
// python3; not what the PATH names, which may be a launcher that takes longer than the interpreter.
func measuredPython(b testing.TB) string {
	b.Helper()
	list := filepath.SplitList(os.Getenv("XSTATE_TEST_PYTHONS"))
	name := "python3"
	if len(list) > 0 {
		name = list[len(list)-1]
	}
	out, err := exec.Command(name, "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		b.Fatalf("%s: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}

// needs reports whether a program imports a package that the interpreter does not have.
func needs(text []byte, python string) bool {
	for _, name := range []string{"numpy", "pandas", "matplotlib"} {
		if strings.Contains(string(text), name) && exec.Command(python, "-c", "import "+name).Run() != nil {
			return true
		}
	}
	return false
}

// number returns what follows a word in an output.
func number(b *testing.B, out []byte, word string) float64 {
	b.Helper()
	_, rest, ok := strings.Cut(string(out), word)
	x, err := strconv.ParseFloat(strings.Fields(rest + " x")[0], 64)
	if !ok || err != nil {
		b.Fatalf("no %q in what the program printed:\n%s", word, out)
	}
	return x
}

func median(all []float64) float64 {
	all = slices.Sorted(slices.Values(all))
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
	"github.com/xstate-engine/xstate/state"
)

var update = flag.Bool("update", false, "write which blocks ran into the sessions of testdata/restarted")

// TestRestarted runs the sessions of testdata/restarted, each version of a program in a new process
// of the command. The blocks that a session lists run, each for a reason that an edit explains (-v prints them;
// -update writes the lists). The outputs, the failure and the files equal those of the interpreter alone with the
// same text. The test compares them in the first and the last version. With XSTATE_TEST_ALL=1 it does so in each, as
// BenchmarkRestarted always does.
func TestRestarted(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two minutes")
	}
	for _, r := range restartedSessions(t) {
		t.Run(r.name, func(t *testing.T) {
			if !sampling.Sampled(r.name, 2) && !*update {
				t.Skip("make test runs about half of the sessions; XSTATE_TEST_ALL=1 runs all")
			}
			t.Parallel()
			r.reset(t)
			for i, s := range r.steps {
				r.write(t, i)
				run := r.run(t)
				if i == 0 || i == len(r.steps)-1 || sampling.All() {
					r.compare(t, i, run, r.plain(t))
				}
				if i == 0 {
					continue
				}
				ran := []string{}
				for _, b := range run.ran() {
					if needless[fmt.Sprintf("%s %d %s", r.name, i, b.ID)] {
						continue
					}
					ran = append(ran, string(b.ID))
					t.Logf("step %d: %s ran: %s %s %s", i, b.ID, b.Reason.Code, b.Reason.Key, b.Reason.By)
					if unexplained[b.Reason.Code] {
						t.Errorf("step %d: block %s ran, and no edit explains it: %+v", i, b.ID, b.Reason)
					}
				}
				if *update {
					r.record(t, i, ran)
				} else if d := gocmp.Diff(s.Ran, ran, cmpopts.EquateEmpty()); d != "" {
					t.Errorf("step %d: blocks that ran (-want +got):\n%s", i, d)
				}
			}
		})
	}
}

// needless are blocks that run, or may run, though nothing that they read changed: "session step block". The list may
// only become shorter.
var needless = map[string]bool{
	// Two models that were fitted in one process share an array. They share it in another way after one was loaded
	// and the other was fitted again.
	"churn 3 auc": true,
}

// unexplained are the codes of reasons that no edit of a program gives.
var unexplained = map[string]bool{state.ReasonLost: true, state.ReasonEngine: true, state.ReasonRetry: true}

// BenchmarkRestarted times the edits of the sessions of testdata/restarted, each in a new process of the command,
// against the interpreter that runs the same text from scratch, whole processes both, in turns. Times of an edit are
// the least of all rounds: what else a machine does only ever adds. Metrics: of each session the median and the
// largest ratio, and over all, for programs that take the interpreter a second and more, and for the others, the same
// for time of processors, and the largest of one edit. XSTATE_BENCH_SESSIONS names some of the sessions.
func BenchmarkRestarted(b *testing.B) {
	type least struct{ plain, run process }
	var sessions []*restarted
	edits := map[string][]least{}
	for _, r := range restartedSessions(b) {
		only := os.Getenv("XSTATE_BENCH_SESSIONS")
		if only != "" && !slices.Contains(strings.Split(only, ","), r.name) {
			continue
		}
		sessions = append(sessions, r)
		edits[r.name] = make([]least, len(r.steps))
	}
	rounds := 0
	for b.Loop() {
		for _, r := range sessions {
			r.reset(b)
			for i := range r.steps {
				r.write(b, i)
				var run, plain process
				if (rounds+i)%2 == 0 {
					plain, run = r.plain(b), r.run(b)
				} else {
					run, plain = r.run(b), r.plain(b)
				}
				r.compare(b, i, run, plain)
				e := &edits[r.name][i]
				if rounds == 0 {
					*e = least{plain, run}
				}
				e.plain.wall, e.plain.cpu = min(e.plain.wall, plain.wall), min(e.plain.cpu, plain.cpu)
				e.run.wall, e.run.cpu = min(e.run.wall, run.wall), min(e.run.cpu, run.cpu)
			}
		}
		rounds++
	}
	b.ReportMetric(0, "ns/op")
	var first, long, short, longCPU, shortCPU []float64
	table := fmt.Sprintf("%-12s %4s %9s %9s %6s %9s  %s\n",
		"session", "edit", "plain s", "xstate s", "ratio", "of CPU", "blocks that ran")
	for _, r := range sessions {
		var all []float64
		for i, e := range edits[r.name] {
			wall, cpu := e.run.wall.Seconds()/e.plain.wall.Seconds(), e.run.cpu.Seconds()/e.plain.cpu.Seconds()
			ids := ""
			for _, b := range e.run.ran() {
				ids += string(b.ID) + " "
			}
			table += fmt.Sprintf("%-12s %4d %9.2f %9.2f %6.2f %9.2f  %s\n",
				r.name, i, e.plain.wall.Seconds(), e.run.wall.Seconds(), wall, cpu, ids)
			switch {
			case i == 0:
				first = append(first, wall)
				continue
			case e.plain.wall >= time.Second:
				long, longCPU = append(long, wall), append(longCPU, cpu)
			default:
				short, shortCPU = append(short, wall), append(shortCPU, cpu)
			}
			all = append(all, wall)
		}
		b.ReportMetric(median(all), r.name+"/plain")
		b.ReportMetric(slices.Max(all), r.name+"-most/plain")
	}
	b.ReportMetric(median(first), "first/plain")
	for name, all := range map[string][]float64{"1s": long, "1s-cpu": longCPU, "short": short, "short-cpu": shortCPU} {
		if len(all) > 0 {
			b.ReportMetric(median(all), name+"/plain")
			b.ReportMetric(slices.Max(all), name+"-most/plain")
			b.ReportMetric(float64(len(all)), name+"-edits")
		}
	}
	fmt.Print(table) // a benchmark's log is cut off
}

// restartedSessions reads the sessions, for the first interpreter to test with that has the packages and observes names
// by events. Before 3.12 names in the text count as read, and more blocks run.
func restartedSessions(t testing.TB) (sessions []*restarted) {
	t.Helper()
	files, err := filepath.Glob("testdata/restarted/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	const fits = "import sys, pandas, matplotlib, sklearn; assert sys.version_info >= (3, 12); print(sys.executable)"
	for _, python := range xstatetest.Pythons() {
		out, err := exec.Command(cmp.Or(python, "python3"), "-c", fits).Output()
		if err != nil {
			continue
		}
		for _, file := range files {
			sessions = append(sessions, newRestarted(t, file, strings.TrimSpace(string(out))))
		}
		return sessions
	}
	t.Skip("no interpreter from 3.12 on has pandas, matplotlib and sklearn")
	return nil
}

// restarted is one session: a folder with prog.py, in which each version is run in a process of its own.
type restarted struct {
	file, name     string
	steps          []xstatetest.ProgramStep
	python, xstate string
	environ        []string
	folder         string
	text           []byte // the present version
}

func newRestarted(t testing.TB, file, python string) *restarted {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := &restarted{file: file, name: strings.TrimSuffix(filepath.Base(file), ".txtar"), python: python}
	if r.steps, err = xstatetest.StepsOf(archive); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if r.xstate, err = binary(); err != nil {
		t.Fatal(err)
	}
	// As in xstate: hashes, and where figures are drawn. One thread for products of matrices: with more, what other
	// processes do decides the times.
	r.environ = append(os.Environ(), "XSTATE_PYTHON="+r.python, "PYTHONHASHSEED=0", "MPLBACKEND=Agg",
		"OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1")
	return r
}

// reset begins the session again, in a new folder.
func (r *restarted) reset(t testing.TB) { r.folder = t.TempDir() }

// write makes version i the present one.
func (r *restarted) write(t testing.TB, i int) {
	t.Helper()
	for name, data := range r.steps[i].Files {
		if name != "prog.py" {
			t.Fatalf("%s: a session here has no file but prog.py", name)
		}
		r.text = data
		if err := os.WriteFile(filepath.Join(r.folder, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// process is what a process did, and what it took.
type process struct {
	stdout, stderr string
	failed         bool
	folder         string
	document       api.Run // of xstate
	wall, cpu      time.Duration
}

func (r *restarted) start(folder, program string, args ...string) process {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = folder, r.environ
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	p := process{folder: folder, failed: err != nil, wall: time.Since(start)}
	p.stdout, p.stderr = stdout.String(), stderr.String()
	if s := cmd.ProcessState; s != nil {
		p.cpu = s.UserTime() + s.SystemTime()
	}
	return p
}

// plain runs the present version with the interpreter alone, in a fresh folder.
func (r *restarted) plain(t testing.TB) process {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "prog.py"), r.text, 0o644); err != nil {
		t.Fatal(err)
	}
	return r.start(folder, r.python, "prog.py")
}

// run runs the present version with xstate.
func (r *restarted) run(t testing.TB) process {
	t.Helper()
	p := r.start(r.folder, r.xstate, "run", "--json", "prog.py")
	if err := json.Unmarshal([]byte(p.stdout), &p.document); err != nil || len(p.document.Blocks) == 0 {
		t.Fatalf("%s: xstate run --json printed %q: %v\n%s", r.name, p.stdout, err, p.stderr)
	}
	return p
}

// ran returns the blocks of which a node was executed.
func (p process) ran() (blocks []api.Block) {
	for _, b := range p.document.Blocks {
		if b.Status == state.StatusRan.String() || b.Status == state.StatusFailed.String() && b.Seconds > 0 {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// compare compares what a version printed, up to the block that fails, how it failed, and if it did not, the files.
func (r *restarted) compare(t testing.TB, version int, run, plain process) {
	t.Helper()
	printed, failure := "", ""
	for _, b := range run.document.Blocks {
		printed += b.Stdout
		if b.Error != nil {
			failure = b.Error.Type + ": " + b.Error.Message
			break
		}
	}
	if printed != plain.stdout {
		t.Errorf("%s %d: printed (-plain +xstate):\n%s", r.name, version, gocmp.Diff(plain.stdout, printed))
	}
	lines := strings.Split(strings.TrimSpace(plain.stderr), "\n")
	last := lines[len(lines)-1] // a suggestion may follow the message
	if plain.failed != (failure != "") || plain.failed && !strings.HasPrefix(last, failure) {
		t.Errorf("%s %d: failed with %q, and plain with %q", r.name, version, failure, last)
	}
	if plain.failed {
		return
	}
	want, got := filesOf(t, plain.folder), filesOf(t, run.folder)
	for name := range maps.Keys(want) {
		if want[name] != got[name] {
			t.Errorf("%s %d: file %s differs from that of a plain run", r.name, version, name)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s %d: file %s is left; a plain run makes none", r.name, version, name)
	}
}

// filesOf returns digests of the files in a folder, without the store.
func filesOf(t testing.TB, folder string) map[string]string {
	t.Helper()
	digests := map[string]string{}
	if err := walkFiles(folder, func(name string, _ fs.FileInfo) (err error) {
		digests[name], err = digestOf(filepath.Join(folder, filepath.FromSlash(name)))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return digests
}

// record writes into the session which blocks ran at a step.
func (r *restarted) record(t testing.TB, step int, ran []string) {
	t.Helper()
	archive, err := txtar.ParseFile(r.file)
	if err != nil {
		t.Fatal(err)
	}
	prefix := fmt.Sprintf("step-%d/", step)
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == prefix+"ran" })
	last := 0
	for i, f := range archive.Files {
		if strings.HasPrefix(f.Name, prefix) {
			last = i + 1
		}
	}
	text := strings.Join(ran, "\n") + "\n"
	archive.Files = slices.Insert(archive.Files, last, txtar.File{Name: prefix + "ran", Data: []byte(text)})
	if err := os.WriteFile(r.file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

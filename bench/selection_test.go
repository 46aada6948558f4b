package bench

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestSelection edits functions of a package, one at a time, and compares the tests that xstate runs with those that
// change their outcome, which running all of them shows, and with those that pytest-testmon runs. Each edit starts
// from the same state: all tests have run on the package as it is. make selection sets it up; no edit may change the
// outcome of a test that was not run.
func TestSelection(t *testing.T) {
	folder := os.Getenv("XSTATE_SELECTION")
	if folder == "" {
		t.Skip("make selection")
	}
	s := newSelection(t, folder)
	edits := s.edits(setting("XSTATE_SELECTION_SEED", 1), setting("XSTATE_SELECTION_EDITS", 50))
	var total struct{ changed, xstate, testmon, missed, missedTestmon, effective int }
	for i, e := range edits {
		s.restore()
		original := s.read(e.File)
		s.write(e.File, []byte(e.Text))
		all := s.plain()
		ours, ran := s.xstate()
		theirs := s.testmon()
		maps.DeleteFunc(theirs, func(id, _ string) bool { return s.again[id] && all[id] == s.base[id] })
		var changed, missed, missedTestmon, wrong []string
		for _, id := range slices.Sorted(maps.Keys(all)) {
			if all[id] != s.base[id] {
				changed = append(changed, id)
				if !ran[id] {
					missed = append(missed, id)
				}
				if theirs[id] == "" {
					missedTestmon = append(missedTestmon, id)
				}
			}
			if ours[id] != all[id] {
				wrong = append(wrong, id+" "+ours[id]+" for "+all[id])
			}
		}
		s.write(e.File, original)
		if len(missed)+len(wrong) > 0 {
			t.Errorf("edit %d (%s:%d, %s): missed %v, other outcomes %v", i+1, e.File, e.Line, e.What, missed, wrong)
		}
		t.Logf(
			"edit %2d  %-28s %-11s changes %3d, xstate runs %3d, testmon %3d (misses %d)",
			i+1,
			e.Function,
			e.What,
			len(changed),
			len(ran),
			len(theirs),
			len(missedTestmon),
		)
		total.changed += len(changed)
		total.xstate += len(ran)
		total.testmon += len(theirs)
		total.missed += len(missed)
		total.missedTestmon += len(missedTestmon)
		if len(changed) > 0 {
			total.effective++
		}
	}
	t.Logf("%d edits, %d of them change an outcome; of %d tests each time", len(edits), total.effective, len(s.base))
	t.Logf("outcomes that change %6d", total.changed)
	t.Logf("tests run: all       %6d", len(edits)*len(s.base))
	t.Logf("tests run: xstate    %6d, misses %d", total.xstate, total.missed)
	t.Logf("tests run: testmon   %6d, misses %d", total.testmon, total.missedTestmon)
}

// TestObservation times all tests of the package under xstate against plain pytest, in turn, and prints medians, and
// the least of CPU time, which other load adds to and takes nothing from.
func TestObservation(t *testing.T) {
	folder := os.Getenv("XSTATE_SELECTION")
	if folder == "" {
		t.Skip("make selection")
	}
	s := newSelection(t, folder)
	s.args = []string{"-o", "timeout=0"} // nothing hangs here, and a machine that is busy stops no test
	sides := []struct {
		name string
		args []string
	}{{"plain pytest", append([]string{s.python, "-m", "pytest", "-q"}, s.args...)},
		{"xstate test --all", append([]string{s.binary, "test", "--all", "--python", s.python, "--"}, s.args...)},
		{
			"xstate test --all --lines",
			append([]string{s.binary, "test", "--all", "--lines", "--python", s.python, "--"}, s.args...),
		},
		{
			"pytest --testmon-noselect",
			append([]string{s.python, "-m", "pytest", "-q", "--testmon-noselect"}, s.args...),
		}}
	wall, cpu := map[string][]float64{}, map[string][]float64{}
	for range setting("XSTATE_SELECTION_ROUNDS", 7) {
		for _, side := range sides {
			cmd := s.command(side.args, "")
			began := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", side.name, err, out)
			}
			wall[side.name] = append(wall[side.name], time.Since(began).Seconds())
			cpu[side.name] = append(
				cpu[side.name],
				(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(),
			)
		}
	}
	plain := sides[0].name
	for _, side := range sides {
		t.Logf(
			"%-26s %.2f s, %.2f s of CPU, least %.2f; %+.0f%%, %+.0f%% of CPU, %+.1f%% of the least",
			side.name,
			middle(wall[side.name]),
			middle(cpu[side.name]),
			slices.Min(cpu[side.name]),
			100*(middle(wall[side.name])/middle(wall[plain])-1),
			100*(middle(cpu[side.name])/middle(cpu[plain])-1),
			100*(slices.Min(cpu[side.name])/slices.Min(cpu[plain])-1),
		)
	}
}

func middle(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

func setting(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return usual
}

// selection is a package with its tests, and two tools that have run them all.
type selection struct {
	t              *testing.T
	python, binary string
	work, kept     string // the working copy, and what belongs to it after all tests ran
	helpers        string
	args           []string          // of pytest, for each side
	base           map[string]string // outcomes of the package as it is
	// tests that fail under testmon alone, which therefore runs them each time: they are not counted
	again map[string]bool
}

type edit struct {
	File     string `json:"file"`
	Function string `json:"function"`
	Line     int    `json:"line"`
	What     string `json:"what"`
	Text     string `json:"text"`
}

// newSelection expects folder/venv with pytest, pytest-testmon and pytest-timeout, and the package in folder/package.
func newSelection(t *testing.T, folder string) *selection {
	folder, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	s := &selection{
		t:      t,
		python: filepath.Join(folder, "venv", "bin", "python"),
		work:   filepath.Join(t.TempDir(), "package"),
		kept:   t.TempDir(),
		again:  map[string]bool{},
		args:   []string{"-p", "outcomes", "-o", "timeout=10"},
	}
	if s.binary, err = binary(); err != nil {
		t.Fatal(err)
	}
	if s.helpers, err = filepath.Abs("testdata/selection"); err != nil {
		t.Fatal(err)
	}
	s.copy(filepath.Join(folder, "package"), s.work)
	s.base = s.plain()
	if len(s.base) == 0 {
		t.Fatal("the package has no tests")
	}
	if ours, ran := s.xstate(); len(ran) != len(s.base) || !maps.Equal(ours, s.base) {
		t.Fatalf("the first run under xstate ran %d tests, want %d with the same outcomes", len(ran), len(s.base))
	}
	theirs := s.testmon()
	if len(theirs) != len(s.base) {
		t.Fatalf("the first run of testmon ran %d tests, want %d", len(theirs), len(s.base))
	}
	for id, outcome := range theirs {
		s.again[id] = outcome != s.base[id]
	}
	for _, name := range []string{".xstate", ".testmondata"} {
		s.copy(filepath.Join(s.work, name), filepath.Join(s.kept, name))
	}
	return s
}

func (s *selection) copy(from, to string) {
	s.t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		s.t.Fatalf("cp: %v\n%s", err, out)
	}
}

// restore makes both tools forget the last edit.
func (s *selection) restore() {
	for _, name := range []string{".xstate", ".testmondata", ".testmondata-shm", ".testmondata-wal"} {
		if err := os.RemoveAll(filepath.Join(s.work, name)); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, name := range []string{".xstate", ".testmondata"} {
		s.copy(filepath.Join(s.kept, name), filepath.Join(s.work, name))
	}
}

func (s *selection) read(name string) []byte {
	data, err := os.ReadFile(filepath.Join(s.work, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return data
}

func (s *selection) write(name string, data []byte) {
	if err := os.WriteFile(filepath.Join(s.work, name), data, 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// edits are made of the modules of the package, not of its tests.
func (s *selection) edits(seed, n int) []edit {
	args := []string{s.python, filepath.Join(s.helpers, "mutate.py"), strconv.Itoa(seed), strconv.Itoa(n)}
	found, err := filepath.Glob(filepath.Join(s.work, "*", "*.py"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, file := range found {
		if name, _ := filepath.Rel(s.work, file); !strings.HasPrefix(name, "tests") &&
			!strings.HasPrefix(name, "docs") {
			args = append(args, name)
		}
	}
	out, err := s.command(args, "").Output()
	var list []edit
	if err == nil {
		err = json.Unmarshal(out, &list)
	}
	if err != nil || len(list) == 0 {
		s.t.Fatalf("edits: %v", err)
	}
	return list
}

// command leaves no bytecode behind: Python takes it for that of another text with the same size and second.
func (s *selection) command(args []string, outcomes string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = s.work
	cmd.Env = append(
		os.Environ(),
		"PYTHONDONTWRITEBYTECODE=1",
		"PYTHONPATH="+s.helpers,
		"OUTCOMES="+outcomes,
		"PYTHONHASHSEED=0",
	)
	return cmd
}

// pytest returns the outcomes of the tests that ran.
func (s *selection) pytest(more ...string) map[string]string {
	s.t.Helper()
	outcomes := filepath.Join(s.t.TempDir(), "outcomes.json")
	cmd := s.command(slices.Concat([]string{s.python, "-m", "pytest", "-q"}, s.args, more), outcomes)
	// a thread that an edit leaves waiting keeps the process from its end, after the outcomes are written
	timer := time.AfterFunc(4*time.Minute, func() { _ = cmd.Process.Kill() })
	out, err := cmd.CombinedOutput()
	timer.Stop()
	found := map[string]string{}
	data, bad := os.ReadFile(outcomes)
	if bad == nil {
		bad = json.Unmarshal(data, &found)
	}
	if bad != nil {
		s.t.Fatalf("pytest: %v, %v\n%s", err, bad, out)
	}
	return found
}

func (s *selection) plain() map[string]string   { return s.pytest("-p", "no:testmon") }
func (s *selection) testmon() map[string]string { return s.pytest("--testmon") }

// xstate returns the outcomes of all tests, and which of them ran.
func (s *selection) xstate() (outcomes map[string]string, ran map[string]bool) {
	s.t.Helper()
	args := append([]string{s.binary, "test", "--json", "--python", s.python, "--", "-p", "no:testmon"}, s.args...)
	out, err := s.command(args, "").Output()
	var doc struct {
		Tests []struct{ ID, Status, Outcome string }
	}
	if bad := json.Unmarshal(out, &doc); bad != nil {
		s.t.Fatalf("xstate test: %v, %v\n%s", err, bad, out)
	}
	outcomes, ran = map[string]string{}, map[string]bool{}
	for _, x := range doc.Tests {
		outcomes[x.ID] = x.Outcome
		if x.Outcome == "error" {
			outcomes[x.ID] = "failed"
		}
		if x.Status == "ran" {
			ran[x.ID] = true
		}
	}
	return outcomes, ran
}

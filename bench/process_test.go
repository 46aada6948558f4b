package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// tools is the folder of the binary.
var tools string

func TestMain(m *testing.M) {
	os.Unsetenv("XSTATE_VERIFY") // xstatetest sets it, and what is measured here would check its plans, too
	var err error
	if tools, err = os.MkdirTemp("", "xstate-bench-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("XSTATE_WARM", "0") // where processes are timed, these are new ones, if nothing else is said
	code := m.Run()
	os.RemoveAll(tools)
	os.Exit(code)
}

// binary builds the command under measurement, once, and returns its path.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(tools, "xstate")
	if out, err := exec.Command("go", "build", "-o", path, "../cmd/xstate").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build cmd/xstate: %w\n%s", err, out)
	}
	return path, nil
})

// bed is a folder in which processes are timed. Its interpreter is a wrapper that notes each start.
type bed struct {
	b      *testing.B
	folder string
	python string // the real one
	xstate string
	starts string // the wrapper's notes, one byte a start
}

func newBed(b *testing.B) *bed {
	b.Helper()
	path, err := binary()
	if err != nil {
		b.Fatal(err)
	}
	t := &bed{b: b, folder: b.TempDir(), python: measuredPython(b), xstate: path}
	t.starts = filepath.Join(b.TempDir(), "starts")
	wrapper := filepath.Join(b.TempDir(), "python3")
	text := fmt.Sprintf("#!/bin/sh\nprintf . >>'%s'\nexec '%s' \"$@\"\n", t.starts, t.python)
	if err := os.WriteFile(wrapper, []byte(text), 0o755); err != nil {
		b.Fatal(err)
	}
	b.Setenv("XSTATE_PYTHON", wrapper)
	b.Setenv("PYTHONHASHSEED", "0") // as in xstate: where names collide is no difference between the two
	return t
}

func (t *bed) write(name string, data []byte) {
	t.b.Helper()
	if err := os.WriteFile(filepath.Join(t.folder, name), data, 0o644); err != nil {
		t.b.Fatal(err)
	}
}

// run runs a program in the folder, and returns what it printed and how long it took from start to end.
func (t *bed) run(program string, args ...string) ([]byte, time.Duration) {
	t.b.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = t.folder
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if err != nil {
		t.b.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, stderr.String())
	}
	return stdout.Bytes(), took
}

// ran runs xstate on the file and returns how many blocks it executed.
func (t *bed) ran(file string) int {
	t.b.Helper()
	out, _ := t.run(t.xstate, "run", "--json", file)
	var document struct {
		Ran *int `json:"ran"`
	}
	if err := json.Unmarshal(out, &document); err != nil || document.Ran == nil {
		t.b.Fatalf("xstate run --json printed %q: %v", out, err)
	}
	return *document.Ran
}

// started returns how often the interpreter was started so far.
func (t *bed) started() int {
	data, err := os.ReadFile(t.starts)
	if err != nil && !os.IsNotExist(err) {
		t.b.Fatal(err)
	}
	return len(data)
}

// report gives the medians in milliseconds, and each as a ratio to the first.
func (t *bed) report(names []string, times map[string][]time.Duration) {
	in := func(name string) float64 {
		var all []float64
		for _, d := range times[name] {
			all = append(all, float64(d)/float64(time.Millisecond))
		}
		return median(all)
	}
	t.b.ReportMetric(0, "ns/op") // the sum of all would mean nothing
	for _, name := range names {
		t.b.ReportMetric(in(name), name+"-ms")
		if name != names[0] {
			t.b.ReportMetric(in(name)/in(names[0]), name+"/"+names[0])
		}
	}
}

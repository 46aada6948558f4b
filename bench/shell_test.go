package bench

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shellPrograms are what BenchmarkShell times, by name.
func shellPrograms(b *testing.B) map[string]string {
	b.Helper()
	build, err := os.ReadFile("testdata/programs/build.sh")
	if err != nil {
		b.Fatal(err)
	}
	var assign, pipes strings.Builder
	for i := range 100 {
		fmt.Fprintf(&assign, "v%d=$((%d * 7))\nw%d=$((v%d + %d))\n", i, i, i, i, i)
		fmt.Fprintf(&pipes, "v%d=%d\nprintf '%%s\\n' b a \"$v%d\" | sort\n", i, i*7, i)
	}
	return map[string]string{"assign": assign.String(), "pipes": pipes.String(), "build": string(build),
		"empty": ":\n"}
}

// BenchmarkShell times the first run of programs in Bash against bash itself: "process" is that of the command, from a
// folder without a store, and "output" is a run in this process until the last output is known. "run" is the part of
// output that follows the start of the session. Each figure is the least of all, in milliseconds: what else a machine
// does only ever adds. "cpu" is the processor time of a process with all that it started.
func BenchmarkShell(b *testing.B) {
	bed := newBed(b)
	bash, err := exec.LookPath("bash")
	if err != nil {
		b.Skip("no bash")
	}
	programs := shellPrograms(b)
	least := map[string]float64{}
	note := func(what string, seconds float64) {
		if was, is := least[what]; !is || seconds < was {
			least[what] = seconds
		}
	}
	for b.Loop() {
		for name, text := range programs {
			for side, args := range map[string][]string{
				"plain": {bash, "program.sh"}, "process": {bed.xstate, "run", "program.sh"},
			} {
				bed.folder = b.TempDir()
				bed.write("program.sh", []byte(text))
				used := childTime(b)
				_, took := bed.run(args[0], args[1:]...)
				note(name+"-"+side, took.Seconds())
				note(name+"-"+side+"-cpu", childTime(b)-used)
			}
			began := time.Now()
			s := newShellSession(b)
			wall, out := s.load(text)
			note(name+"-output", time.Since(began).Seconds()-wall+out.ResultSeconds)
			note(name+"-run", out.ResultSeconds)
			s.close()
		}
	}
	b.ReportMetric(0, "ns/op")
	for what, seconds := range least {
		b.ReportMetric(seconds*1000, what+"-ms")
	}
	for name := range programs {
		b.ReportMetric(least[name+"-output"]/least[name+"-plain"], name+"-output/plain")
	}
}

// childTime returns the seconds of processor time of all processes that were started and have ended.
func childTime(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// newShellSession opens a session for programs in Bash. The caller closes it.
func newShellSession(b *testing.B) *session {
	b.Helper()
	s := newSessionWith(b, "")
	s.file = "program.sh"
	return s
}

// BenchmarkShellNode times nodes that do nothing, in a program with a hundred names.
func BenchmarkShellNode(b *testing.B) {
	s := newShellSession(b)
	defer s.close()
	text := ""
	for i := range 100 {
		text += fmt.Sprintf("# %%%% v%d\nv%d=%d\n", i, i, i)
	}
	s.run(text)
	const count = 200
	var each []float64
	for b.Loop() {
		more := ""
		for i := range count {
			more += fmt.Sprintf("# %%%% n%d\n: %d\n", i, len(each)*count+i)
		}
		wall, _ := s.run(text + more)
		each = append(each, wall/count*1000)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(each), "ms/node")
}

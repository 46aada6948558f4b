package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/runner/sandbox"
)

// opens measures system calls from within: a loop of opens of one file, and of many files that are not there.
const opens = prelude + `
import time
def per(f, n=100_000):
    t = time.perf_counter()
    for i in range(n): f(i)
    return (time.perf_counter() - t) / n * 1e6
def one(_): os.close(os.open("a", 0))
begin(1)
print(per(one), per(lambda i: os.access("none%d" % i, 0)), per(lambda _: os.access("/.xstate/none", 0)))
end(1)
`

// BenchmarkCalls reports microseconds a call: to open and close one file, to ask for names that are not there, each
// another, and to pass a mark.
func BenchmarkCalls(b *testing.B) {
	for _, level := range []sandbox.Level{sandbox.LevelHooks, sandbox.LevelCalls} {
		b.Run(string(level), func(b *testing.B) {
			var sum [3]float64
			for b.Loop() {
				folder := b.TempDir()
				if err := os.WriteFile(folder+"/a", nil, 0o644); err != nil {
					b.Fatal(err)
				}
				var out strings.Builder
				cmd := exec.Command(interpreter(), "-S", "-c", opens)
				cmd.Dir, cmd.Stdout, cmd.Stderr = folder, &out, os.Stderr
				box, err := sandbox.Start(cmd, sandbox.Spec{Observe: level, Folder: folder, Spool: b.TempDir()})
				if err != nil {
					b.Fatal(err)
				}
				_ = box.Wait()
				var one [3]float64
				if _, err := fmt.Sscan(out.String(), &one[0], &one[1], &one[2]); err != nil {
					b.Fatal(err, out.String())
				}
				for i := range sum {
					sum[i] += one[i]
				}
			}
			for i, unit := range []string{"µs/open", "µs/absent", "µs/mark"} {
				b.ReportMetric(sum[i]/float64(b.N), unit)
			}
		})
	}
}

// BenchmarkStart measures how long a program takes that does nothing.
func BenchmarkStart(b *testing.B) {
	b.Run("none", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, level := range []sandbox.Level{sandbox.LevelHooks, sandbox.LevelCalls} {
		b.Run(string(level), func(b *testing.B) {
			for b.Loop() {
				box, err := sandbox.Start(exec.Command("/bin/true"), sandbox.Spec{Observe: level})
				if err != nil {
					b.Fatal(err)
				}
				if err := box.Wait(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

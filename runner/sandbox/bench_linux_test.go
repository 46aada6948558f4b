package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/xstate-engine/xstate/runner/sandbox"
)

// opens makes many calls of one kind, and prints the seconds that they take: those of the clock, and those of the
// processor.
const opens = prelude + `
import time
begin(1)
t, c = time.perf_counter(), time.process_time()
for i in range(100_000): CALL
print(time.perf_counter() - t, time.process_time() - c)
end(1)
`

// BenchmarkCalls reports the microseconds of a call. On a busy machine cpu-µs, the time of the processor that caller
// and supervisor need together, is the better figure: they never run at the same time.
func BenchmarkCalls(b *testing.B) {
	for _, level := range []sandbox.Level{sandbox.LevelHooks, sandbox.LevelCalls} {
		for name, call := range map[string]string{
			"open":   `os.close(os.open("/etc/passwd", 0))`,
			"list":   `os.listdir(".")`,
			"absent": `os.access("none%d" % i, 0)`, // each time another name
			"mark":   `os.access("/.xstate/none", 0)`,
		} {
			b.Run(fmt.Sprintf("level=%s/call=%s", level, name), func(b *testing.B) {
				var clock, cpu float64
				for b.Loop() {
					before := used()
					var out strings.Builder
					cmd := exec.Command(interpreter(), "-S", "-c", strings.Replace(opens, "CALL", call, 1))
					cmd.Dir, cmd.Stdout, cmd.Stderr = b.TempDir(), &out, os.Stderr
					box, err := sandbox.Start(cmd, sandbox.Spec{Observe: level, Folder: cmd.Dir, Spool: b.TempDir()})
					if err != nil {
						b.Fatal(err)
					}
					_ = box.Wait()
					var wall, own float64
					if _, err := fmt.Sscan(out.String(), &wall, &own); err != nil {
						b.Fatal(err, out.String())
					}
					clock, cpu = clock+wall, cpu+own+used()-before
				}
				b.ReportMetric(clock/float64(b.N)*10, "µs/call")
				b.ReportMetric(cpu/float64(b.N)*10, "cpu-µs/call")
			})
		}
	}
}

// used is the time of the processor that this process has taken, in seconds.
func used() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
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

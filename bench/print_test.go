package bench

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkPrint times first runs of programs that only print, against the same interpreter, which buffers its output
// ("plain") or writes each text at once ("unbuffered", as for a terminal or with PYTHONUNBUFFERED).
func BenchmarkPrint(b *testing.B) {
	for _, c := range []struct{ name, program string }{
		{"prints=100000", "for i in range(100_000):\n    print('line', i)\n"},
		{"writes=200000", "import sys\nfor i in range(200_000):\n    sys.stdout.write('line %d\\n' % i)\n"},
		{"flushed=10000", "for i in range(10_000):\n    print('line', i, flush=True)\n"},
		{"logged=20000", "import logging\nlogging.basicConfig(level=logging.INFO)\n" +
			"for i in range(20_000):\n    logging.info('line %d', i)\n"},
		{"nothing", "x = 1\n"},
	} {
		b.Run(c.name, func(b *testing.B) {
			bed := newBed(b)
			b.Setenv("PYTHONUNBUFFERED", "")
			bed.write("program.py", []byte(c.program))
			times := map[string][]time.Duration{}
			for b.Loop() {
				for _, way := range []struct {
					name string
					args []string
				}{
					{"plain", []string{bed.python, "program.py"}},
					{"unbuffered", []string{bed.python, "-u", "program.py"}},
					{"xstate", []string{bed.xstate, "run", "program.py"}},
				} {
					_, took := bed.run(way.args[0], way.args[1:]...)
					times[way.name] = append(times[way.name], took)
				}
				if err := os.RemoveAll(filepath.Join(bed.folder, ".xstate")); err != nil {
					b.Fatal(err)
				}
			}
			bed.report([]string{"plain", "unbuffered", "xstate"}, times)
		})
	}
}

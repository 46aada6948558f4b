package bench

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xstate-engine/xstate/runner/sandbox"
)

// observedLevels are compared by turns: whatever else the machine does meets all of them.
var observedLevels = []sandbox.Level{sandbox.LevelHooks, sandbox.LevelCalls, sandbox.LevelTrace}

// observed holds the seconds of runs at each level.
type observed struct {
	b      *testing.B
	times  map[sandbox.Level][]float64
	rounds int
}

func newObserved(b *testing.B) *observed {
	return &observed{b: b, times: map[sandbox.Level][]float64{}}
}

// each calls measure once a level, with the environment that asks for it, and keeps the seconds. Another level begins
// each time: what comes later finds warmer caches.
func (o *observed) each(measure func() float64) {
	for i := range observedLevels {
		level := observedLevels[(i+o.rounds)%len(observedLevels)]
		o.b.Setenv("XSTATE_DEBUG", string(level))
		o.times[level] = append(o.times[level], measure())
	}
	o.rounds++
}

func (o *observed) least(level sandbox.Level) float64 {
	least := math.Inf(1)
	for _, t := range o.times[level] {
		least = min(least, t)
	}
	return least
}

// report gives medians in a unit, and what observation adds: as a difference, or as a ratio of medians and of the least
// times, which other work on the machine disturbs less.
func (o *observed) report(unit string, scale float64, ratio bool) {
	o.b.ReportMetric(0, "ns/op") // the sum of all would mean nothing
	base := median(o.times[sandbox.LevelHooks])
	for _, level := range observedLevels {
		m := median(o.times[level])
		o.b.ReportMetric(m*scale, string(level)+"-"+unit)
		if level == sandbox.LevelHooks {
			continue
		}
		if ratio {
			o.b.ReportMetric(m/base, string(level)+"/hooks")
			o.b.ReportMetric(o.least(level)/o.least(sandbox.LevelHooks), string(level)+"/hooks-least")
		} else {
			o.b.ReportMetric((m-base)*scale, string(level)+"-more-"+unit)
			o.b.ReportMetric((o.least(level)-o.least(sandbox.LevelHooks))*scale, string(level)+"-more-"+unit+"-least")
		}
	}
}

// inBlock runs one block in a new session after some others, and returns the seconds that the block took.
func inBlock(b *testing.B, python, before, block string) float64 {
	s := newSessionWith(b, python)
	defer s.close()
	s.run(before)
	_, inside := s.run(before + "\n# %% measured\n" + block)
	return inside
}

// BenchmarkObservation times what the observation of system calls costs on the path that a user takes, against the
// language's own hooks alone.
func BenchmarkObservation(b *testing.B) {
	python := measuredPython(b)
	b.Run("node", func(b *testing.B) {
		o := newObserved(b)
		program := ""
		for i := range 100 {
			program += fmt.Sprintf("# %%%% v%d\nv%d = [%d]\n", i, i, i)
		}
		sessions := map[string]*session{}
		for _, level := range observedLevels {
			b.Setenv("XSTATE_DEBUG", string(level))
			s := newSessionWith(b, python)
			defer s.close()
			s.run(program)
			sessions[string(level)] = s
		}
		const count = 100
		for n := 0; b.Loop(); n++ {
			more := ""
			for i := range count {
				more += fmt.Sprintf("# %%%% n%d\nif %d < 0: pass\n", i, n*count+i)
			}
			o.each(func() float64 {
				wall, _ := sessions[os.Getenv("XSTATE_DEBUG")].run(program + more)
				return wall / count
			})
		}
		o.report("ms", 1000, false)
	})
	b.Run("start", func(b *testing.B) {
		o := newObserved(b)
		for b.Loop() {
			o.each(func() float64 {
				s := newSessionWith(b, python)
				defer s.close()
				began := time.Now()
				s.run("# %% one\nx = 1\n")
				return time.Since(began).Seconds()
			})
		}
		o.report("ms", 1000, false)
	})
	blocks := []struct{ name, before, block string }{
		{"pandas", "# %% nothing\n0\n", "import pandas"},
		{"gcc", "# %% source\nimport subprocess\nwith open('a.c', 'w') as f:\n    " +
			"n = f.write('#include <stdio.h>\\nint main(void) { return puts(\"a\"); }\\n')\n",
			"subprocess.run(['gcc', '-o', 'a', 'a.c'], check=True)"},
	}
	for _, x := range blocks {
		b.Run(x.name, func(b *testing.B) {
			if needs([]byte("import pandas"), python) && x.name == "pandas" {
				b.Skip("no pandas")
			}
			o := newObserved(b)
			for b.Loop() {
				o.each(func() float64 { return inBlock(b, python, x.before, x.block) })
			}
			o.report("ms", 1000, true)
		})
	}
	b.Run("open", func(b *testing.B) {
		o := newObserved(b)
		const count = 20_000
		loop := fmt.Sprintf("for i in range(%d):\n    os.close(os.open('a', 0))\n", count)
		// A child process, so that Python's own hooks do not count.
		block := fmt.Sprintf("import subprocess, sys\nsubprocess.run([sys.executable, '-S', '-c', %q], check=True)",
			"import os\n"+loop)
		for b.Loop() {
			o.each(func() float64 {
				return inBlock(b, python, "# %% file\nopen('a', 'w').close()\n", block) / count
			})
		}
		o.report("µs", 1e6, false)
	})
	files, err := filepath.Glob("testdata/programs/*.py")
	if err != nil || len(files) == 0 {
		b.Fatalf("no programs: %v", err)
	}
	for _, file := range files {
		b.Run(strings.TrimSuffix(filepath.Base(file), ".py"), func(b *testing.B) {
			text, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			if needs(text, python) {
				b.Skip("packages are missing")
			}
			o := newObserved(b)
			for b.Loop() {
				o.each(func() float64 {
					s := newSessionWith(b, python)
					defer s.close()
					wall, _ := s.run(string(text))
					return wall
				})
			}
			o.report("ms", 1000, true)
		})
	}
}

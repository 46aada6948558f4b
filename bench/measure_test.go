package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/patch/syntax"
	"github.com/xstate-engine/xstate/runner/kernel"
	py "github.com/xstate-engine/xstate/runner/kernel/python"
)

// interpreter is that of the tests.
func interpreter(t testing.TB) py.Interpreter {
	t.Helper()
	found, err := py.Identify(t.Context(), kernel.Search{Cache: t.TempDir()}, measuredPython(t))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// blocksOf makes blocks named a, b, ….
func blocksOf(sources ...string) []patch.Block {
	var blocks []patch.Block
	for i, s := range sources {
		blocks = append(blocks, patch.Block{ID: string(rune('a' + i)), Dialect: syntax.Python, Source: s})
	}
	return blocks
}

// edited makes a program of versions, each with block at of the one before replaced; "" takes it out.
func edited(first []patch.Block, edits ...struct {
	at     int
	source string
}) *Program {
	p := &Program{Name: "test"}
	p.addVersion(KindFirst, first)
	for _, e := range edits {
		next := slices.Clone(p.Versions[len(p.Versions)-1].Blocks)
		if e.source == "" {
			next = slices.Delete(next, e.at, e.at+1)
		} else {
			next[e.at].Source = e.source
		}
		p.addVersion(KindRecorded, next)
	}
	return p
}

type rewritten = struct {
	at     int
	source string
}

// TestPlanted has programs on which the simple strategies are known to be wrong, each in its way, and must be found to
// be; xstate must be right on all of them.
func TestPlanted(t *testing.T) {
	python := interpreter(t)
	for _, c := range []struct {
		name    string
		program *Program
		wrong   []Strategy // after the last edit
		differs string     // in the first of them
		ran     map[Strategy]int
	}{
		{"a change in place is made twice",
			edited(blocksOf("xs = []", "xs.append(1)\nn = 1", "print(xs)"), rewritten{1, "xs.append(2)\nn = 1"}),
			[]Strategy{Down, Names}, "block 2: output",
			map[Strategy]int{Scratch: 3, Down: 2, Names: 1, Snapshot: 2, Xstate: 2}},
		{"an alias is changed",
			edited(blocksOf("a = [0]", "b = a", "b.append(1)\nk = 5", "print(a)"), rewritten{2, "b.append(1)\nk = 6"}),
			[]Strategy{Down, Names}, "block 3: output", map[Strategy]int{Names: 1, Xstate: 1}},
		{"a deleted name stays",
			edited(blocksOf("x = 1", "y = 2", "print('y' in globals())"), rewritten{1, ""}),
			[]Strategy{Down, Names}, "block 1: output", map[Strategy]int{Down: 1, Names: 0, Xstate: 1}},
		{"a file is read",
			edited(blocksOf("n = 1", "open('f', 'w').write(str(n))\nm = n", "print(open('f').read())"),
				rewritten{0, "n = 2"}),
			[]Strategy{Names}, "block 2: output", map[Strategy]int{Names: 2, Xstate: 3}},
		{"a generator of random numbers goes on",
			edited(blocksOf("import random", "x = random.random()", "print(x)"),
				rewritten{1, "x = random.random()\ny = 1"}),
			[]Strategy{Down, Names, Snapshot}, "block 2: output", map[Strategy]int{Xstate: 1}},
		{"what does not pickle is not gone back to",
			edited(blocksOf("g = iter([1, 2, 3])\nh = (x for x in [1, 2, 3])", "v = next(h)", "print(v)"),
				rewritten{1, "v = next(h)\nw = 1"}),
			[]Strategy{Down, Names, Snapshot}, "block 2: output", nil},
		{"numpy's generator is seeded by the statement that loads it",
			edited(blocksOf("import numpy as np", "np.random.seed(3)", "x = np.random.rand()\nprint(x)",
				"print(np.random.rand())"),
				rewritten{2, "x = np.random.rand()\nprint(x, 1)"}),
			[]Strategy{Down, Names, Snapshot}, "block 2: output", map[Strategy]int{Xstate: 1}},
		{"nothing is wrong",
			edited(blocksOf("x = 1", "y = x + 1", "print(y)", "z = 5"), rewritten{0, "x = 2"}),
			nil, "", map[Strategy]int{Scratch: 4, Down: 4, Names: 3, Snapshot: 4, Xstate: 3}},
		{"an equal value ends it",
			edited(blocksOf("x = 1", "y = x * 0", "print(y)"), rewritten{0, "x = 2"}),
			nil, "", map[Strategy]int{Names: 3, Xstate: 2}},
		{"a block fails, and is mended",
			edited(blocksOf("x = 1", "y = x", "print(y)"), rewritten{1, "y = nothing"}, rewritten{1, "y = x + 1"}),
			nil, "", map[Strategy]int{Down: 2, Names: 2, Xstate: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if needs([]byte(c.program.Versions[0].Blocks[0].Source), python.Path) {
				t.Skip("no numpy")
			}
			r := measure(t.Context(), c.program, &Options{Python: python, Strategies: Strategies, Timeout: time.Minute})
			if r.Error != "" {
				t.Fatal(r.Error)
			}
			var wrong []Strategy
			for _, run := range r.Runs {
				if run.Strategy == Xstate && !run.Equal {
					t.Errorf("version %d: xstate differs: %v", run.Version, run.Differs)
				}
				if run.Version != len(c.program.Versions)-1 {
					continue
				}
				if !run.Equal {
					wrong = append(wrong, run.Strategy)
					if len(wrong) == 1 && !slices.Contains(run.Differs, c.differs) {
						t.Errorf("%s differs in %v, want %q among them", run.Strategy, run.Differs, c.differs)
					}
				}
				if want, ok := c.ran[run.Strategy]; ok && run.Ran != want {
					t.Errorf("%s ran %d blocks, want %d", run.Strategy, run.Ran, want)
				}
			}
			if !slices.Equal(wrong, c.wrong) {
				t.Errorf("wrong: %v, want %v", wrong, c.wrong)
				for _, run := range r.Runs {
					t.Logf("%+v", run)
				}
			}
		})
	}
}

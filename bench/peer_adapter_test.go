package bench

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPeers has for each peer a program with an edit after which it is right, and one after which a limit that its
// documentation names, or that follows from how it works, must show: else the adapter would not use it as it is, or
// the judgement would see nothing.
func TestPeers(t *testing.T) {
	python := interpreter(t)
	plain := edited(blocksOf("x = 1", "y = x + 1\nprint(y)", "z = 5\nz", "y * 2"), rewritten{0, "x = 2"})
	function := edited(
		blocksOf("def double(x):\n    return x * 2", "print(double(2))", "z = 5"),
		rewritten{1, "print(double(2), double(3))"},
	)
	for _, c := range []struct {
		peer    Strategy
		name    string
		program *Program
		differs string // "": it is right
		refused string
		ran     int // after the last edit
	}{
		{Marimo, "descendants by name", plain, "", "", 3},
		{Marimo, "a deleted cell takes its names along",
			edited(blocksOf("x = 1", "y = 2", "print('y' in globals())"), rewritten{1, ""}), "block 1: output", "", 0},
		{Marimo, "a change in place is made twice",
			edited(blocksOf("xs = []", "xs.append(1)\nn = 1", "print(xs, n)"),
				rewritten{1, "xs.append(2)\nn = 1"}), "block 2: output", "", 2},
		{Marimo, "a change through an alias is not followed",
			edited(blocksOf("a = [0]", "b = a", "b.append(1)\nk = 5", "print(a)"),
				rewritten{2, "b.append(1)\nk = 6"}), "value a", "", 1},
		{Marimo, "names of one cell",
			edited(blocksOf("_x = 1\nx = _x", "print(x)"), rewritten{0, "_x = 2\nx = _x"}), "", "", 2},
		{Marimo, "two cells bind one name",
			edited(blocksOf("x = 1", "x = x + 1"), rewritten{0, "x = 2"}), "", "MultipleDefinitionError", 0},
		{Marimo, "a cell fails, and is mended",
			edited(blocksOf("x = 1", "y = x", "print(y)"), rewritten{1, "y = nothing"},
				rewritten{1, "y = x + 1"}), "", "", 2},
		{Ipyflow, "what depends on the edit", plain, "", "", 3},
		{Ipyflow, "a change in place is made again on the value of before",
			edited(blocksOf("xs = []", "xs.append(1)\nn = 1", "print(xs, n)"),
				rewritten{1, "xs.append(2)\nn = 1"}), "", "", 3},
		{Ipyflow, "a file is read",
			edited(blocksOf("n = 1", "with open('f', 'w') as f: print(n, file=f)", "print(open('f').read())"),
				rewritten{0, "n = 2"}), "block 2: output", "", 2},
		{Ipyflow, "a deleted cell leaves its names",
			edited(blocksOf("x = 1", "y = 2", "print('y' in globals())"),
				rewritten{1, ""}), "value y" + leftoverSuffix, "", 0},
		{Joblib, "a result is kept", function, "", "", 3},
		{Joblib, "the code of the function",
			edited(blocksOf("def double(x):\n    return x * 2", "print(double(2))"),
				rewritten{0, "def double(x):\n    return x * 3"}), "", "", 2},
		{Joblib, "the code of another function that it calls",
			edited(blocksOf("def inner(x, y):\n    return x", "def outer(x):\n"+
				"    return inner(x, 1) + 1", "print(outer(2))"),
				rewritten{0, "def inner(x, y):\n    return x * 5"}), "block 2: output", "", 3},
		{Joblib, "an argument that is changed in place",
			edited(blocksOf("def add(xs):\n    xs.append(1)\n    return len(xs)", "xs = []\nadd(xs)", "print(xs)"),
				rewritten{2, "print(xs, 0)"}), "block 2: output", "", 3},
		{Joblib, "no function", plain, "", "no function to cache", 0},
		{Nbclient, "run all", plain, "", "", 4},
		{Nbclient, "a block fails",
			edited(blocksOf("x = 1", "y = x", "print(y)"), rewritten{1, "y = nothing"},
				rewritten{1, "y = x + 1"}), "", "", 3},
		{Nbclient, "files stay from run to run",
			edited(blocksOf("n = 1", "with open('f', 'a') as f: print(n, file=f)", "print(open('f').read())"),
				rewritten{0, "n = 2"}), "block 2: output", "", 3},
	} {
		t.Run(string(c.peer)+"/"+c.name, func(t *testing.T) {
			versions, err := CheckPeers(t.Context(), python, []Strategy{c.peer})
			if err != nil {
				t.Skip(err)
			}
			r := measure(
				t.Context(),
				c.program,
				&Options{
					Python:     python,
					Strategies: []Strategy{Scratch, c.peer},
					Peers:      versions,
					Timeout:    time.Minute,
				},
			)
			if r.Error != "" {
				t.Fatal(r.Error)
			}
			last := r.Runs[len(r.Runs)-1]
			if last.Strategy != c.peer {
				t.Fatalf("the last run is of %s", last.Strategy)
			}
			if !strings.Contains(last.Refused, c.refused) || (last.Refused == "") != (c.refused == "") {
				t.Errorf("refused: %q, want %q", last.Refused, c.refused)
			}
			if c.refused == "" &&
				(last.Equal != (c.differs == "") || c.differs != "" && !slices.Contains(last.Differs, c.differs)) {
				t.Errorf("differs in %v, want %q", last.Differs, c.differs)
			}
			if last.Ran != c.ran {
				t.Errorf("ran %d blocks, want %d", last.Ran, c.ran)
			}
			for _, run := range r.Runs {
				if run.Version < last.Version && c.refused == "" && !run.Equal {
					t.Errorf("version %d: differs in %v, refused %q", run.Version, run.Differs, run.Refused)
				}
			}
		})
	}
}

// TestPeerBreaks: a peer that dies refuses what comes after, and the others are measured on.
func TestPeerBreaks(t *testing.T) {
	python := interpreter(t)
	if _, err := CheckPeers(t.Context(), python, []Strategy{Marimo}); err != nil {
		t.Skip(err)
	}
	p := edited(
		blocksOf("x = 1", "import sys\nif 'marimo' in sys.modules: __import__('os')._exit(3)", "print(x)"),
		rewritten{0, "x = 2"},
	)
	r := measure(
		t.Context(),
		p,
		&Options{Python: python, Strategies: []Strategy{Scratch, Down, Marimo}, Timeout: time.Minute},
	)
	if r.Error != "" || len(r.Runs) != 6 {
		t.Fatalf("%d runs, error %q; want 6, none", len(r.Runs), r.Error)
	}
	for _, run := range r.Runs {
		if run.Equal != (run.Strategy != Marimo) ||
			strings.HasPrefix(run.Refused, "broke: ") != (run.Strategy == Marimo) {
			t.Errorf("version %d, %s: equal %v, refused %q", run.Version, run.Strategy, run.Equal, run.Refused)
		}
	}
}

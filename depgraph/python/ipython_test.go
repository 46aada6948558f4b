package python

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTranslate(t *testing.T) {
	for _, test := range []struct{ name, src, want string }{
		{"plain", "x = 1\ny = x % 2", "x = 1\ny = x % 2"},
		{"driver magic", "%matplotlib inline", `__xstate__.magic("matplotlib", "inline")`},
		{"driver magic with braces", "%config A.b = {'png'}", `__xstate__.magic("config", "A.b = {'png'}")`},
		{"time of an expression", "%time f(x);", "__xstate__.timed(__xstate__.clock(), (f(x)));"},
		{"time of a statement", "%time x = f()", "with __xstate__.time(): x = f()"},
		{"time of a loop", "%time for x in y: f(x)", "for x in y: f(x)"},
		{"timeit of an expression", "%timeit -n 10 -r3 f(x)", `__xstate__.timeit(lambda: (f(x)), "-n 10 -r3")`},
		{"timeit of an assignment", "%timeit y = f(x)", `__xstate__.timeit(lambda: (f(x)), "")`},
		{"timeit of a statement", "%timeit del x", `__xstate__.timeit("del x", "")`},
		{"assigned magic", "r = %timeit -o f()", `r = __xstate__.timeit(lambda: (f()), "-o")`},
		{"env", "%env A=b", `__xstate__.env("A=b")`},
		{"env of a value", "%env A={b}", `__xstate__.env("A=" + __xstate__.var("{b}", lambda: b))`},
		{"cd", "%cd $folder/x", `__xstate__.cd(__xstate__.var("$folder", lambda: folder) + "/x")`},
		{"pwd", "d = %pwd", `d = __xstate__.pwd()`},
		{"shell", "!echo {x + 1} $y $$HOME '{print $1}'",
			`__xstate__.system("echo " + __xstate__.var("{x + 1}", lambda: x + 1) + ` +
				`" " + __xstate__.var("$y", lambda: y) + " $HOME '{print $1}'")`},
		{"shell on two lines", "!echo a \\\n  b\nx", "__xstate__.system(\"echo a    b\")\n\nx"},
		{"shell in a loop", "for f in fs:\n    !rm $f\nz",
			"for f in fs:\n    __xstate__.system(\"rm \" + __xstate__.var(\"$f\", lambda: f))\nz"},
		{"assigned shell", "files = !ls 'it", `files = __xstate__.getoutput("ls 'it")`},
		{"quote in a shell line", "!echo it's\nx = 'a'\n%pwd", "__xstate__.system(\"echo it's\")\nx = 'a'\n" +
			"__xstate__.pwd()"},
		{"pip", "%pip install a", `__xstate__.system("pip install a")`},
		{"help", "df.head?", `__xstate__.pinfo("df.head", lambda: df.head)`},
		{"help before", "??df", `__xstate__.pinfo("df", lambda: df)`},
		{"help on a pattern", "np.*load*?", `__xstate__.pinfo("np.*load*")`},
		{"question in a comment", "x = 1  # why?", "x = 1  # why?"},
		{"question in a string", "x = 'why?'", "x = 'why?'"},
		{"percent in a string", "x = '''\n%time\n!ls\n'''\n%pwd", "x = '''\n%time\n!ls\n'''\n__xstate__.pwd()"},
		{"percent in brackets", "x = (a\n% b\n)\n", "x = (a\n% b\n)\n"},
		{"percent behind a backslash", "x = a \\\n% b", "x = a \\\n% b"},
		{"not equal", "x != y", "x != y"},
		{"cell time", "%%time\nx = 1\n%pwd", "__xstate__.cell_time()\nx = 1\n__xstate__.pwd()"},
		{"cell time below blank lines", "\n%%time\nx = 1", "\n__xstate__.cell_time()\nx = 1"},
		{"cell timeit", "%%timeit -n 1\nx = f()\nif x:\n  y",
			"def __xstate_cell__():\n x = f()\n if x:\n   y\n" +
				"__xstate__.timeit(__xstate_cell__, \"-n 1\"); del __xstate_cell__"},
		{"cell timeit of nothing", "%%timeit\n# no",
			"def __xstate_cell__(): pass\n# no\n__xstate__.timeit(__xstate_cell__, \"\"); del __xstate_cell__"},
		{"cell timeit with a setup", "%%timeit -n 1 y = f()\ny + 1",
			"__xstate__.timeit(\"y + 1\", \"-n 1\", \"y = f()\")\n"},
		{"options of a profile", "%%prun -s cumtime -q\nx = 1", "__xstate__.cell_time()\nx = 1"},
		{"profile of a statement", "%prun -l 5 x = 1", "with __xstate__.time(): x = 1"},
		{"capture", "%%capture out\ns = '''a\nb'''\n", "with __xstate__.capture() as out:\n s = '''a\nb'''\n"},
		{"capture with options", "%%capture --no-stdout out\nx",
			"with __xstate__.capture(\"--no-stdout\") as out:\n x"},
		{"capture of nothing", "%%capture\n# no", "with __xstate__.capture(): pass\n# no"},
		{"bash", "%%bash\necho \"a\"\n", "__xstate__.bash(\"echo \\\"a\\\"\\n\")\n\n"},
		{"bash with arguments", "%%bash -s 5\nx\n", "__xstate__.bash(\"x\\n\", \"-s 5\")\n\n"},
		{"writefile", "%%writefile a.py\nx = 1", "__xstate__.writefile(\"a.py\", \"x = 1\\n\")\n"},
		{"html", "%%html\n<b>", "__xstate__.html(\"<b>\")\n"},
		{"xdel", "%xdel x", "del x"},
		{"indented", "\n  x = 1\n\n  if x:\n    y\n", "\nx = 1\n\nif x:\n  y\n"},
		{"indented below a blank line", "  \n    x\n    y", "  \nx\ny"},
		{"indented cell magic", "  %%time\n  x", "__xstate__.cell_time()\nx"},
		{"pasted from Python", ">>> for i in x:\n...     i\n>>>", "for i in x:\n    i\n"},
		{"pasted from IPython", "In [2]: for i in x:\n   ...:     i", "for i in x:\n    i"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := translate(test.src)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("translate(%q) = got, want\n%s", test.src, diff)
			}
			if _, err := Analyze([]byte(test.src), IPython); err != nil {
				t.Errorf("Analyze(%q) = %v", test.src, err)
			}
			if got, want := strings.Count(got, "\n"), strings.Count(test.src, "\n"); got < want || got > want+1 {
				t.Errorf("translate(%q) has %d lines, want %d", test.src, got+1, want+1)
			}
		})
	}
}

func TestTranslateNames(t *testing.T) {
	for _, test := range []struct {
		src                    string
		defines, uses, dynamic []string
	}{
		{"%time x = f(y)", []string{"x"}, []string{"f", "y"}, nil},
		{"%time f(y)", nil, []string{"f", "y"}, nil},
		{"%timeit f(y)", nil, []string{"f", "y"}, nil},
		{"x = !ls {y} $z", []string{"x"}, []string{"y", "z"}, nil},
		{"df.head?", nil, []string{"df"}, nil},
		{"%%capture out\nx = y", []string{"out", "x"}, []string{"y"}, nil},
		{"%reset -f", nil, nil, []string{"%reset"}},
		{"%timeit del x", nil, nil, []string{"%timeit"}},
		{"%%timeit\nx = 1", nil, nil, nil},
		{"%%timeit\nx = f(y)\nx", nil, []string{"f", "y"}, nil},
		{"%%timeit x = y\nf(x)", nil, nil, []string{"%timeit"}},
		{"display(x)", nil, []string{"display", "x"}, nil},
	} {
		f, err := Analyze([]byte(test.src), IPython)
		if err != nil {
			t.Errorf("Analyze(%q) = %v", test.src, err)
			continue
		}
		n := f.Nodes[0]
		var dynamic []string
		for _, d := range n.Dynamic {
			dynamic = append(dynamic, d.What)
		}
		if diff := cmp.Diff([][]string{test.defines, test.uses, test.dynamic},
			[][]string{n.Defines, n.Uses, dynamic}); diff != "" {
			t.Errorf("Analyze(%q) = got, want\n%s", test.src, diff)
		}
	}
}

func TestTranslateErrors(t *testing.T) {
	for _, test := range []struct{ src, want string }{
		{"x = 1\n%foo bar", "line 2, column 1: unknown magic %foo"},
		{"'''\n\n'''\nif x:\n  %foo", "line 5, column 3: unknown magic %foo"},
		{"x\n%%time\ny", "line 2, column 1: cell magic %%time must stand on the first line"},
		{"%%foo\nx", "line 1, column 1: unknown magic %%foo"},
		{"\n%%time\n\n%foo", "line 4, column 1: unknown magic %foo"},
		{"x = %time y = 1", "line 1, column 1: %time of a statement has no value"},
	} {
		_, err := Analyze([]byte(test.src), IPython)
		if err == nil || err.Error() != test.want {
			t.Errorf("Analyze(%q) = %v, want %s", test.src, err, test.want)
		}
	}
}

func TestQuiet(t *testing.T) {
	for src, want := range map[string]bool{"x;": true, "x; # c\n": true, "x": false, "x; y": false, "if x: y;": false,
		"": false} {
		f, err := Analyze([]byte(src), IPython)
		if err != nil || f.Quiet != want {
			t.Errorf("Analyze(%q).Quiet = %v, %v, want %v", src, f.Quiet, err, want)
		}
		if f, err = Analyze([]byte(src), Plain); err != nil || f.Quiet {
			t.Errorf("Analyze(%q) in plain Python is quiet, %v", src, err)
		}
	}
}

package patch

import (
	"testing"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// TestIPythonText: a text with magics, shell commands or questions is one of IPython, whatever languages the program
// has beside Python. "!echo two" was a command of Bash once the program had a block of Bash, and so was not found.
func TestIPythonText(t *testing.T) {
	python, bash := Block{Dialect: syntax.Python, Source: "x = 1"}, Block{Dialect: syntax.Bash, Source: "echo one"}
	js := Block{Dialect: syntax.JavaScript, Source: "let z = 1"}
	programs := map[string][]Block{"": nil, "python": {python}, "bash last": {python, bash},
		"bash first": {bash, python},
		"bash":       {bash}, "all": {python, js, bash}, "js last": {python, bash, js}}
	alone := map[string][]Block{"js": {js}}
	for _, text := range []string{"!echo two", "%timeit -n1 f(1)", "%pwd", "!ls\ny = 1", "!ls\ny = f(1)", "x?", "?x",
		"x.y??",
		"files = !ls *.txt", "z=!echo q", "v = %time f()", "%%time\nf()", "%%html\n<b>x</b>", "a, b = !ls",
		"if x:\n    !echo in", "for i in x:\n    r = !echo {i}\n    print(r)", "x = 1\n%matplotlib inline",
		"%cd /tmp", "!pip install x\nimport x", "s = '''\n%d\n'''\n!ls"} {
		for name, blocks := range programs {
			if got := (neighbours{blocks: blocks}).dialect("", text); got != syntax.IPython {
				t.Errorf("dialect of %q in the program %q = %s, want %s", text, name, got, syntax.IPython)
			}
		}
	}
	for _, c := range []struct{ program, text, want string }{
		{"bash last", "cat <<E > f\n%header\n!x\nE", syntax.Bash},
		{"bash last", "! grep -q a f", syntax.Bash},
		{"bash last", "if ! grep -q a f; then\n  echo no\nfi", syntax.Bash},
		{"bash first", "format=%d\nprintf \"$format\" 3", syntax.Bash},
		{"bash", "printf '\n%s\n' a", syntax.Bash},
		{"python", "! grep -q a f", syntax.IPython},
		{"js last", "!function () { console.log(1) }()", syntax.JavaScript},
		{"js last", "const s = `\n%d\n!x`", syntax.JavaScript},
		{"js", "!z", syntax.JavaScript},
		{"js", "%pwd", syntax.IPython},
		{"python", "x = 'a\n%d\n", syntax.IPython}, // it has an error in either dialect
		{"python", "print('%d'\n  % 1", syntax.Python},
		{"python", "x = '''\n!ls\n'''", syntax.Python},
		{"python", "y = x if x else\n", syntax.Python},
		{"bash last", "x = f(1)", syntax.Python},
		{"bash last", "ls *.py", syntax.Bash},
	} {
		blocks := append(alone[c.program], programs[c.program]...)
		if got := (neighbours{blocks: blocks}).dialect("", c.text); got != c.want {
			t.Errorf("dialect of %q in the program %q = %s, want %s", c.text, c.program, got, c.want)
		}
	}
	for _, text := range []string{"x = !ls", "if x:\n    %time f()", "x?"} {
		cells, err := Parse("a.py", []byte("# %% a\ny = 1\n\n# %% b\n"+text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if a, b := cells.Blocks[0].Dialect, cells.Blocks[1].Dialect; a != syntax.Python || b != syntax.IPython {
			t.Errorf("dialects of y = 1 and %q = %s and %s, want %s and %s", text, a, b, syntax.Python, syntax.IPython)
		}
	}
}

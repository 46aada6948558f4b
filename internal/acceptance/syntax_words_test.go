package acceptance

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
)

// brokenPython are texts that do not parse; the interpreter says why better than a parser that recovers from errors.
var brokenPython = []string{
	"if x\n    y = 1", "def f()\n    return 1", "if x = 1:\n    pass", "print 'a'", "f(1", "x = [1, 2\ny = 3",
	"x = 'abc", "class A:\nx = 1", "for i in range(3)\n    print(i)", "x = 1 +", "else:\n    pass", "  x = 1",
	"if x:\n\ty\n        z", "f(a b)", "{'a' 1}", "1 = x", "f() = 1", "x = )", "import", "from a import",
	"lambda x: = 1", "return 1", "a = 1\nb = é €", "x = 1\n\n\ndef g(:\n    pass", "'''abc", "try:\n    x = 1",
	"while True print(1)", "del f()", "async x = 1",
}

// TestSyntaxWords: a block that does not parse fails in the words of its interpreter, in the first run and in later
// ones, in a process that has just started and in one that lives. The places are those of the interpreter, too.
func TestSyntaxWords(t *testing.T) {
	const judge = `import json, sys, warnings
warnings.simplefilter("ignore")
found = []
for text in json.load(sys.stdin):
    try:
        compile(text, "<b>", "exec", dont_inherit=True)
        found.append(None)
    except SyntaxError as e:
        found.append([type(e).__name__, e.msg, e.lineno])
json.dump(found, sys.stdout)`
	for _, python := range xstatetest.Pythons() {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(python))), func(t *testing.T) {
			t.Parallel()
			cmd, texts := exec.Command(python, "-c", judge), &strings.Builder{}
			if err := json.NewEncoder(texts).Encode(brokenPython); err != nil {
				t.Fatal(err)
			}
			cmd.Stdin = strings.NewReader(texts.String())
			said, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			var want [][]any
			if err := json.Unmarshal(said, &want); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			store := xstatetest.OpenStore(t, filepath.Join(dir, xstate.StoreName))
			open := func() *xstate.Session {
				return xstatetest.OpenSession(t, store, xstate.SessionOptions{Workspace: dir, Python: python})
			}
			s := open()
			words := func(text string) []any {
				files := map[string][]byte{"prog.py": []byte("# %% ok\nz = 1\n\n# %% bad\n" + text + "\n")}
				xstatetest.WriteFiles(t, dir, files)
				out := xstatetest.RunFile(t, t.Context(), s, dir, files, await.Long)
				e := out.Blocks[len(out.Blocks)-1].Err
				if e == nil {
					return nil
				}
				return []any{e.Type, e.Message, float64(e.Line)}
			}
			for i, text := range brokenPython {
				if want[i] == nil {
					t.Errorf("%q is no error of syntax", text)
				}
				for _, when := range []string{"first", "second"} {
					if d := cmp.Diff(want[i], words(text)); d != "" {
						t.Errorf("%s run of %q (-interpreter +block)\n%s", when, text, d)
					}
				}
			}
			s.Close()
			s = open()
			defer s.Close()
			if d := cmp.Diff(want[0], words(brokenPython[0])); d != "" {
				t.Errorf("after a restart (-interpreter +block)\n%s", d)
			}
		})
	}
}

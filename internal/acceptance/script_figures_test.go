package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
)

// TestScriptFigures: a script without cells draws on its figures from block to block, as under Python. The pictures
// that it saves are those of the interpreter, byte for byte, also where a new process runs only the edited part.
func TestScriptFigures(t *testing.T) {
	const first = `import matplotlib.pyplot as plt

plt.figure(figsize=(3, 2))
for k in range(3):
    plt.plot([1, k, 9])

def label():
    plt.title("squares")

label()
plt.savefig("a.png")
plt.show()
if True:
    plt.xlabel("x")
plt.savefig("b.png")
plt.close()

n = 5
print(n)
`
	for _, python := range xstatetest.Pythons() {
		if exec.Command(python, "-c", "import matplotlib").Run() != nil {
			t.Logf("%s has no matplotlib", python)
			continue
		}
		own, plain := t.TempDir(), t.TempDir()
		store := xstatetest.OpenStore(t, filepath.Join(own, xstate.StoreName))
		run := func(text string) []string {
			files := map[string][]byte{"prog.py": []byte(text)}
			xstatetest.WriteFiles(t, own, files)
			xstatetest.WriteFiles(t, plain, files)
			session := xstatetest.OpenSession(t, store, xstate.SessionOptions{
				Workspace: own, File: filepath.Join(own, "prog.py"), Python: python,
			})
			defer session.Close()
			out := xstatetest.RunFile(t, t.Context(), session, own, files, await.Long)
			cmd := exec.Command(python, "prog.py")
			cmd.Dir, cmd.Env = plain, append(os.Environ(), "MPLBACKEND=Agg", "PYTHONHASHSEED=0")
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			for _, name := range []string{"a.png", "b.png"} {
				have, err := os.ReadFile(filepath.Join(own, name))
				want, bad := os.ReadFile(filepath.Join(plain, name))
				if err != nil || bad != nil || !slices.Equal(have, want) {
					t.Errorf("%s differs from that of the interpreter (%v, %v)", name, err, bad)
				}
			}
			return xstatetest.RanBlocks(out)
		}
		run(first)
		if ran := run(strings.Replace(first, "n = 5", "n = 6", 1)); len(ran) != 1 {
			t.Errorf("an edit after the figures ran %v, want one block", ran)
		}
		if ran := run(strings.Replace(first, "squares", "cubes", 1)); len(ran) < 2 {
			t.Errorf("an edit of the title ran %v", ran)
		}
		if d := cmp.Diff([]string(nil), run(strings.Replace(first, "squares", "cubes", 1))); d != "" {
			t.Errorf("an unchanged script ran (-want +got)\n%s", d)
		}
	}
}

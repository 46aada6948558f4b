package acceptance

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner"
)

// TestShownFigures: pyplot.show in a cell puts out the open figures there, among the text, and closes them, as under
// Jupyter. So they are kept however the cell ends. A figure that no show has put out comes at the end of the cell, also
// where that is an error or an exit, and is lost where the cell was stopped or its interpreter died.
func TestShownFigures(t *testing.T) {
	const begin = "# %%\nimport matplotlib.pyplot as plt, os, sys\ndef draw():\n    plt.figure(figsize=(1, 1))\n" +
		"    plt.plot([1, 2])\n\n# %%\ndraw()\nplt.show()\nprint('a', plt.get_fignums())\ndraw()\n"
	for name, c := range map[string]struct {
		end  string
		want string // what the second cell puts out, in order
	}{
		"show again": {"plt.show()\nprint('b')\n", "picture a [] picture b"},
		"end":        {"print('b')\n", "picture a [] b picture"},
		"error":      {"1 / 0\n", "picture a [] picture"},
		"exit":       {"sys.exit(3)\n", "picture a [] picture"},
		"time-out":   {"print('b')\nwhile True: pass\n", "picture a [] b"},
		"drawing": {"class Slow(plt.Line2D):\n    def draw(self, renderer):\n        print('b')\n" +
			"        while True: pass\nplt.gca().add_line(Slow([0], [0]))\nplt.show()\n", "picture a [] b"},
		"killed": {"print('b')\nwhile True:\n    try:\n        while True: pass\n" +
			"    except BaseException: pass\n", "picture a [] b"},
		"dead": {"os._exit(3)\n", "picture a []"},
	} {
		for _, python := range xstatetest.Pythons() {
			t.Run(name+"/"+filepath.Base(filepath.Dir(filepath.Dir(python))), func(t *testing.T) {
				t.Parallel()
				if exec.Command(python, "-c", "import matplotlib").Run() != nil {
					t.Skipf("%s has no matplotlib", python)
				}
				dir := t.TempDir()
				session := xstatetest.OpenSession(t, xstatetest.OpenStore(t, dir+"/"+xstate.StoreName),
					xstate.SessionOptions{Workspace: dir, Python: python})
				defer session.Close()
				timeout := await.Long
				if slices.Contains([]string{"time-out", "drawing", "killed"}, name) {
					timeout = 10 * time.Second // only the last statement takes so long
				}
				files := map[string][]byte{"prog.py": []byte(begin + c.end + "\n# %%\nprint(plt.get_fignums())\n")}
				xstatetest.WriteFiles(t, dir, files)
				outcome := xstatetest.RunFile(t, t.Context(), session, dir, files, timeout)
				if d := cmp.Diff(c.want, pictured(outcome.Blocks[1])); d != "" {
					t.Errorf("(-want +got)\n%s", d)
				}
				if err := outcome.Blocks[1].Err; name == "drawing" && (err == nil || err.Type != "Timeout") {
					t.Errorf("the drawing ended with %+v, want the time-out, without the death of its interpreter", err)
				}
			})
		}
	}
}

// pictured returns the words that a block put out, with each picture as a word.
func pictured(block runner.BlockOutcome) string {
	var words []string
	for _, o := range block.Outputs {
		if strings.Contains(o.Text, "image/png") || o.Kind == "display" {
			words = append(words, "picture")
		} else {
			words = append(words, strings.Fields(o.Text)...)
		}
	}
	return strings.Join(words, " ")
}

package xstate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/runner"
)

// TestShownAtOnce: what a block prints is shown while it runs, even half of a line, of Python code or of a child
// process, and once. The block waits for a file that only the follower of the run makes.
func TestShownAtOnce(t *testing.T) {
	for name, print := range map[string]string{
		"python": `print("before", end="")`,
		"stderr": `sys.stderr.write("before")`,
		"many":   `print("x\n" * 2000 + "before", end="")`,
		"native": `os.write(1, b"before")`,
		"child":  `subprocess.run(["sh", "-c", "printf before"])`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session, folder := newSession(t)
			shown := map[string]string{}
			outcome := runText(
				t,
				t.Context(),
				session,
				"# %% wait\nimport os, subprocess, sys\nif True:\n    "+print+ // one statement
					"\n    while not os.path.exists('go'): pass\n    print(' after')\n",
				func(e runner.Event) {
					shown[e.Output.Kind] += e.Output.Text
					if strings.HasSuffix(e.Output.Text, "before") {
						if err := os.WriteFile(filepath.Join(folder, "go"), nil, 0o644); err != nil {
							t.Error(err)
						}
					}
				},
			)
			block, recorded := outcome.Blocks[0], map[string]string{}
			for _, o := range block.Outputs {
				recorded[o.Kind] += o.Text
			}
			if block.Err != nil {
				t.Fatalf("it did not see that it was shown: %v; shown was %.100q", block.Err, shown)
			}
			for _, kind := range []string{"stdout", "stderr"} {
				if shown[kind] != recorded[kind] {
					t.Errorf("shown of %s: %.200q, recorded: %.200q", kind, shown[kind], recorded[kind])
				}
			}
		})
	}
}

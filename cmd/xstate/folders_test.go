package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/xstate-engine/xstate/internal/serve"
)

// TestCallsOfSeveralFolders carries out calls from several folders, with several environments, in one process at once.
func TestCallsOfSeveralFolders(t *testing.T) {
	python, _, _ := strings.Cut(os.Getenv("XSTATE_TEST_PYTHONS"), string(filepath.ListSeparator))
	var all sync.WaitGroup
	for i := range 3 {
		folder := t.TempDir()
		environ := append(os.Environ(), "XSTATE_PYTHON="+python, fmt.Sprintf("WHO=%d", i))
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		write("p.py", "import os\nx = open('in.txt').read() + input()\n# %%\nprint('who', os.environ['WHO'], x)\n")
		write("in.txt", fmt.Sprintf("from %d", i))
		do := func(args ...string) string {
			var out, errOut bytes.Buffer
			call := serve.Call{
				Args: args, Folder: folder, Environ: environ, Stdin: strings.NewReader(fmt.Sprintf(", asked %d\n", i)),
				Stdout: &out, Stderr: &errOut,
			}
			if code := (commands{}).Do(t.Context(), call); code != 0 {
				t.Errorf("%q in folder %d = %d: %s", args, i, code, errOut.String())
			}
			return out.String()
		}
		all.Go(func() {
			want := fmt.Sprintf("who %d from %d, asked %d", i, i, i)
			if got := do("run", "p.py", "--stdin", "-"); !strings.Contains(got, want) {
				t.Errorf("run in folder %d printed %q, want %q", i, got, want)
			}
			if got := do("show", "p.py"); !strings.Contains(got, want) {
				t.Errorf("show in folder %d printed %q, want %q", i, got, want)
			}
			do("export", "--out", "copy.py")
			if _, err := os.Stat(filepath.Join(folder, "copy.py")); err != nil {
				t.Error(err)
			}
			if got := do(); !strings.Contains(got, "p.py") {
				t.Errorf("the list in folder %d = %q, want p.py in it", i, got)
			}
		})
	}
	all.Wait()
}

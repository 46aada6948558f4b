package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/xstate-engine/xstate/runner/sandbox"
)

// A workspace that lies in the store, a private one, is observed and may be written. The rest of the store, the folder
// that it is a copy of, and the copies beside it are out of reach where there are bounds.
func TestPrivateWorkspace(t *testing.T) {
	for name, bounds := range map[string]*sandbox.Bounds{"observed": nil, "bounded": {}} {
		t.Run(name, func(t *testing.T) {
			base := folderOf(t, map[string]string{
				"data": "SECRET", ".xstate/history.db": "SECRET",
				".xstate/private/v/work/data": "own", ".xstate/private/w/work/data": "SECRET",
			})
			store := filepath.Join(base, ".xstate")
			spool := filepath.Join(store, "spool")
			if err := os.Mkdir(spool, 0o700); err != nil {
				t.Fatal(err)
			}
			b := &boxed{t: t, folder: filepath.Join(store, "private", "v", "work")}
			cmd := exec.Command("/usr/bin/python3", "-S", "-c", prelude+`
begin(1)
sh("cat data > made; cat ../../w/work/data ../../../history.db ../../../../data; echo x > ../../../../new")
end(1)
`)
			cmd.Dir, cmd.Stdout, cmd.Stderr = b.folder, &b.out, &b.out
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			var err error
			if b.Box, err = sandbox.Start(cmd, sandbox.Spec{
				Folder: b.folder, Store: store, Spool: spool, Journal: filepath.Join(spool, "writing"), Bounds: bounds,
			}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { b.Kill(); _ = b.Wait() })
			r := b.take(1)
			if err := b.Wait(); err != nil {
				t.Error(err)
			}
			used := b.uses(r.Child)
			if !strings.HasPrefix(used["data"], "read") || !strings.Contains(used["made"], "write") {
				t.Errorf("data: %q, made: %q; want read and write\n%s", used["data"], used["made"], &b.out)
			}
			if text, err := os.ReadFile(filepath.Join(b.folder, "made")); err != nil || string(text) != "own" {
				t.Errorf("made holds %q, %v", text, err)
			}
			if read := strings.Contains(b.out.String(), "SECRET"); read != (bounds == nil) {
				t.Errorf("whether the program read what is not its own: %t\n%s", read, &b.out)
			}
			if _, err := os.Stat(filepath.Join(base, "new")); (err == nil) != (bounds == nil) {
				t.Errorf("what the program wrote into the original: %v", err)
			}
		})
	}
}

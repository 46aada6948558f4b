package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner/replay"
)

// crashing is the environment variable that makes TestKilled run a program and wait to be killed: the folder.
const crashing = "XSTATE_TEST_CRASH"

// TestKilled kills engine and kernel while a node has half written a file. What the file was before the program is its
// base all the same: the next run equals one from scratch, and the half-written file is nobody's edit.
func TestKilled(t *testing.T) {
	const wait = "\nwhile os.path.exists('wait'):\n    open('ready', 'w').close()\n    time.sleep(0.01)\n"
	for _, test := range []struct{ name, base, before, write, first string }{
		{"put back", "base", "n = open('data.txt', 'a').write(' first')",
			"print(open('data.txt').read())" + wait + "n = open('data.txt', 'a').write(' more')",
			"n = open('data.txt', 'a').write(' more')"},
		{"base", "base", "", "f = open('data.txt', 'a')\nf.write(' half')\nf.flush()" + wait + "f.write(' done')\n" +
			"f.close()\nf = None", ""},
		{"new", "", "", "f = open('data.txt', 'x')\nf.write('half')\nf.flush()" + wait + "f.write(' done')\n" +
			"f.close()\nf = None", ""},
		{"written before", "base", "with open('data.txt', 'a') as f:\n" +
			"    f.write(' first')", "f = open('data.txt', 'a')\nf.write(' half')\n" +
			"f.flush()" + wait + "f.write(' done')\nf.close()\nf = None", ""},
		{"through a handle", "base", "f = open('data.txt', 'a')\nf.write(' first')\nf.flush()", "f.write(' half')\n" +
			"f.flush()" + wait + "f.write(' done')\nf.close()\nf = None", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := map[string][]byte{"wait": {}}
			if test.base != "" {
				files["data.txt"] = []byte(test.base)
			}
			program := func(write string) []byte {
				return []byte(
					"import os, time\n# %% before\n" + test.before + "\n# %% write\n" + write + "\n# %% show\n" +
						"print(open('data.txt').read())\n",
				)
			}
			files["prog.py"] = program(test.write)
			o := xstate.SessionOptions{Workspace: t.TempDir(), Python: xstatetest.Pythons()[0], Seed: 7}
			if dir := os.Getenv(crashing); dir != "" {
				o.Workspace = dir
			}
			if os.Getenv(crashing) != "" {
				store, err := xstate.Open(t.Context(), filepath.Join(o.Workspace, xstate.StoreName), xstate.Options{})
				if err != nil {
					t.Fatal(err)
				}
				xstatetest.RunFile(t, t.Context(), xstatetest.OpenSession(t, store, o), o.Workspace, files, await.Long)
				t.Fatal("not killed")
			}
			xstatetest.WriteFiles(t, o.Workspace, files)
			if test.first != "" {
				first := map[string][]byte{"prog.py": program(test.first)}
				xstatetest.WriteFiles(t, o.Workspace, first)
				store, err := xstate.Open(t.Context(), filepath.Join(o.Workspace, xstate.StoreName), xstate.Options{})
				if err != nil {
					t.Fatal(err)
				}
				session := xstatetest.OpenSession(t, store, o)
				xstatetest.RunFile(t, t.Context(), session, o.Workspace, first, await.Long)
				session.Close()
				store.Close()
				xstatetest.WriteFiles(t, o.Workspace, map[string][]byte{"prog.py": files["prog.py"]})
			}
			child := exec.Command(os.Args[0], "-test.run=^TestKilled$/^"+strings.ReplaceAll(test.name, " ", "_")+"$")
			child.Env = append(os.Environ(), crashing+"="+o.Workspace)
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = child.Process.Kill() }) // where the test fails
			exited := make(chan error, 1)
			go func() { exited <- child.Wait() }()
			await.Until(t, "the node has half written the file", func() bool {
				select {
				case err := <-exited:
					t.Fatalf("the run ended by itself: %v", err)
				default:
				}
				_, err := os.Stat(filepath.Join(o.Workspace, "ready"))
				return err == nil
			})
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-exited
			xstatetest.WriteFiles(t, o.Workspace, map[string][]byte{"wait": nil})
			delete(files, "wait")
			session := xstatetest.OpenSession(
				t,
				xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName)),
				o,
			)
			have := xstatetest.Blank(
				xstatetest.RunFile(t, t.Context(), session, o.Workspace, files, await.Long),
				o.Workspace,
			)
			for _, d := range replay.Compare(have, xstatetest.FromScratch(t, t.Context(), files, o, await.Long)) {
				t.Errorf("after the crash: %s", d)
			}
			left, err := filepath.Glob(filepath.Join(o.Workspace, xstate.StoreName, "spool-*"))
			if err != nil || len(left) > 1 { // the one in use
				t.Errorf("spools left: %v, %v", left, err)
			}
		})
	}
}

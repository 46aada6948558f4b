package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
)

// TestScriptsAlone runs a sample of the scripts again, and all that say something of servers. No verb starts a server.
// All that verbs print and record must be the same. Where a script says [alone], it names the reason.
func TestScriptsAlone(t *testing.T) {
	runScripts(t, sampleAlone(t, scripts(t)), func(e *testscript.Env) error {
		e.Setenv("XSTATE_WARM", "0")
		return nil
	})
}

// sampleAlone returns a sample of the scripts, and those that say something of servers.
func sampleAlone(t *testing.T, files []string) (found []string) {
	t.Helper()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if sampling.Sampled(filepath.Base(file), 4) || strings.Contains(string(text), "alone") {
			found = append(found, file)
		}
	}
	return found
}

// stopServers ends the servers of all stores below a folder, and fails if one does not end.
func stopServers(t *testing.T, folder string) {
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "server.lock" {
			return nil
		}
		dir := filepath.Dir(path)
		if client := serve.Find(dir); client != nil {
			null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
			if err != nil {
				t.Error(err)
				return nil
			}
			defer null.Close()
			_, _ = client.Control(t.Context(), serve.Call{
				Args: []string{"serve", "--stop", "--store", dir}, Folder: dir, Stdin: null, Stdout: null, Stderr: null,
			})
		}
		if !serve.WaitGone(t.Context(), dir, await.Long) {
			t.Errorf("the server of %s has not ended", dir)
		}
		return nil
	})
}

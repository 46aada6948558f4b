package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/xstate-engine/xstate/internal/xstatetest/clients"
)

// TestPageInBrowser opens the page in Chromium: every view, what changes while it is open, keys, hostile outputs.
func TestPageInBrowser(t *testing.T) {
	t.Parallel()
	packages := filepath.Join(clients.Folder(t, "npm-page"), "node_modules")
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip(err)
	}
	xstate, err := exec.LookPath("xstate") // this test, by testscript.Main
	if err != nil {
		t.Fatal(err)
	}
	demo, err := filepath.Abs("../../testdata/demo")
	if err != nil {
		t.Fatal(err)
	}
	folder, pictures := t.TempDir(), t.TempDir()
	script, err := os.ReadFile("../../internal/serve/page/testdata/page.mjs")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "page.mjs"), script, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(packages, filepath.Join(folder, "node_modules")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "page.mjs", xstate, chromium, demo, pictures)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), "XDG_CACHE_HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	for _, name := range []string{"ui-program-dark-390.png", "ui-graph-light-1280.png"} {
		if info, err := os.Stat(filepath.Join(pictures, name)); err != nil || info.Size() == 0 {
			t.Errorf("picture %s: %v", name, err)
		}
	}
}

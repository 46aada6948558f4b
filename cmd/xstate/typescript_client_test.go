package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/clients"
)

// typeScriptClient is the folder of the TypeScript client.
const typeScriptClient = "../../clients/typescript"

// compiledClient returns a copy of the TypeScript client that is compiled, with its tests.
func compiledClient(t *testing.T) string {
	t.Helper()
	packages := filepath.Join(clients.Folder(t, "npm-typescript"), "node_modules")
	folder := filepath.Join(t.TempDir(), "client")
	for _, name := range []string{"src", "test", "bin"} {
		if err := os.CopyFS(filepath.Join(folder, name), os.DirFS(filepath.Join(typeScriptClient, name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"package.json", "tsconfig.json", "packages.mjs", "README.md", "LICENSE"} {
		content, err := os.ReadFile(filepath.Join(typeScriptClient, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(packages, folder+"/node_modules"); err != nil {
		t.Fatal(err)
	}
	ran(t, folder+"/node_modules/.bin/tsc", "--project", folder)
	return folder
}

// TestTypeScriptClient runs the tests of the TypeScript client, which use the real server.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	folder := compiledClient(t)
	xstate, err := exec.LookPath("xstate") // this test, by testscript.Main
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "--test", "dist/test")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "XSTATE="+xstate, "XSTATE_PYTHON="+xstatetest.Pythons()[0],
		"XSTATE_ROOT="+root, "XDG_CACHE_HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "# fail 0") || strings.Contains(string(out), "# pass 0") {
		t.Errorf("the tests of the client failed: %v\n%s", err, out)
	}
}

// TestNpmPackages makes the packages of a release for this platform, twice, and installs them without an index. The
// installed client finds the installed program, whatever is on PATH, and so does the command of the package.
func TestNpmPackages(t *testing.T) {
	t.Parallel()
	folder := compiledClient(t)
	out := t.TempDir()
	packages := packedTwice(t, out+"/*.tgz",
		"node", folder+"/packages.mjs", "v"+clientVersion(t), releasedPrograms(t), out)
	place := t.TempDir()
	options := []string{"install", "--offline", "--omit=optional", "--no-audit", "--no-fund", "--silent"}
	install := exec.CommandContext(t.Context(), "npm", append(options, packages...)...)
	install.Dir = place
	if said, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm install: %v\n%s", err, said)
	}
	environ := append(os.Environ(), "XSTATE=", "XDG_CACHE_HOME="+t.TempDir(), "XSTATE_PYTHON="+xstatetest.Pythons()[0])
	use := exec.CommandContext(t.Context(), "node", "--input-type=module", "-e",
		"import { Engine } from '@xstate-engine/client'; const e = new Engine('.');"+
			"console.log((await e.session('a').exec('6 * 7')).result); await e.stop()")
	use.Dir, use.Env = place, environ
	if said, err := use.CombinedOutput(); err != nil || string(said) != "42\n" {
		t.Errorf("the installed client says %q, %v", said, err)
	}
	run := exec.CommandContext(t.Context(), place+"/node_modules/.bin/xstate", "version")
	run.Env = environ
	if said, err := run.CombinedOutput(); err != nil || !strings.HasPrefix(string(said), "xstate ") {
		t.Errorf("the installed program says %q, %v", said, err)
	}
}

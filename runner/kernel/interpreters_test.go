package kernel

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
)

// script makes a program at a path.
func script(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(path)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestInterpreters: what lies in a folder that a program in bounds may write is used only if it was there before, is
// the same, or is named.
func TestInterpreters(t *testing.T) {
	at, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(at, "work")
	python := script(t, filepath.Join(work, "venv/bin/python"), "exit 1")
	system := script(t, filepath.Join(at, "system/python"), "exit 1")
	other := script(t, filepath.Join(at, "system/other"), "exit 1")
	linked := filepath.Join(work, "linked")
	link := func(to string) {
		t.Helper()
		_ = os.Remove(linked)
		if err := os.Symlink(to, linked); err != nil {
			t.Fatal(err)
		}
	}
	link(system)
	r := InterpretersOf(at, false)
	check := func(when, path string, named bool, want state.Code) {
		t.Helper()
		if err := r.Check(path, named, "so"); state.CodeOf(err) != want {
			t.Errorf("%s: Check(%s) = %v, want code %q", when, path, err, want)
		}
	}
	check("before any program in bounds", python, false, "")
	if err := r.Bound([]string{work}, []string{python, linked, system}); err != nil {
		t.Fatal(err)
	}
	check("as it was", python, false, "")
	check("as it was", linked, false, "")
	check("elsewhere", system, false, "")
	check("made by the program", script(t, filepath.Join(work, ".venv/bin/python"), ""), false, CodeChanged)
	check("missing", filepath.Join(work, "missing"), false, "")

	script(t, python, "exit 1") // another file of the same content
	check("the same content", python, false, "")
	script(t, python, "exit 2")
	check("other content", python, false, CodeChanged)
	check("named", python, true, "")
	check("named before", python, false, "")
	link(other)
	check("a link that leads elsewhere", linked, false, CodeChanged)
	link(system)
	check("a link that leads back", linked, false, "")

	folder := filepath.Join(at, "to-work") // another name for a folder below it
	if err := os.Symlink(filepath.Join(work, "venv/bin"), folder); err != nil {
		t.Fatal(err)
	}
	check("through a link to the folder", filepath.Join(folder, "python"), false, CodeChanged)

	// A second program in bounds takes nothing for what was there before.
	if err := r.Bound([]string{work}, []string{filepath.Join(work, ".venv/bin/python")}); err != nil {
		t.Fatal(err)
	}
	check("after a second program", filepath.Join(work, ".venv/bin/python"), false, CodeChanged)
	fixed := InterpretersOf(filepath.Join(at, "none"), true)
	if err := fixed.Bound([]string{work}, nil); err != nil || fixed.Check(python, true, "") != nil {
		t.Error("a store that is only read refuses an interpreter")
	}
	if _, err := os.Stat(fixed.folder); err == nil {
		t.Error("a store that is only read was written")
	}
}

// TestProbeBounded: what a program in bounds made an interpreter of writes nothing, and reads nothing of the user's,
// when it is asked what it is. Its answer is kept for that file alone.
func TestProbeBounded(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there are no bounds on this system")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	work, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("hush"), 0o600); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "written")
	path := script(t, filepath.Join(work, "bin/python"), `
echo x > `+outside+`
echo x > `+work+`/written
cat `+secret+`
echo answer
`)
	p := Probe{Path: path, Folder: work, Cache: t.TempDir(), Environ: os.Environ(), Memo: "test"}
	if got, err := p.Answer(t.Context()); err != nil || got != "hush\nanswer\n" && got != "hushanswer\n" {
		t.Fatalf("without bounds the answer is %q, %v", got, err)
	}
	for _, written := range []string{outside, work + "/written"} {
		if err := os.Remove(written); err != nil {
			t.Fatal(err)
		}
	}
	script(t, path, strings.TrimPrefix(readFile(t, path), "#!/bin/sh\n")+"echo again\n")
	p.Bounds = &sandbox.Bounds{}
	got, err := p.Answer(t.Context())
	if err != nil || got != "answer\nagain\n" {
		t.Errorf("in bounds the answer is %q, %v", got, err)
	}
	for _, written := range []string{outside, work + "/written"} {
		if _, err := os.Stat(written); err == nil {
			t.Errorf("%s was written", written)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Answer(t.Context()); err == nil {
		t.Errorf("the answer is %q though the file is gone", got)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestProbeEndless: an interpreter that prints without end, or ends badly, is an error that says so.
func TestProbeEndless(t *testing.T) {
	work := t.TempDir()
	for text, want := range map[string]string{
		"head -c 20000000 /dev/zero": "more than",
		"echo so it is >&2; exit 3":  "so it is",
	} {
		p := Probe{Path: script(t, filepath.Join(work, "python"), text), Folder: work, Environ: os.Environ()}
		if got, err := p.Answer(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: answer of %d bytes, error %v, want %q", text, len(got), err, want)
		}
	}
}

package sandbox_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/xstate-engine/xstate/runner/sandbox"
)

// boxed is a box around a Python program, in an empty workspace.
type boxed struct {
	*sandbox.Box
	t      *testing.T
	folder string
	out    bytes.Buffer
}

// prelude defines begin and end, as a driver has them.
const prelude = `
import os, subprocess, sys
def begin(n): os.access("/.xstate/begin/%d" % n, 0)
def end(n): os.access("/.xstate/end/%d" % n, 0)
def sh(text): return subprocess.run(["/bin/sh", "-c", text])
`

// folderOf makes a workspace, with files.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// start starts a Python program in a folder.
func start(t *testing.T, folder, program string) *boxed {
	t.Helper()
	// The path may lead to a script that looks for the interpreter.
	python, err := exec.Command("python3", "-c", "import sys; print(sys.executable, end='')").Output()
	if err != nil {
		t.Skip("there is no python3")
	}
	spool := t.TempDir()
	b := &boxed{t: t, folder: folder}
	cmd := exec.Command(string(python), "-S", "-c", prelude+program)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, &b.out, &b.out
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	b.Box, err = sandbox.Start(cmd, sandbox.Spec{
		Folder: folder, Spool: spool, Journal: filepath.Join(spool, "writing"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Kill)
	if b.Level() != sandbox.LevelCalls {
		t.Skipf("this system offers %s only", b.Level())
	}
	return b
}

// take takes the report of a node.
func (b *boxed) take(node int) sandbox.Report {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := b.Take(ctx, node)
	if err != nil {
		b.t.Fatalf("Take(%d): %v\n%s", node, err, &b.out)
	}
	return r
}

func TestFirst(t *testing.T) {
	folder := folderOf(t, map[string]string{"a": "1", "b": "2"})
	b := start(t, folder, `
begin(1)
open("a").read()
sh("cat b > c; test -e d")
end(1)
`)
	r := b.take(1)
	if err := b.Wait(); err != nil {
		t.Error(err, b.out.String())
	}
	for p, a := range r.Main {
		t.Log("main", p, a.Use)
	}
	for p, a := range r.Child {
		t.Log("child", p, a.Use)
	}
	t.Logf("%+v", r.Programs)
	t.Logf("%+v %v", r.Unseen, r.Running)
	t.Log(b.out.String())
}

package sandbox_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner/sandbox"
)

// boxed is a box around a Python program, in an empty workspace.
type boxed struct {
	*sandbox.Box
	t       *testing.T
	folder  string
	journal string
	out     bytes.Buffer
}

// prelude defines begin and end, as a driver has them.
const prelude = `
import os, platform, subprocess, sys
NR = {"x86_64": {"renameat2": 316, "linkat": 265}, "aarch64": {"renameat2": 276, "linkat": 37}}[platform.machine()]
def begin(n): os.access("/.xstate/begin/%d" % n, 0)
def end(n): os.access("/.xstate/end/%d" % n, 0)
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    return libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in args))
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

// interpreter is the path of Python. What is found by its name may be a script that looks for it.
var interpreter = sync.OnceValue(func() string {
	path, _ := exec.Command("python3", "-c", "import sys; print(sys.executable, end='')").Output()
	return string(path)
})

// start starts a Python program in a folder.
func start(t *testing.T, folder, program string) *boxed {
	t.Helper()
	return startWith(t, folder, program, func(*exec.Cmd) {})
}

func startWith(t *testing.T, folder, program string, change func(*exec.Cmd)) *boxed {
	t.Helper()
	python := interpreter()
	if python == "" {
		t.Skip("there is no python3")
	}
	spool := t.TempDir()
	b := &boxed{t: t, folder: folder, journal: filepath.Join(spool, "writing")}
	cmd := exec.Command(python, "-S", "-c", prelude+program)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, &b.out, &b.out
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	change(cmd)
	var err error
	b.Box, err = sandbox.Start(cmd, sandbox.Spec{
		Folder: folder, Spool: spool, Journal: b.journal,
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
	r, err := b.Take(await.Context(b.t), node)
	if err != nil {
		b.t.Fatalf("Take(%d): %v\n%s", node, err, &b.out)
	}
	return r
}

// names are the uses, in the order of their bits.
var names = []string{"read", "look", "absent", "list", "write", "mode", "time", "told"}

// uses puts what one side did in the workspace in lines: the path, its uses, and the content of its image.
func (b *boxed) uses(side map[string]*sandbox.Access) map[string]string {
	all := map[string]string{}
	for path, a := range side {
		name, ok := strings.CutPrefix(path, b.folder+"/")
		if !ok {
			continue
		}
		var words []string
		for i, word := range names {
			if a.Use&(1<<i) != 0 {
				words = append(words, word)
			}
		}
		all[name] = strings.Join(words, " ") + b.image(a.Before)
	}
	return all
}

func (b *boxed) image(i *sandbox.Image) string {
	switch {
	case i == nil:
		return ""
	case !filepath.IsAbs(i.Copy):
		return " <" + i.Copy + ">"
	}
	data, err := os.ReadFile(i.Copy)
	if err != nil {
		b.t.Error(err)
	}
	return " <" + string(data) + ">"
}

func check(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

type uses = map[string]string

// files are in the workspace of each test of TestUses.
var files = map[string]string{
	"a": "1", "b": "2", "run.sh": "#!/bin/sh\ncat a\n", "folder/x": "3", "folder/deep/y": "4",
}

func TestUses(t *testing.T) {
	for name, test := range map[string]struct {
		program string
		main    uses
		child   uses
	}{
		"read":    {`open("a").read()`, uses{"a": "read"}, uses{}},
		"look":    {`os.path.exists("a"); os.path.exists("c")`, uses{"a": "look", "c": "look absent"}, uses{}},
		"list":    {`os.listdir("folder")`, uses{"folder": "look list"}, uses{}},
		"fsync":   {`os.fsync(os.open("folder", os.O_DIRECTORY))`, uses{"folder": "look"}, uses{}},
		"relist":  {`f = os.open("folder", 0); [os.listdir(f) for i in range(2)]`, uses{"folder": "look list"}, uses{}},
		"create":  {`open("c", "w").write("x")`, uses{"c": "absent write"}, uses{}},
		"replace": {`open("a", "w").write("x")`, uses{"a": "write <1>"}, uses{}},
		"append":  {`open("a", "a").write("x")`, uses{"a": "read write <1>"}, uses{}},
		"update":  {`open("a", "r+").write("x")`, uses{"a": "read write <1>"}, uses{}},
		"exclusive": {`
try: open("a", "x")
except FileExistsError: open("c", "x")`, uses{"a": "look", "c": "look absent write"}, uses{}},
		"own": {`open("c", "w").write("x"); open("c").read(); open("c", "a").write("y"); os.stat("c")`,
			uses{"c": "absent write"}, uses{}},
		"read own of child": {`sh("echo > c"); open("c").read(); os.listdir("folder")`,
			uses{"folder": "look list"}, uses{"c": "absent write"}},
		"read, then write": {`open("a").read(); open("a", "w")`, uses{"a": "read write <1>"}, uses{}},
		"remove":           {`os.remove("a")`, uses{"a": "look write <1>"}, uses{}},
		"remove absent":    {`sh("rm -f c")`, uses{}, uses{"c": "look absent"}},
		"rename":           {`os.rename("a", "c")`, uses{"a": "read write <1>", "c": "absent write"}, uses{}},
		"rename over":      {`os.rename("a", "b")`, uses{"a": "read write <1>", "b": "write <2>"}, uses{}},
		"rename a folder": {`os.rename("folder", "g")`, uses{
			"folder": "list write <directory>", "folder/x": "read write <3>",
			"folder/deep": "list write <directory>", "folder/deep/y": "read write <4>",
			"g": "absent write", "g/x": "absent write", "g/deep": "absent write", "g/deep/y": "absent write",
		}, uses{}},
		"folders": {`os.makedirs("p/q"); os.rmdir("p/q")`,
			uses{"p": "look absent write", "p/q": "look absent write"}, uses{}},
		"not empty":   {`sh("rmdir folder 2>/dev/null")`, uses{}, uses{"folder": "look list"}},
		"link":        {`os.link("a", "c")`, uses{"a": "read", "c": "look absent write"}, uses{}},
		"symlink":     {`os.symlink("a", "c"); open("c").read()`, uses{"a": "read", "c": "look absent write"}, uses{}},
		"mode":        {`os.chmod("a", 0o600)`, uses{"a": "look mode <>"}, uses{}},
		"mode by fd":  {`os.fchmod(os.open("a", 0), 0o600)`, uses{"a": "read mode <>"}, uses{}},
		"mode, write": {`os.chmod("a", 0o600); open("a", "w")`, uses{"a": "look write mode <1>"}, uses{}},
		"time":        {`os.utime("a")`, uses{"a": "look time <>"}, uses{}},
		"time by fd":  {`os.utime(os.open("a", 0))`, uses{"a": "read time <>"}, uses{}},
		"truncate":    {`os.truncate("a", 0)`, uses{"a": "read write <1>"}, uses{}},
		"told": {`os.access("/.xstate/wrote" + os.getcwd() + "/a", 0); open("a", "w")`,
			uses{"a": "write told"}, uses{}},
		"folder by fd": {`d = os.open("folder", os.O_PATH); open(os.open("x", 0, dir_fd=d)).read()`,
			uses{"folder": "look", "folder/x": "read"}, uses{}},
		"openat2": {`call(437, -100, b"a", (ctypes.c_uint64 * 3)(os.O_RDWR), 24)`, uses{"a": "read write <1>"}, uses{}},
		"exchange": {`call(NR["renameat2"], -100, b"a", -100, b"b", 2)`,
			uses{"a": "read write <1>", "b": "read write <2>"}, uses{}},
		"rename, not over": {`call(NR["renameat2"], -100, b"a", -100, b"b", 1)`, uses{"a": "look", "b": "look"},
			uses{}},
		"unnamed file": {`
f = os.open("folder", os.O_TMPFILE | os.O_RDWR)
os.write(f, b"x")
call(NR["linkat"], -100, b"/proc/self/fd/%d" % f, -100, b"c", 0x400)
open("c").read()`, uses{"folder": "look", "c": "look absent write"}, uses{}},
		"attribute": {`
try: os.setxattr("a", "user.x", b"1")
except OSError: pass
try: os.getxattr("b", "user.x")
except OSError: pass`, uses{"a": "look mode <>", "b": "look"}, uses{}},
		"no ring": {`
assert call(425, 8, (ctypes.c_char * 120)()) == -1 and ctypes.get_errno() == 38`, uses{}, uses{}},
		"static program": {`
open("p.c", "w").write('#include <stdio.h>\nint main(){return fopen("a", "r") == 0;}')
sh("gcc -static -o p p.c && ./p")`, uses{"p.c": "absent write"}, uses{"p": "look absent write mode", "a": "read"}},
		"chdir": {`os.chdir("folder/deep"); open("../x").read()`, uses{"folder/deep": "look", "folder/x": "read"},
			uses{}},
		"script": {`subprocess.run(["./run.sh"])`, uses{}, uses{"run.sh": "read", "a": "read"}},
		"dev fd": {`f = open("a"); open("/dev/fd/%d" % f.fileno()).read()`, uses{"a": "read"}, uses{}},
		"fork": {`
if os.fork() == 0: open("a").read(); os._exit(0)
os.wait()`, uses{}, uses{"a": "read"}},
		"fork tree": {`sh("(cat a; (cat b > c; (cat c > d)))")`, uses{},
			uses{"a": "read", "b": "read", "c": "absent write", "d": "absent write"}},
		"thread": {`
import threading
t = threading.Thread(target=lambda: open("a").read())
t.start(); t.join()`, uses{"a": "read"}, uses{}},
		"mapped": {`
import mmap
with open("a", "r+") as f: mmap.mmap(f.fileno(), 0)[0:1] = b"9"`, uses{"a": "read write <1>"}, uses{}},
		"sed -i": {`sh("sed -i s/1/9/ a; mv a c; cp b a")`, uses{},
			uses{"a": "read write <1>", "b": "read look", "c": "absent write"}},
		"long path": {`p = "/".join(["folder", "."] + ["."] * 300 + ["x"]); open(p).read()`, uses{"folder/x": "read"},
			uses{}},
		"proc self": {`os.chdir("/proc/self/cwd/folder"); open("x").read()`, uses{"folder": "look", "folder/x": "read"},
			uses{}},
		"parallel": {`sh("for i in 1 2 3 4; do (cat a > p$i; rm p$i) & done; wait")`, uses{}, uses{"a": "read",
			"p1": "absent write", "p2": "absent write", "p3": "absent write", "p4": "absent write"}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := folderOf(t, files)
			if err := os.Chmod(filepath.Join(folder, "run.sh"), 0o755); err != nil {
				t.Fatal(err)
			}
			b := start(t, folder, "begin(1)\n"+test.program+"\nend(1)\n")
			r := b.take(1)
			if err := b.Wait(); err != nil {
				t.Errorf("%v\n%s", err, &b.out)
			}
			check(t, "main", b.uses(r.Main), test.main)
			child := b.uses(r.Child)
			for name := range child {
				// Temporary files of sed have other names each time, and compilers look at what they are called with.
				if strings.HasPrefix(name, "sed") || name[0] == '-' || strings.HasSuffix(name, ".gch") {
					delete(child, name)
				}
			}
			check(t, "child", child, test.child)
			check(t, "unseen", r.Unseen, []string(nil))
			check(t, "running", r.Running, false)
		})
	}
}

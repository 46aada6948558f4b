package sandbox

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/xstate-engine/xstate/internal/parents"
)

// A deputy is a program in bounds that has the engine do what it cannot: the engine is outside of the box, and restores
// files, starts interpreters and writes documents. Each file of testdata/deputies has steps, in which x is xstate exec
// at the level tried, and the files of the folder outside. One judge looks at all of them, see judgeEngine. What steps
// print goes to last.txt; a step that fails is no harm.
//
// deputyPrelude comes before the steps.
const deputyPrelude = `
mkdir .xstate
n=0
x() {
	n=$((n + 1))
	strace -f -y -s 4096 -o "$TRACES/$n" -e trace=%file,%process,?openat2 \
		"$XSTATE" exec --no-server --sandbox "$LEVEL" "$@" >last.txt 2>&1 || [ $n -gt 1 ]
}
`

// TestDeputies tries every deputy at both levels, as this user and, if this is root, as an ordinary one.
func TestDeputies(t *testing.T) {
	for _, needed := range []string{"strace", "/usr/bin/python3"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skipf("%s is not installed", needed)
		}
	}
	base, err := os.MkdirTemp("", "deputies-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	if base, err = filepath.EvalSymlinks(base); err != nil {
		t.Fatal(err)
	}
	xstate := filepath.Join(base, "xstate")
	if out, err := exec.Command("go", "build", "-o", xstate, "../../cmd/xstate").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob("testdata/deputies/*.txtar")
	if err != nil || len(names) < 10 {
		t.Fatalf("%d files in testdata/deputies, want at least 10 (%v)", len(names), err)
	}
	users := []*syscall.Credential{nil}
	if nobody, err := user.Lookup("nobody"); err == nil && os.Getuid() == 0 {
		c := &syscall.Credential{}
		_, _ = fmt.Sscan(nobody.Uid, &c.Uid)
		_, _ = fmt.Sscan(nobody.Gid, &c.Gid)
		users = append(users, c)
	}
	all := os.Getenv("XSTATE_TEST_ALL") != ""
	for i, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for j, as := range users {
			for k, level := range []string{"workspace", "strict"} {
				if !all && (i+j+k)%2 != 0 {
					continue // each as both users, and at both levels
				}
				d := deputy{archive, as, level, filepath.Join(base, fmt.Sprintf("%d-%d-%d", i, j, k)), xstate}
				deputyName := strings.TrimSuffix(filepath.Base(name), ".txtar")
				t.Run(fmt.Sprintf("%s/%s/%d", deputyName, level, j), d.try)
			}
		}
	}
}

// deputy is one way to try a deputy.
type deputy struct {
	archive *txtar.Archive
	as      *syscall.Credential // nil: this user
	level   string
	base    string
	xstate  string
}

func (d deputy) try(t *testing.T) {
	work, outside, traces := d.base+"/work", d.base+"/outside", d.base+"/traces"
	steps := d.prepare(t)
	before := imagesIn(t, outside)
	cmd := exec.Command("/bin/sh", "-e", "-c", deputyPrelude+steps)
	cmd.Dir = work
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + d.base + "/home", "TMPDIR=" + d.base + "/tmp", "LC_ALL=C.UTF-8",
		"XSTATE=" + d.xstate, "LEVEL=" + d.level, "TRACES=" + traces}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: d.as}
	if out, err := cmd.CombinedOutput(); err != nil {
		last, _ := os.ReadFile(work + "/last.txt")
		t.Errorf("the steps failed: %v\n%s%s", err, out, last)
	}
	for path, now := range imagesIn(t, outside) {
		if before[path] != now {
			t.Errorf("%s is %s, was %q", path, now, before[path])
		}
		delete(before, path)
	}
	for path := range before {
		t.Errorf("%s is gone", path)
	}
	d.judgeSecrets(t)
	logs, err := filepath.Glob(traces + "/*")
	if err != nil || len(logs) == 0 && strings.Contains(steps, "\nx ") {
		t.Fatalf("no traces: %v", err)
	}
	for _, log := range logs {
		text, err := os.Open(log)
		if err != nil {
			t.Fatal(err)
		}
		calls, err := parseStrace(text)
		text.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, harm := range judgeEngine(calls, work, outside) {
			t.Errorf("call %s of xstate: %s", filepath.Base(log), harm)
		}
	}
}

// prepare makes the folders of a deputy, and returns its steps.
func (d deputy) prepare(t *testing.T) (steps string) {
	t.Helper()
	folders := []string{"", "/work", "/outside", "/traces", "/home", "/tmp"}
	for _, folder := range folders {
		if err := os.MkdirAll(d.base+folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range d.archive.Files {
		if f.Name == "steps.sh" {
			steps = string(f.Data)
			continue
		}
		if err := os.WriteFile(filepath.Join(d.base, f.Name), f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if d.as != nil {
		err := filepath.WalkDir(d.base, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(path, int(d.as.Uid), int(d.as.Gid))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return steps
}

// judgeSecrets looks for what lies outside, in all that the engine wrote.
func (d deputy) judgeSecrets(t *testing.T) {
	t.Helper()
	secret, err := os.ReadFile(d.base + "/outside/secret")
	if err != nil {
		return // there is none
	}
	secret = bytes.TrimSpace(secret)
	for _, folder := range []string{"/work", "/home", "/tmp"} {
		_ = filepath.WalkDir(d.base+folder, func(path string, entry fs.DirEntry, _ error) error {
			if entry.Type().IsRegular() {
				if data, err := os.ReadFile(path); err == nil && holds(data, secret) {
					t.Errorf("%s holds the secret", path)
				}
			}
			return nil
		})
	}
}

// holds reports whether data has a secret in it, as it is or in base64.
func holds(data, secret []byte) bool {
	return bytes.Contains(data, secret) || bytes.Contains(data, []byte("U0VDUkVULU9GLVRIRS1VU0VS"))
}

// judgeEngine returns what the engine did that it must not. The engine is the process that strace started, with all
// processes that it starts but the keeper, whose box is judged elsewhere.
func judgeEngine(calls []*straceCall, work, outside string) (harm []string) {
	if len(calls) == 0 {
		return []string{"nothing was traced"}
	}
	outsiders := map[int]bool{} // threads of the engine, and processes that it started
	boxed := map[int]bool{}
	outsiders[calls[0].pid] = true
	for _, c := range calls {
		if !outsiders[c.pid] || boxed[c.pid] {
			continue
		}
		switch c.name {
		case "clone", "clone3", "fork", "vfork":
			var child int
			if _, err := fmt.Sscan(c.value, &child); err == nil {
				outsiders[child] = true
			}
			continue
		case "execve", "execveat":
			path, _ := quoted(c.arg(0))
			if path == "/proc/self/exe" {
				boxed[c.pid] = true
				continue
			}
			if !filepath.IsAbs(path) {
				path = filepath.Join(work, path)
			}
			if parents.Holds(work, path) {
				harm = append(harm, "executes "+path)
			}
			continue
		}
		if !c.failed() && parents.Holds(outside, c.path) {
			harm = append(harm, fmt.Sprintf("%s opens %s", c.name, c.path))
		}
	}
	return harm
}

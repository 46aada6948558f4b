//go:build linux

package acceptance

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

// toolProgram runs the tool of a program of runner/sandbox/testdata/programs as a block, between two that it does not
// concern. Its text is short, so that what runs again is easy to say.
const toolProgram = `# %%%% before
greeting = %q
# %%%% imports
import subprocess
# %%%% tool
done = subprocess.run(["/bin/sh", "-e", "run.sh"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
print(done.returncode, done.stdout)
# %%%% result
print(open("result.txt").read())
# %%%% after
print(greeting)
`

// toolRun is one folder in which a tool runs.
type toolRun struct {
	folder   string
	greeting string
	files    []txtar.File
	age      time.Time // when the files were made
	edit     string    // a script
	edited   bool
	marks    []string // that the tool has
	env      []string
}

// TestTools runs real tools as blocks: compilers, make, git, databases, archives. After each edit the outputs and all
// files on the disk equal those of a plain interpreter in a fresh folder, and nothing is executed that the edit does
// not affect. TestStrace compares what is observed of the same tools with what strace sees.
func TestTools(t *testing.T) {
	names, err := filepath.Glob("../../runner/sandbox/testdata/programs/*.txtar")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d programs, want at least 20 (%v)", len(names), err)
	}
	if testing.Short() {
		names = names[:4]
	}
	for i, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			if !sampling.All() && (i%3 != 0 || strings.HasSuffix(name, "/go.txtar")) {
				t.Skip("every third tool runs, and not Go, which compiles its runtime; XSTATE_TEST_ALL=1 runs all")
			}
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			runTool(t, archive)
		})
	}
}

func runTool(t *testing.T, archive *txtar.Archive) {
	python := xstatetest.Pythons()[0]
	if python == "" {
		python, _ = exec.LookPath("python3")
	}
	skipWithout(t, archive, python)
	r := newToolRun(t, archive, python)
	o := xstate.SessionOptions{Python: python, Seed: 7, Workspace: r.folder, Environ: r.env}
	session := xstatetest.OpenSession(t, xstatetest.OpenStore(t, filepath.Join(r.folder, xstate.StoreName)), o)

	everything := []string{"before", "imports", "tool", "result", "after"}
	r.step(t, session, "the first run", everything)
	r.step(t, session, "again", nil)
	r.greeting = "welcome"
	r.step(t, session, "another block edited", []string{"before", "after"})
	if r.edit == "" {
		return
	}
	r.makeEdit(t)
	r.edited = true
	r.step(t, session, "an input edited", []string{"tool", "result"})
	r.step(t, session, "again", nil)
	r.takeBack(t)
	r.step(t, session, "the edit taken back", nil)
}

// step runs the program, and compares it with a plain run.
func (r *toolRun) step(t *testing.T, session *xstate.Session, what string, want []string) {
	t.Helper()
	program, err := patch.Parse("prog.py", []byte(fmt.Sprintf(toolProgram, r.greeting)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Load(t.Context(), program.Blocks, xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	have, _, err := session.Run(t.Context(), runner.RunOptions{}, xstate.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(want, xstatetest.RanBlocks(have)); d != "" {
		t.Errorf("%s: blocks that ran (-want +got):\n%s", what, d)
	}
	var printed strings.Builder
	for _, b := range have.Blocks {
		if b.ID == "tool" && !slices.Equal(b.AllMarks, r.marks) {
			t.Errorf("%s: block %s has marks %v, want %v", what, b.ID, b.AllMarks, r.marks)
		}
		if b.Status == state.StatusRan {
			t.Logf("%s: %s ran: %+v", what, b.ID, b.Reason)
		}
		for _, out := range b.Outputs {
			printed.WriteString(out.Text)
		}
	}
	text, files := r.plain(t)
	if d := gocmp.Diff(text, printed.String()); d != "" {
		t.Errorf("%s: outputs (-plain +xstate):\n%s", what, d)
	}
	if d := gocmp.Diff(files, onDisk(t, r.folder)); d != "" {
		t.Errorf("%s: files (-plain +xstate):\n%s", what, d)
	}
}

// plain runs the program by the interpreter alone, in a fresh folder with the files as they are given now. It returns
// what was printed and all files.
func (r *toolRun) plain(t *testing.T) (string, map[string]string) {
	t.Helper()
	fresh := *r
	fresh.folder = t.TempDir()
	fresh.write(t)
	if r.edited {
		fresh.makeEdit(t)
	}
	cmd := exec.Command(r.python(), "-c", fmt.Sprintf(toolProgram, r.greeting))
	cmd.Dir, cmd.Env = fresh.folder, append(slices.Clone(r.env), "PYTHONHASHSEED=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, stderr.String())
	}
	return string(out), onDisk(t, fresh.folder)
}

func newToolRun(t *testing.T, archive *txtar.Archive, python string) *toolRun {
	t.Helper()
	r := &toolRun{folder: t.TempDir(), greeting: "hello", age: time.Now().Add(-time.Hour)}
	for _, f := range archive.Files {
		if f.Name == "edit.sh" {
			r.edit = string(f.Data)
		} else {
			r.files = append(r.files, f)
		}
	}
	for line := range strings.Lines(string(archive.Comment)) {
		if marks, ok := strings.CutPrefix(line, "marks: "); ok {
			r.marks = strings.Fields(marks)
		}
	}
	own := t.TempDir()
	r.env = []string{"PYTHON=" + python, "PATH=" + os.Getenv("PATH"), "HOME=" + own, "TMPDIR=" + own, "TZ=UTC",
		"LC_ALL=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_AUTHOR_DATE=1000000000 +0000", "GIT_COMMITTER_DATE=1000000000 +0000"}
	r.write(t)
	return r
}

func (r *toolRun) python() string { return strings.TrimPrefix(r.env[0], "PYTHON=") }

// write writes the files as they were given, with the same times whenever it is called.
func (r *toolRun) write(t *testing.T) {
	t.Helper()
	for _, f := range r.files {
		path := filepath.Join(r.folder, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, r.age, r.age); err != nil {
			t.Fatal(err)
		}
	}
}

// takeBack undoes the edit.
func (r *toolRun) takeBack(t *testing.T) {
	t.Helper()
	r.edited = false
	for _, f := range r.files {
		path := filepath.Join(r.folder, f.Name)
		if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, f.Data) {
			if err := os.WriteFile(path, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(path, r.age, r.age); err != nil {
			t.Fatal(err)
		}
	}
}

// makeEdit makes the edit. The files then have the same times whenever it is called: a program may print them.
func (r *toolRun) makeEdit(t *testing.T) {
	t.Helper()
	r.shell(t, r.edit)
	for _, f := range r.files {
		path := filepath.Join(r.folder, f.Name)
		info, err := os.Stat(path)
		if err != nil || info.ModTime().Equal(r.age) {
			continue // the edit removed it, or left it alone
		}
		later := r.age.Add(time.Minute)
		if err := os.Chtimes(path, later, later); err != nil {
			t.Fatal(err)
		}
	}
}

func (r *toolRun) shell(t *testing.T, script string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-e", "-c", script)
	cmd.Dir = r.folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// onDisk returns the files of a folder: mode, and content, target or "folder". The store is left out, and what git
// notes of times and numbers of files.
func onDisk(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(folder, path)
		switch {
		case name == xstate.StoreName:
			return filepath.SkipDir
		case d.IsDir():
			all[name] = "folder"
			return nil
		case d.Type() == fs.ModeSymlink:
			to, err := os.Readlink(path)
			all[name] = "link to " + strings.ReplaceAll(to, folder, "DIR")
			return err
		case !d.Type().IsRegular():
			all[name] = d.Type().String()
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if filepath.Base(path) == "index" && filepath.Base(filepath.Dir(path)) == ".git" {
			data = nil
		}
		all[name] = fmt.Sprintf("%v %q", info.Mode(), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(all, ".")
	return all
}

// skipWithout skips a test whose program needs what is not installed.
func skipWithout(t *testing.T, archive *txtar.Archive, python string) {
	t.Helper()
	for line := range strings.Lines(string(archive.Comment)) {
		needs, _ := strings.CutPrefix(line, "needs: ")
		if needs == line {
			continue
		}
		for _, need := range strings.Fields(needs) {
			var err error
			switch need {
			case "python", "libc.a":
			case "pip", "pytest", "PIL", "pandas":
				err = exec.Command(python, "-c", "import "+need).Run()
			default:
				_, err = exec.LookPath(need)
			}
			if err != nil {
				t.Skipf("%s is not installed", need)
			}
		}
	}
}

//go:build linux

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// program is a real program of testdata/programs: files, and how it is run and edited.
type program struct {
	name  string
	needs []string // what must be installed
	files []txtar.File
	run   string
}

// readPrograms reads testdata/programs.
func readPrograms(t *testing.T) []program {
	t.Helper()
	names, err := filepath.Glob("testdata/programs/*.txtar")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d programs in testdata/programs, want at least 20 (%v)", len(names), err)
	}
	var all []program
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p := program{name: strings.TrimSuffix(filepath.Base(name), ".txtar")}
		for line := range strings.Lines(string(archive.Comment)) {
			if needs, ok := strings.CutPrefix(line, "needs: "); ok {
				p.needs = strings.Fields(needs)
			}
		}
		for _, f := range archive.Files {
			switch f.Name {
			case "run.sh":
				p.run = string(f.Data)
			case "edit.sh":
			default:
				p.files = append(p.files, f)
			}
		}
		if p.run == "" {
			t.Fatalf("%s: no run.sh", name)
		}
		all = append(all, p)
	}
	return all
}

// missing is the first need of a program that is not installed, or "".
func (p *program) missing(python string) string {
	for _, need := range p.needs {
		switch need {
		case "python":
			if python == "" {
				return "python3 (or XSTATE_TEST_PYTHONS)"
			}
		case "libc.a":
			if found, _ := filepath.Glob("/usr/lib*/*/libc.a"); len(found) == 0 {
				return need
			}
		case "pip", "pytest", "PIL", "pandas":
			if exec.Command(python, "-c", "import "+need).Run() != nil {
				return "the package " + need + " of " + python
			}
		default:
			if _, err := exec.LookPath(need); err != nil {
				return need
			}
		}
	}
	return ""
}

// testPython is the interpreter for programs in Python, or "".
func testPython() string {
	if first, _, _ := strings.Cut(os.Getenv("XSTATE_TEST_PYTHONS"), ":"); first != "" {
		return first
	}
	found, _ := exec.LookPath("python3")
	return found
}

// stage is where a program runs: always the same folders, fresh each time, so that both runs name the same paths.
type stage struct {
	base, folder, temporary string
	env                     []string
}

func newStage(t *testing.T, base string, p program) *stage {
	t.Helper()
	if err := os.RemoveAll(base); err != nil {
		t.Fatal(err)
	}
	s := &stage{base: base, folder: base + "/work", temporary: base + "/tmp"}
	for _, dir := range []string{s.folder, s.temporary, base + "/home"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range p.files {
		path := filepath.Join(s.folder, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + base + "/home", "TMPDIR=" + s.temporary, "TZ=UTC",
		"LC_ALL=C.UTF-8", "PYTHON=" + testPython(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@example.com", "GIT_AUTHOR_DATE=1000000000 +0000", "GIT_COMMITTER_DATE=1000000000 +0000"}
	return s
}

// traced runs a program under strace, and says what the judge makes of it.
func traced(t *testing.T, s *stage, p program) *straceJudge {
	t.Helper()
	files, err := newFileModel(s.folder, s.temporary, s.base+"/home")
	if err != nil {
		t.Fatal(err)
	}
	log := s.base + "/strace.log"
	cmd := exec.Command("strace", "-f", "-y", "--seccomp-bpf", "-s", "256", "-o", log,
		"-e", "trace=%file,%process,%network,fchdir,openat2,?fchmodat2", "/bin/sh", "-e", "-c", p.run)
	cmd.Dir, cmd.Env = s.folder, s.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s under strace: %v\n%s", p.name, err, out)
	}
	text, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	calls, err := parseStrace(text)
	if err != nil {
		t.Fatal(err)
	}
	j, err := judgeStrace(calls, s.folder, files)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestStrace(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range readPrograms(t) {
		t.Run(p.name, func(t *testing.T) {
			if m := p.missing(testPython()); m != "" {
				t.Skipf("%s is not installed", m)
			}
			j := traced(t, newStage(t, base, p), p)
			t.Logf("%d uses", len(j.uses))
		})
	}
}

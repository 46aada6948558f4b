//go:build linux

package sandbox

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"golang.org/x/tools/txtar"

	"github.com/xstate-engine/xstate/internal/parents"
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

// underStrace runs a program under strace, and says what the judge makes of it.
func underStrace(t *testing.T, s *stage, p program) *straceJudge {
	t.Helper()
	files, err := newFileModel(s.folder, s.temporary, s.base+"/home")
	if err != nil {
		t.Fatal(err)
	}
	log := s.base + "/strace.log"
	cmd := exec.Command("strace", "-f", "-y", "--seccomp-bpf", "-s", "256", "-o", log,
		"-e", "trace=%file,%process,%network,fchdir,fchmod,fchown,fsetxattr,fremovexattr,?openat2,?fchmodat2,"+
			"?getdents,getdents64",
		"/bin/sh", "-e", "-c", p.run)
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

// TestStrace runs each program in equal fresh folders: under strace, and in a box at each level. What a box reports is
// what strace saw, and what was written was saved before.
func TestStrace(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed; .ci/tools installs it")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	all := os.Getenv("XSTATE_TEST_ALL") != ""
	for i, p := range readPrograms(t) {
		t.Run(p.name, func(t *testing.T) {
			if m := p.missing(testPython()); m != "" {
				t.Skipf("%s is not installed; .ci/test and .ci/tools install it", m)
			}
			if !all && p.name == "go" {
				t.Skip("it compiles Go's runtime, for half a minute; XSTATE_TEST_ALL=1 does")
			}
			want := underStrace(t, newStage(t, base, p), p)
			for _, level := range []Level{LevelCalls, LevelTrace} {
				t.Run(string(level), func(t *testing.T) {
					if !all && level == LevelTrace && i%3 != 0 {
						t.Skip("every third program runs by ptrace, too; XSTATE_TEST_ALL=1 runs all")
					}
					s := newStage(t, base, p)
					before := imagesIn(t, s.folder)
					have := inBox(t, s, p, level)
					compareUses(t, want, have)
					compareImages(t, before, s.folder, have)
				})
			}
		})
	}
}

// imagesIn describes what is in a folder: "directory", "symlink:TARGET", or mode and content.
func imagesIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			all[path], err = imageOnDisk(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// imageOnDisk describes what is at a path.
func imageOnDisk(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	switch info.Mode().Type() {
	case fs.ModeDir:
		return "directory", nil
	case fs.ModeSymlink:
		to, err := os.Readlink(path)
		return "symlink:" + to, err
	case 0:
		data, err := os.ReadFile(path)
		return fmt.Sprintf("%o %d %q", info.Mode().Perm(), info.ModTime().UnixNano(), data), err
	}
	return "special", nil
}

// compareImages compares the images of a report with what was in the folder before.
func compareImages(t *testing.T, before map[string]string, folder string, r Report) {
	t.Helper()
	for path, a := range r.Child {
		if a.Use&UseWrite == 0 || !parents.Holds(folder, path) {
			continue
		}
		have := ""
		if i := a.Before; i != nil {
			have = i.Copy
			if filepath.IsAbs(i.Copy) {
				data, err := os.ReadFile(i.Copy)
				if err != nil {
					t.Error(err)
				}
				have = fmt.Sprintf("%o %d %q", i.Mode, i.Time, data)
			}
		}
		if have != before[path] {
			t.Errorf("image of %s is %s, want %s", path, have, before[path])
		}
	}
	// Nothing else has changed.
	for path, now := range imagesIn(t, folder) {
		a := r.Child[path]
		if was := before[path]; was != now && (a == nil || a.Use&(UseWrite|UseMode|UseTime) == 0) {
			t.Errorf("%s changed from %s to %s, which the report does not say", path, was, now)
		}
	}
}

// inBox runs a program in a box, below this test program as the main process, and returns what the box reports.
func inBox(t *testing.T, s *stage, p program, level Level) Report {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Dir, cmd.Env = s.folder, append(s.env, boxedScript+"="+p.run)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := os.Mkdir(s.base+"/spool", 0o755); err != nil {
		t.Fatal(err)
	}
	box, err := Start(cmd, Spec{
		Observe: level, Folder: s.folder, Store: s.base + "/store", Spool: s.base + "/spool",
		Journal: s.base + "/spool/journal",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Kill()
	if box.Level() != level {
		t.Skipf("this system offers %s, not %s", box.Level(), level)
	}
	r, err := box.Take(t.Context(), 1)
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if err := box.Wait(); err != nil {
		t.Fatalf("%s in a box: %v\n%s", p.name, err, &out)
	}
	return r
}

// boxedScript names the variable that holds what this program runs in the place of its tests.
const boxedScript = "XSTATE_BOXED_SCRIPT"

func init() {
	if level, ok := os.LookupEnv(killedEngine); ok {
		os.Unsetenv(killedEngine)
		runKilledEngine(Level(level))
		os.Exit(0)
	}
	if _, ok := os.LookupEnv(nestedProbe); ok {
		os.Unsetenv(nestedProbe)
		level, _ := Probe()
		fmt.Print(level)
		os.Exit(0)
	}
	script, ok := os.LookupEnv(boxedScript)
	if !ok {
		return
	}
	os.Unsetenv(boxedScript)
	_ = unix.Access("/.xstate/begin/1", 0)
	cmd := exec.Command("/bin/sh", "-e", "-c", script)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err := cmd.Run()
	_ = unix.Access("/.xstate/end/1", 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// varying are names that a program draws anew in each run, with what stands for them.
var varying = []struct {
	name *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`^/proc/(self|thread-self|\d+)(/task/\d+)?`), "/proc/PROCESS"},
	{regexp.MustCompile(`^(bind:)?(tcp|udp):`), "${1}inet:"}, // strace does not say which
	{regexp.MustCompile(`^/proc/PROCESS/fd/\d+$`), "/proc/PROCESS/fd/NUMBER"},
	{regexp.MustCompile(`/cc[A-Za-z0-9]{6}(\.[\w.]+)?$`), "/ccRANDOM$1"},                   // gcc
	{regexp.MustCompile(`/(sed|sort|Cu|tmp_obj_|XX|sem\.)[A-Za-z0-9]{6}$`), "/${1}RANDOM"}, // Cu: ln -f; XX: perl -i
	// Git tries whether there are links
	{regexp.MustCompile(`/t[A-Za-z0-9]{6}$`), "/tRANDOM"},
	{regexp.MustCompile(`/go-build\d+`), "/go-buildRANDOM"},
	{regexp.MustCompile(`/(pip-[a-z-]+-|pymp-|sem\.mp-|tmp)[a-z0-9_]{8}`), "/${1}RANDOM"}, // Python's tempfile
	// The same, when it looks for a folder
	{regexp.MustCompile(`/tmp/[a-z0-9_]{8}$`), "/tmp/RANDOM"},
	{regexp.MustCompile(`/([A-Za-z_.]+)[a-z0-9_]{8}\.tmp$`), "/${1}RANDOM.tmp"}, // pip
	{regexp.MustCompile(`/\.([a-z.]+)\.[A-Za-z0-9]{6}$`), "/.$1.RANDOM"},        // rsync
}

func varyingName(path string) string {
	for _, v := range varying {
		path = v.name.ReplaceAllString(path, v.with)
	}
	return path
}

// compared are the uses that both judges know, with the names of their sets.
var compared = []struct {
	use  Use
	name string
}{
	{UseRead, "read"}, {UseLook, "looked up"}, {UseAbsent, "absent"}, {UseList, "listed"}, {UseWrite, "written"},
	{UseMode, "mode set"}, {UseTime, "time set"},
}

// compareUses compares the sets of paths.
func compareUses(t *testing.T, want *straceJudge, have Report) {
	t.Helper()
	wanted, found := map[string]Use{}, map[string]Use{}
	for path, use := range want.uses {
		wanted[varyingName(path)] |= use
	}
	for path, a := range have.Child {
		found[varyingName(path)] |= a.Use
	}
	if len(have.Unseen) > 0 {
		t.Logf("unseen: %v", have.Unseen)
	}
	for path, use := range want.tried {
		path = varyingName(path)
		if found[path] == 0 {
			t.Errorf("tried, and not reported: %s", path)
		}
		found[path] &^= use &^ wanted[path]
	}
	for _, c := range compared {
		w, h := withUse(wanted, c.use), withUse(found, c.use)
		differ(t, c.name, w, h)
		t.Logf("%s: %d", c.name, len(w))
	}
	differ(t, "executed", sortedNames(want.programs), sortedNames(have.Programs))
	differ(t, "connected", sortedNames(want.sockets), sortedNames(have.Sockets))
}

func differ(t *testing.T, what string, want, have []string) {
	t.Helper()
	if missing := without(want, have); len(missing) > 0 {
		t.Errorf("%s, and not reported: %d\n\t%s", what, len(missing), strings.Join(missing, "\n\t"))
	}
	if more := without(have, want); len(more) > 0 {
		t.Errorf("not %s, and reported: %d\n\t%s", what, len(more), strings.Join(more, "\n\t"))
	}
}

func sortedNames(paths []string) []string {
	var names []string
	for _, path := range paths {
		names = append(names, varyingName(path))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func withUse(uses map[string]Use, use Use) (paths []string) {
	for path, u := range uses {
		if u&UseAbsent != 0 {
			u &^= UseLook // one follows from the other
		}
		if u&use != 0 {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// without are the paths of one sorted list that the other has not.
func without(list, other []string) (rest []string) {
	for _, path := range list {
		if _, ok := slices.BinarySearch(other, path); !ok {
			rest = append(rest, path)
		}
	}
	return rest
}

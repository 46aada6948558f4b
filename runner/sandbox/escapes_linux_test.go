package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner/sandbox"
)

// An escape is a program that tries to get around the bounds. Whatever it tries, the same judge looks at all that it
// must not have done; see site. So a program needs no expectations. The first lines say more about it:
//
//	# off                 the harm is done if there is no box, so the test can fail
//	# root, user          it makes sense for that user only
//	# gcc, x86_64         it needs that
//	# limit: NAME         the box or a call is ended by that limit; error: by an error of the system
//	# named: WHERE: TEXT  it may do harm in these variants: docs/limits.md says so, with TEXT
type escape struct {
	name, program string
	words         []string
	limit         string
	namedIn, text string
}

func (e *escape) has(word string) bool { return slices.Contains(e.words, word) }

// variant is a way to run an escape.
type variant struct {
	name     string
	boxed    bool
	always   bool // it is tried without being asked for
	strict   bool
	launcher string
	observe  sandbox.Level
	without  func(*sandbox.Offers)
}

var variants = []variant{
	{name: "off"},
	{name: "workspace", boxed: true, always: true},
	{name: "strict", boxed: true, strict: true},
	{name: "no-namespaces", boxed: true, always: true,
		without: func(o *sandbox.Offers) { o.Namespaces, o.User = false, false }},
	{name: "old-landlock", boxed: true,
		without: func(o *sandbox.Offers) { o.Landlock, o.Namespaces, o.User = 3, false, false }},
	{name: "traced", boxed: true, observe: sandbox.LevelTrace},
	{name: "bwrap", boxed: true, strict: true, launcher: "bwrap"},
	{name: "unobserved", boxed: true, observe: sandbox.LevelHooks},
}

// escapePrelude is what every escape may use.
const escapePrelude = `
import ctypes, errno, json, os, platform, signal, socket, subprocess, sys, threading, time
S = json.loads(os.environ["ESCAPE"])
libc = ctypes.CDLL(None, use_errno=True)
numbers = dict(x86_64=dict(clone=56, mount=165, umount2=166, ptrace=101, prctl=157, tkill=200, tgkill=234, shmget=29,
    rt_sigqueueinfo=129, unshare=272, process_vm_readv=310, process_vm_writev=311, seccomp=317, renameat2=316,
    linkat=265, name_to_handle_at=303, open_by_handle_at=304, setns=308, personality=135, bpf=321,
    perf_event_open=298, kexec_load=246,
    init_module=175, finit_module=313, delete_module=176, reboot=169, swapon=167, swapoff=168, acct=163, keyctl=250,
    add_key=248, request_key=249, userfaultfd=323, settimeofday=164, clock_settime=227, sethostname=170, quotactl=179,
    pivot_root=155, syslog=103),
  aarch64=dict(clone=220, mount=40, umount2=39, ptrace=117, prctl=167, tkill=130, tgkill=131, shmget=194,
    rt_sigqueueinfo=138, unshare=97, process_vm_readv=270, process_vm_writev=271, seccomp=277, renameat2=276, linkat=37,
    name_to_handle_at=264, open_by_handle_at=265, setns=268, personality=92, bpf=280, perf_event_open=241,
    kexec_load=104, init_module=105, finit_module=273, delete_module=106, reboot=142, swapon=224, swapoff=225, acct=89,
    keyctl=219, add_key=217, request_key=218, userfaultfd=282, settimeofday=170, clock_settime=112, sethostname=161,
    quotactl=60, pivot_root=41, syslog=116))[platform.machine()]
numbers.update(pidfd_send_signal=424, io_uring_setup=425, open_tree=428, fsopen=430, pidfd_open=434, clone3=435,
    pidfd_getfd=438, mount_setattr=442)
def call(name, *args):
    r = libc.syscall(ctypes.c_long(numbers[name]), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    return r, ctypes.get_errno()
sys.setswitchinterval(1e-6)
def harm(text): print("HARM:", text, flush=True)
os.access("/.xstate/begin/1", 0)
try:
    exec(compile(S["program"], "escape", "exec"))
except (OSError, MemoryError) as e: print(type(e).__name__, e)
sys.stdout.flush()
os.access("/.xstate/end/1", 0)
`

// loadEscapes reads the catalogue.
func loadEscapes(t *testing.T) (all []escape) {
	t.Helper()
	names, err := filepath.Glob("testdata/escapes/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			e := escape{name: strings.TrimSuffix(f.Name, ".py"), program: string(f.Data)}
			for _, line := range strings.Split(e.program, "\n") {
				text, ok := strings.CutPrefix(line, "# ")
				if !ok {
					break
				}
				if limit, ok := strings.CutPrefix(text, "limit: "); ok {
					e.limit = limit
				} else if named, ok := strings.CutPrefix(text, "named: "); ok {
					e.namedIn, e.text, _ = strings.Cut(named, ": ")
				} else if text == strings.ToLower(text) {
					e.words = append(e.words, strings.Fields(text)...)
				}
			}
			all = append(all, e)
		}
	}
	if len(all) < 60 {
		t.Fatalf("there are %d escapes, want 60 or more", len(all))
	}
	return all
}

// mayHarm reports whether the documents name that an escape does harm.
func (e *escape) mayHarm(t *testing.T, v variant) bool {
	if e.text == "" {
		return false
	}
	limits, err := os.ReadFile(filepath.Join(rootOfModule(t), "docs/limits.md"))
	if err != nil || !bytes.Contains(limits, []byte(e.text)) {
		t.Errorf("%s: docs/limits.md does not say %q", e.name, e.text)
	}
	who := "root-"
	if os.Getuid() != 0 {
		who = "user-"
	}
	return slices.ContainsFunc(strings.Split(e.namedIn, ","), func(in string) bool {
		return in == "*" || in == v.name || in == who+v.name
	})
}

func rootOfModule(t *testing.T) string {
	if root := os.Getenv("ESCAPES_ROOT"); root != "" {
		return root
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// fits reports whether an escape is to be tried here.
func (e *escape) fits(v variant) bool {
	switch {
	case e.has("root") && os.Getuid() != 0, e.has("user") && os.Getuid() == 0:
		return false
	case e.has("x86_64") && runtime.GOARCH != "amd64":
		return false
	case v.name == "off":
		return e.has("off")
	case v.launcher != "" && sandbox.Offered().Bubblewrap == "":
		return false
	case !v.always && os.Getenv("XSTATE_ESCAPES") != v.name && os.Getenv("XSTATE_ESCAPES") != "all":
		return false
	case v.observe == sandbox.LevelHooks && slices.Contains([]string{"wall", "cpu", "processes", "files"}, e.limit):
		return false // they need the marks of nodes; the box says so
	}
	if e.has("gcc") {
		_, err := exec.LookPath("gcc")
		return err == nil
	}
	return true
}

// TestEscapes tries every escape, as this user, and as an ordinary one if this is root. XSTATE_ESCAPES=all tries each
// in every variant, which takes minutes, and the name of a variant in that, too; otherwise in those that differ most.
func TestEscapes(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("there is no /usr/bin/python3, which every user can run")
	}
	if os.Getuid() == 0 && os.Getenv("ESCAPES_ROOT") == "" {
		t.Run("user", func(t *testing.T) {
			t.Parallel()
			asOrdinaryUser(t)
		})
	}
	t.Run("own", func(t *testing.T) { t.Parallel(); tryAll(t) })
}

// asOrdinaryUser runs this test again as nobody.
func asOrdinaryUser(t *testing.T) {
	folder, err := os.MkdirTemp("/tmp", "escapes-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "test"), self, 0o755)
	}
	if err == nil {
		err = os.CopyFS(filepath.Join(folder, "testdata"), os.DirFS("testdata"))
	}
	docs := filepath.Join(folder, "docs")
	if err == nil {
		err = os.CopyFS(docs, os.DirFS(filepath.Join(rootOfModule(t), "docs")))
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(folder, "tmp"), 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = filepath.WalkDir(folder, func(p string, d fs.DirEntry, err error) error {
		_ = os.Chmod(p, 0o755)
		return nil
	})
	if err := os.Chmod(filepath.Join(folder, "tmp"), 0o777); err != nil {
		t.Fatal(err)
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Skip(err)
	}
	var uid, gid uint32
	_, _ = fmt.Sscan(nobody.Uid, &uid)
	_, _ = fmt.Sscan(nobody.Gid, &gid)
	cmd := exec.Command(filepath.Join(folder, "test"), "-test.run=^TestEscapes$", "-test.v", "-test.timeout=8m")
	cmd.Dir = folder
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + folder, "TMPDIR=" + filepath.Join(folder, "tmp"),
		"ESCAPES_ROOT=" + folder, "XSTATE_ESCAPES=" + os.Getenv("XSTATE_ESCAPES"),
		"ESCAPES_ONLY=" + os.Getenv("ESCAPES_ONLY")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as %s: %v\n%s", nobody.Username, err, out)
		return
	}
	t.Logf("%s", out)
}

// tryAll prints a table: a row for each escape, a column for each variant.
func tryAll(t *testing.T) {
	only := os.Getenv("ESCAPES_ONLY")
	escapes := loadEscapes(t)
	victim := startVictim(t)
	var table strings.Builder
	everyUser := os.Getenv("XSTATE_ESCAPES") != "" || os.Getuid() != 0 && os.Getenv("ESCAPES_ROOT") == ""
	for i, e := range escapes {
		if asRoot := i%2 == 0; !everyUser && asRoot != (os.Getuid() == 0) {
			continue // by turns; XSTATE_ESCAPES tries each as both users
		}
		if only != "" && !strings.Contains(only, e.name) {
			continue
		}
		fmt.Fprintf(&table, "%-36s", e.name)
		for _, v := range variants {
			fmt.Fprintf(&table, " %-14s", tryOne(t, &e, v, &victim))
		}
		table.WriteByte('\n')
	}
	head := fmt.Sprintf("%-36s", fmt.Sprintf("escape, as user %d", os.Getuid()))
	for _, v := range variants {
		head += fmt.Sprintf(" %-14s", v.name)
	}
	t.Logf("\n%s\n%s", head, table.String())
}

// tryOne runs an escape in one variant, and says what came of it.
func tryOne(t *testing.T, e *escape, v variant, victim **victim) string {
	if !e.fits(v) {
		return "-"
	}
	s := newSite(t, e, *victim)
	defer s.clean()
	began := time.Now()
	out, denied, err := s.run(v)
	if err != nil {
		t.Errorf("%s, %s: %v", e.name, v.name, err)
		return "ERROR"
	}
	if d := time.Since(began); d > time.Second {
		t.Logf("%s, %s: %v", e.name, v.name, d)
	}
	harm := s.judge(out)
	if v.name == "off" { // what nobody stops may still be on its way
		_ = await.Poll(await.Context(t), func() bool {
			if harm == "" {
				harm = s.judge(out)
			}
			return harm != ""
		})
	}
	if harm != "" && (*victim).hurt() {
		(*victim).stop()
		*victim = startVictim(t)
	}
	switch {
	case v.name == "off" && harm == "":
		t.Errorf("%s does no harm without a box, so it shows nothing:\n%s", e.name, out)
	case v.name == "off":
		return "harm"
	case harm != "" && e.mayHarm(t, v):
		return "named"
	case harm != "":
		t.Errorf("%s, %s: %s\n%s%v", e.name, v.name, harm, out, denied)
		return "HARM"
	case e.limit != "" && e.limit != "error" && !slices.ContainsFunc(denied, func(d sandbox.Denial) bool {
		return d.Action == e.limit
	}):
		t.Errorf("%s, %s: denied %v, want the limit %q\n%s", e.name, v.name, denied, e.limit, out)
	}
	return "contained"
}

// run runs the program of an escape to its end.
func (s *site) run(v variant) (out string, denied []sandbox.Denial, err error) {
	var buf bytes.Buffer
	about, err := json.Marshal(s.about(v))
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command("/usr/bin/python3", "-S", "-c", escapePrelude)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = s.work, &buf, &buf, time.Second
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + os.Getenv("HOME"), "ESCAPE=" + string(about), "MARK=" + s.mark,
		"PYTHONDONTWRITEBYTECODE=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if !v.boxed {
		if err := cmd.Start(); err != nil {
			return "", nil, err
		}
		stop := context.AfterFunc(await.Context(s.t), func() { _ = cmd.Process.Kill() })
		defer stop()
		_ = cmd.Wait() // its harm is judged, not its end
		return buf.String(), nil, nil
	}
	sandbox.Without(v.without)
	b, err := sandbox.Start(cmd, sandbox.Spec{
		Observe: v.observe, Folder: s.work, Store: s.store, Spool: s.spool,
		Journal: filepath.Join(s.spool, "writing"), Bounds: s.bounds(v),
	})
	if err != nil {
		return "", nil, err
	}
	ctx := await.Context(s.t)
	stop := context.AfterFunc(ctx, b.Kill)
	_ = b.Wait()
	if !stop() {
		return "", nil, fmt.Errorf("it had to be ended by the test")
	}
	r, _ := b.Take(ctx, 1)
	if d := b.Exceeded(); d != nil {
		r.Denied = append(r.Denied, *d)
	}
	return buf.String(), r.Denied, nil
}

// bounds are the same for all escapes, but the time of those that are to be ended by it.
func (s *site) bounds(v variant) *sandbox.Bounds {
	limits := sandbox.Limits{Memory: 300 << 20, Processes: 20, FileSize: 8 << 20, Files: 100}
	switch s.escape.limit {
	case "wall":
		limits.Wall = 500 * time.Millisecond
	case "cpu":
		limits.CPU = 500 * time.Millisecond
	}
	if v.observe == sandbox.LevelHooks {
		limits.Processes, limits.Files = 0, 0
	}
	return &sandbox.Bounds{Strict: v.strict, Launcher: v.launcher, Limits: limits}
}

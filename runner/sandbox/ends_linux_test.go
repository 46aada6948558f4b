package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"golang.org/x/sys/unix"
)

// asKeptEngine makes this test binary an engine of its own: a test kills it.
const asKeptEngine = "SANDBOX_TEST_ENGINE"

// A copy of the test binary is the engine that is killed. TestMain is that of the judge.
func init() {
	if folder := os.Getenv(asKeptEngine); folder != "" {
		os.Exit(engine(folder))
	}
}

// engine starts a box, prints the numbers of its processes, and waits.
func engine(folder string) int {
	cmd := exec.Command(interpreter(), "-S", "-c", prelude+family)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	b, err := sandbox.Start(cmd, sandbox.Spec{Folder: folder, Spool: folder})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	_ = b.Wait()
	return 0
}

// family starts processes that would live on: a child, a daemon in a session of its own whose parent has ended, and
// one that ignores signals. It prints their numbers, and those of the interpreter and the keeper.
const family = `
import signal, time
settled, ready = os.pipe()
def child():
    pid = os.fork()
    if pid: return pid
    open("/dev/null").close()
    os.write(ready, b"c")
    while True: time.sleep(60)
def daemon():
    r, w = os.pipe()
    if os.fork() == 0:
        os.setsid()
        os.write(w, b"%d" % child())
        os._exit(0)
    os.wait()
    return int(os.read(r, 99))
def stubborn():
    pid = os.fork()
    if pid: return pid
    for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)
    os.setpgid(0, 0)
    os.write(ready, b"s")
    open("/dev/null").close()
    while True: time.sleep(60)
all = [os.getppid(), os.getpid(), child(), daemon(), stubborn()]
for _ in range(3): os.read(settled, 1)
print(*all, flush=True)
while True: time.sleep(60)
`

// reading starts a program in a box whose output the test reads by lines.
func reading(t *testing.T, program string) (*boxed, *bufio.Reader) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	b := startWith(t, folderOf(t, files), program, func(cmd *exec.Cmd) { cmd.Stdout = w })
	w.Close()
	return b, bufio.NewReader(r)
}

// numbers reads a line of process ids, and sees that they live.
func numbers(t *testing.T, r *bufio.Reader) (pids []int) {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Fields(line) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(line)
		}
		if !lives(pid) {
			t.Fatalf("process %d of %v does not live", pid, line)
		}
		pids = append(pids, pid)
	}
	return pids
}

func lives(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')'):]), " ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// gone waits until processes have ended.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(await.Long.Milliseconds()))
		unix.Close(fd)
		if (n == 0 || err != nil) && lives(pid) {
			t.Errorf("process %d of %v lives", pid, pids)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func TestKill(t *testing.T) {
	for name, kill := range map[string]func(*boxed, []int){
		"all":         func(b *boxed, _ []int) { b.Kill() },
		"interpreter": func(_ *boxed, pids []int) { _ = syscall.Kill(pids[1], syscall.SIGKILL) },
		"keeper":      func(_ *boxed, pids []int) { _ = syscall.Kill(pids[0], syscall.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			b, out := reading(t, family)
			pids := numbers(t, out)
			if pids[1] != b.Pid() {
				t.Errorf("Pid() = %d, want %d", b.Pid(), pids[1])
			}
			kill(b, pids)
			var exit *exec.ExitError
			if err := b.Wait(); !errors.As(err, &exit) {
				t.Fatalf("Wait() = %v", err)
			}
			if status := exit.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
				t.Errorf("Wait() = %v, want a kill", exit)
			}
			gone(t, pids)
		})
	}
}

func TestKillEngine(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asKeptEngine+"="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pids := numbers(t, bufio.NewReader(out))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	gone(t, pids)
}

// A box cannot end the keeper, which would end what the box leaves.
func TestKeeperIsSafe(t *testing.T) {
	b := start(t, folderOf(t, nil), `
import signal
try: os.kill(os.getppid(), signal.SIGKILL)
except PermissionError: print("refused", end="")
`)
	if err := b.Wait(); err != nil || b.out.String() != "refused" {
		t.Errorf("Wait() = %v, it printed %q", err, &b.out)
	}
}

func TestExit(t *testing.T) {
	for program, want := range map[string]string{
		"":                                       "<nil>",
		"sys.exit(7)":                            "exit status 7",
		"os.kill(os.getpid(), 15)":               "signal: terminated",
		"os.kill(os.getpid(), 11)":               "signal: segmentation fault",
		"import signal; signal.raise_signal(10)": "signal: user defined signal 1",
	} {
		b := start(t, folderOf(t, nil), program)
		if got := fmt.Sprint(b.Wait()); got != want {
			t.Errorf("Wait() after %q = %s, want %s", program, got, want)
		}
		r, err := b.Take(context.Background(), 1)
		if !errors.Is(err, sandbox.ErrEnded) || r.Node != 1 {
			t.Errorf("Take() after the end = %+v, %v", r, err)
		}
	}
}

func TestNotFound(t *testing.T) {
	cmd := exec.Command("/nothing/here")
	cmd.Dir = t.TempDir()
	_, err := sandbox.Start(cmd, sandbox.Spec{})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Start() = %v", err)
	}
}

// The interpreter has the descriptors that the command gives it, and nobody else holds its pipes.
func TestFiles(t *testing.T) {
	var ends []*os.File
	var mine []*os.File
	for range 5 {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		mine, ends = append(mine, r), append(ends, w)
	}
	b := startWith(t, folderOf(t, nil), `
for fd in range(3, 8): os.write(fd, b"%d" % fd)
print(*[fd for fd in range(9) if os.path.exists("/proc/self/fd/%d" % fd)], end="")
os.closerange(3, 8)
while sys.stdin.read(1): pass
`, func(cmd *exec.Cmd) {
		cmd.ExtraFiles = ends
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdin = r
		t.Cleanup(func() { w.Close(); r.Close() })
		mine = append(mine, w)
	})
	for _, f := range ends {
		f.Close()
	}
	for i, f := range mine[:5] {
		text, err := bufio.NewReader(f).ReadString(0) // to the end, while the interpreter lives
		if text != strconv.Itoa(3+i) {
			t.Errorf("descriptor %d has %q, %v", 3+i, text, err)
		}
		f.Close()
	}
	mine[5].Close()
	if err := b.Wait(); err != nil {
		t.Error(err)
	}
	if got := b.out.String(); got != "0 1 2 3 4 5 6 7" {
		t.Errorf("the interpreter has the descriptors %s", got)
	}
}

func TestMarks(t *testing.T) {
	b := start(t, folderOf(t, files), `
open("run.sh").read()
begin(1); open("a").read(); end(1)
open("b").read()
begin(2); open("folder/x").read(); end(2)
begin(3); sh("sleep 100 & exec cat a > /dev/null"); end(3)
pid = os.fork()
if pid == 0:
    begin(7); open("b").read(); end(7); os._exit(0)
os.waitpid(pid, 0)
begin(4); open("c", "w"); end(4)
begin(5); os.kill(os.getpid(), 9)
`)
	_ = b.Wait()
	check(t, "node 1", b.uses(b.take(1).Main), uses{"a": "read"})
	two := b.take(2)
	check(t, "node 2", b.uses(two.Main), uses{"folder/x": "read"})
	check(t, "node 2 running", two.Running, false)
	three := b.take(3)
	check(t, "node 3", b.uses(three.Child), uses{"a": "read"})
	check(t, "node 3 running", three.Running, true)
	four := b.take(4)
	check(t, "node 4", b.uses(four.Main), uses{"c": "absent write"})
	check(t, "node 4, of the process before it", b.uses(four.Child), uses{"b": "read"})
	check(t, "node 4 unseen", four.Unseen, []string{"process left running"})
	if _, err := b.Take(context.Background(), 5); !errors.Is(err, sandbox.ErrEnded) {
		t.Errorf("Take(5) = %v", err)
	}
}

// A look of the driver that counts for nothing gets the answer of the system, and is in no report. Under bounds it is
// asked about like any other.
func TestUnasked(t *testing.T) {
	program := fmt.Sprintf(`
begin(1)
for path in "a", "none":
    try: print(os.stat(os.getcwd() + "/" + path, dir_fd=%d).st_size)
    except OSError as e: print(e.errno)
try: os.stat("a", dir_fd=%[1]d)
except OSError as e: print(e.errno)
end(1)
`, sandbox.Unasked)
	b := start(t, folderOf(t, files), program)
	_ = b.Wait()
	check(t, "answers", b.out.String(), "1\n2\n9\n")
	check(t, "uses", b.uses(b.take(1).Main), uses{})
	b = bounded(t, sandbox.Bounds{}, program)
	_ = b.Wait()
	check(t, "answers under bounds", b.out.String(), "1\n2\n9\n")
	check(t, "uses under bounds", b.uses(b.take(1).Main), uses{"a": "look", "none": "look absent"})
}

// A node under way when the interpreter dies has its report, with the images.
func TestDiesInside(t *testing.T) {
	b := start(t, folderOf(t, files), `begin(1); open("a", "w"); os._exit(3)`)
	_ = b.Wait()
	r, err := b.Take(context.Background(), 1)
	if !errors.Is(err, sandbox.ErrEnded) {
		t.Errorf("Take(1) = %v", err)
	}
	check(t, "main", b.uses(r.Main), uses{"a": "write <1>"})
}

func TestTakeStops(t *testing.T) {
	b, out := reading(t, `
begin(1)
print(1, flush=True)
import time
while True: time.sleep(60)
`)
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := b.Take(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Take() = %v", err)
	}
}

func TestJournal(t *testing.T) {
	b := start(t, folderOf(t, files), `begin(1); open("a", "w"); os.mkdir("c"); os.remove("b"); end(1)`)
	r := b.take(1)
	_ = b.Wait()
	data, err := os.ReadFile(b.journal)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"path":%q,"before":{"copy":%q,"mode":420,"time":%d}}
{"path":%q,"before":null}
{"path":%q,"before":{"copy":%q,"mode":420,"time":%d}}
`, b.folder+"/a", r.Main[b.folder+"/a"].Before.Copy, r.Main[b.folder+"/a"].Before.Time, b.folder+"/c",
		b.folder+"/b", r.Main[b.folder+"/b"].Before.Copy, r.Main[b.folder+"/b"].Before.Time)
	check(t, "journal", string(data), want)
}

// Programs are named in the order of their first start, and a script is followed by what runs it.
func TestPrograms(t *testing.T) {
	folder := folderOf(t, files)
	if err := os.Chmod(filepath.Join(folder, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	b := start(t, folder, `begin(1); subprocess.run(["./run.sh"]); subprocess.run(["./run.sh"]); end(1)`)
	r := b.take(1)
	var bases []string
	for _, p := range r.Programs {
		bases = append(bases, filepath.Base(p))
	}
	sh, _ := filepath.EvalSymlinks("/bin/sh")
	check(t, "programs", bases, []string{"run.sh", filepath.Base(sh), "cat"})
}

func TestSockets(t *testing.T) {
	b := start(t, folderOf(t, files), `
import socket
begin(1)
s = socket.socket(socket.AF_UNIX); s.bind("s")
s.listen()
c = socket.socket(socket.AF_UNIX); c.connect("s")
try: socket.socket(socket.AF_UNIX).connect("none")
except FileNotFoundError: pass
try: socket.socket(socket.AF_UNIX).connect("\0abstract")
except ConnectionRefusedError: pass
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.sendto(b"", ("127.0.0.1", 9)); u.connect(("127.0.0.1", 10))
try: socket.create_connection(("127.0.0.1", 1))
except OSError: pass
end(1)
`)
	r := b.take(1)
	check(t, "sockets", r.Sockets, []string{"bind:unix:" + b.folder + "/s", "unix:" + b.folder + "/s", "unix:@abstract",
		"udp:127.0.0.1:9", "udp:127.0.0.1:10", "tcp:127.0.0.1:1"})
	check(t, "paths", b.uses(r.Main), uses{"s": "look absent write", "none": "look absent"})
}

// onAMD64 is what a test wants on processors that know calls of 32 bits by int 0x80.
func onAMD64(want string) string {
	if runtime.GOARCH == "amd64" {
		return want
	}
	return ""
}

// A process with another root means other files by the same paths.
func TestChroot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may change the root")
	}
	b := start(t, folderOf(t, map[string]string{"jail/a": "1", "jail/in/b": "2"}), `
os.symlink("/in", "jail/link")
begin(1)
pid = os.fork()
if pid == 0:
    os.chroot("jail"); os.chdir("/in")
    for p in ("/a", "b", "../../../in/../a", "/link/b", "/none"): os.path.exists(p) and open(p).close()
    os._exit(0)
os.waitpid(pid, 0)
end(1)
`)
	check(t, "child", b.uses(b.take(1).Child), uses{"jail": "look", "jail/in": "look", "jail/a": "read look",
		"jail/in/b": "read look", "jail/link": "read look", "jail/none": "look absent"})
}

func TestUnseen(t *testing.T) {
	for name, test := range map[string]struct{ before, program, want string }{
		"shared memory": {`open("/dev/shm/xstate-test", "w")`,
			`open("/dev/shm/xstate-test"); os.remove("/dev/shm/xstate-test")`,
			"shared memory"},
		"own shared memory": {"", `
from multiprocessing import shared_memory
m = shared_memory.SharedMemory(create=True, size=9); m.close(); m.unlink()`, ""},
		"hard link": {`os.link("a", "c")`, `open("c", "w")`, "hard link"},
		"foreign": {"", `
open("x.c", "w").write('int main(){int r; __asm__("int $0x80":"=a"(r):"a"(20)); return 0;}')
sh("gcc -o x x.c && ./x")`, onAMD64("foreign")},
		"removed folder": {`os.mkdir("c"); os.chdir("c"); os.rmdir("../c")`, `os.path.exists("../a")`,
			"removed folder"},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, folderOf(t, files), test.before+"\nbegin(1)\n"+test.program+"\nend(1)\n")
			r := b.take(1)
			if err := b.Wait(); err != nil {
				t.Errorf("%v\n%s", err, &b.out)
			}
			if got := strings.Join(r.Unseen, " "); got != test.want {
				t.Errorf("unseen %q, want %q", got, test.want)
			}
		})
	}
}

// Links on the way have entries. What was resolved before a link changed does not serve after.
func TestLinks(t *testing.T) {
	folder := folderOf(t, map[string]string{"v1/x": "1", "v2/x": "2", "real": "3"})
	for link, target := range map[string]string{"now": "v1", "one": "two", "two": "real", "abs": folder + "/v2"} {
		if err := os.Symlink(target, filepath.Join(folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	b := start(t, folder, `
begin(1); open("now/x").read(); open("one").read(); os.lstat("one"); open("abs/../now/x").read(); end(1)
begin(2)
assert open("now/x").read() == "1"
os.symlink("v2", "new"); os.rename("new", "now")
assert open("now/x").read() == "2"
end(2)
`)
	check(t, "node 1", b.uses(b.take(1).Main), uses{"now": "read look", "v1/x": "read", "one": "read look",
		"two": "read look", "real": "read", "abs": "read look"})
	check(t, "node 2", b.uses(b.take(2).Main), uses{"now": "read look write <symlink:v1>", "v1/x": "read",
		"new": "look absent write", "v2/x": "read"})
	if err := b.Wait(); err != nil {
		t.Error(err, &b.out)
	}
}

// An engine in a box has no listener: the outer one has it. Its level says so.
func TestNested(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := start(t, folderOf(t, nil), fmt.Sprintf(`
begin(1)
subprocess.run([%q, "-test.run", "^TestLevelInside$", "-test.v"], env={**os.environ, "SANDBOX_TEST_INSIDE": "1"})
end(1)
`, self))
	r := b.take(1)
	_ = b.Wait()
	if text := b.out.String(); !strings.Contains(text, "inside: hooks") {
		t.Errorf("a box in a box printed %s", text)
	}
	if !slices.Contains(r.Programs, mustResolve(t, "/bin/echo")) {
		t.Errorf("the outer box saw the programs %v", r.Programs)
	}
}

func TestLevelInside(t *testing.T) {
	if os.Getenv("SANDBOX_TEST_INSIDE") == "" {
		t.Skip("TestNested runs this in a box")
	}
	b, err := sandbox.Start(exec.Command("/bin/echo"), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("inside:", b.Level(), b.Wait())
}

func mustResolve(t *testing.T, p string) string {
	t.Helper()
	p, err := filepath.EvalSymlinks(p)
	if err != nil {
		t.Skip(err)
	}
	return p
}

func TestProbe(t *testing.T) {
	level, why := sandbox.Probe()
	b, err := sandbox.Start(exec.Command("/bin/true"), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Wait(); err != nil || b.Level() != level || (level == sandbox.LevelCalls) != (why == "") {
		t.Errorf("Probe() = %s, %q; the box has %s; Wait() = %v", level, why, b.Level(), err)
	}
}

package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/xstate-engine/xstate/runner/sandbox"
)

// bounded starts a Python program with bounds, in a workspace that holds its store.
func bounded(t *testing.T, bounds sandbox.Bounds, program string) *boxed {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(base, "work")
	store := filepath.Join(folder, ".xstate")
	spool := filepath.Join(store, "spool")
	if err := os.MkdirAll(spool, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"work/a": "a", "work/.xstate/history": "history", "secret": "secret"} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b := &boxed{t: t, folder: folder}
	cmd := exec.Command("/usr/bin/python3", "-S", "-c", prelude+program)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, &b.out, &b.out
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	b.Box, err = sandbox.Start(cmd, sandbox.Spec{
		Folder: folder, Store: store, Spool: spool, Journal: filepath.Join(spool, "writing"), Bounds: &bounds,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Kill(); _ = b.Wait() })
	return b
}

func TestBounded(t *testing.T) {
	t.Run("keeper", func(t *testing.T) { tryBounds(t, "") })
	t.Run("bwrap", func(t *testing.T) {
		if sandbox.Offered().Bubblewrap == "" {
			t.Skip("bwrap is not installed")
		}
		tryBounds(t, "bwrap")
	})
}

func tryBounds(t *testing.T, launcher string) {
	b := bounded(t, sandbox.Bounds{Launcher: launcher}, `
import traceback, tempfile, socket, threading
def attempt(f):
    try: print(f())
    except Exception as e: print(type(e).__name__, e)
begin(1)
attempt(lambda: open("a").read())
attempt(lambda: open("b", "w").write("b"))
attempt(lambda: open("../secret").read())
attempt(lambda: open("../new", "w"))
attempt(lambda: os.listdir(".xstate"))
attempt(lambda: open(".xstate/history").read())
attempt(lambda: open(".xstate/spool/x", "w").write("x"))
attempt(lambda: tempfile.mkstemp())
attempt(lambda: open("/etc/shadow").read())
attempt(lambda: open("/etc/passwd").read()[:5])
attempt(lambda: os.listdir("/proc"))
attempt(lambda: os.openpty())
attempt(lambda: os.listdir("/root"))
attempt(lambda: subprocess.run(["/bin/echo", "echo"], capture_output=True))
def serve():
    s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
    c = socket.create_connection(s.getsockname()); a, _ = s.accept(); c.send(b"hi"); return a.recv(2)
attempt(serve)
def local():
    s = socket.socket(socket.AF_UNIX); s.bind("sock"); s.listen()
    c = socket.socket(socket.AF_UNIX); c.connect("sock"); a, _ = s.accept(); c.send(b"hi")
    return a.recv(2), s.getsockname(), c.getpeername()
attempt(local)
attempt(lambda: socket.create_connection(("1.1.1.1", 80)))
attempt(lambda: os.chmod("/etc/passwd", 0o644))
attempt(lambda: os.kill(os.getppid(), 0))
attempt(lambda: open("xstate.toml", "w"))
print(open("/proc/self/status").read().split("CapEff:")[1][:20], os.getuid())
end(1)
`)
	r := b.take(1)
	if err := b.Wait(); err != nil {
		t.Error(err)
	}
	t.Log(b.out.String())
	for _, d := range r.Denied {
		t.Log(d)
	}
	t.Log(b.Degraded(), r.Unseen)
}

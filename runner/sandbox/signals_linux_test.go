package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestSignals runs programs that send, catch and outlive signals, plainly and in a box at each level. What they print
// and how they end is the same.
func TestSignals(t *testing.T) {
	python := testPython()
	if python == "" {
		t.Skip("there is no python3")
	}
	programs := map[string]string{
		"exit": `raise SystemExit(7)`,
		"own signal": `
import os, signal
os.kill(os.getpid(), signal.SIGTERM)`,
		"core": `
import os, resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
os.abort()`,
		"child statuses": `
import subprocess
caught = "trap 'echo caught; exit 4' TERM; kill -15 $$; exit 5"
for text in "exit 3", "kill -9 $$", "kill -15 $$", caught, "trap '' INT; kill -2 $$":
    print(text, subprocess.run(["sh", "-c", text], stdout=subprocess.PIPE))`,
		"stop": `
import os, signal, subprocess
child = subprocess.Popen(["sh", "-c", "echo ready; read line; echo got $line"], stdin=-1, stdout=-1)
print(child.stdout.readline())
os.kill(child.pid, signal.SIGSTOP)
pid, status = os.waitpid(child.pid, os.WUNTRACED)
print(os.WIFSTOPPED(status), os.WSTOPSIG(status) == signal.SIGSTOP)
print(open(f"/proc/{child.pid}/stat").read().split()[2] in "Tt")
os.kill(child.pid, signal.SIGCONT)
pid, status = os.waitpid(child.pid, os.WCONTINUED)
print(os.WIFCONTINUED(status))
child.stdin.write(b"line\n"); child.stdin.flush()
print(child.stdout.read(), child.wait())`,
		"alarm": `
import os, signal, time
found = alarms = 0
def alarm(*_):
    global alarms
    alarms += os.path.exists("/etc/passwd") # a call may end with EINTR: docs/limits.md
signal.signal(signal.SIGALRM, alarm)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
while alarms < 50 or found < 2000:
    found += os.path.exists("/etc/hostname") or os.path.exists("/etc")
signal.setitimer(signal.ITIMER_REAL, 0)
print(alarms >= 50, found >= 2000)`,
		"threads": `
import os, subprocess, threading
def work(): found.append(subprocess.run(["true"]).returncode + os.path.exists("/etc"))
found = []
threads = [threading.Thread(target=work) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(found)`,
		"execve in a thread": `
import os, threading
threading.Thread(target=lambda: os.execvp("sh", ["sh", "-c", "echo replaced; exit 9"])).start()
threading.Event().wait()`,
		"group": `
import os, signal, subprocess
child = subprocess.Popen(["sh", "-c", "sleep 100 & echo ready; wait"], stdout=-1, start_new_session=True)
child.stdout.readline()
os.killpg(child.pid, signal.SIGINT)
os.killpg(child.pid, signal.SIGTERM)
print(child.wait() != 0, child.stdout.read())`,
	}
	for name, text := range programs {
		t.Run(name, func(t *testing.T) {
			out, end := signalled(t, "", exec.Command(python, "-c", text))
			for _, level := range []Level{LevelCalls, LevelTrace, LevelHooks} {
				have, haveEnd := signalled(t, level, exec.Command(python, "-c", text))
				if have != out || haveEnd != end {
					t.Errorf("at level %s: %q, %s; plainly: %q, %s", level, have, haveEnd, out, end)
				}
			}
		})
	}
}

// signalled runs a command plainly, or in a box, and returns what it prints and how it ends.
func signalled(t *testing.T, level Level, cmd *exec.Cmd) (string, string) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if level == "" {
		err := cmd.Run()
		return out.String(), fmt.Sprint(err)
	}
	box, err := Start(cmd, Spec{Observe: level, Folder: t.TempDir(), Spool: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Kill()
	if box.Level() != level {
		t.Skipf("this system offers %s, not %s", box.Level(), level)
	}
	err = box.Wait()
	return out.String(), fmt.Sprint(err)
}

// nestedProbe names a variable with which this program says what level it could have, in the place of its tests.
const nestedProbe = "XSTATE_NESTED_PROBE"

// TestNested starts a box in a box. The inner one would get nothing to see, or take it from the outer one.
func TestNested(t *testing.T) {
	for _, level := range []Level{LevelCalls, LevelTrace} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), nestedProbe+"=1")
		out, end := signalled(t, level, cmd)
		if out != string(LevelHooks) || end != "<nil>" {
			t.Errorf("Probe in a box of level %s = %s (%s), want %s", level, out, end, LevelHooks)
		}
	}
}

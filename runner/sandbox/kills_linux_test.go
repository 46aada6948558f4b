package sandbox

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
	"github.com/xstate-engine/xstate/runner/sandbox/keeper"
)

// killedEngine names the variable with the level at which this program starts a box in the place of its tests.
const killedEngine = "XSTATE_KILLED_ENGINE"

// tree is a program with children of all kinds: busy ones, daemons with a session of their own, a full pipe, and
// orphans.
const tree = `
(setsid sh -c 'while :; do : > daemon; rm daemon; done' &)
(setsid sleep 1000 > /dev/null 2>&1 &)
sh -c 'trap "" TERM HUP INT; while :; do cat in > out; done' &
(while :; do echo more; done | sleep 1000) &
(sleep 1000; cat in) &
echo started
wait
`

// runKilledEngine starts the tree in a box, and waits for its end, or for the word to end it.
func runKilledEngine(level Level) {
	folder, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command("/bin/sh", "-c", tree)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	box, err := Start(cmd, Spec{Observe: level, Folder: folder, Spool: os.TempDir()})
	if err != nil || box.Level() != level {
		fmt.Println("cannot", err)
		os.Exit(1)
	}
	fmt.Println("box", box.cmd.Process.Pid, box.pid)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		box.Kill()
	}()
	_ = box.Wait()
	fmt.Println("ended")
}

// TestKills kills the engine, the keeper, the interpreter, the tracer or a child at a random moment. Whatever belongs
// to the box ends, and so does a wait for it. XSTATE_KILLS says how often.
func TestKills(t *testing.T) {
	kills := 12
	if text := os.Getenv("XSTATE_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		kills = n
	}
	random := rand.New(rand.NewPCG(sampling.Seed(t), 0))
	done := map[string]int{}
	for i := range kills {
		level := []Level{LevelCalls, LevelTrace, LevelHooks}[i%3]
		what := []string{"engine", "keeper", "interpreter", "any", "none"}[random.IntN(5)]
		if level == LevelHooks && what == "keeper" {
			continue // a daemon with a session of its own survives: see docs/limits.md
		}
		if !killOne(t, level, what, random) {
			continue
		}
		done[what]++
		if t.Failed() {
			break
		}
	}
	t.Logf("killed: %v", done)
	if len(done) == 0 {
		t.Skip("no level can be had here")
	}
}

func killOne(t *testing.T, level Level, what string, random *rand.Rand) bool {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder+"/in", []byte("in"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Dir, cmd.Env = folder, append(os.Environ(), killedEngine+"="+string(level))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, in, err := os.Pipe() // the children have it, so it ends when they do
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = in, in
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	stop := context.AfterFunc(await.Context(t), func() { _ = cmd.Process.Kill() }) // where it says nothing
	defer stop()
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	for err == nil && first == "started\n" {
		first, err = lines.ReadString('\n')
	}
	var keeperPid, main int
	if _, err := fmt.Sscanf(first, "box %d %d", &keeperPid, &main); err != nil {
		_ = cmd.Wait()
		if strings.HasPrefix(first, "cannot") {
			return false
		}
		t.Fatalf("%s: %q", level, first)
	}
	time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
	victims := map[string]int{"engine": cmd.Process.Pid, "keeper": keeperPid, "interpreter": main}
	victim := victims[what]
	if below := keeper.Descendants(keeperPid, nil); what == "any" && len(below) > 0 {
		victim = below[random.IntN(len(below))]
	}
	if victim != 0 {
		_ = syscall.Kill(victim, syscall.SIGKILL)
	}
	if what == "any" || what == "none" {
		stdin.Close() // ends the box in the usual way
	}
	if err := await.Poll(await.Context(t), func() bool { return len(inFolder(folder)) == 0 }); err != nil {
		t.Errorf("%s, %s killed: processes %q have not ended: %v", level, what, inFolder(folder), err)
	}
	stdin.Close()
	for _, pid := range append(keeper.Descendants(cmd.Process.Pid, nil), cmd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = cmd.Wait()
	return true
}

// inFolder names the processes that work in a folder and have not ended. The engine itself is one until its wait for
// the box returns.
func inFolder(folder string) (all []string) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if at, err := os.Readlink(link); err != nil || at != folder {
			continue
		}
		stat, _ := os.ReadFile(filepath.Dir(link) + "/stat")
		name, rest, _ := strings.Cut(string(stat), ") ")
		if !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X") {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// TestKilledInStart: an engine is killed before it has answered a call on the way to the interpreter, which the keeper
// makes first and then its child. Both end, though a listener is still open: the child may have it, too.
func TestKilledInStart(t *testing.T) {
	if level, why := Probe(); level != LevelCalls {
		t.Skip(why)
	}
	for answered := range 2 {
		b := &Box{level: LevelCalls, kept: true}
		cmd := exec.Command("/bin/sh", "-c", "sleep 1000")
		theirs, err := b.startKeeper(cmd)
		if err != nil {
			t.Fatal(err)
		}
		theirs.Close()
		fd, _, err := b.install(keeper.Setup{Path: cmd.Path, Args: cmd.Args, Env: os.Environ(), Dir: t.TempDir(),
			Files: 3, Group: true, Listen: true,
			Filter: encode(filter(unix.SECCOMP_RET_USER_NOTIF, b.cmd.Process.Pid, nil))})
		if err != nil {
			t.Fatal(err)
		}
		calls := newListener(fd)
		var n notification
		for i := range answered + 1 {
			if !calls.receive(&n) {
				t.Fatalf("there was no call %d", i)
			}
			if i < answered {
				calls.answer(&response{ID: n.ID, Flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE})
			}
		}
		b.control.Close()
		_ = b.cmd.Wait()
		await.Until(t, "the caller has ended", func() bool { return syscall.Kill(int(n.Tid), 0) != nil })
		calls.close()
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
)

// TestServerKills kills the server, interpreters and clients at random moments while several clients use several
// sessions. Whatever was acknowledged is there, results equal those of a plain run, and nothing is left running:
// neither interpreters nor what their programs started, not even daemons with a session of their own. XSTATE_KILLS says
// how often.
func TestServerKills(t *testing.T) {
	kills := 20
	if text := os.Getenv("XSTATE_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		kills = n
	}
	random := rand.New(rand.NewPCG(sampling.Seed(t), 0))
	a := newAgents(t)
	var number atomic.Int64
	next := func() int { return int(number.Add(1)) }
	var adders []*adder
	for i, exec := range []func(string, string, string) (answer, bool){a.exec, a.exec, a.post} {
		d := &adder{session: fmt.Sprintf("s%d", i), exec: exec, next: next,
			all: &a.acknowledged, printed: map[string]string{}}
		if err := os.Mkdir(filepath.Join(a.folder, d.session), 0o777); err != nil {
			t.Fatal(err)
		}
		a.must(d.session, "exec", "--session", d.session, "--append", "-c", firstBlock)
		adders = append(adders, d)
	}
	var over atomic.Bool
	var all sync.WaitGroup
	until := func(work func()) {
		all.Go(func() {
			for !over.Load() && !t.Failed() {
				work()
			}
		})
	}
	for _, d := range adders {
		until(d.add)
	}
	if err := os.Mkdir(filepath.Join(a.folder, "file"), 0o777); err != nil {
		t.Fatal(err)
	}
	until(func() { a.runFile(next()) })
	if err := os.Mkdir(filepath.Join(a.folder, "tree"), 0o777); err != nil {
		t.Fatal(err)
	}
	until(func() { a.runTree(next()) })
	until(func() { a.read(adders[0].session) })

	done := map[string]int{}
	for i := 0; done["server"] == 0 || done["server"]+done["kernel"]+done["client"] < kills; i++ {
		if i%4 == 0 { // else a slow machine kills everything before it is acknowledged
			before := a.acknowledged.Load()
			a.wait("nothing is acknowledged", func() bool { return a.acknowledged.Load() > before || t.Failed() })
		}
		time.Sleep(time.Duration(20+random.IntN(400)) * time.Millisecond)
		what := []string{"server", "kernel", "client"}[random.IntN(3)]
		if a.kill(what, random) {
			done[what]++
		}
		if t.Failed() {
			break
		}
	}
	over.Store(true)
	all.Wait()
	t.Logf("killed: %v; blocks: %d", done, number.Load())
	if t.Failed() {
		return
	}
	a.runFile(next()) // each session takes over what its killed runs left
	a.runTree(next())
	acknowledged := 0
	for _, d := range adders {
		acknowledged += len(d.acknowledged)
		a.judge(d.session, d)
	}
	if acknowledged == 0 || done["server"] == 0 {
		t.Errorf("%d blocks were acknowledged, and %d servers killed: want some", acknowledged, done["server"])
	}
	t.Logf("acknowledged: %d", acknowledged)
	a.must("", "check")
	a.must("", "serve", "--stop")
	if left, _ := filepath.Glob(filepath.Join(a.store, "spool-*")); len(left) > 0 {
		t.Errorf("spools left: %q", left)
	}
}

// kill kills something, and reports whether there was something to kill. What a server started ends with it.
func (a *agents) kill(what string, random *rand.Rand) bool {
	server := 0
	if client := serve.Find(a.store); client != nil && client.Alive(a.t.Context()) {
		server = client.Info.PID
	}
	var started []int
	if server != 0 {
		started = xstatetest.Descendants(server)
	}
	switch what {
	case "server":
		if server == 0 || syscall.Kill(server, syscall.SIGKILL) != nil {
			return false
		}
		a.gone(started, "its server")
		return true
	case "kernel":
		if len(started) == 0 {
			return false
		}
		// A keeper, an interpreter, or what a program started. With a keeper all below it ends.
		pid := started[random.IntN(len(started))]
		below := xstatetest.Descendants(pid)
		if syscall.Kill(pid, syscall.SIGKILL) != nil {
			return false
		}
		if slices.Contains(xstatetest.Children(server), pid) {
			a.gone(below, "its keeper")
		}
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for pid := range a.clients { // in no order
		return syscall.Kill(pid, syscall.SIGKILL) == nil
	}
	return false
}

// gone waits until processes have ended.
func (a *agents) gone(processes []int, whose string) {
	a.t.Helper()
	a.wait("processes outlive "+whose, func() bool { return !slices.ContainsFunc(processes, xstatetest.Alive) })
}

// runTree runs a program that starts a tree of processes: one ends, one is a daemon with a session of its own, and one
// writes into a pipe that nobody reads.
func (a *agents) runTree(n int) {
	text := fmt.Sprintf(`# %%%% tree
import subprocess
subprocess.run(["sh", "-c", """
	(setsid sleep 600 > /dev/null 2>&1 &)
	(while :; do echo more; done | sleep 600) > /dev/null 2>&1 &
	sleep 0.1; echo %d > tree.txt
"""], check=True)
# %%%% show
print(open("tree.txt").read())
`, n)
	if err := os.WriteFile(filepath.Join(a.folder, "tree", "p.py"), []byte(text), 0o666); err != nil {
		a.t.Error(err)
	}
	exit, out, errOut := a.command("tree", "run", "p.py", "--json")
	switch {
	case exit == -1 || exit > 1 && lost(out):
	case exit == 1 &&
		(strings.Contains(string(out), `"KernelDied"`) || strings.Contains(string(out), "CalledProcessError")):
	case exit != 0 || !strings.Contains(string(out), fmt.Sprintf(`"%d\n`, n)):
		a.t.Errorf("run = %d: %s%s", exit, out, errOut)
	}
}

// runFile runs an edited program, and runs it again: what was finished is not lost.
func (a *agents) runFile(n int) {
	text := fmt.Sprintf(`# %%%% load
rows = list(range(%d))
# %%%% write
with open("out.txt", "w") as f:
    n = f.write("\n".join(map(str, rows)))
# %%%% show
print(len(rows), n, sum(rows))
`, n)
	var want strings.Builder
	sum := 0
	for i := range n {
		fmt.Fprintf(&want, "%d\n", i)
		sum += i
	}
	line := fmt.Sprintf("%d %d %d\n", n, max(want.Len()-1, 0), sum)
	if err := os.WriteFile(filepath.Join(a.folder, "file", "p.py"), []byte(text), 0o666); err != nil {
		a.t.Error(err)
	}
	for again := range 2 {
		exit, out, errOut := a.command("file", "run", "p.py", "--json")
		var d struct {
			Ran    int
			Blocks []struct {
				Stdout string
				Error  *struct{ Type string }
			}
		}
		err := json.Unmarshal(out, &d)
		switch {
		case exit == -1 || exit > 1 && lost(out):
			return
		case err == nil && exit == 1 && strings.Contains(string(out), `"KernelDied"`):
			return
		case err != nil || exit != 0:
			a.t.Errorf("run = %d: %s%s", exit, out, errOut)
			return
		}
		if got := d.Blocks[2].Stdout; got != line {
			a.t.Errorf("run printed %q, want %q", got, line)
		}
		if again == 1 && d.Ran > 0 {
			a.t.Errorf("a second run of the same program ran %d blocks: %s", d.Ran, out)
		}
	}
}

// read asks what a run does not disturb.
func (a *agents) read(session string) {
	for _, args := range [][]string{
		{"log", "--session", session, "--json"}, {"query", "--session", session, "--json"},
		{"serve", "--status", "--json"},
	} {
		exit, out, errOut := a.command("", args...)
		if exit > 0 && !lost(out) {
			a.t.Errorf("xstate %q = %d: %s%s", args, exit, out, errOut)
		}
	}
}

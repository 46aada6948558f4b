package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/state"
)

// agents are clients that use the server of one store at the same time, each as a process or over HTTP. A test may kill
// their processes, the server, and interpreters.
type agents struct {
	t       *testing.T
	store   string
	folder  string
	xstate  string // the binary
	python  string
	environ []string

	mu      sync.Mutex
	clients map[int]bool // processes that run

	acknowledged atomic.Int64 // blocks
}

func newAgents(t *testing.T) *agents {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("/proc tells which processes there are")
	}
	binary, err := exec.LookPath("xstate")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	interpreter := plainPython(t)
	a := &agents{
		t: t, python: interpreter, store: filepath.Join(folder, ".xstate"), folder: folder, xstate: binary,
		environ: append(os.Environ(), "XSTATE_PYTHON="+interpreter, "XSTATE_VERIFY=", "XSTATE_WARM=1"),
		clients: map[int]bool{},
	}
	a.must("", "init")
	t.Cleanup(func() {
		a.must("", "serve", "--stop")
		a.wait("processes are left", func() bool { return len(xstatetest.In(folder)) == 0 })
		for _, name := range []string{"serve.sock", "server.json"} {
			if _, err := os.Lstat(filepath.Join(a.store, name)); err == nil {
				t.Errorf("%s is left", name)
			}
		}
	})
	return a
}

// wait waits until something holds, and fails the test if it does not.
func (a *agents) wait(otherwise string, holds func() bool) {
	a.t.Helper()
	if err := await.Poll(await.Context(a.t), holds); err != nil {
		a.t.Errorf("%s: %v", otherwise, err)
	}
}

// command carries out a verb in a process. Its exit code is -1 if it was killed. One that does not end fails the test.
func (a *agents) command(folder string, args ...string) (exit int, out, errOut []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), await.Long)
	defer cancel()
	cmd := exec.CommandContext(ctx, a.xstate, args...)
	var o, e bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = filepath.Join(a.folder, folder), a.environ, &o, &e
	if err := cmd.Start(); err != nil {
		a.t.Error(err)
		return -1, nil, nil
	}
	a.mu.Lock()
	a.clients[cmd.Process.Pid] = true
	a.mu.Unlock()
	_ = cmd.Wait() // the exit code tells
	a.mu.Lock()
	delete(a.clients, cmd.Process.Pid)
	a.mu.Unlock()
	if ctx.Err() != nil {
		a.t.Errorf("%q does not end: %s%s", args, o.Bytes(), e.Bytes())
	}
	return cmd.ProcessState.ExitCode(), o.Bytes(), e.Bytes()
}

// must is command for one that succeeds.
func (a *agents) must(folder string, args ...string) []byte {
	a.t.Helper()
	exit, out, errOut := a.command(folder, args...)
	if exit != 0 {
		a.t.Errorf("xstate %q = %d: %s%s", args, exit, out, errOut)
	}
	return out
}

// answer is what became of code that an agent had executed.
type answer struct {
	Text   string `json:"text"`
	Block  string `json:"block"`
	Failed int    `json:"failed"`
	Error  *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Type    string `json:"type"`
	} `json:"error"`
}

// lost reports whether a failure says that the server, or an interpreter that was starting, was killed.
func lost(text []byte) bool {
	return bytes.Contains(text, []byte(api.CodeServerGone)) || bytes.Contains(text, []byte(python.CodeBroken))
}

// exec has code executed by a command. It reports false if nothing was acknowledged: the client, or the server, was
// killed.
func (a *agents) exec(session, folder, code string) (answer, bool) {
	var d answer
	exit, out, errOut := a.command(
		folder, "exec", "--session", session, "--append", "--json", "--wait", await.Long.String(), "-c", code)
	if exit == -1 {
		return d, false
	}
	if exit > 1 && lost(out) {
		return d, false
	}
	if err := json.Unmarshal(out, &d); err != nil || exit > 1 || exit == 1 && d.Block == "" {
		a.t.Errorf("exec = %d: %s%s", exit, out, errOut)
		return d, false
	}
	return d, true
}

// post is exec over Connect.
func (a *agents) post(session, folder, code string) (answer, bool) {
	var d answer
	client := serve.Find(a.store)
	if client == nil || !client.Alive(context.Background()) {
		a.command("", "serve", "--background") // another one may be faster
		if client = serve.Find(a.store); client == nil {
			return d, false
		}
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", client.Info.Socket)
	}
	transport := &http.Transport{DialContext: dial, DisableKeepAlives: true}
	web := &http.Client{Transport: transport, Timeout: await.Long}
	body, err := json.Marshal(map[string]any{
		"code": code, "session": session, "append": true, "folder": filepath.Join(a.folder, folder),
		"environ": map[string]string{"XSTATE_PYTHON": a.python},
	})
	if err != nil {
		a.t.Error(err)
	}
	r, err := web.Post("http://localhost/xstate.v1.RunService/Exec", "application/json", bytes.NewReader(body))
	if err != nil {
		return d, false
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return d, false
	}
	switch {
	case r.StatusCode == http.StatusServiceUnavailable && bytes.Contains(text, []byte(state.CodeBusy)):
		return a.post(session, folder, code) // it waited for others for as long as a call waits
	case r.StatusCode != http.StatusOK && lost(text):
		return d, false
	}
	if err := json.Unmarshal(text, &d); err != nil || r.StatusCode != http.StatusOK {
		a.t.Errorf("Exec = %s: %s", r.Status, text)
		return d, false
	}
	return d, true
}

// adder is an agent whose blocks depend on all of its blocks before. Each block has a number of its own.
type adder struct {
	session string
	exec    func(session, folder, code string) (answer, bool)
	next    func() int
	all     *atomic.Int64 // counts the blocks that are acknowledged, with those of other agents

	acknowledged []string // blocks
	printed      map[string]string
}

// firstBlock begins the program of a session.
const firstBlock = "# %% first\nseen = []\ndata = [str(i) for i in range(100_000)]"

// add has one more block executed.
func (d *adder) add() {
	n := d.next()
	block := fmt.Sprintf("a%d", n)
	got, ok := d.exec(d.session, d.session, fmt.Sprintf(`# %%%% %s
seen.append(%d)
with open("log.txt", "a") as f:
    n = f.write("%d\n")
print(%d, sum(seen), len(seen), len(data))`, block, n, n, n))
	if !ok {
		return
	}
	d.acknowledged = append(d.acknowledged, block)
	d.all.Add(1)
	if got.Failed == 0 { // a block before whose interpreter was killed is tried again by the next call
		d.printed[block] = got.Text
	}
}

// numbered finds the number of the block in what it prints.
var numbered = regexp.MustCompile(`(?m)^(\d+) .*\n`)

// judge compares a session with a plain run of its program: what was acknowledged is in it, in order, and printed the
// same; the files are the same.
func (a *agents) judge(session string, adders ...*adder) {
	a.t.Helper()
	last := "# %% last\nprint(0, sum(seen), len(seen), len(data))"
	a.must(session, "exec", "--session", session, "--append", "-c", last)
	var d struct {
		Blocks []struct{ ID, Source string } `json:"blocks"`
	}
	if err := json.Unmarshal(a.must(session, "query", "--session", session, "--json"), &d); err != nil {
		a.t.Error(err)
	}
	var ids []string
	var program strings.Builder
	for _, b := range d.Blocks {
		ids = append(ids, b.ID)
		program.WriteString(b.Source + "\n")
	}
	plain := a.t.TempDir()
	cmd := exec.Command(a.python, "-c", program.String())
	cmd.Dir = plain
	out, err := cmd.Output()
	if err != nil {
		a.t.Fatal(err)
	}
	want := map[string]string{}
	for _, line := range numbered.FindAllStringSubmatch(string(out), -1) {
		want["a"+line[1]] = line[0]
	}
	for _, d := range adders {
		at := -1
		for _, block := range d.acknowledged {
			found := slices.Index(ids, block)
			if found <= at {
				a.t.Errorf("session %s: block %s was acknowledged, and is at %d after %d of %q",
					session, block, found, at, ids)
			}
			at = found
			if have, ok := d.printed[block]; ok && have != want[block] {
				a.t.Errorf("session %s: block %s printed %q, and printed %q in a plain run",
					session, block, have, want[block])
			}
		}
	}
	have, err1 := os.ReadFile(filepath.Join(a.folder, session, "log.txt"))
	plainly, err2 := os.ReadFile(filepath.Join(plain, "log.txt"))
	if err := errors.Join(err1, err2); err != nil || !bytes.Equal(have, plainly) {
		a.t.Errorf("session %s: log.txt holds %q, want %q, %v", session, have, plainly, err)
	}
}

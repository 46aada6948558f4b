package acceptance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/xstate-engine/xstate/internal/worker"
	"github.com/xstate-engine/xstate/runner/remote"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state/keys"
)

// TestRandomShared is TestRandom on two machines that share results. Each runs all versions, and is the first to run
// every other one: the second then takes results over, executes what follows from an edit, and serves the first.
func TestRandomShared(t *testing.T) {
	for name, from := range map[string]drawing{
		"python": {}, "node": {words: &javascriptWords},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "python" && !has(name) {
				t.Skipf("%s is not installed", name)
			}
			from.shared = true
			testSeeds(t, from)
		})
	}
}

// TestRandomWorkers is TestRandomShared with one machine, which has blocks executed by workers, and every other
// version by one of them as a whole. Some workers are killed.
func TestRandomWorkers(t *testing.T) { testSeeds(t, drawing{shared: true, workers: 3}) }

// Variables of the environment by which this program is a worker: a folder with its key, and the interpreter.
const (
	workerFolder = "XSTATE_TEST_WORKER"
	workerPython = "XSTATE_TEST_WORKER_PYTHON"
)

func TestMain(m *testing.M) {
	if folder := os.Getenv(workerFolder); folder != "" {
		if err := work(context.Background(), folder, os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// killed is how many of sixteen workers are killed, at various times: their results are those of any run.
const killed = 4

// work executes an action of a cache.
func work(ctx context.Context, folder, action, cache string) error {
	own, err := os.MkdirTemp(folder, "worker-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(own)
	if at := action[0] - '0'; at < killed {
		die := func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }
		time.AfterFunc(time.Duration(at)*150*time.Millisecond, die)
	}
	w := worker.Worker{Folder: own, Python: os.Getenv(workerPython), Environ: os.Environ(),
		Policy: &policy.Policy{Level: policy.Off,
			Remote: remote.Settings{Address: cache, Key: filepath.Join(folder, "worker.pem")}}}
	root, err := w.Fetch(ctx, action)
	if err != nil {
		return err
	}
	fmt.Println(remote.Began)
	return w.Execute(ctx, root)
}

// otherMachine is the second of two machines, with a workspace, a store and a home that the first does not have.
type otherMachine struct {
	game
	folder string
	taken  int // results that both took over
	worked int // nodes that workers executed

	versions int // how many it has played
}

// newOtherMachine makes the machines of a game share results.
func newOtherMachine(g *game) *otherMachine {
	folder, err := os.MkdirTemp("", "xstate-shared-")
	for _, name := range []string{"key.pem", "worker.pem"} {
		if err == nil {
			_, err = keys.Own(filepath.Join(folder, name))
		}
	}
	m := &otherMachine{folder: folder, game: game{referee: g.referee, base: map[string][]byte{},
		player: player{o: g.o, jobs: g.player.jobs}}}
	m.o.Workspace = filepath.Join(folder, "elsewhere", "work")
	if err == nil {
		err = os.MkdirAll(m.o.Workspace, 0o777)
	}
	if err != nil {
		panic(err)
	}
	shared := &policy.Policy{Level: policy.Off, Remote: remote.Settings{Address: filepath.Join(folder, "cache"),
		Key: filepath.Join(folder, "key.pem"), Trusted: []string{filepath.Join(folder, "worker.pem.pub")},
		Wait: time.Minute}}
	if m.remote = g.workers; m.remote > 0 {
		shared.Remote.Launcher = []string{"env", workerFolder + "=" + folder, workerPython + "=" + g.o.Python,
			os.Args[0], "{action}", "{cache}"}
	}
	g.o.Policy, m.o.Policy = shared, shared
	return m
}

func (m *otherMachine) remove() {
	m.close()
	m.t.Logf("%d results were taken over, and workers executed %d nodes", m.taken, m.worked)
	os.RemoveAll(m.folder)
}

// moveBoth plays version i on both machines. Without another machine it plays it on the first.
func (m *otherMachine) moveBoth(g *game, v version, i int) (ran []string, law, what string) {
	if m == nil {
		return g.move(v)
	}
	var have *verdict
	var err error
	if i%2 == 1 || m.remote > 0 {
		have, err = m.moveOther(v)
	}
	if m.remote > 0 && err != nil {
		return nil, lawShared, "the run failed: " + err.Error()
	}
	if m.remote == 0 {
		if ran, law, what = g.move(v); law != "" {
			return ran, law, what
		}
		g.closeSession() // which waits for uploads
		if err := g.open(context.Background()); err != nil {
			return ran, lawSettles, err.Error()
		}
	}
	if i%2 == 0 && m.remote == 0 {
		have, err = m.moveOther(v)
	}
	if err != nil {
		return ran, lawSettles, "on the other machine: " + err.Error()
	}
	want, err := g.scratch(v.words, m.base, have.Blocks)
	if err != nil {
		return ran, lawSettles, "from scratch: " + err.Error()
	}
	if what := differences(have, want); what != "" {
		return ran, lawShared, what
	}
	return ran, "", ""
}

// moveOther plays a version on the second machine.
func (m *otherMachine) moveOther(v version) (*verdict, error) {
	m.write(v)
	m.whole = m.remote > 0 && m.versions%2 == 1
	m.versions++
	have, err := m.run(context.Background(), v, nil)
	if err == nil {
		m.taken, m.worked = m.taken+have.Shared, m.worked+have.Elsewhere
	}
	if m.remote == 0 {
		m.closeSession()
	}
	return have, err
}

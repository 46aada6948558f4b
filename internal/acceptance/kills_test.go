package acceptance

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/provenance"
)

// dying is the environment variable that makes TestKills edit and run a program until it is killed: the folder.
const dying = "XSTATE_TEST_KILLS"

// dyingProgram has a file that it writes in place, values that it changes in place, random numbers, and what depends on
// them. Its numbers are edited.
func dyingProgram(r *rand.Rand) []byte {
	return fmt.Appendf(nil, `# %%%% setup
import random, time
rows = [random.random() for _ in range(%d)]
# %%%% write
with open("data.txt", "a") as f:
    for i in range(%d):
        f.write(f"{i} {rows[i %% len(rows)]}\n")
        f.flush()
        time.sleep(0.001)
# %%%% change
rows.append(%d)
rows.sort()
# %%%% read
text = open("data.txt").read()
with open("copy.txt", "w") as f:
    n = f.write(text * %d)
# %%%% show
print(len(text), n, sum(rows), random.random(), text[-40:])
`, 1000+r.IntN(5), 5+r.IntN(10), r.IntN(4), 1+r.IntN(3))
}

// liveUntilKilled edits, runs, frees and imports. It prints each step that was acknowledged.
func liveUntilKilled(t *testing.T, dir string, o xstate.SessionOptions) {
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	store, err := xstate.Open(t.Context(), filepath.Join(dir, xstate.StoreName), xstate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	session, err := store.Session(t.Context(), "prog", o)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("ready")
	for i := 0; ; i++ {
		steps, err := session.LoadFile(t.Context(), "prog.py", dyingProgram(random), xstate.Origin{Agent: "dying"})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			fmt.Println("prog", s.Number)
		}
		if _, step, err := session.Run(t.Context(), runner.RunOptions{}, xstate.Origin{}); err == nil {
			fmt.Println("prog", step.Number)
		} else if state.CodeOf(err) != python.CodeBroken { // the interpreter was killed before it said a word
			t.Fatal(err)
		}
		if i%3 == 0 {
			if _, err := store.State().Collect(t.Context(),
				state.CollectOptions{MaxBytes: int64(random.IntN(200_000))}); err != nil {
				t.Fatal(err)
			}
		}
		if i%2 == 1 {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, "other.xstate"))
		if err != nil {
			t.Fatal(err)
		}
		found, err := xstatetest.ImportArchive(t.Context(), store, data, provenance.ImportOptions{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(found.Session, found.Head)
	}
}

// TestKills kills engine and kernel at random moments of edits, runs, gc and imports. Every acknowledged step is there,
// the store is sound, and the next run equals one from scratch. XSTATE_KILLS says how often.
func TestKills(t *testing.T) {
	o := xstate.SessionOptions{Python: xstatetest.Pythons()[0], Seed: 7}
	if dir := os.Getenv(dying); dir != "" {
		o.Workspace = dir
		liveUntilKilled(t, dir, o)
	}
	kills := 8
	if text := os.Getenv("XSTATE_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	o.Workspace = t.TempDir()
	base := map[string][]byte{"data.txt": []byte("base\n")}
	xstatetest.WriteFiles(t, o.Workspace, base)
	random := rand.New(rand.NewPCG(sampling.Seed(t), 0))
	others := xstatetest.OpenStore(t, filepath.Join(t.TempDir(), xstate.StoreName))
	other, err := others.Session(t.Context(), "other", o)
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]int{}
	for done["engine"]+done["kernel"] < kills {
		block := patch.Block{
			ID:      fmt.Sprintf("b%d", random.Uint64()),
			Dialect: "python",
			Source:  fmt.Sprint(random.Uint64()),
		}
		if _, err := other.Append(t.Context(), block, "", xstate.Origin{}); err != nil {
			t.Fatal(err)
		}
		forked, err := other.Fork(t.Context(), fmt.Sprintf("fork%d", done["engine"]), 1, xstate.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		fork, err := others.Existing(t.Context(), forked.Name, xstate.SessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		xstatetest.WriteFiles(
			t,
			o.Workspace,
			map[string][]byte{"other.xstate": xstatetest.Archived(t, fork, provenance.ArchiveOptions{})},
		)
		acknowledged := killOnce(t, o.Workspace, random, done)
		afterKill(t, o, random, base, acknowledged)
		if t.Failed() {
			t.Fatalf("after %v", done)
		}
	}
	t.Logf("kills: %v", done)
}

// killOnce lets a child live for a while and kills its kernels, or it. It returns what the child acknowledged.
func killOnce(t *testing.T, dir string, random *rand.Rand, done map[string]int) map[string]xstate.StepNumber {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestKills$")
	child.Env = append(os.Environ(), dying+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill() }) // where it hangs
	said := make(chan string, 1000)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			said <- lines.Text()
		}
		close(said)
	}()
	if line := await.Receive(t, "the child is ready", said); line != "ready" {
		t.Errorf("the child said %q first", line)
	}
	for range random.IntN(4) {
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		if kernels := xstatetest.Children(child.Process.Pid); len(kernels) > 0 &&
			syscall.Kill(kernels[0], syscall.SIGKILL) == nil {
			done["kernel"]++
		}
	}
	time.Sleep(time.Duration(random.IntN(500)) * time.Millisecond)
	if err := child.Process.Kill(); err != nil {
		t.Error(err)
	}
	done["engine"]++
	acknowledged := map[string]xstate.StepNumber{}
	for line := range said {
		var session string
		var n xstate.StepNumber
		if k, _ := fmt.Sscan(line, &session, &n); k == 2 {
			acknowledged[session] = n
		} else {
			t.Errorf("the child said %q", line)
		}
	}
	child.Wait()
	return acknowledged
}

func afterKill(
	t *testing.T,
	o xstate.SessionOptions,
	random *rand.Rand,
	base map[string][]byte,
	acknowledged map[string]xstate.StepNumber,
) {
	t.Helper()
	store, err := xstate.Open(t.Context(), filepath.Join(o.Workspace, xstate.StoreName), xstate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for name, n := range acknowledged {
		if head, _, err := store.State().Head(t.Context(), name); err != nil || head < n {
			t.Errorf("the head of %s is %d, %v; %d was acknowledged", name, head, err, n)
		}
	}
	problems, err := store.State().Check(t.Context())
	for _, p := range problems {
		t.Errorf("Check: %v", p)
	}
	if err != nil {
		t.Error(err)
	}
	files := map[string][]byte{"prog.py": dyingProgram(random)}
	xstatetest.WriteFiles(t, o.Workspace, files)
	session, err := store.Session(t.Context(), "prog", o)
	if err != nil {
		t.Fatal(err)
	}
	have := xstatetest.Blank(xstatetest.RunFile(t, t.Context(), session, o.Workspace, files, await.Long), o.Workspace)
	if left, _ := filepath.Glob(filepath.Join(o.Workspace, "*xstate-*")); len(left) > 0 {
		t.Errorf("a run after a kill left %v", left)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	files["data.txt"] = base["data.txt"]
	for _, d := range replay.Compare(have, xstatetest.FromScratch(t, t.Context(), files, o, await.Long)) {
		t.Errorf("after the kill: %s", d)
	}
	if n := store.State().Notices(); len(n) > 0 {
		t.Errorf("notices: %q", n)
	}
}

package acceptance

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
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

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
)

// callingUntilKilled is the environment variable that makes TestCallsKilled run a program until it is killed: the
// folder, and the moment of a call's life at which the engine kills itself: MOMENT@COUNT, or "" for none.
const (
	callingUntilKilled = "XSTATE_TEST_CALLS"
	killedAt           = "XSTATE_TEST_CALLS_AT"
)

// Moments of a call's life at which the engine dies.
var moments = []string{"sent", "happened"}

// callingProgram calls one tool of each class many times, side by side too, with arguments that are fixed or vary.
const callingProgram = `# %% setup
import time, uuid, xstate
from datetime import datetime
from xstate import tools, atools

# %% keys
keys = [str(uuid.uuid4()) for _ in range(2)]

# %% buy
for i in range(4):
    tools.order(item=i)

# %% vary
for i in range(2):
    tools.order(item=20 + i, key=keys[i])
    tools.order(item=30 + i, key=str(uuid.uuid4()), at=datetime.now().isoformat())
    tools.put(item=40 + i, at=time.time())

# %% mixed
for i in range(3):
    tools.put(item=i)
    tools.look(item=i)
    tools.rent(item=i)

# %% parallel
got = await xstate.gather(*[atools.order(item=10 + i) for i in range(4)], *[atools.look(item=10 + i) for i in range(4)])

# %% report
print(got)
`

// outside is a source whose effects are lines of a file, which outlives the engine as the world does.
type outside struct {
	file *os.File
	die  func(moment string)
}

func (o *outside) Name() string { return "outside" }
func (o *outside) Close() error { return nil }

func (o *outside) Tools(context.Context) ([]journal.Tool, error) {
	return []journal.Tool{
		{Name: "order", Class: journal.Irreversible}, {Name: "put", Class: journal.Idempotent},
		{Name: "rent", Class: journal.Reversible, Undo: "order"}, {Name: "look", Class: journal.Read},
	}, nil
}

func (o *outside) Call(_ context.Context, a journal.Attempt) (journal.Answer, error) {
	o.die("sent")
	if _, err := fmt.Fprintln(o.file, a.Tool.Name, string(a.Args), a.IdempotencyKey); err != nil {
		return journal.Answer{}, err
	}
	o.die("happened")
	return journal.Answer{Result: json.RawMessage(a.Args)}, nil
}

// killer returns a function that kills this process when it is called with a moment for the COUNTth time.
func killer(at string) func(string) {
	moment, count, _ := strings.Cut(at, "@")
	left, _ := strconv.Atoi(count)
	turn := make(chan struct{}, 1)
	return func(now string) {
		turn <- struct{}{}
		if now == moment {
			if left--; left == 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
		<-turn
	}
}

func callUntilKilled(t *testing.T, dir string) {
	ledger, err := os.OpenFile(filepath.Join(dir, "..", "ledger"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	w := &outside{ledger, killer(os.Getenv(killedAt))}
	o := xstate.SessionOptions{Python: xstatetest.Pythons()[0], Seed: 7, Workspace: dir, Tools: []journal.Source{w}}
	store := xstatetest.OpenStore(t, filepath.Join(dir, xstate.StoreName))
	session := xstatetest.OpenSession(t, store, o)
	fmt.Println("ready")
	xstatetest.RunFile(t, t.Context(), session, dir, map[string][]byte{"prog.py": []byte(callingProgram)}, await.Long)
	fmt.Println("done")
}

// TestCallsKilled kills the engine at the moments of a call's life: when it is recorded as sent and has not happened,
// when it has happened and is not recorded, and at random. What cannot be taken back happens at most once; after a
// person has looked at what is uncertain, exactly once. What is repeated otherwise has the same idempotency key. The
// person is asked about nothing else: what varies is the same when it is called again.
// XSTATE_KILLS says how often.
func TestCallsKilled(t *testing.T) {
	if dir := os.Getenv(callingUntilKilled); dir != "" {
		callUntilKilled(t, dir)
		return
	}
	kills := 10
	if text := os.Getenv("XSTATE_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(sampling.Seed(t), 0))
	asked := 0
	for killed := 0; killed < kills; {
		dir := filepath.Join(t.TempDir(), "w")
		xstatetest.WriteFiles(t, dir, map[string][]byte{"prog.py": []byte(callingProgram)})
		for range 30 { // until a run comes to its end
			at := ""
			if killed < kills {
				at = fmt.Sprintf("%s@%d", moments[random.IntN(len(moments))], 1+random.IntN(12))
			}
			done := callingChild(t, dir, at, random)
			waiting := lookAfter(t, dir)
			if asked += waiting; done && waiting == 0 {
				break
			}
			if !done {
				killed++
			}
		}
		judgeLedger(t, dir)
	}
	t.Logf("%d times a person had to look", asked)
}

// callingChild runs the program in a process of its own, and reports whether it came to its end.
func callingChild(t *testing.T, dir, at string, random *rand.Rand) (done bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCallsKilled$")
	cmd.Env = append(os.Environ(), callingUntilKilled+"="+dir, killedAt+"="+at)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	text := ""
	for lines.Scan() {
		text += lines.Text() + "\n"
		if lines.Text() == "ready" && at != "" && random.IntN(3) == 0 {
			time.AfterFunc(time.Duration(random.IntN(600))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		}
		done = done || lines.Text() == "done"
	}
	err = cmd.Wait()
	if exit, is := err.(*exec.ExitError); err != nil && (!is || !exit.Sys().(syscall.WaitStatus).Signaled()) {
		t.Fatalf("%v\n%s", err, text)
	}
	return done
}

// lookAfter is the person who looks what happened outside, and says so. It returns how many calls waited.
func lookAfter(t *testing.T, dir string) (n int) {
	t.Helper()
	ledger, _ := os.ReadFile(filepath.Join(dir, "..", "ledger"))
	store, err := state.Open(t.Context(), filepath.Join(dir, xstate.StoreName), state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	err = store.Calls(t.Context(), 1, func(c *state.Call) bool {
		if c.State != state.CallWaiting || c.Approval.Decided() {
			return true
		}
		if !slices.Contains(c.Approval.Choices, journal.ChoiceHappened) {
			t.Errorf("a person is asked %q", c.Approval.Question)
			return true
		}
		args, err := store.Read(c.Args)
		if err != nil {
			t.Fatal(err)
		}
		d := journal.Decision{Call: c.ID, Choice: journal.ChoiceAgain, By: "ada", At: time.Now()}
		if strings.Contains(string(ledger), fmt.Sprintf("%s %s ", c.Tool, args)) {
			d.Choice, d.Result = journal.ChoiceHappened, args
		}
		if _, _, err := journal.Decide(t.Context(), store, d); err != nil {
			t.Fatal(err)
		}
		n++
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// judgeLedger compares what happened outside with what the program asks for, and the outcome with a run from scratch.
func judgeLedger(t *testing.T, dir string) {
	t.Helper()
	ledger, err := os.ReadFile(filepath.Join(dir, "..", "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	times, keys := map[string]int{}, map[string]map[string]bool{}
	for line := range strings.Lines(string(ledger)) {
		tool, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		args, key, _ := strings.Cut(rest, " ")
		var is struct{ Item int }
		if err := json.Unmarshal([]byte(args), &is); err != nil {
			t.Fatal(err)
		}
		call := fmt.Sprint(tool, is.Item)
		if times[call]++; keys[call] == nil {
			keys[call] = map[string]bool{}
		}
		keys[call][key] = true
	}
	if len(times) != 4+6+9+8 {
		t.Errorf("%d different calls happened, want 27:\n%s", len(times), ledger)
	}
	for call, n := range times {
		if once := strings.HasPrefix(call, "order") || strings.HasPrefix(call, "rent"); once && n != 1 {
			t.Errorf("%s happened %d times", call, n)
		}
		if !strings.HasPrefix(call, "look") && len(keys[call]) != 1 {
			t.Errorf("%s has %d idempotency keys", call, len(keys[call]))
		}
	}
	o := xstate.SessionOptions{Python: xstatetest.Pythons()[0], Seed: 7, Workspace: dir,
		Tools: []journal.Source{&outside{nil, nil}}}
	session := xstatetest.OpenSession(t, xstatetest.OpenStore(t, filepath.Join(dir, xstate.StoreName)), o)
	files := map[string][]byte{"prog.py": []byte(callingProgram)}
	have := xstatetest.RunFile(t, t.Context(), session, dir, files, await.Long)
	fresh, err := os.CreateTemp(t.TempDir(), "ledger")
	if err != nil {
		t.Fatal(err)
	}
	o.Workspace, o.Tools = t.TempDir(), []journal.Source{&outside{fresh, func(string) {}}}
	xstatetest.WriteFiles(t, o.Workspace, files)
	scratch := xstatetest.OpenSession(t, xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName)), o)
	want := xstatetest.RunFile(t, t.Context(), scratch, o.Workspace, files, await.Long)
	for _, d := range replay.Compare(have, want) {
		if len(d.Marks) == 0 {
			t.Error(d)
		}
	}
}

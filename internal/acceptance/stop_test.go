package acceptance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state/query"
)

// A block that starts a child and a grandchild and then catches every interrupt is killed with all that it started; so
// is one that dies by itself and leaves a forked child that holds the kernel's pipes.
func TestStopLeavesNoProcess(t *testing.T) {
	const children = `import os, subprocess, sys, time
inner = "import subprocess, sys; p = subprocess.Popen(['sleep', '300']); print(p.pid, flush=True); p.wait()"
child = subprocess.Popen([sys.executable, "-c", inner], stdout=subprocess.PIPE, text=True)
forked = os.fork()
if forked == 0:
    time.sleep(300)
print("pids", os.getpid(), child.pid, child.stdout.readline().strip(), forked)
`
	for name, end := range map[string]string{ // the run of caught is interrupted; the others end by themselves
		"caught":  "while True:\n    try:\n        time.sleep(60)\n    except KeyboardInterrupt:\n        pass\n",
		"died":    "os._exit(1)\n",
		"aborted": "os.abort()\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session, _ := newSession(t)
			ctx, cancel := context.WithCancel(await.Context(t))
			defer cancel()
			said := ""
			outcome := runText(
				t,
				ctx,
				session,
				"# %% first\nx = 1\n\n# %% hang\n"+children+end+"\n# %% last\nprint(x)\n",
				func(ev runner.Event) {
					if said += ev.Output.Text; name == "caught" && pidsIn(said) != "" {
						cancel()
					}
				},
			)
			if name != "caught" && (outcome.Blocks[1].Err == nil || outcome.Blocks[2].Err != nil) {
				t.Fatalf(
					"errors of hang and last: %v and %v, want one and none",
					outcome.Blocks[1].Err,
					outcome.Blocks[2].Err,
				)
			}
			pids := pidsIn(said)
			if pids == "" {
				t.Fatalf("what hang printed before it was stopped is lost: %+v", outcome.Blocks[1].Outputs)
			}
			for _, pid := range strings.Fields(pids) {
				if running(pid) {
					t.Errorf("process %s is still running", pid)
				}
			}
		})
	}
}

// pidsIn returns the line of process ids that a program printed, once it is whole.
func pidsIn(text string) string {
	_, rest, _ := strings.Cut(text, "pids ")
	pids, _, _ := strings.Cut(rest, "\n")
	if !strings.Contains(rest, "\n") {
		return ""
	}
	return pids
}

// running reports whether a process is there and not merely waiting to be reaped.
func running(pid string) bool {
	data, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	return err == nil && !strings.Contains(string(data), ") Z ")
}

// What an interrupted block has written to files is taken back before the next run looks at them.
func TestInterruptedWrite(t *testing.T) {
	session, dir := newSession(t)
	if err := os.WriteFile(filepath.Join(dir, "in.txt"), []byte("whole"), 0o644); err != nil {
		t.Fatal(err)
	}
	const look = "# %% look\nimport os\nprint(os.path.exists('out.txt'), open('in.txt').read())\n"
	const write = "\n# %% write\nimport time\nopen('out.txt', 'w').write('new')\nopen('in.txt', 'w').write('half')\n" +
		"print('written')\n"
	ctx, cancel := context.WithCancel(t.Context())
	outcome := runText(t, ctx, session, look+write+"time.sleep(60)\n", func(ev runner.Event) {
		if strings.Contains(ev.Output.Text, "written") {
			cancel()
		}
	})
	if outcome.Stopped == nil {
		t.Fatal("the run was not stopped")
	}
	outcome = runText(t, t.Context(), session, strings.Replace(look, "print(", "print(1, ", 1)+write, nil)
	if got, want := query.Text(outcome.Blocks[0].Outputs), "[stdout]1 False whole\n\n"; got != want {
		t.Errorf("look after an interrupted write printed %q, want %q", got, want)
	}
}

// TestKernelStays has a session whose interpreter stays between runs, also when modules of the workspace are loaded:
// the value of its first block cannot be stored.
func TestKernelStays(t *testing.T) {
	session, dir := newSession(t)
	if err := os.WriteFile(filepath.Join(dir, "tools.py"), []byte("size = 3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	text := "# %% lock\nimport threading, tools\nlock = threading.Lock()\nsize = tools.size\n"
	runText(t, t.Context(), session, text, nil)
	for i := range 3 {
		text += fmt.Sprintf("\n# %%%% look %d\nprint(lock.locked(), size, %d)\n", i, i)
		outcome := runText(t, t.Context(), session, text, nil)
		if last := outcome.Blocks[len(outcome.Blocks)-1]; outcome.Recomputed != 0 ||
			query.Text(last.Outputs) != fmt.Sprintf("[stdout]False 3 %d\n\n", i) {
			t.Errorf(
				"block %d printed %q, and %d nodes ran again to rebuild values, want none",
				i,
				query.Text(last.Outputs),
				outcome.Recomputed,
			)
		}
	}
}

// TestEarlierColumns: an edit in the middle of blocks that each give a frame a column computes no column again. No
// value of the frame was worth storing: what it was before has the memory of columns that it still has.
func TestEarlierColumns(t *testing.T) {
	session, _ := newSession(t)
	text := "# %% make\nimport numpy as np, pandas as pd\ndf = pd.DataFrame({'x': np.arange(1e6)})\n"
	for i := range 50 {
		text += fmt.Sprintf("\n# %%%% c%d\ndf['c%d'] = df.x + %d\n", i, i, i)
	}
	text += "\n# %% show\nprint(df.sum().sum())\n"
	runText(t, t.Context(), session, text, nil)
	const sum = 1e6 * (1e6 - 1) / 2 // of x
	for turn := range 3 {
		text = strings.Replace(text, "df.x + 1", "df.x + 1 + 1", 1) // of c1
		text = strings.Replace(text, "df.x + 9", "df.x + 9 + 1", 1)
		outcome := runText(t, t.Context(), session, text, nil)
		last := outcome.Blocks[len(outcome.Blocks)-1]
		want := fmt.Sprintf("[stdout]%.1f\n\n", 51*sum+1e6*(1225+2*float64(turn+1)))
		if got := query.Text(last.Outputs); got != want || outcome.Recomputed != 0 {
			t.Errorf("turn %d printed %q, want %q, and %d nodes ran again to rebuild values, want none",
				turn, got, want, outcome.Recomputed)
		}
	}
}

func newSession(t *testing.T) (*xstate.Session, string) {
	dir := t.TempDir()
	return xstatetest.OpenSession(
		t,
		xstatetest.OpenStore(t, filepath.Join(dir, xstate.StoreName)),
		xstate.SessionOptions{Workspace: dir, Python: xstatetest.Pythons()[0]},
	), dir
}

func runText(
	t *testing.T,
	ctx context.Context,
	session *xstate.Session,
	text string,
	onEvent func(runner.Event),
) *xstate.Outcome {
	t.Helper()
	program, err := patch.Parse("prog.py", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Load(t.Context(), program.Blocks, xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	outcome, _, err := session.Run(ctx, runner.RunOptions{Timeout: await.Long, OnEvent: onEvent}, xstate.Origin{})
	if err != nil && outcome == nil {
		t.Fatal(fmt.Errorf("run: %w", err))
	}
	return outcome
}

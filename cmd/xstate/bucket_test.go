package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/gateway"
)

const bucketProgram = `# %% load
rows = [1, 2, 3]

# %% sum
total = sum(rows)
print("the sum is", total)
`

// job is a job of a CI: a machine with a home and a key of its own, which has the credentials of a bucket.
type job struct {
	home, folder string
	t            *testing.T
}

func newJob(t *testing.T, address string, trust ...*job) *job {
	t.Helper()
	j := &job{t.TempDir(), t.TempDir(), t}
	settings := "[remote]\nwait = \"60s\"\ncache = \"" + address + "\"\n"
	for _, other := range trust {
		settings += "trust = [\"" + other.home + "/.config/xstate/key.pem.pub\"]\n"
	}
	config := filepath.Join(j.home, ".config", "xstate")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		filepath.Join(config, "xstate.toml"): settings, filepath.Join(j.folder, "p.py"): bucketProgram,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return j
}

// run runs the program without a server, so uploads have ended with it. It returns what is printed.
func (j *job) run() string {
	j.t.Helper()
	xstate, err := exec.LookPath("xstate")
	if err != nil {
		j.t.Fatal(err)
	}
	cmd := exec.CommandContext(j.t.Context(), xstate, "run", "p.py", "--no-server")
	cmd.Dir = j.folder
	cmd.Env = append(os.Environ(), "HOME="+j.home, "XDG_CONFIG_HOME=", "NO_COLOR=1",
		"XSTATE_PYTHON="+xstatetest.Pythons()[0],
		"AWS_ACCESS_KEY_ID="+gateway.User, "AWS_SECRET_ACCESS_KEY="+gateway.Password)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "the sum is 6\n") {
		j.t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestBucketOfJobs has jobs of a CI share a bucket: one that is trusted, one that trusts it, and one that is not.
func TestBucketOfJobs(t *testing.T) {
	g := gateway.Start(t)
	first := newJob(t, g.Address())
	if out := first.run(); !strings.Contains(out, "ran 2 blocks") {
		t.Errorf("the first job did not execute all:\n%s", out)
	}
	if out := newJob(t, g.Address(), first).run(); !strings.Contains(out, "took 2 results over") ||
		!strings.Contains(out, "nothing to run") {
		t.Errorf("a job that trusts the first executed something:\n%s", out)
	}
	if out := newJob(t, g.Address()).run(); !strings.Contains(out, "which is not trusted") ||
		!strings.Contains(out, "ran 2 blocks") {
		t.Errorf("a job that does not trust the first took something over:\n%s", out)
	}
}

//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/internal/xstatetest"
)

// TestMachines has two machines with networks and disks of their own share results by a server, also where the cable
// of one is cut.
func TestMachines(t *testing.T) {
	server := os.Getenv("XSTATE_TEST_BAZEL_REMOTE")
	if server == "" {
		t.Skip("XSTATE_TEST_BAZEL_REMOTE names no program; .ci/bazel-remote makes it")
	}
	apart := []string{"-U", "-r", "-n", "-m"}
	probe := exec.CommandContext(t.Context(), "unshare", append(apart, "ip", "link", "add", "br0", "type", "bridge")...)
	if out, err := probe.CombinedOutput(); err != nil {
		t.Skipf("no namespaces can be made here: %v: %s", err, out)
	}
	folder := t.TempDir()
	settings := func(trust string) string {
		return `printf '[remote]\ncache = "grpc://10.77.0.1:9092"\nwait = "60s"\n` + trust +
			`' >../home/.config/xstate/xstate.toml`
	}
	trusting := func(name string) string { return settings(fmt.Sprintf(`trust = ["%s/%s.pub"]\n`, folder, name)) }
	show := func(name string) string {
		return "cp ../home/.config/xstate/key.pem.pub " + folder + "/" + name + ".pub"
	}
	program := fmt.Sprintf("printf '%s' >p.py", strings.ReplaceAll(bucketProgram, "\n", `\n`))
	program = strings.ReplaceAll(program, "%%", "%%%%")
	const run, edit = "xstate run p.py --no-server", "sed -i 's/total = sum(rows)/total = sum(rows) + 1/' p.py"
	steps := []struct{ machine, command, want string }{
		{"ann", settings(""), ""},
		{"ann", program, ""},
		{"ann", run, "the sum is 6\n*ran 2 blocks"},
		{"ann", show("ann"), ""},
		{"ben", "ls .xstate || echo another disk", "another disk"},
		{"ben", trusting("ann"), ""},
		{"ben", program, ""},
		{"ben", run, "the sum is 6\n*took 2 results over*nothing to run"},
		{"ben", show("ben"), ""},
		{"ben", edit, ""},
		{"ben", run, "the sum is 7\n*ran 1 block, reused 1"},
		{"ann", trusting("ben"), ""},
		{"ann", edit, ""},
		{"ann", run, "the sum is 7\n*took 1 result over*nothing to run"},
		{"ann", "cut", ""},
		{"ann", "sed -i 's/rows = .*/rows = [4, 5]/' p.py", ""},
		{"ann", run, "the sum is 10\n*did not answer in time*ran 2 blocks"},
		{"ann", "join", ""},
		{"ann", "rm -r .xstate", ""},
		{"ann", run, "the sum is 10\n*ran 2 blocks"},
		{"ben", "sed -i 's/rows = .*/rows = [4, 5]/' p.py", ""},
		{"ben", run, "the sum is 10\n*took 2 results over*nothing to run"},
	}
	var input strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&input, "%s %s\n", s.machine, s.command)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", append(apart, "sh", "testdata/machines.sh", folder, server)...)
	cmd.Stdin = strings.NewReader(input.String())
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME=", "NO_COLOR=1", "XSTATE_PYTHON="+xstatetest.Pythons()[0])
	out, err := cmd.CombinedOutput()
	said := strings.Split(string(out), "== ")[1:]
	if err != nil || len(said) != len(steps) {
		t.Fatalf("%v after %d of %d steps\n%s", err, len(said), len(steps), out)
	}
	for i, s := range steps {
		rest := said[i]
		for part := range strings.SplitSeq(s.want, "*") {
			_, after, ok := strings.Cut(rest, part)
			if !ok {
				t.Errorf("step %d: %q is not in\n%s", i, part, said[i])
			}
			rest = after
		}
	}
}

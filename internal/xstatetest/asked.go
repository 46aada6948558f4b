package xstatetest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/artifact"
	"github.com/xstate-engine/xstate/state/provenance"
)

// Asked is a session for tests of queries: versions of a program, each of which was run.
type Asked struct {
	Dir     string
	Store   *xstate.Store
	Session *xstate.Session
	Runs    []xstate.StepNumber
}

// NewAsked opens a session in a temporary folder and runs each version in turn.
func NewAsked(t *testing.T, versions ...string) *Asked {
	t.Helper()
	dir := t.TempDir()
	WriteFiles(t, dir, map[string][]byte{"data.csv": []byte("1\n2\n")})
	a := &Asked{Dir: dir, Store: OpenStore(t, filepath.Join(dir, xstate.StoreName))}
	a.Session = OpenSession(t, a.Store, xstate.SessionOptions{Workspace: dir, Seed: 7})
	for _, v := range versions {
		a.Run(t, v)
	}
	return a
}

// Run loads a program, runs it and notes the step.
func (a *Asked) Run(t *testing.T, source string) {
	t.Helper()
	_, err := a.Session.Load(
		t.Context(),
		ParseScript(t, source),
		xstate.Origin{Agent: "coder", Reason: "version " + string(rune('1'+len(a.Runs)))},
	)
	if err != nil {
		t.Fatal(err)
	}
	_, step, err := a.Session.Run(t.Context(), runner.RunOptions{Timeout: time.Minute}, xstate.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	a.Runs = append(a.Runs, step.Number)
}

// ParseScript returns the blocks of a script.
func ParseScript(t *testing.T, source string) []patch.Block {
	t.Helper()
	p, err := patch.Parse("prog.py", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return p.Blocks
}

// AskedFirst is the first version of the program that tests of queries run.
const AskedFirst = `# %% load
rows = [int(x) for x in open("data.csv")]
# %% scale
def scale(x):
    return 2 * x
# %% scaled
scaled = [scale(r) for r in rows]
# %% report
print(scaled)
# %% other
print("other")
`

// AskedSecond is AskedFirst with another body of scale.
var AskedSecond = strings.Replace(AskedFirst, "2 * x", "3 * x", 1)

// ArtifactProgram is the program of NewArtifacts.
const ArtifactProgram = `# %% load
rows = [int(x) for x in open("data.csv")]
# %% helpers
import utils
def scale(x, by=2):
    return by * x
class Table:
    def total(self): return 0
# %% scaled
scaled = [scale(r) for r in rows]
open("out.csv", "w").write(str(scaled))
# %% middle
doubled = scaled + scaled
# %% report
print(doubled, open("out.csv").read())
# %% check
assert scale(1) == 2
`

// NewArtifacts runs ArtifactProgram next to a module and a document that mentions its definitions.
func NewArtifacts(t *testing.T) *Asked {
	t.Helper()
	a := NewAsked(t)
	WriteFiles(t, a.Dir, map[string][]byte{"utils.py": []byte("def helper(a):\n    return a\n"),
		"guide.md": []byte(
			"# Guide\n\n`scale` takes `rows`, a `Table` and\n" +
				"`Table.total()`; `utils.helper(a)`, `print` and `--all` too.\n",
		)})
	a.Run(t, ArtifactProgram)
	return a
}

// Declare declares an artifact and returns the step.
func (a *Asked) Declare(t *testing.T, name string, kind state.ArtifactKind, members ...string) xstate.StepNumber {
	t.Helper()
	step, err := artifact.Declare(
		t.Context(),
		a.Session.History(),
		artifact.Spec{Name: name, Kind: kind, Members: members},
		xstate.Origin{Agent: "declarer"},
	)
	if err != nil {
		t.Fatal(err)
	}
	return step.Number
}

// Edit loads a program and does not run it.
func (a *Asked) Edit(t *testing.T, source string) {
	t.Helper()
	if _, err := a.Session.Load(t.Context(), ParseScript(t, source), xstate.Origin{Agent: "editor"}); err != nil {
		t.Fatal(err)
	}
}

// Head returns the last step of the session.
func (a *Asked) Head(t *testing.T) xstate.StepNumber {
	t.Helper()
	n, _, err := a.Store.State().Head(t.Context(), a.Session.Name())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Statuses returns the status of each artifact after step n, one line each.
func (a *Asked) Statuses(t *testing.T, n xstate.StepNumber) string {
	t.Helper()
	all, err := artifact.List(t.Context(), a.Session.History(), n)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, v := range all {
		fmt.Fprintf(&b, "%s %s: %s\n", v.Name, v.Status, v.Reason)
	}
	return b.String()
}

// WantStatuses fails the test unless Statuses returns want.
func (a *Asked) WantStatuses(t *testing.T, n xstate.StepNumber, want string) {
	t.Helper()
	if d := cmp.Diff(strings.TrimPrefix(want, "\n"), a.Statuses(t, n)); d != "" {
		t.Errorf("artifacts after step %d: (-want +got)\n%s", n, d)
	}
}

// Archived returns an archive of the session.
func Archived(t *testing.T, s *xstate.Session, o provenance.ArchiveOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := provenance.Archive(t.Context(), s.History(), &b, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// ImportArchive imports an archive into a store.
func ImportArchive(
	ctx context.Context, store *xstate.Store, data []byte, o provenance.ImportOptions,
) (*provenance.Imported, error) {
	f, err := provenance.OpenArchive(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	return provenance.Import(ctx, store.State(), f, o)
}

// RunsBlocks runs the program and returns the number of executed nodes.
func RunsBlocks(t *testing.T, s *xstate.Session) int {
	t.Helper()
	_, step, err := s.Run(t.Context(), runner.RunOptions{Timeout: time.Minute}, xstate.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	return step.Run.Nodes.Ran
}

// ReplacedParts holds versions of the blocks of programs that change their inputs: values in place, files by appending,
// and generators.
var ReplacedParts = [][]string{
	{
		`import random; rows = [int(x) for x in open("data.csv")]`,
		`import random; rows = [2 * int(x) for x in open("data.csv")]`,
	},
	{`rows.append(7)`, `rows.append(8); rows.sort()`, `rows = rows[:]`},
	{`print(rows, file=open("log.txt", "a"))`, `print(sum(rows), file=open("log.txt", "a"))`, `print("nothing")`},
	{`random.seed(3); x = random.random()`, `x = 4`},
	{`print(x + random.randrange(9) if x != 4 else x)`, `print("x is", x)`},
	{`def add(n):
    rows.append(n)
    return len(rows)`, `def add(n):
    rows.extend([n, n])
    return len(rows)`},
	{`print(add(5))`, `print(add(6), rows)`},
	{`print(open("log.txt", "a").write("end\n"))`, `open("out.txt", "w").write(str(rows))`, ``},
	{`import os; print(sorted(f for f in ("log.txt", "out.txt") if os.path.exists(f)))`},
	{`print(open("log.txt").read() if os.path.exists("log.txt") else "no log")`},
}

// FromScratchText returns what a fresh interpreter makes of a program in a folder with only data.csv: its output and
// the files.
func FromScratchText(t *testing.T, python, program string) string {
	t.Helper()
	dir := t.TempDir()
	WriteFiles(t, dir, map[string][]byte{"data.csv": []byte("1\n2\n")})
	cmd := exec.CommandContext(t.Context(), python, "-c", program)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PYTHONHASHSEED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out) + WrittenFiles(dir)
}

// WrittenFiles returns the files that programs of ReplacedParts write, as text.
func WrittenFiles(dir string) string {
	var b strings.Builder
	for _, name := range []string{"log.txt", "out.txt"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		fmt.Fprintf(&b, "%s %v: %s\n", name, err == nil, data)
	}
	return b.String()
}

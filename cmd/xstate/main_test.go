package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state/output"
)

var update = flag.Bool("update", false, "write the goldens again")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"xstate": func() {
		os.Unsetenv("XSTATE_VERIFY") // which package xstatetest sets for tests that plan, and no server has
		main()
	}})
}

// TestScripts runs testdata/script. The verbs of our own are in scriptVerbs.
func TestScripts(t *testing.T) {
	runScripts(t, scripts(t), func(e *testscript.Env) error {
		e.Defer(func() { stopServers(t, e.WorkDir) })
		return nil
	})
}

func scripts(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("testdata/script/*.txt")
	if err != nil || len(found) == 0 {
		t.Fatalf("no scripts in testdata/script: %v", err)
	}
	return found
}

func runScripts(t *testing.T, files []string, prepare func(*testscript.Env) error) {
	caches := t.TempDir() // of this run: what the machine has kept hides what is missing
	testscript.Run(t, testscript.Params{
		Files:               files,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                scriptVerbs,
		Setup: func(e *testscript.Env) error {
			bin, _, _ := strings.Cut(e.Getenv("PATH"), string(filepath.ListSeparator))
			e.Setenv("XSTATE", filepath.Join(bin, "xstate"))
			folder, err := filepath.Abs("testdata")
			e.Setenv("TESTDATA", folder)
			e.Setenv("XDG_CACHE_HOME", caches)
			e.Setenv("KEYS", filepath.Join(e.WorkDir, ".keys"))
			return errors.Join(err, writeKeys(filepath.Join(e.WorkDir, ".keys")), prepare(e))
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "bounded": // the system observes and enforces everything
				level, _ := sandbox.Probe()
				return level == sandbox.LevelCalls &&
					len(sandbox.Enforceable(sandbox.Spec{Bounds: &sandbox.Bounds{}})) == 0, nil
			case "alone": // see TestScriptsAlone
				return t.Name() == "TestScriptsAlone", nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
}

// scriptVerbs are the verbs of scripts:
//
//	exit CODE COMMAND…   runs a command that must end with this exit code
//	ran [BLOCK…]         the document on stdout says that a node of exactly these blocks was executed
//	reused N             … that N blocks were reused
//	failed [BLOCK…]      … that exactly these blocks failed
//	blocked [BLOCK…]     … that exactly these blocks were blocked
//	field PATH VALUE     … has this value, as text without its last line end or as JSON, at a path: blocks.0.id
//	waitfile FILE        waits until there is such a file
//	cutfile FILE N       cuts a file after N bytes
//	garble FILE          overwrites the middle of a file
//	hex FILE TEXT        writes a file from hex digits
//	holds [SECRET]       the store holds no $API_KEY, or SECRET, neither in its files nor in what they decompress to
//	substitute FILE OLD NEW   replaces a text in a file, which must be there
var scriptVerbs = map[string]func(*testscript.TestScript, bool, []string){
	"exit":     verbExit,
	"ran":      blockVerb(func(b scriptBlock) bool { return b.Nodes.Ran > 0 }),
	"failed":   blockVerb(func(b scriptBlock) bool { return b.Status == "failed" }),
	"blocked":  blockVerb(func(b scriptBlock) bool { return b.Status == "blocked" }),
	"reused":   verbReused,
	"field":    verbField,
	"waitfile": verbWaitFile,
	"cutfile":  verbCutFile,
	"forge":    verbForge,
	"garble":   verbGarble,
	"hex":      verbHex,
	"holds":    verbHolds,

	"substitute": verbSubstitute,
}

func verbExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code of %s = %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

type scriptBlock struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Nodes  struct {
		Ran int `json:"ran"`
	} `json:"nodes"`
}

func scriptDocument(ts *testscript.TestScript, doc any) {
	text := ts.ReadFile("stdout")
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(doc); err != nil {
		ts.Fatalf("stdout is no document: %v", err)
	}
	if d.More() {
		ts.Fatalf("there is more than one document on stdout")
	}
}

func blockVerb(pick func(scriptBlock) bool) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, want []string) {
		var doc struct {
			Blocks []scriptBlock `json:"blocks"`
		}
		scriptDocument(ts, &doc)
		var got []string
		for _, b := range doc.Blocks {
			if pick(b) {
				got = append(got, b.ID)
			}
		}
		if !slices.Equal(got, want) {
			ts.Fatalf("blocks = %v, want %v", got, want)
		}
	}
}

func verbReused(ts *testscript.TestScript, _ bool, args []string) {
	verbField(ts, false, append([]string{"reused"}, args...))
}

func verbField(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: field PATH VALUE")
	}
	var doc any
	scriptDocument(ts, &doc)
	at := doc
	for name := range strings.SplitSeq(args[0], ".") {
		switch v := at.(type) {
		case map[string]any:
			at = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(v) {
				ts.Fatalf("no %s in %s", name, args[0])
			}
			at = v[i]
		default:
			at = nil
		}
	}
	text, isText := at.(string)
	text = strings.TrimSuffix(text, "\n")
	if !isText {
		data, err := json.Marshal(at)
		ts.Check(err)
		text = string(data)
	}
	if (text == args[1]) == neg {
		ts.Fatalf("%s = %s, want %s", args[0], text, args[1])
	}
}

func verbWaitFile(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), await.Long)
	defer cancel()
	path := ts.MkAbs(args[0])
	if await.Poll(ctx, func() bool { _, err := os.Stat(path); return err == nil }) != nil {
		ts.Fatalf("there is no file %s after %v", args[0], await.Long)
	}
}

func verbCutFile(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

func verbGarble(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	for i := range data {
		if i%7 == 3 {
			data[i] ^= 0x5a
		}
	}
	ts.Check(os.WriteFile(path, data, 0o666))
}

func verbHex(ts *testscript.TestScript, _ bool, args []string) {
	var data []byte
	for i := 0; i+1 < len(args[1]); i += 2 {
		b, err := strconv.ParseUint(args[1][i:i+2], 16, 8)
		ts.Check(err)
		data = append(data, byte(b))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o666))
}

// TestHelp holds the help text of every verb.
func TestHelp(t *testing.T) {
	a := &app{printer: printer{ui: term.New(caller{}.env, 0, &bytes.Buffer{}, &bytes.Buffer{})}}
	root := a.root()
	var verbs [][]string
	var walk func(*cobra.Command, []string)
	walk = func(c *cobra.Command, path []string) {
		verbs = append(verbs, path)
		for _, sub := range c.Commands() {
			walk(sub, append(slices.Clone(path), sub.Name()))
		}
	}
	walk(root, nil)
	for _, verb := range verbs {
		name := strings.Join(append([]string{"xstate"}, verb...), "-")
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			if code := run(append(verb, "--help"), strings.NewReader(""), &out, &errOut); code != 0 ||
				errOut.Len() > 0 {
				t.Fatalf("run(%q) = %d, stderr %q", verb, code, errOut.String())
			}
			golden(t, filepath.Join("testdata", "help", name+".txt"), out.String())
		})
	}
}

// TestVerbsHaveExamples: a verb without an example is not done.
func TestVerbsHaveExamples(t *testing.T) {
	a := &app{printer: printer{ui: term.New(caller{}.env, 0, &bytes.Buffer{}, &bytes.Buffer{})}}
	for _, c := range a.root().Commands() {
		if c.Example == "" || c.Long == "" {
			t.Errorf("xstate %s has example %q and long help %q, want both", c.Name(), c.Example, c.Long)
		}
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -run TestHelp -update writes it)", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}

// TestExitCodes: every class of errors has an exit code. TestClasses finds codes without a class.
func TestExitCodes(t *testing.T) {
	for class := api.ClassInternal; class <= api.ClassDamaged; class++ {
		if exit := class.ExitCode(); exit < exitFailed || exit > api.ExitInternal {
			t.Errorf("the exit code of class %d is %d", class, exit)
		}
	}
	if got := exitCode("a code of the future"); got != api.ExitInternal {
		t.Errorf("exitCode of an unknown code = %d, want %d", got, api.ExitInternal)
	}
}

// TestProgressLine: the line says which block runs, how long it has, and how long it took last time.
func TestProgressLine(t *testing.T) {
	var out, errOut bytes.Buffer
	u := term.New(caller{}.env, 0, &out, &errOut)
	p := newProgress(u)
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p.now = func() time.Time { return start }
	p.places["load"], p.places["clean"] = 0, 1
	if got := p.lineLocked(); got != "" {
		t.Errorf("line before the first block = %q, want none", got)
	}
	p.block, p.since, p.running, p.expect = "clean", start.Add(-1200*time.Millisecond), true, 3
	if got, want := p.lineLocked(), "xstate: [2/2] clean runs, 1.2 s of about 3.0 s"; got != want {
		t.Errorf("line = %q, want %q", got, want)
	}
	p.expect = 0
	if got, want := p.lineLocked(), "xstate: [2/2] clean runs, 1.2 s"; got != want {
		t.Errorf("line without a recorded time = %q, want %q", got, want)
	}
	u.Progress("one")
	u.Write("result\n")
	if got, want := errOut.String(), "one\r\x1b[K"; got != want {
		t.Errorf("stderr = %q, want the line taken away before a result: %q", got, want)
	}
}

// TestVerified: the first difference is shown as a diff, and the exit code is 4; what is explained is only told.
func TestVerified(t *testing.T) {
	var out, errOut bytes.Buffer
	a := &app{printer: printer{ui: term.New(caller{}.env, 0, &out, &errOut)}}
	v := &api.Verified{Blocks: 3,
		Differences: []replay.Difference{
			{Block: "report", What: "output", Have: "[stdout]total 6", Want: "[stdout]total 7"},
			{What: "value x"},
		},
		Explained: []replay.Difference{{Block: "now", What: "output", Marks: []string{"clock"}}},
	}
	a.printVerified(v)
	wantOut := "--- from scratch\n+++ incremental\n@@ -1 +1 @@\n-[stdout]total 7\n+[stdout]total 6\n"
	wantErr := `xstate: block now, output: differs from a run from scratch, as a volatile block may (clock)
xstate: not equal to a run from scratch: block report, output
xstate: and 1 more difference (--json has them all)
hint: --fresh runs everything again; unless a child process showed time or chance, please report it
`
	if d := cmp.Diff(wantOut, strings.ReplaceAll(out.String(), "\t", "")); d != "" {
		t.Errorf("stdout (-want +got):\n%s", d)
	}
	if d := cmp.Diff(wantErr, errOut.String()); d != "" {
		t.Errorf("stderr (-want +got):\n%s", d)
	}
	if got := fail(a.ui, runExitCode(&xstate.Outcome{}, v)); got != exitDiverged {
		t.Errorf("exit code with a difference = %d, want %d", got, exitDiverged)
	}
	v.Differences = nil
	if got := fail(a.ui, runExitCode(&xstate.Outcome{}, v)); got != exitDone {
		t.Errorf("exit code with explained differences only = %d, want %d", got, exitDone)
	}
}

// TestRich: what cannot be shown as text is told by kind and size; text is shown as it is.
func TestRich(t *testing.T) {
	for _, c := range []struct {
		in   output.Output
		want string
	}{
		{output.Output{Kind: "stdout", Text: "a\nb"}, "a\nb"},
		{output.Output{Kind: "result", Data: map[string]string{"text/plain": "x", "text/html": "<b>x</b>"}}, "x\n"},
		{output.Output{Kind: "display", Data: map[string]string{"text/plain": "<Figure>",
			"image/png": strings.Repeat("A", 16000)}}, "<image/png 12 kB>\n"},
		{output.Output{Kind: "display", Data: map[string]string{"text/html": "<b>x</b>"}}, "<text/html 8 B>\n"},
		{output.Output{Kind: "display", Data: map[string]string{"image/svg+xml": "<svg/>"}}, "<image/svg+xml 6 B>\n"},
	} {
		if got := (*places)(nil).outputText(c.in); got != c.want {
			t.Errorf("outputText(%+v) = %q, want %q", c.in, got, c.want)
		}
	}
}

// TestSeconds: two or three digits, for people.
func TestSeconds(t *testing.T) {
	for s, want := range map[float64]string{0: "<1 ms", 0.0123: "12 ms", 0.0996: "0.10 s", 0.414: "0.41 s",
		9.996: "10.0 s", 59.94: "59.9 s", 61: "1m1s", 7200: "2h0m0s"} {
		if got := term.Seconds(s); got != want {
			t.Errorf("seconds(%v) = %q, want %q", s, got, want)
		}
	}
}

package replay_test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/patch/syntax"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// planted is a session in which something is to be planted between the run and its replay.
type planted struct {
	t       *testing.T
	dir     string
	options xstate.SessionOptions
	store   *xstate.Store
	session *xstate.Session
}

// plant runs a program of blocks, id and source in turn, in a folder with files.
func plant(t *testing.T, files map[string]string, python string, blocks ...string) *planted {
	p := &planted{t: t, dir: t.TempDir()}
	for name, text := range files {
		xstatetest.WriteFiles(t, p.dir, map[string][]byte{name: []byte(text)})
	}
	p.options = xstate.SessionOptions{
		Workspace: p.dir,
		Seed:      7,
		Python:    python,
		Environ:   append(os.Environ(), "PLANTED=one"),
	}
	p.store = xstatetest.OpenStore(t, filepath.Join(p.dir, xstate.StoreName))
	p.session = xstatetest.OpenSession(t, p.store, p.options)
	for i := 0; i < len(blocks); i += 2 {
		if _, err := p.session.Append(t.Context(),
			patch.Block{ID: blocks[i], Dialect: syntax.Python, Source: blocks[i+1]}, "", xstate.Origin{}); err != nil {
			t.Fatal(err)
		}
	}
	p.run()
	return p
}

func (p *planted) run() {
	p.t.Helper()
	if _, _, err := p.session.Run(p.t.Context(), runner.RunOptions{}, xstate.Origin{}); err != nil {
		p.t.Fatal(err)
	}
	p.session.Close()
	p.session = xstatetest.OpenSession(p.t, p.store, p.options)
}

func (p *planted) replay(o replay.Options) *replay.Report {
	p.t.Helper()
	before := tree(p.t, p.dir)
	found, err := replay.Run(p.t.Context(), p.session.Subject(), o)
	if err != nil {
		p.t.Fatal(err)
	}
	for name, text := range tree(p.t, p.dir) {
		if before[name] != text {
			p.t.Errorf("replay changed %s", name)
		}
	}
	return found
}

// diverges replays, and wants one node to diverge for one cause and nothing else to.
func (p *planted) diverges(node string, cause replay.Cause, detail string) *replay.Report {
	p.t.Helper()
	head, _, err := p.store.State().Head(p.t.Context(), "prog")
	if err != nil {
		p.t.Fatal(err)
	}
	found := p.replay(replay.Options{Step: head})
	if found.First == nil {
		p.t.Fatalf("%s, want %s to diverge: %+v", found.Result, node, found)
	}
	for _, run := range found.Runs {
		for i, d := range run.Divergences {
			if i > 0 || d.Node != node || d.Cause != cause || !strings.Contains(d.Detail, detail) {
				p.t.Errorf(
					"step %d: %s %s diverges for cause %s: %s; want %s for cause %s: %s",
					d.Step,
					d.Node,
					d.What,
					d.Cause,
					d.Detail,
					node,
					cause,
					detail,
				)
			}
		}
	}
	return found
}

func (p *planted) equal() *replay.Report {
	p.t.Helper()
	found := p.replay(replay.Options{})
	if found.Result != replay.Equal {
		p.t.Fatalf("%s, want equal: %+v", found.Result, found.First)
	}
	return found
}

// write changes a file of the workspace; nil removes it.
func (p *planted) write(name string, data []byte) {
	xstatetest.WriteFiles(p.t, p.dir, map[string][]byte{name: data})
}

// large is a text that is too large to be kept as an input.
func large(text string) string { return text + "\n" + strings.Repeat("# padding\n", 1<<17) }

// TestReplayCauses plants one divergence for each cause.
func TestReplayCauses(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		p := plant(
			t,
			map[string]string{"data.txt": large("1"), "small.txt": "small"},
			"",
			"load",
			"x = open('data.txt').readline()\ny = open('small.txt').read()",
			"use",
			"print(x, y)",
		)
		p.equal()
		p.write("small.txt", []byte("other")) // which is kept
		p.equal()
		p.write("data.txt", []byte(large("2")))
		found := p.diverges("load", replay.CauseFile, "data.txt differs")
		if len(found.Missing) != 1 || found.Missing[0].What != "file:data.txt" {
			t.Errorf("missing %v, want file:data.txt", found.Missing)
		}
		p.write("data.txt", nil)
		if found = p.diverges("load", replay.CauseFile,
			"data.txt is gone"); found.Missing[0].Why != "it is gone, and its content was not kept" {
			t.Errorf("missing %v", found.Missing)
		}
	})
	t.Run("directory", func(t *testing.T) {
		p := plant(
			t,
			map[string]string{"in/a.txt": "", "in/b.txt": ""},
			"",
			"list",
			"import os\nnames = sorted(os.listdir('in'))\nprint(names)",
		)
		p.write("in/a.txt", nil)
		p.write("in/c.txt", []byte("c"))
		p.equal() // what it listed is kept
	})
	t.Run("module", func(t *testing.T) {
		p := plant(
			t,
			map[string]string{"util.py": large("def f(): return 1")},
			"",
			"use",
			"import util\nprint(util.f())",
		)
		p.equal()
		p.write("util.py", []byte(large("def f(): return 2")))
		p.diverges("use#1", replay.CauseCode, "the module util.py differs")
	})
	t.Run("code", func(t *testing.T) {
		p := plant(t, nil, "", "a", "a = 1", "b", "b = 2")
		p.rewrite("b", func(b *state.Block) { b.Version = state.DigestOf([]byte("b = 3")) }, "b = 3")
		p.diverges("b", replay.CauseCode, "of other code")
	})
	t.Run("input", func(t *testing.T) {
		p := plant(t, nil, "", "a", "import time\na = time.time_ns()", "b", "b = a + 1")
		p.rewrite("a", func(b *state.Block) { b.Nodes[1].Trace = "" })
		p.diverges("b", replay.CauseInput, "a, which it reads")
	})
	t.Run("record", func(t *testing.T) {
		p := plant(t, nil, "", "a", "a = 1\nprint(a)", "b", "b = 2")
		p.rewrite("a", func(b *state.Block) {
			n := &b.Nodes[len(b.Nodes)-1]
			told, _, err := p.store.State().Trace(n.Trace)
			ref, err2 := p.store.State().PutBlob([]byte(`[{"kind":"stdout","text":"another\n"}]`))
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			told.Outputs = ref.Digest
			if n.Trace, err = p.store.State().PutTrace(told); err != nil {
				t.Fatal(err)
			}
		})
		p.diverges("a", replay.CauseRecord, "came to the same 4 times")
	})
	t.Run("environment", func(t *testing.T) {
		p := plant(t, nil, "", "a", "import os\na = os.environ['PLANTED']", "b", "print(a)")
		p.equal()
		p.options.Environ = append(p.options.Environ, "PLANTED=two")
		p.session = xstatetest.OpenSession(t, p.store, p.options)
		p.diverges("a#2", replay.CauseEnvironment, "the variable PLANTED of the environment differs")
	})
	t.Run("randomness", func(t *testing.T) {
		p := plant(
			t,
			nil,
			"",
			"a",
			"import os, random\na = os.urandom(8)",
			"b",
			"b = len(a)",
			"c",
			"c = random.random()",
		)
		p.diverges("a#2", replay.CauseRandomness, "randomness of the operating system")
	})
	t.Run("clock", func(t *testing.T) {
		p := plant(t, nil, "", "a", "import time\na = time.time_ns()", "b", "b = a + 1")
		p.diverges("a#2", replay.CauseClock, "reads the clock")
	})
	t.Run("process", func(t *testing.T) {
		p := plant(t, nil, "", "a", "import os\na = os.getpid()", "b", "b = a + 1")
		p.diverges("a#2", replay.CauseProcess, "from process to process")
	})
	t.Run("race", func(t *testing.T) { // a concurrent process: neither an input nor a mark
		p := plant(t, nil, "", "a", "a = 1")
		counter := filepath.Join(t.TempDir(), "__pycache__", "n")
		xstatetest.WriteFiles(t, filepath.Dir(counter), map[string][]byte{"n": []byte("1")})
		p.patch(
			"a",
			"with open("+quote(counter)+", 'r+') as f:\n    a = int(f.read()) + 1\n    f.seek(0)\n    f.write(str(a))",
		)
		p.diverges("a", replay.CauseRace, "something else each time")
	})
}

// TestReplayDamage: a record whose bytes have changed is named as damaged, by a replay and without one.
func TestReplayDamage(t *testing.T) {
	p := plant(t, nil, "", "a", "a = 'sentinel-4711'", "b", "b = 2")
	dir := filepath.Join(t.TempDir(), xstate.StoreName)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(p.dir, xstate.StoreName))); err != nil {
		t.Fatal(err)
	}
	results := filepath.Join(dir, "results.db")
	data, err := os.ReadFile(results)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte("'sentinel-4711'")) {
		t.Fatal("the record of block a is not found")
	}
	if err := os.WriteFile(results, bytes.ReplaceAll(data, []byte("'sentinel-4711'"), []byte("'sentinel-4712'")),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, cached := range []bool{true, false} {
		store, err := xstate.Open(t.Context(), dir, xstate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		found, err := replay.Run(
			t.Context(),
			xstatetest.OpenSession(t, store, p.options).Subject(),
			replay.Options{Cached: cached},
		)
		if err != nil {
			t.Fatal(err)
		}
		if d := found.First; d == nil || d.Node != "a" || d.Cause != replay.CauseRecord ||
			d.Detail != "the record of a is damaged" {
			t.Errorf("cached %v: %s %+v", cached, found.Result, d)
		}
		store.Close()
	}
}

// TestReplayInterpreter: a run that was recorded in another environment has that as the cause if it diverges, and is
// equal otherwise. If the interpreter is gone, the replay uses another and reports it.
func TestReplayInterpreter(t *testing.T) {
	python := newVenv(t)
	p := plant(t, nil, python, "a", "import sys\na = sys.prefix", "b", "b = 2")
	p.equal()
	if err := os.RemoveAll(filepath.Dir(filepath.Dir(python))); err != nil {
		t.Fatal(err)
	}
	p.options.Python = ""
	p.session = xstatetest.OpenSession(t, p.store, p.options)
	found := p.diverges("a#2", replay.CauseInterpreter, "")
	if len(found.Missing) != 1 || found.Missing[0].What != "interpreter" ||
		!strings.Contains(found.Missing[0].Why, "is gone") {
		t.Errorf("missing %v, want the interpreter", found.Missing)
	}
}

// TestReplayPackage: a package of another version, and one that is gone.
func TestReplayPackage(t *testing.T) {
	python := newVenv(t)
	out, err := exec.Command(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").Output()
	if err != nil {
		t.Fatal(err)
	}
	site := strings.TrimSpace(string(out))
	install := func(version string) {
		xstatetest.WriteFiles(
			t,
			site,
			map[string][]byte{"planted_package/__init__.py": []byte("version = '" + version + "'\n"),
				"planted_package-" + version + ".dist-info/METADATA": []byte(
					"Metadata-Version: 2.1\nName: planted-package\nVersion: " + version + "\n",
				),
				"planted_package-" + version + ".dist-info/RECORD": []byte("planted_package/__init__.py,,\n")},
		)
	}
	install("1.0")
	p := plant(t, nil, python, "a", "import planted_package", "b", "print(planted_package.version)", "c", "c = 1")
	p.equal()
	for _, name := range []string{"planted_package", "planted_package-1.0.dist-info"} {
		if err := os.RemoveAll(filepath.Join(site, name)); err != nil {
			t.Fatal(err)
		}
	}
	found := p.replay(replay.Options{})
	if d := found.First; d == nil || d.Node != "a" || d.Cause != replay.CausePackage ||
		d.Key != "module:planted_package" {
		t.Errorf("package gone: %+v", d)
	}
	if !slices.ContainsFunc(found.Missing, func(m replay.Missing) bool {
		return m.What == "module:planted_package" && strings.HasSuffix(m.Why, "it ran with planted_package 1.0")
	}) {
		t.Errorf("missing %v, want the package", found.Missing)
	}
	other := p.options // another interpreter, which never had the package: it is named, rather than the interpreter
	other.Python = newVenv(t)
	if found, err := replay.Run(t.Context(), xstatetest.OpenSession(t, p.store, other).Subject(),
		replay.Options{}); err != nil ||
		len(found.Missing) != 1 ||
		found.Missing[0].What != "module:planted_package" {
		t.Errorf("with another interpreter: missing %+v, %v, want the package", found, err)
	}
	install("2.0")
	found = p.replay(replay.Options{})
	if d := found.First; d == nil || d.Cause != replay.CausePackage || d.Key != "module:planted_package" {
		t.Errorf("other version: %+v", d)
	}
}

// newVenv makes an environment without packages.
func newVenv(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "venv")
	python := xstatetest.Pythons()[0]
	if python == "" {
		python = "python3"
	}
	if out, err := exec.Command(python, "-m", "venv", "--without-pip", dir).CombinedOutput(); err != nil {
		t.Skipf("no virtual environments: %v\n%s", err, out)
	}
	return filepath.Join(dir, "bin", "python")
}

// TestReplayEffects: what used the network or started a process is served what was recorded, and does not happen again;
// what now asks the network, and did not then, is kept from it and named.
func TestReplayEffects(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	var calls atomic.Int32
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			calls.Add(1)
			conn.Write([]byte("answer"))
			conn.Close()
		}
	}()
	host, port, _ := net.SplitHostPort(server.Addr().String())
	connect := "socket.create_connection((" + quote(host) + ", " + port + "))"
	outside := filepath.Join(t.TempDir(), "outside.txt")
	p := plant(t, map[string]string{"__pycache__/flag": ""}, "", "load", "import os, socket, subprocess",
		"ask", "with "+connect+" as s:\n    answer = s.recv(10)", "use", "print(answer)",
		"start", "subprocess.run(['touch', "+quote(outside)+"], check=True)",
		"hidden", "if os.path.exists('__pycache__/flag'):\n    got = 1\nelse:\n    got = "+connect)
	if err := os.Remove(outside); err != nil {
		t.Fatal(err)
	}
	found := p.diverges("hidden", replay.CauseNetwork, "the recording did not")
	if n := calls.Load(); n != 1 {
		t.Errorf("%d connections, want that of the run alone", n)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("the process was started again")
	}
	var served []string
	for _, s := range found.Runs[0].Served {
		if s.Why == replay.ServedEffect {
			served = append(served, s.Node+" "+s.What[0])
		}
	}
	if want := []string{"ask network", "start subprocess"}; !slices.Equal(served, want) {
		t.Errorf("served %q, want %q", served, want)
	}
}

// TestReplayGuard: a program that changes files of the workspace by their absolute path is kept from it.
func TestReplayGuard(t *testing.T) {
	p := plant(t, map[string]string{"out.txt": "before"}, "", "a", "a = 1")
	p.patch("a", "with open("+quote(filepath.Join(p.dir, "out.txt"))+", 'w') as f:\n    f.write('after')")
	p.write("out.txt", []byte("mine"))
	p.diverges("a", replay.CauseFile, "a replay does not let it")
	if data, _ := os.ReadFile(filepath.Join(p.dir, "out.txt")); string(data) != "mine" {
		t.Errorf("the file of the workspace is %q", data)
	}
}

// TestReplayFolder: results that contain the name of the folder are equal if nothing but the name differs, and are not
// compared if that cannot be decided. Results that depend on neither are compared as usual.
func TestReplayFolder(t *testing.T) {
	p := plant(
		t,
		nil,
		"",
		"import",
		"import os",
		"class",
		"class Place:\n    def __init__(self, at):\n        self.at = at",
		"path",
		"path = os.path.join(os.getcwd(), 'x')\nprint(path)",
		"copy",
		"again = path + 'y'",
		"place",
		"place = Place(os.getcwd())",
		"use",
		"n = len(again) - len(path)",
		"clock",
		"import time\nnow = time.time_ns()",
	)
	found := p.diverges("clock#2", replay.CauseClock, "reads the clock")
	var served []string
	for _, s := range found.Runs[0].Served {
		served = append(served, s.Node+" "+s.Why)
	}
	if want := []string{"place folder", "clock#2 diverged"}; !slices.Equal(served, want) {
		t.Errorf("served %q, want %q", served, want)
	}
}

// TestReplayParts: one run, one block with what it needs, a stretch that ends with the first divergence, and steps that
// are no run.
func TestReplayParts(t *testing.T) {
	p := plant(t, nil, "", "a", "a = 1", "other", "other = 5", "b", "b = a + 1", "c", "c = b + other")
	for _, source := range []string{"import time\na = time.time_ns()", "a = 3", "a = 4"} {
		p.patch("a", source)
	}
	runs := func(found *replay.Report) (steps []xstate.StepNumber) {
		for _, run := range found.Runs {
			steps = append(steps, run.Step)
		}
		return steps
	}
	told := 0
	all := p.replay(replay.Options{Jobs: 3, OnRun: func(_ *replay.RunReport, of int) { told += of }})
	if told != 4*4 {
		t.Errorf("told of %d runs, want each of 4, of 4", told)
	}
	if got, want := runs(all), []xstate.StepNumber{5, 7, 9, 11}; !slices.Equal(got, want) {
		t.Fatalf("runs %v, want %v", got, want)
	}
	for i, want := range []string{replay.Equal, replay.Diverged, replay.Equal, replay.Equal} {
		if all.Runs[i].Result != want {
			t.Errorf("step %d: %s, want %s", all.Runs[i].Step, all.Runs[i].Result, want)
		}
	}
	if one := p.replay(replay.Options{}); one.Runs[3].Executed != 3 || one.Runs[3].Proved != 1 {
		t.Errorf(
			"last run executed %d and had %d proved, want 3 and 1: %+v",
			one.Runs[3].Executed,
			one.Runs[3].Proved,
			one.Runs[3],
		)
	}
	if found := p.replay(replay.Options{UntilDivergence: true}); !slices.Equal(runs(found), []xstate.StepNumber{5, 7}) {
		t.Errorf("until divergence: runs %v, want 5 and 7", runs(found))
	}
	if found := p.replay(replay.Options{Step: 9}); !slices.Equal(runs(found), []xstate.StepNumber{9}) ||
		found.Result != replay.Equal {
		t.Errorf("step 9: %v %s", runs(found), found.Result)
	}
	if found := p.replay(replay.Options{Block: "b"}); found.Runs[0].Nodes != 2 || found.Result != replay.Equal {
		t.Errorf("block b: %+v", found.Runs)
	}
	for _, o := range []replay.Options{{Step: 6}, {From: 6, To: 6}} {
		if _, err := replay.Run(t.Context(), p.session.Subject(), o); state.CodeOf(err) != replay.CodeNoRun {
			t.Errorf("%+v: %v, want no-run", o, err)
		}
	}
	if _, err := replay.Run(t.Context(), p.session.Subject(), replay.Options{Step: 99}); state.CodeOf(
		err,
	) != state.CodeNoStep {
		t.Errorf("step 99: %v, want no-step", err)
	}
	if _, err := replay.Run(t.Context(), p.session.Subject(), replay.Options{Block: "none"}); state.CodeOf(
		err,
	) != query.CodeNoBlock {
		t.Errorf("no such block: %v", err)
	}
}

// patch gives a block another source, and runs.
func (p *planted) patch(block, source string) {
	p.t.Helper()
	if _, err := p.session.Patch(p.t.Context(), xstate.BlockID(block), source, xstate.Origin{}); err != nil {
		p.t.Fatal(err)
	}
	p.run()
}

// rewrite commits a run after which a block is what change makes of it.
func (p *planted) rewrite(block xstate.BlockID, change func(*state.Block), sources ...string) {
	p.t.Helper()
	s := p.store.State()
	head, _, err := s.Head(p.t.Context(), "prog")
	if err != nil {
		p.t.Fatal(err)
	}
	b, _, err := s.BlockAt(p.t.Context(), "prog", head, block)
	if err != nil {
		p.t.Fatal(err)
	}
	change(&b)
	program, err := s.ProgramAt(p.t.Context(), "prog", head)
	if err != nil {
		p.t.Fatal(err)
	}
	d := state.Draft{
		Kind:    state.KindRun,
		Run:     &state.RunSummary{Blocks: state.Counts{Ran: len(program)}},
		Changes: []state.Change{{Op: state.OpUpdate, ID: block, Block: &b}},
	}
	for _, source := range sources {
		d.Sources = append(d.Sources, []byte(source))
	}
	if _, err := s.Commit(p.t.Context(), "prog", head, []state.Draft{d}); err != nil {
		p.t.Fatal(err)
	}
}

func quote(text string) string { return "'" + text + "'" }

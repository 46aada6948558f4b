package acceptance

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
)

// cachingLibrary is a library with a cache of its own, which its import fills, and with one of a tool that it starts. A
// timer warns where that takes long. It has settings, and functions that use the cache and files of the program's.
const cachingLibrary = `
import json, os, pathlib, subprocess, threading
_home = pathlib.Path.home()
_settings = _home / ".config" / "answers"
_settings.mkdir(parents=True, exist_ok=True)
_cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or _home / ".cache") / "answers"
_cache.mkdir(parents=True, exist_ok=True)
os.environ.setdefault("ANSWERS_THREADS", "1")
try:
    STYLE = (_settings / "style").read_text().strip()
except OSError:
    STYLE = "plain"
try:
    with open(_cache / "known.json") as f:
        KNOWN = json.load(f)
except OSError:
    timer = threading.Timer(60, print)
    timer.start()
    subprocess.run(["sh", "-c", """
        cd && mkdir -p .cache/fontconfig
        [ -e .cache/fontconfig/list ] || echo fonts > .cache/fontconfig/list
        cat .cache/fontconfig/list > /dev/null"""], check=True)
    timer.cancel()
    with open(_cache / "known.json", "w") as f:
        json.dump([42], f)
    KNOWN = [42]

def answer(question):
    place = _cache / ("%s.txt" % question)
    if not place.exists():
        place.write_text("42")
    return len(os.listdir(_cache)) > 0 and int(place.read_text())

def save(value, path):
    with open(path, "w") as f:
        json.dump(value, f)

def load(path):
    with open(path) as f:
        return json.load(f)
`

// TestCaches runs a program, changes caches and other files in the home folder as another program would, edits the last
// block, and runs it in a new process. Each test has its own home, which is empty at first.
func TestCaches(t *testing.T) {
	const importing = "# %% import\nimport answers\n\n"
	const last = "# %% last\nprint('last', 1)\n"
	caches := map[string]string{
		".cache/answers/known.json": "[42]\n", ".cache/answers/life.txt": "42\n", ".cache/answers/more": "x",
		".cache/fontconfig/list": "others\n", ".cache/fontconfig/more": "x", ".config/other/x": "x",
	}
	for _, test := range []struct {
		name, program string
		first         map[string]string // files of the home, before the first run
		then          map[string]string // before the second run; without content: it is removed
		ran           string            // in the second run
		seen          bool              // child processes have to be observed
	}{
		{name: "filled by the import", program: importing, ran: "last"},
		{name: "filled by another program", program: importing, then: caches, ran: "last"},
		{name: "full", program: importing, first: caches, then: map[string]string{".cache": "", ".config": ""},
			ran: "last"},
		{name: "imported twice", program: importing + "# %% again\nimport answers\n\n", then: caches, ran: "last"},
		{
			name: "called", program: importing + "# %% call\nprint(answers.answer('life'))\n\n",
			then: caches, ran: "last",
		},
		{
			name: "called, full", program: importing + "# %% call\nprint(answers.answer('life'))\n\n",
			first: caches, then: map[string]string{".cache": ""}, ran: "last",
		},
		{
			name: "settings", program: importing + "# %% style\nprint(answers.STYLE)\n\n",
			then: map[string]string{".config/answers/style": "bold\n"}, ran: "import style last",
		},
		{
			name: "own file", program: "# %% read\nfrom pathlib import Path\n" +
				"print((Path.home() / '.cache' / 'mine.json').exists())\n\n",
			then: map[string]string{".cache/mine.json": "1"}, ran: "read last",
		},
		{
			name: "own look at the cache of a library", program: importing + "# %% read\nfrom pathlib import Path\n" +
				"print(open(Path.home() / '.cache/answers/known.json').read())\n\n",
			then: map[string]string{".cache/answers/known.json": "[42, 43]"}, ran: "read last",
		},
		{
			name: "own file by a library", program: importing + "# %% load\nimport os\n" +
				"print(answers.load(os.path.expanduser('~/.cache/answers/mine.json')))\n\n",
			first: map[string]string{".cache/answers/mine.json": "1"},
			then:  map[string]string{".cache/answers/mine.json": "2"}, ran: "load last",
		},
		{
			name: "own file by another library", program: "# %% load\nimport pathlib\n" +
				"print((pathlib.Path.home() / '.cache/pathlib/x').read_text())\n\n",
			first: map[string]string{".cache/pathlib/x": "1"}, then: map[string]string{".cache/pathlib/x": "2"},
			ran: "load last",
		},
		{
			name: "child process", program: "# %% child\nimport subprocess, sys\n" +
				"print(subprocess.run([sys.executable, '-c', " +
				"'import answers; print(answers.answer(1))'], capture_output=True, text=True).stdout)\n\n",
			then: caches, ran: "last", seen: true,
		},
		{
			name: "own file by a child process", program: "# %% child\nimport subprocess\nprint(subprocess.run(" +
				"'cat ~/.cache/mine.json', shell=True, capture_output=True, text=True).stdout)\n\n",
			first: map[string]string{".cache/mine.json": "1"}, then: map[string]string{".cache/mine.json": "2"},
			ran: "child last", seen: true,
		},
		{
			name: "compiled by another program", program: "# %% child\nimport subprocess, sys\nprint(subprocess.run(" +
				"[sys.executable, '-B', '-c', 'import pkgutil, answers; print(answers.STYLE)'], " +
				"capture_output=True, text=True).stdout)\n\n",
			then: map[string]string{userPackages + "/__pycache__/answers.x.pyc": "x"}, ran: "last", seen: true,
		},
	} {
		for _, level := range []string{"seccomp", "hooks"} {
			if test.seen && level == "hooks" {
				continue
			}
			t.Run(test.name+"/"+level, func(t *testing.T) {
				t.Setenv("XSTATE_DEBUG", level)
				p := newCachesProgram(t)
				p.write(test.first)
				p.run(test.program + last)
				p.write(test.then)
				out := p.run(test.program + strings.Replace(last, "1", "2", 1))
				if got := strings.Join(xstatetest.RanBlocks(out), " "); got != test.ran {
					t.Errorf("ran %s, want %s", got, test.ran)
				}
				if test.ran == "last" && out.Recomputed > 0 {
					t.Errorf("%d nodes were executed again for values that the last block does not use", out.Recomputed)
				}
			})
		}
	}
}

// TestCacheDependency: what one block writes with its own code into the user's folder of caches, or has a library write
// to a place that it names, another block reads.
func TestCacheDependency(t *testing.T) {
	for _, test := range []struct{ name, save, load string }{
		{"own code", "open(place, 'w').write(str(value))", "open(place).read()"},
		{"by a library", "answers.save(value, place)", "answers.load(place)"},
		{"by keyword", "answers.save(value, path=place)", "answers.load(path=place)"},
		{"path object", "answers.save(value, pathlib.Path(place))", "answers.load(pathlib.Path(place))"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newCachesProgram(t)
			program := "# %% start\nimport answers, os, pathlib\n" +
				"place = os.path.expanduser('~/.cache/answers/mine')\n\n" +
				"# %% save\nvalue = 1\n" + test.save + "\n\n# %% load\nprint(" + test.load + ")\n"
			p.run(program)
			out := p.run(strings.Replace(program, "value = 1", "value = 2", 1))
			if got := strings.Join(xstatetest.RanBlocks(out), " "); got != "save load" {
				t.Errorf("ran %s, want save load", got)
			}
		})
	}
}

// TestCacheChangesNoNames: a library that fills its cache sets a timer, and one that finds it full does not. So the
// names of the program's threads would show which it was.
func TestCacheChangesNoNames(t *testing.T) {
	p := newCachesProgram(t)
	const program = "# %% import\nimport answers\nx = 1\n\n" +
		"# %% thread\nimport threading\nprint(threading.Thread().name)\n"
	p.run(program)
	out := p.run(strings.Replace(program, "x = 1", "x = 2", 1))
	if got := strings.Join(xstatetest.RanBlocks(out), " "); got != "import" {
		t.Errorf("ran %s, want import", got)
	}
}

// TestCachesUnderBounds: matplotlib looks for a folder that it can write, and takes one with a name of chance where it
// finds none. It says so on standard error, and in a variable that child processes get.
func TestCachesUnderBounds(t *testing.T) {
	if _, err := os.Stat("/proc/self/ns"); err != nil {
		t.Skip("only Linux enforces bounds")
	}
	const library = `
import os, pathlib, sys, tempfile
for base, name in ((".config", "XDG_CONFIG_HOME"), (".cache", "XDG_CACHE_HOME")):
    folder = pathlib.Path(os.environ.get("MPLCONFIGDIR") or
        pathlib.Path(os.environ.get(name) or pathlib.Path.home() / base) / "matplotlib")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "fontlist-v1.json").write_text("{}")
    except OSError as e:
        os.environ["MPLCONFIGDIR"] = tempfile.mkdtemp(prefix="matplotlib-")
        print("no folder:", e, file=sys.stderr)
`
	p := newCachesProgram(t)
	p.options.Policy = &policy.Policy{Level: policy.Workspace}
	xstatetest.WriteFiles(t, p.options.Workspace, map[string][]byte{"site-packages/plots.py": []byte(library)})
	p.options.Environ = append(p.options.Environ,
		"PYTHONPATH="+filepath.Join(p.options.Workspace, "site-packages"), "XDG_CONFIG_HOME=", "MPLCONFIGDIR=")
	const program = "# %% plots\nimport plots\n\n# %% work\nimport subprocess\n" +
		"subprocess.run('echo $TMPDIR; [ -d \"$MPLCONFIGDIR\" ] && echo >> \"$XDG_CACHE_HOME/tool\"', shell=True)\n\n" +
		"# %% figure\nprint(plots.__name__, 1)\n"
	out := p.run(program)
	for _, b := range out.Blocks {
		if len(b.Denied) > 0 || len(b.Outputs) > 0 && b.ID == "plots" {
			t.Errorf("block %s: denied %v, put out %v; want nothing", b.ID, b.Denied, b.Outputs)
		}
	}
	out = p.run(strings.Replace(program, "1)", "2)", 1))
	if got := strings.Join(xstatetest.RanBlocks(out), " "); got != "figure" {
		t.Errorf("ran %s, want figure", got)
	}
}

// cachesProgram is a program in a home of its own, in which the library "answers" is installed.
type cachesProgram struct {
	t       *testing.T
	home    string
	store   *xstate.Store
	options xstate.SessionOptions
}

func newCachesProgram(t *testing.T) *cachesProgram {
	home := t.TempDir()
	p := &cachesProgram{t: t, home: home, store: xstatetest.OpenStore(t, filepath.Join(t.TempDir(), "store"))}
	p.write(map[string]string{userPackages + "/answers.py": cachingLibrary})
	environ := slices.DeleteFunc(os.Environ(), func(pair string) bool {
		return strings.HasPrefix(pair, "XDG_") || strings.HasPrefix(pair, "MPLCONFIGDIR=")
	})
	p.options = xstate.SessionOptions{
		Workspace: t.TempDir(), Python: xstatetest.Pythons()[0],
		Environ: append(environ, "HOME="+home, "PYTHONPATH="+filepath.Join(home, userPackages)),
	}
	return p
}

// userPackages is a folder of the home for installed libraries.
const userPackages = ".local/lib/python3/site-packages"

// write writes files of the home. Without content, a file or folder is removed.
func (p *cachesProgram) write(files map[string]string) {
	for name, text := range files {
		if text == "" {
			if err := os.RemoveAll(filepath.Join(p.home, name)); err != nil {
				p.t.Fatal(err)
			}
			continue
		}
		xstatetest.WriteFiles(p.t, p.home, map[string][]byte{name: []byte(text)})
	}
}

// run runs a program in a new process.
func (p *cachesProgram) run(text string) *xstate.Outcome {
	p.t.Helper()
	program, err := patch.Parse("prog.py", []byte(text))
	if err != nil {
		p.t.Fatal(err)
	}
	session := xstatetest.OpenSession(p.t, p.store, p.options)
	defer session.Close()
	if _, err := session.Load(p.t.Context(), program.Blocks, xstate.Origin{}); err != nil {
		p.t.Fatal(err)
	}
	out, _, err := session.Run(p.t.Context(), runner.RunOptions{}, xstate.Origin{})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, b := range out.Blocks {
		if b.Err != nil {
			p.t.Fatalf("block %s: %v", b.ID, b.Err)
		}
	}
	return out
}

package python

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xstate-engine/xstate/depgraph"
	source "github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state/output"
)

// forking starts kernels of one interpreter, forked from templates unless templates is nil.
type forking struct {
	*testing.T
	python    Interpreter
	templates *kernel.Templates
	folder    string
	store     string
	modules   []string
	show      func(output.Output) // may be nil
}

func newForking(t *testing.T, path string, modules ...string) *forking {
	t.Helper()
	if level, why := sandbox.Probe(); level != sandbox.LevelCalls || Compiler() == "" {
		t.Skipf("there are no templates here: %s, %s", why, Walk())
	}
	i, err := Identify(t.Context(), kernel.Search{Cache: t.TempDir(), Environ: os.Environ()}, path)
	if err != nil {
		t.Fatal(err)
	}
	f := &forking{T: t, python: i, templates: &kernel.Templates{}, folder: t.TempDir(), store: t.TempDir(),
		modules: modules}
	t.Cleanup(f.templates.Close)
	return f
}

// start starts a kernel of a program with a seed and arguments.
func (f *forking) start(seed uint64, arguments ...string) kernel.Kernel {
	f.Helper()
	spool, store := f.TempDir(), f.store
	stdin := filepath.Join(spool, "stdin")
	if err := os.WriteFile(stdin, fmt.Appendf(nil, "given to %d", seed), 0o600); err != nil {
		f.Fatal(err)
	}
	l := kernel.Launch{
		Driver: store, Environ: f.python.Environ(os.Environ()), Folder: f.folder, Spool: spool, Store: store,
		Seed: seed,
		File: filepath.Join(f.folder, fmt.Sprintf("p%d.py", seed)), Arguments: arguments, Stdin: stdin,
		Dialects: []depgraph.Dialect{source.Plain},
		Sandbox:  &sandbox.Spec{Folder: f.folder, Store: store, Spool: spool},
	}
	if f.templates != nil {
		l.Ahead = &kernel.Ahead{Templates: f.templates, Key: "key", Modules: f.modules, Wait: true,
			Spool: func() (string, func(), error) { return f.TempDir(), func() {}, nil }}
	}
	k, err := f.python.Start(f.Context(), l)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(k.Close)
	return k
}

// run executes a statement, and returns what it printed.
func (f *forking) run(ctx context.Context, k kernel.Kernel, text string) (string, error) {
	var printed output.Screen
	seen, err := k.Execute(ctx, kernel.Node{Text: []byte(text + "\n"), ID: "b", Filename: "<b>", Line: 1, Last: true},
		kernel.Sink{Record: printed.Add, Show: f.show})
	if seen.Failure != nil {
		err = fmt.Errorf("%s: %s", seen.Failure.Type, seen.Failure.Message)
	}
	text = ""
	for _, o := range printed.Outputs() {
		text += o.Text
	}
	return text, err
}

// asked is what an interpreter that was forked and one that started by itself have in common.
const asked = `import sys, os, random, threading, signal, numpy, gc
print(random.random(), numpy.random.rand(), sys.argv, __file__, os.getcwd(), sys.stdin.read())
print(threading.main_thread().native_id == os.getpid(), os.getpgid(0) == os.getpid(), threading.active_count())
print([signal.getsignal(n) for n in (1, 13, 15, 17)], gc.isenabled(), sys.path[1:], len(os.environ))
print(numpy.linalg.norm(numpy.ones((300, 300)) @ numpy.ones((300, 300))), id(numpy) in forked)`

// TestTemplate compares forked interpreters with such as started by themselves, and looks that the forks are forks.
func TestTemplate(t *testing.T) {
	for _, path := range pythons() {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(path))), func(t *testing.T) {
			f := newForking(t, path, "numpy")
			places := map[string]bool{}
			for seed := range uint64(3) {
				arguments := []string{"-n", fmt.Sprint(seed)}
				k := f.start(seed, arguments...)
				place, err := f.run(t.Context(), k, "import numpy; forked = [id(numpy)]; print(id(numpy))")
				if err != nil {
					t.Fatal(err)
				}
				places[place] = true
				got, err := f.run(t.Context(), k, asked)
				alone := *f
				alone.templates = nil
				a := alone.start(seed, arguments...)
				_, _ = f.run(t.Context(), a, "import numpy; forked = [id(numpy)]")
				want, bad := f.run(t.Context(), a, asked)
				if err != nil || bad != nil || got != want {
					t.Errorf("seed %d: a fork prints\n%s%v, and alone it prints\n%s%v", seed, got, err, want, bad)
				}
			}
			if len(places) != 1 { // a module of two processes lies in one place only if one is a copy of the other
				t.Errorf("the interpreters are not of one template: %v", places)
			}
		})
	}
}

// TestTemplateEnds looks at how forked interpreters end, and that nothing of them is left.
func TestTemplateEnds(t *testing.T) {
	f := newForking(t, pythons()[0])
	for how, want := range map[string]string{
		"import os; os._exit(3)":                                            "exit status 3",
		"import os; os.kill(os.getpid(), 9)":                                "killed by signal 9 (killed)",
		"import os; os.abort()":                                             "killed by signal 6 (aborted)",
		"import os; os.kill(os.getppid(), 9)":                               "may not signal the process that runs it",
		"import os; os.killpg(os.getpgid(os.getppid()), 9)":                 "may not signal the process that runs it",
		"import time\nprint('runs', flush=True)\nwhile True: time.sleep(1)": "KeyboardInterrupt",
	} {
		k := f.start(1)
		if f.template(k) == 0 {
			t.Fatal("there is no template")
		}
		child, err := f.run(t.Context(), k, `import subprocess
child = subprocess.Popen(["sh", "-c", "sleep 1000 & echo $!; exec sleep 1000"], start_new_session=True,
                         stdout=subprocess.PIPE)
print(child.pid, int(child.stdout.readline()))`)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		f.show = func(o output.Output) {
			if o.Text == "runs\n" {
				cancel()
			}
		}
		_, err = f.run(ctx, k, how)
		cancel()
		if !strings.Contains(want, "exit status") && !strings.Contains(want, "killed by") {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", how, err, want)
			}
			k.Close()
		} else if got := k.Exit(); got != want {
			t.Errorf("%s: %s, want %s", how, got, want)
		}
		for _, pid := range strings.Fields(child) {
			n, _ := strconv.Atoi(pid)
			await.Until(t, fmt.Sprintf("%s: child %d has ended", how, n), func() bool {
				text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n))
				return err != nil || strings.Contains(string(text), ") Z ")
			})
		}
	}
}

// environment makes an environment of Python, and returns its interpreter and the folder of its packages.
func environment(t *testing.T) (python, site string) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "venv")
	if out, err := exec.Command(pythons()[0], "-m", "venv", "--without-pip", folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sites, err := filepath.Glob(filepath.Join(folder, "lib/python*/site-packages"))
	if err != nil || len(sites) != 1 {
		t.Fatalf("site-packages: %v, %v", sites, err)
	}
	return filepath.Join(folder, "bin", "python"), sites[0]
}

// awaitAge waits until the packages of an environment are old enough for a template.
func awaitAge(t *testing.T, site string) {
	t.Helper()
	await.Until(t, "the environment is old enough for a template", func() bool {
		var st unix.Stat_t
		return unix.Stat(site, &st) == nil && time.Since(time.Unix(0, st.Ctim.Nano())) > time.Second
	})
}

// TestTemplateInstalled: what is installed after a template was made is there for the next interpreter.
func TestTemplateInstalled(t *testing.T) {
	python, site := environment(t)
	awaitAge(t, site)
	f, added := newForking(t, python), t.TempDir()
	if _, err := f.run(t.Context(), f.start(1), "import added"); err == nil {
		t.Fatal("there is a module that was not installed")
	}
	for name, text := range map[string]string{
		filepath.Join(added, "added.py"):    "value = 7",
		filepath.Join(site, "editable.pth"): added,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := f.run(t.Context(), f.start(1), "import added; print(added.value)"); got != "7\n" || err != nil {
		t.Errorf("a module that was installed later: %q, %v", got, err)
	}
}

// TestTemplateFolder: an interpreter runs in the folder that has the name now.
func TestTemplateFolder(t *testing.T) {
	f := newForking(t, pythons()[0])
	_ = f.start(1)
	if err := os.Rename(f.folder, f.folder+"-old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(f.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := f.run(t.Context(), f.start(2), `open("made", "w").close()`); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(f.folder, "made")); err != nil {
		t.Error(err)
	}
}

// TestTemplateOwn: a template serves no launch that would not be like it. Each module is imported by a template.
func TestTemplateOwn(t *testing.T) {
	python, site := environment(t)
	for name, text := range map[string]string{
		"named":  "import sys\nvalue = list(sys.argv)",
		"filed":  "import sys\nvalue = sys.modules['__main__'].__file__",
		"locked": "import multiprocessing\nlock = multiprocessing.Lock()\nvalue = lock.acquire(timeout=0.01)",
		"mapped": "import mmap\nm = mmap.mmap(-1, 100)\nvalue = m[0]\nm[0] += 1",
		"drawn":  "import random\nvalue = random.random()",
		"thread": "import threading as t\ne = t.Event()\nt.Thread(target=e.wait, daemon=True).start()\n" +
			"value = t.active_count()",
		"opened": "f = open(__file__)\nvalue = f.readline()",
		"child":  "import subprocess\nchild = subprocess.Popen(['sleep', '1000'])\nvalue = child.poll()",
	} {
		if err := os.WriteFile(filepath.Join(site, name+".py"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			awaitAge(t, site)
			f := newForking(t, python, name)
			alone := *f
			alone.templates = nil
			for seed := range uint64(2) {
				got, err := f.run(t.Context(), f.start(seed), "import "+name+"; print("+name+".value)")
				want, bad := alone.run(t.Context(), alone.start(seed), "import "+name+"; print("+name+".value)")
				if got != want || err != nil || bad != nil {
					t.Errorf("seed %d: %q, %v; alone %q, %v", seed, got, err, want, bad)
				}
			}
		})
	}
}

// template returns the process that forked the keeper of a kernel; 0: the kernel started by itself.
func (f *forking) template(k kernel.Kernel) int {
	f.Helper()
	const above = `print(open(f"/proc/{__import__('os').getppid()}/stat").read().rpartition(")")[2].split()[1])`
	text, err := f.run(f.Context(), k, above)
	pid, err2 := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || err2 != nil {
		f.Fatal(err, err2)
	}
	if pid == os.Getpid() {
		return 0
	}
	return pid
}

// TestTemplateKilled: where a template was killed, another one is made.
func TestTemplateKilled(t *testing.T) {
	f := newForking(t, pythons()[0])
	killed := f.template(f.start(1))
	if killed == 0 {
		t.Fatal("there is no template")
	}
	if err := unix.Kill(killed, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "another template serves", func() bool {
		k := f.start(2)
		defer k.Close()
		now := f.template(k)
		return now != 0 && now != killed
	})
}

// TestTemplateShadowed: a module of the workspace comes before a library that the template has.
func TestTemplateShadowed(t *testing.T) {
	f := newForking(t, pythons()[0], "numpy")
	_ = f.start(1)
	if err := os.WriteFile(filepath.Join(f.folder, "numpy.py"), []byte("value = 7"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := f.run(t.Context(), f.start(2), "import numpy; print(numpy.value)"); got != "7\n" || err != nil {
		t.Errorf("a module of the workspace: %q, %v", got, err)
	}
}

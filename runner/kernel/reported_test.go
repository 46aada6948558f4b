package kernel

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/xstate-engine/xstate/runner/kernel/caches"
	"github.com/xstate-engine/xstate/runner/sandbox"
)

const (
	read   = sandbox.UseRead
	asked  = sandbox.UseLook
	absent = sandbox.UseAbsent
	list   = sandbox.UseList
	write  = sandbox.UseWrite
	mode   = sandbox.UseMode
	times  = sandbox.UseTime
)

// joined is a workspace with the files a and b, and what the hooks and the sandbox saw there.
type joined struct {
	t      *testing.T
	folder string
	r      *reporting
	seen   Observation
	report sandbox.Report
}

func newJoined(t *testing.T) *joined {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, ".cache"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", ".cache/tool"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := newReporting(&sandbox.Spec{Folder: folder, System: []string{filepath.Join(folder, ".venv")}},
		[]string{"HOME=" + folder})
	return &joined{t, folder, r, Observation{}, sandbox.Report{
		Main: map[string]*sandbox.Access{}, Child: map[string]*sandbox.Access{},
	}}
}

func (j *joined) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(j.folder, name)
}

func (j *joined) child(name string, use sandbox.Use, before *sandbox.Image) {
	j.report.Child[j.path(name)] = &sandbox.Access{Use: use, Before: before}
}

func (j *joined) main(name string, use sandbox.Use, before *sandbox.Image) {
	j.report.Main[j.path(name)] = &sandbox.Access{Use: use, Before: before}
}

// hooked notes a write that the hooks announced.
func (j *joined) hooked(name string, before *FileBefore) {
	if j.seen.Files.Writes == nil {
		j.seen.Files.Writes = map[string]*FileBefore{}
	}
	j.seen.Files.Writes[j.path(name)] = before
}

// want joins and compares: the reads by name ("content", "presence"), and the copies of what was written.
func (j *joined) want(reads, writes map[string]string) {
	j.t.Helper()
	j.r.join(j.report, &j.seen)
	short := func(path string) string {
		if rel, err := filepath.Rel(j.folder, path); err == nil && filepath.IsLocal(rel) {
			return rel
		}
		return path
	}
	gotReads, gotWrites := map[string]string{}, map[string]string{}
	for path, how := range j.seen.Files.Reads {
		if gotReads[short(path)] = "content"; how != nil {
			gotReads[short(path)] = *how
		}
	}
	for path, before := range j.seen.Files.Writes {
		if gotWrites[short(path)] = "nothing"; before != nil {
			gotWrites[short(path)] = short(before.Copy)
		}
	}
	if diff := cmp.Diff(reads, gotReads); diff != "" {
		j.t.Errorf("reads (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(writes, gotWrites); diff != "" {
		j.t.Errorf("writes (-want +got):\n%s", diff)
	}
}

type texts = map[string]string

func TestJoinOfChild(t *testing.T) {
	j := newJoined(t)
	j.child("a", read|asked, nil)
	j.child("none", asked|absent, nil)
	j.child("b", read|write, &sandbox.Image{Copy: "copy-of-b"})
	j.child(".", list, nil)
	j.child("new/c", write|absent, nil) // removed again: it is not there
	j.child("ccAb12Xy.s", write|absent|asked, nil)
	j.child("lock", write|absent|asked, nil)
	j.child("/usr/bin/gcc", read, nil)
	j.child("/usr/lib", list, nil)
	j.child("/usr/lib/none", asked|absent, nil)
	j.child(".venv/lib/x.py", read, nil)
	j.child("/proc/self/maps", read, nil)
	j.child("/dev/null", read|write, nil)
	j.child("__pycache__/m.pyc", write|absent, nil)
	j.child(filepath.Dir(j.folder), asked, nil)
	j.child(".cache/tool", write|absent, nil)
	j.report.Programs = []string{"/bin/sh", "/usr/bin/gcc", "/usr/bin/as"}
	j.want(texts{"a": "content", "none": "presence", "b": "content", "lock": "presence", "new/c": "presence"},
		texts{"b": "copy-of-b"})
	f := j.seen.Files
	want := []string{"/usr/bin/gcc", "/usr/lib/", "/usr/lib/none", j.path(".venv/lib/x.py")}
	slices.Sort(want)
	if diff := cmp.Diff(want, f.Tools); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{j.path("a")}, f.Looks); diff != "" {
		t.Errorf("looks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{j.folder}, f.Listings); diff != "" {
		t.Errorf("listings (-want +got):\n%s", diff)
	}
	if f.Program != "gcc" || len(j.seen.Marks) > 0 {
		t.Errorf("program %q, marks %q; want gcc and none", f.Program, j.seen.Marks)
	}
}

// TestJoinOfCaches: caches of libraries and tools are no inputs, whoever fills them. Files of the program's own are.
func TestJoinOfCaches(t *testing.T) {
	j := newJoined(t)
	j.r.caches.Roots, j.r.caches.Bases = []string{"/root/caches"}, []string{"/root/caches", "/root/config"}
	j.r.caches.Known = []caches.Known{{Patterns: []string{"/var/known"}}}
	j.r.caches.Settings = []string{"/root/caches/tool/token"}
	j.child("/usr/bin/tool", read, nil)
	j.child("/opt/site-packages/lib_rary/x.py", read, nil)
	for _, name := range []string{"tool", "library", "lib-rary"} {
		j.child("/root/caches/"+name, asked|absent, nil)
		j.child("/root/caches/"+name+"/list", list, nil)
		j.child("/root/caches/"+name+"/x", read|asked, nil)
		j.child("/root/caches/"+name+"/new", asked|absent, nil)
	}
	j.child("/root/caches", asked, nil)
	j.child("/root/config", asked|absent, nil)
	j.child("/root/caches/tool/token", read, nil)
	j.child("/root/caches/mine/x", read, nil)
	j.child("/root/caches/tool.json", read, nil)
	j.child("/var/known/a", read, nil)
	j.child("/var/known/b", write|absent, nil)
	j.child("/var/known/c", write, &sandbox.Image{Copy: "copy-of-c"})
	j.main("/var/known/d", read, nil)
	j.main("/var/data", read, nil)
	j.report.Programs = []string{"/usr/bin/tool"}
	j.want(texts{
		"/root/caches/tool/token": "content", "/root/caches/mine/x": "content", "/root/caches/tool.json": "content",
		"/var/data": "content",
	}, texts{})
	if f := j.seen.Files; len(f.Listings) > 0 || len(f.Looks) > 0 {
		t.Errorf("listings %q, looks %q; want none", f.Listings, f.Looks)
	}
}

// TestJoinOfMain: of the interpreter itself only what the hooks do not know counts.
func TestJoinOfMain(t *testing.T) {
	j := newJoined(t)
	j.seen.Files.Disregarded = []string{j.path("a")}
	j.main("a", read, nil)
	j.main("b", read, nil)
	j.main("looked", asked|absent, nil) // by the imports of a module, say
	j.main(".", list, nil)
	j.main("/usr/lib/x.so", read, nil)
	j.want(texts{"b": "content"}, texts{})
	if len(j.seen.Files.Tools) > 0 {
		t.Errorf("tools %q, want none: modules have keys of their own", j.seen.Files.Tools)
	}
}

// TestJoinOfMainAsked: what native code looks up and lists outside of an import is an input. The folders above files of
// the hooks are none: the hooks look these up themselves. Nor are journals of SQLite, which the hooks know.
func TestJoinOfMainAsked(t *testing.T) {
	told := sandbox.UseAsked
	j := newJoined(t)
	j.seen.Files.Disregarded = []string{j.path("own")}
	j.seen.Files.Reads = map[string]*string{j.path("data/sub/hooked"): nil}
	j.hooked("out/made", nil)
	j.main("none", asked|absent|told, nil)
	j.main("b", asked|told, nil)
	j.main("own", asked|told, nil)
	j.main("data", asked|list|told, nil)
	j.main("data/sub", asked|told, nil)
	j.main("out", asked|told, nil)
	j.main("out/made", asked|absent|told, nil)
	j.main("gone", asked|absent|write|told, nil)
	j.main("a.db-wal", asked|absent|told, nil)
	j.main("/usr/lib/x.so", asked|told, nil)
	j.main(".", asked|told, nil)
	j.want(texts{"none": "presence", "b": "presence", "data/sub/hooked": "content"}, texts{"out/made": "nothing"})
	if got := j.seen.Files.Listings; !slices.Equal(got, []string{j.path("data")}) {
		t.Errorf("listings %q, want data", got)
	}
}

// TestJoinOfImages: of two images of a file, the earlier one counts.
func TestJoinOfImages(t *testing.T) {
	told := sandbox.UseTold
	for _, c := range []struct {
		name        string
		hook        *FileBefore
		main, child *sandbox.Access
		want        string
	}{
		{"announced", &FileBefore{Copy: "hook"}, &sandbox.Access{Use: write | told}, nil, "hook"},
		{"announced, then by a child", &FileBefore{Copy: "hook"}, &sandbox.Access{Use: write | told},
			&sandbox.Access{Use: write, Before: &sandbox.Image{}}, "hook"},
		{"by a child, then announced", &FileBefore{Copy: "hook"}, &sandbox.Access{Use: write | told},
			&sandbox.Access{Use: write, Before: &sandbox.Image{Copy: "child"}}, "child"},
		{"made by a child, then announced", &FileBefore{Copy: "hook"}, &sandbox.Access{Use: write | told},
			&sandbox.Access{Use: write | absent}, "nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := newJoined(t)
			j.hooked("a", c.hook)
			j.report.Main[j.path("a")] = c.main
			if c.child != nil {
				j.report.Child[j.path("a")] = c.child
			}
			j.r.join(j.report, &j.seen)
			got := "nothing"
			if b := j.seen.Files.Writes[j.path("a")]; b != nil {
				got = b.Copy
			}
			if got != c.want {
				t.Errorf("image %s, want that of %s", got, c.want)
			}
		})
	}
}

// TestJoinOfAttributes: a time or permissions that are set leave the content.
func TestJoinOfAttributes(t *testing.T) {
	j := newJoined(t)
	j.child("a", asked|times, &sandbox.Image{Mode: 0o644, Time: 1})
	j.child("b", asked|mode, &sandbox.Image{Mode: 0o600, Time: 1})
	j.want(texts{"a": "presence", "b": "presence"}, texts{"a": "a"})
	if diff := cmp.Diff(map[string]uint32{j.path("b"): 0o600}, j.seen.Files.Chmods); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
}

func TestJoinedMarks(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*joined)
		want   []string
	}{
		{"a child", func(j *joined) { j.child("a", read, nil) }, nil},
		{"a program that shows the time", func(j *joined) { j.report.Programs = []string{"/bin/date"} },
			[]string{"clock"}},
		{"clock", func(j *joined) { j.child("/proc/uptime", read, nil) }, []string{"clock"}},
		{"chance", func(j *joined) { j.child("/dev/urandom", read, nil) }, []string{"entropy"}},
		{"another machine", func(j *joined) { j.report.Sockets = []string{"tcp:10.0.0.1:80"} }, []string{"network"}},
		{"a daemon", func(j *joined) { j.report.Sockets = []string{"unix:@bus"} }, []string{"subprocess"}},
		{"a daemon that is not there", func(j *joined) {
			j.report.Sockets = []string{"unix:" + j.path("none")}
		}, nil},
		{"a socket of its own", func(j *joined) { j.report.Sockets = []string{"bind:unix:@x", "unix:@x"} }, nil},
		{"it goes on", func(j *joined) { j.report.Running = true }, []string{"subprocess"}},
		{"it went on before", func(j *joined) { j.report.Running, j.r.alive = true, true }, nil},
		{"unseen", func(j *joined) { j.report.Unseen = []string{"io_uring"} }, []string{"subprocess"}},
		{"it installs", func(j *joined) { j.child("/usr/lib", write, &sandbox.Image{}) }, []string{"subprocess"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := newJoined(t)
			c.change(j)
			if j.r.join(j.report, &j.seen); !slices.Equal(j.seen.Marks, c.want) {
				t.Errorf("marks %q, want %q", j.seen.Marks, c.want)
			}
		})
	}
}

package beneath

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// place is a folder with a neighbour, which no operation may touch.
type place struct {
	folder  *Folder
	inside  string
	outside string
}

const secret = "the content of the neighbour"

func newPlace(t *testing.T) *place {
	t.Helper()
	root := t.TempDir()
	p := &place{inside: filepath.Join(root, "in"), outside: filepath.Join(root, "out")}
	for _, err := range []error{
		os.Mkdir(p.inside, 0o755), os.MkdirAll(filepath.Join(p.outside, "sub"), 0o755),
		os.WriteFile(filepath.Join(p.outside, "f"), []byte(secret), 0o640),
		os.Chtimes(filepath.Join(p.outside, "f"), time.Unix(1, 0), time.Unix(1, 0)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if p.folder, err = Open(p.inside); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.folder.Close() })
	return p
}

// untouched fails the test where something outside has changed.
func (p *place) untouched(t *testing.T, after string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.outside, "f"))
	if err != nil || string(data) != secret {
		t.Fatalf("%s: the file outside holds %q, %v", after, data, err)
	}
	info, err := os.Stat(filepath.Join(p.outside, "f"))
	if err != nil || info.Mode() != 0o640 || info.ModTime().Unix() != 1 {
		t.Fatalf("%s: the file outside has mode %v and time %v, %v", after, info.Mode(), info.ModTime(), err)
	}
	if st := info.Sys(); st != nil {
		if i, err := Look(filepath.Join(p.outside, "f")); err != nil || i.Links != 1 {
			t.Fatalf("%s: the file outside has %d names, %v", after, i.Links, err)
		}
	}
	for folder, want := range map[string]int{"": 2, "sub": 0} {
		entries, err := os.ReadDir(filepath.Join(p.outside, folder))
		if err != nil || len(entries) != want {
			t.Fatalf("%s: %q outside lists %v, %v", after, folder, entries, err)
		}
	}
	if info, err := os.Stat(filepath.Join(p.outside, "sub")); err != nil || info.Mode().Perm() != 0o755 {
		t.Fatalf("%s: the folder outside has mode %v, %v", after, info.Mode(), err)
	}
}

func text(s string) func(*Content) error {
	return func(c *Content) error { _, err := io.WriteString(c, s); return err }
}

// operations are all that a Folder does with a name. Each returns what it read.
var operations = map[string]func(f *Folder, name string) (string, error){
	"info": func(f *Folder, name string) (string, error) { _, err := f.Info(name); return "", err },
	"readlink": func(f *Folder, name string) (string, error) {
		_, err := f.Readlink(name)
		return "", err
	},
	"open": func(f *Folder, name string) (string, error) {
		in, err := f.Open(name)
		if err == nil {
			in.Close()
		}
		return "", err
	},
	"read": func(f *Folder, name string) (string, error) { data, err := f.ReadFile(name); return string(data), err },
	"names": func(f *Folder, name string) (string, error) {
		list, err := f.Names(name)
		return strings.Join(list, " "), err
	},
	"remove":     func(f *Folder, name string) (string, error) { return "", f.Remove(name) },
	"remove all": func(f *Folder, name string) (string, error) { return "", f.RemoveAll(name) },
	"mkdir":      func(f *Folder, name string) (string, error) { return "", f.Mkdir(name, 0o755) },
	"mkdir all":  func(f *Folder, name string) (string, error) { return "", f.MkdirAll(name+"/a/b", 0o755) },
	"symlink":    func(f *Folder, name string) (string, error) { return "", f.Symlink("x", name) },
	"link from":  func(f *Folder, name string) (string, error) { return "", f.Link(name, "linked") },
	"link to":    func(f *Folder, name string) (string, error) { return "", f.Link("own", name) },
	"rename":     func(f *Folder, name string) (string, error) { return "", f.Rename(name, "renamed") },
	"rename to":  func(f *Folder, name string) (string, error) { return "", f.Rename("own", name) },
	"chmod":      func(f *Folder, name string) (string, error) { return "", f.Chmod(name, 0o777) },
	"set time":   func(f *Folder, name string) (string, error) { return "", f.SetTime(name, time.Unix(2, 0)) },
	"access": func(f *Folder, name string) (string, error) {
		return "", f.WithAccess(name, func() error { return fs.ErrPermission })
	},
	"replace": func(f *Folder, name string) (string, error) {
		return "", f.Replace(name, Attributes{Mode: 0o600, Time: time.Unix(3, 0)}, text("chosen"))
	},
	"update": func(f *Folder, name string) (string, error) {
		return "", f.Update(name, text("chosen"))
	},
	"append":   func(f *Folder, name string) (string, error) { return "", f.Append(name, []byte("chosen")) },
	"truncate": func(f *Folder, name string) (string, error) { return "", f.Truncate(name) },
	"edit": func(f *Folder, name string) (string, error) {
		file, err := f.Edit(name)
		if err != nil {
			return "", err
		}
		defer file.Close()
		data, _ := io.ReadAll(file)
		_, err = file.Write([]byte("chosen"))
		return string(data), err
	},
}

// onLinks are the operations that work on a link in the last place, as a link.
var onLinks = []string{"info", "readlink", "remove", "remove all", "link from", "rename", "rename to", "set time",
	"replace"}

// TestNoWayOut tries every operation on names that lead out: over a link in the middle, a link in the last place, and
// "..".
func TestNoWayOut(t *testing.T) {
	for name, do := range operations {
		for _, target := range []string{"../out", "ABSOLUTE"} {
			for _, way := range []string{"link/f", "link/sub/new", "sub/link/f", "last", "../out/f", "sub/../../out/f",
				"/etc"} {
				p := newPlace(t)
				target := strings.Replace(target, "ABSOLUTE", p.outside, 1)
				for _, err := range []error{
					os.Mkdir(filepath.Join(p.inside, "sub"), 0o755),
					os.WriteFile(filepath.Join(p.inside, "own"), nil, 0o600),
					os.Symlink(target, filepath.Join(p.inside, "link")),
					os.Symlink(strings.Replace(target, "..", "../..", 1), filepath.Join(p.inside, "sub", "link")),
					os.Symlink(target+"/f", filepath.Join(p.inside, "last")),
				} {
					if err != nil {
						t.Fatal(err)
					}
				}
				read, err := do(p.folder, way)
				p.untouched(t, name+" of "+way)
				if strings.Contains(read, secret) {
					t.Errorf("%s of %s reads what is outside", name, way)
				}
				if err == nil && !(way == "last" && slices.Contains(onLinks, name)) {
					t.Errorf("%s of %s succeeds", name, way)
				}
				var link *LinkError
				named := errors.As(err, &link) && link.Path == filepath.Join(p.inside, "link") && link.Target == target
				if strings.HasPrefix(way, "link/") && !named && name != "access" {
					t.Errorf("%s of %s fails with %v, want that it names the link", name, way, err)
				}
			}
		}
	}
}

// TestByParts: the walk of systems without openat2 finds what the one call does.
func TestByParts(t *testing.T) {
	p := newPlace(t)
	for _, err := range []error{
		os.MkdirAll(filepath.Join(p.inside, "a/b/c"), 0o755), os.WriteFile(filepath.Join(p.inside, "file"), nil, 0o644),
		os.Symlink("a", filepath.Join(p.inside, "to-a")), os.Symlink("../../out", filepath.Join(p.inside, "a/to-out")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	dir, err := unix.Open(p.inside, folderFlags|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	for name, want := range map[string]error{"a": nil, "a/b": nil, "a/b/c": nil, "to-a": unix.ELOOP,
		"to-a/b": unix.ELOOP, "a/to-out": unix.ELOOP, "a/to-out/sub": unix.ELOOP, "file": unix.ENOTDIR,
		"none": unix.ENOENT} {
		for _, how := range []func(int, string) (int, error){descend, descendByParts} {
			fd, err := how(dir, name)
			if err != want {
				t.Errorf("the way to %s: %v, want %v", name, err, want)
			}
			if err == nil {
				unix.Close(fd)
			}
		}
	}
}

// TestRaces exchanges a folder and a link to the neighbour while every operation works on names below.
func TestRaces(t *testing.T) {
	rounds := 200
	if os.Getenv("XSTATE_TEST_ALL") != "" {
		rounds = 1000
	}
	for name, do := range operations {
		p := newPlace(t)
		folder, link := filepath.Join(p.inside, "d"), filepath.Join(p.inside, "l")
		if err := errors.Join(os.Mkdir(folder, 0o755), os.Symlink("../out", link)); err != nil {
			t.Fatal(err)
		}
		stop, swapped := make(chan bool), make(chan int)
		go func() {
			n := 0
			for {
				select {
				case <-stop:
					swapped <- n
					return
				default:
					if exchange(folder, link) == nil {
						n++
					}
				}
			}
		}()
		for i := range rounds {
			_ = os.WriteFile(filepath.Join(p.inside, "own"), []byte("own"), 0o644)
			if read, _ := do(p.folder, "d/f"); strings.Contains(read, secret) {
				t.Fatalf("%s reads what is outside", name)
			}
			if i%4 > 0 {
				continue
			}
			if read, _ := do(p.folder, "d"); name == "names" && strings.Contains(read, "sub") {
				t.Fatalf("%s lists what is outside", name)
			}
		}
		close(stop)
		if n := <-swapped; n == 0 {
			t.Logf("%s: nothing was exchanged", name) // where the folder itself was removed
		}
		p.untouched(t, name)
	}
}

// TestNoBlocking: a pipe, a device and a socket are no files, and nothing waits for them.
func TestNoBlocking(t *testing.T) {
	p := newPlace(t)
	if err := unix.Mkfifo(filepath.Join(p.inside, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"read", "update", "append", "truncate", "edit"} {
		if _, err := operations[name](p.folder, "pipe"); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s of a pipe: %v, want %v", name, err, ErrNotRegular)
		}
	}
}

// TestReplace: a content gets its name when it is complete. Whatever fails, what was there is still there.
func TestReplace(t *testing.T) {
	p := newPlace(t)
	want := errors.New("on purpose")
	if err := p.folder.Replace("f", Attributes{Mode: 0o640, Time: time.Unix(5, 0)}, text("first")); err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"replace", "create", "write", "chmod", "set time", "rename"} {
		undo := Inject(func(o Operation) error {
			if o.Name == step {
				return want
			}
			return nil
		})
		err := p.folder.Replace("f", Attributes{Mode: 0o600, Time: time.Unix(6, 0)}, text("second"))
		undo()
		if !errors.Is(err, want) {
			t.Errorf("%s fails: %v", step, err)
		}
		data, _ := p.folder.ReadFile("f")
		info, err := p.folder.Info("f")
		if string(data) != "first" || err != nil || info.Mode != 0o640 || info.Time.Unix() != 5 {
			t.Errorf("%s fails: the file holds %q: %+v, %v", step, data, info, err)
		}
		if names, err := p.folder.Names("."); len(names) != 1 {
			t.Errorf("%s fails: the folder lists %v, %v", step, names, err)
		}
	}
}

// TestRemoveAll removes what a program closed to its own user.
func TestRemoveAll(t *testing.T) {
	p := newPlace(t)
	closed := filepath.Join(p.inside, "a/closed")
	for _, err := range []error{
		os.MkdirAll(closed, 0o755), os.WriteFile(filepath.Join(closed, "x"), nil, 0o644),
		os.Symlink(p.outside, filepath.Join(closed, "link")), os.Chmod(closed, 0),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := p.folder.RemoveAll("a"); err != nil {
		t.Error(err)
	}
	if names, err := p.folder.Names("."); len(names) > 0 || err != nil {
		t.Errorf("left: %v, %v", names, err)
	}
	p.untouched(t, "remove all")
}

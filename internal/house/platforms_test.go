package house

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPlatforms: on each platform, what the packages take from the system exists there. It is what make cross would
// say of them, without a compiler for C: the system's packages are type-checked from source for that platform, all
// others are left out, and so are errors that come from that.
func TestPlatforms(t *testing.T) {
	for _, platform := range [][2]string{{"darwin", "arm64"}, {"linux", "arm64"}} {
		t.Run(platform[0]+"-"+platform[1], func(t *testing.T) {
			p := newPlatform(t, platform[0], platform[1])
			checked := 0
			for _, l := range layers {
				checked += p.check(t, l.folder)
			}
			if checked < 5 {
				t.Errorf("%d packages use the system, want more", checked)
			}
		})
	}
	p := newPlatform(t, "darwin", "arm64")
	const wrong = `package wrong
import "os"
import "syscall"
var _ = syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
func changed(i os.FileInfo) any { return i.Sys().(*syscall.Stat_t).Ctim }
var _ = nowhere()`
	f, err := parser.ParseFile(p.fset, "wrong.go", wrong, 0)
	if err != nil {
		t.Fatal(err)
	}
	if bad := p.errors("wrong", []*ast.File{f}); len(bad) != 3 {
		t.Errorf("errors of a program for Linux only = %q, want three", bad)
	}
}

// systemPackages are those whose content differs from platform to platform.
var systemPackages = []string{"syscall", "os", "os/exec", "golang.org/x/sys/unix"}

type platform struct {
	context build.Context
	fset    *token.FileSet
	known   map[string]*types.Package
	source  types.ImporterFrom
}

func newPlatform(t *testing.T, os, arch string) *platform {
	was := build.Default // the source importer reads it
	t.Cleanup(func() { build.Default = was })
	build.Default.GOOS, build.Default.GOARCH, build.Default.CgoEnabled = os, arch, false
	p := &platform{context: build.Default, fset: token.NewFileSet(), known: map[string]*types.Package{}}
	p.context.CgoEnabled = true
	p.source = importer.ForCompiler(p.fset, "source", nil).(types.ImporterFrom)
	return p
}

// Import knows the packages of the system; any other is empty.
func (p *platform) Import(path string) (*types.Package, error) {
	if slices.Contains(systemPackages, path) {
		return p.source.ImportFrom(path, ".", 0)
	}
	if p.known[path] == nil {
		p.known[path] = types.NewPackage(path, packageName(path))
		p.known[path].MarkComplete()
	}
	return p.known[path], nil
}

// packageName is what a package at a path is called, as far as the path says it.
func packageName(path string) string {
	parts := strings.Split(path, "/")
	last := len(parts) - 1
	if last > 0 && regexp.MustCompile(`^v[0-9]+$`).MatchString(parts[last]) {
		last--
	}
	return strings.TrimPrefix(parts[last], "go-")
}

// check type-checks a package if it uses the system, and returns how many it checked.
func (p *platform) check(t *testing.T, folder string) int {
	names, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	uses := false
	for _, name := range names {
		if ok, err := p.context.MatchFile(filepath.Dir(name), filepath.Base(name)); err != nil || !ok ||
			strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(p.fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
		for _, i := range f.Imports {
			uses = uses || i.Path.Value == `"syscall"` || i.Path.Value == `"golang.org/x/sys/unix"`
		}
	}
	if !uses {
		return 0
	}
	for _, text := range p.errors(folder, files) {
		t.Error(text)
	}
	return 1
}

// ofPlatform is an error about a name of the system's, or about one of the package itself that no file of this platform
// declares. All others come from the packages that were left out.
var ofPlatform = regexp.MustCompile(`\b(syscall|unix)\.|: undefined: (\w+)$`)

func (p *platform) errors(name string, files []*ast.File) (texts []string) {
	c := types.Config{Importer: p, FakeImportC: true, Error: func(err error) {
		found := ofPlatform.FindStringSubmatch(err.Error())
		if found != nil && !slices.ContainsFunc(slices.Collect(maps.Values(p.known)), func(k *types.Package) bool {
			return k.Name() == found[2]
		}) {
			texts = append(texts, err.Error())
		}
	}}
	_, _ = c.Check(name, p.fset, files, nil) // the errors came one by one
	return texts
}

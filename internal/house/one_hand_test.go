package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// handled are the packages that work on files of a workspace. They do it by package runner/beneath alone.
var handled = []string{"runner", "runner/basestate", "runner/private", "runner/replay", "runner/suite"}

// byPath are the functions of packages that look at a file, or change one, by its path. They follow links.
var byPath = map[string][]string{
	"os": {"Chdir", "Chmod", "Chown", "Chtimes", "CopyFS", "Create", "CreateTemp", "DirFS", "Lchown", "Link", "Lstat",
		"Mkdir", "MkdirAll", "MkdirTemp", "Open", "OpenFile", "OpenRoot", "ReadDir", "ReadFile", "Readlink", "Remove",
		"RemoveAll", "Rename", "Stat", "Symlink", "Truncate", "WriteFile"},
	"path/filepath": {"EvalSymlinks", "Glob", "Walk", "WalkDir"},
	"io/ioutil":     {"*"},
	"syscall": {"Chmod", "Link", "Mkdir", "Open", "Rename", "Rmdir", "Stat", "Lstat", "Symlink", "Truncate",
		"Unlink"},
	"golang.org/x/sys/unix": {"Chmod", "Link", "Mkdir", "Open", "Rename", "Rmdir", "Stat", "Lstat", "Symlink",
		"Truncate", "Unlink", "Openat", "Unlinkat", "Renameat", "Fchmodat", "Linkat", "Mkdirat", "Symlinkat",
		"UtimesNanoAt"},
}

// byPathAllowed are the uses that stay: file, function, and why no program has a hand in the path.
var byPathAllowed = map[[2]string]string{
	{"runner/basestate/keys.go", "filepath.EvalSymlinks"}: "of files of packages: they are only compared",
	{"runner/engine.go", "filepath.EvalSymlinks"}:         "of the workspace, as the user names it",
	{"runner/foreign_value.go", "os.Mkdir"}:               "in the store, where no program writes",
	{"runner/invocation.go", "os.ReadFile"}:               "of the standard input, as the user names it",
	{"runner/spool.go", "filepath.EvalSymlinks"}:          "of the store",
	{"runner/spool.go", "os.MkdirTemp"}:                   "in the store, where no program writes",
	{"runner/spool.go", "os.ReadDir"}:                     "of the store",
	{"runner/private/base.go", "os.Create"}:               "beside a view, where no program writes",
	{"runner/private/base.go", "os.Open"}:                 "beside a view",
	{"runner/private/base.go", "os.Rename"}:               "beside a view",
	{"runner/private/apply.go", "os.Mkdir"}:               "beside a view",
	{"runner/private/collect.go", "os.ReadDir"}:           "of the store",
	{"runner/private/copy.go", "os.Mkdir"}:                "of a view that nobody can find yet",
	{"runner/private/fork.go", "os.MkdirAll"}:             "in the store, above a view",
	{"runner/private/fork.go", "os.MkdirTemp"}:            "in the store, above a view",
	{"runner/private/fork.go", "os.ReadDir"}:              "of the folders above the original",
	{"runner/private/fork.go", "os.Rename"}:               "in the store, above a view",
	{"runner/private/fork.go", "os.Symlink"}:              "in the store, above a view",
	{"runner/private/view.go", "os.Stat"}:                 "whether a view is there",
	{"runner/replay/alone.go", "filepath.EvalSymlinks"}:   "of the store",
	{"runner/replay/inputs.go", "os.MkdirAll"}:            "of the copy, before a program runs in it",
	{"runner/replay/replay.go", "filepath.EvalSymlinks"}:  "of a new folder for copies, and of the workspace",
	{"runner/replay/replay.go", "os.MkdirTemp"}:           "a new folder for copies",
	{"runner/suite/collection.go", "os.ReadDir"}:          "names and types, which are only compared",
	{"runner/suite/collection.go", "os.Stat"}:             "the type of what a link leads to, which is only compared",
	{"runner/suite/run.go", "filepath.EvalSymlinks"}:      "of the store",
	{"runner/suite/run.go", "os.MkdirTemp"}:               "in the store",
	{"runner/suite/run.go", "os.RemoveAll"}:               "in the store; it follows no link",
	{"runner/suite/suite.go", "filepath.EvalSymlinks"}:    "of the workspace, as the user names it",
}

// TestOneHand: no other code touches the workspace by path. The table of exceptions is exact.
func TestOneHand(t *testing.T) {
	found := pathUses(t, os.DirFS(root), handled)
	for _, use := range found {
		if byPathAllowed[use] == "" {
			t.Errorf("%s uses %s: there may be a link; package runner/beneath follows none", use[0], use[1])
		}
	}
	for use := range byPathAllowed {
		if !slices.Contains(found, use) {
			t.Errorf("%s does not use %s any more: take it out of the table", use[0], use[1])
		}
	}
}

// TestPathUsesAreFound plants uses under other names, and as values.
func TestPathUsesAreFound(t *testing.T) {
	files := fstest.MapFS{
		"p/a.go":      {Data: []byte("package p\nimport \"os\"\nfunc f() { os.Remove(\"x\"); os.Getenv(\"x\") }")},
		"p/b.go":      {Data: []byte("package p\nimport system \"os\"\nvar f = system.Lstat\ntype t *system.File")},
		"p/b_test.go": {Data: []byte("package p\nimport \"os\"\nvar g = os.Open")},
		"p/c.go":      {Data: []byte("package p\nimport \"path/filepath\"\nvar a, b = filepath.Walk, filepath.Join")},
		"p/d.go":      {Data: []byte("package p\ntype x struct{}\nfunc (x) Remove() {}\nvar os x\nvar g = os.Remove")},
		"p/q/e.go":    {Data: []byte("package q\nimport \"os\"\nvar g = os.Open")},
	}
	want := [][2]string{{"p/a.go", "os.Remove"}, {"p/b.go", "os.Lstat"}, {"p/c.go", "filepath.Walk"}}
	if d := cmp.Diff(want, pathUses(t, files, []string{"p"})); d != "" {
		t.Errorf("uses (-want +got):\n%s", d)
	}
}

// pathUses returns the uses of functions of byPath in packages, each once.
func pathUses(t *testing.T, root fs.FS, packages []string) (found [][2]string) {
	t.Helper()
	for _, folder := range packages {
		entries, err := fs.ReadDir(root, folder)
		if err != nil || len(entries) == 0 {
			t.Fatalf("%s has no files: %v", folder, err)
		}
		for _, e := range entries {
			name := path.Join(folder, e.Name())
			if e.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := fs.ReadFile(root, name)
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, use := range pathUsesIn(t, file) {
				if at := [2]string{name, use}; !slices.Contains(found, at) {
					found = append(found, at)
				}
			}
		}
	}
	return found
}

// pathUsesIn returns the uses in one file.
func pathUsesIn(t *testing.T, file *ast.File) (found []string) {
	t.Helper()
	names := map[string]string{} // of packages, as the file has them
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if _, watched := byPath[imported]; watched {
			name := path.Base(imported)
			if spec.Name != nil {
				name = spec.Name.Name
			}
			names[name] = imported
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := s.X.(*ast.Ident)
		if !ok {
			return true
		}
		imported := names[x.Name]
		if slices.Contains(byPath[imported], s.Sel.Name) || slices.Contains(byPath[imported], "*") {
			found = append(found, path.Base(imported)+"."+s.Sel.Name)
		}
		return true
	})
	return found
}

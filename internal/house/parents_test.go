package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// climbing names the places where a loop assigns a variable the folder above itself. Such a loop has to know that the
// root is its own parent. One did not: a program in the root folder made it take all memory of the machine.
func climbing(t *testing.T, root fs.FS) (found []string) {
	t.Helper()
	eachSource(t, root, func(name string, text []byte) error {
		if name == "internal/parents/up.go" {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.ForStmt, *ast.RangeStmt:
				ast.Inspect(n, func(n ast.Node) bool {
					if s, ok := n.(*ast.AssignStmt); ok && slices.ContainsFunc(s.Rhs, above(s)) {
						at := name + ":" + strconv.Itoa(files.Position(s.Pos()).Line)
						if !slices.Contains(found, at) {
							found = append(found, at)
						}
					}
					return true
				})
			}
			return true
		})
		return nil
	})
	return found
}

// eachSource calls visit with each Go file below root that is not a test.
func eachSource(t *testing.T, root fs.FS, visit func(name string, text []byte) error) {
	t.Helper()
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (base[0] == '.' || base == "testdata" || base == "build"):
			return fs.SkipDir
		case path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		return visit(name, text)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// above returns a function that reports whether an expression is the folder above a variable that s assigns.
func above(s *ast.AssignStmt) func(ast.Expr) bool {
	return func(e ast.Expr) bool {
		call, ok := e.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return false
		}
		called := types.ExprString(call.Fun)
		if called != "filepath.Dir" && called != "path.Dir" {
			return false
		}
		of := types.ExprString(call.Args[0])
		return slices.ContainsFunc(s.Lhs, func(l ast.Expr) bool { return types.ExprString(l) == of })
	}
}

// handmade are the loops that go up by hand and end, with the reason. Their number may fall and not rise.
var handmade = map[string]string{
	"runner/private/fork.go": "the loop is over the folders of a view; its original goes up beside it",
}

func TestParents(t *testing.T) {
	for _, at := range climbing(t, os.DirFS(root)) {
		if name, _, _ := strings.Cut(at, ":"); handmade[name] == "" {
			t.Errorf("%s: a loop goes up by hand; use parents.Up, which ends at the root", at)
		}
	}
	planted := fstest.MapFS{
		"a.go":      {Data: []byte("package a\nfunc f(p string) {\nfor ; p != \"x\"; p = filepath.Dir(p) {\n}\n}")},
		"b.go":      {Data: []byte("package a\nfunc f(p, q string) {\nfor {\np, q = path.Dir(p), path.Dir(q)\n}\n}")},
		"c.go":      {Data: []byte("package a\nfunc f(p string) { p = filepath.Dir(p) }")},
		"d_test.go": {Data: []byte("package a\nfunc f(p string) {\nfor {\np = filepath.Dir(p)\n}\n}")},
	}
	if got := climbing(t, planted); !slices.Equal(got, []string{"a.go:3", "b.go:4"}) {
		t.Errorf("climbing found %q of what was planted, want a.go:3 and b.go:4", got)
	}
}

package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/state"
)

// unclassed are the packages whose codes reach no door: those of the benchmarks, which their own verb knows, and those
// that a kernel answers the program with.
var unclassed = []string{"bench/", "runner/kernel/call_channel.go"}

// TestClasses: every code that the source declares has a class, and the pages name it.
func TestClasses(t *testing.T) {
	pages := ""
	for _, name := range []string{"json.md", "api.md"} {
		page, err := os.ReadFile(filepath.Join("../../docs", name))
		if err != nil {
			t.Fatal(err)
		}
		pages += string(page)
	}
	found := 0
	for code, file := range declaredCodes(t) {
		if _, ok := classes[code]; !ok {
			t.Errorf("%s: the code %s has no class", file, code)
		}
		if !strings.Contains(pages, "`"+string(code)+"`") {
			t.Errorf("%s: neither docs/json.md nor docs/api.md names the code %s", file, code)
		}
		found++
	}
	if found != len(classes) {
		t.Errorf("the source declares %d codes, and %d have a class", found, len(classes))
	}
	if got := ClassOf("a code of the future"); got != ClassInternal {
		t.Errorf("the class of an unknown code is %d, want %d", got, ClassInternal)
	}
}

// declaredCodes returns the constants of the type Code, by the files that declare them.
func declaredCodes(t *testing.T) map[state.Code]string {
	t.Helper()
	codes := map[state.Code]string{}
	root := "../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || name == "build" || name == "api"):
			return filepath.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		for _, prefix := range unclassed {
			if strings.HasPrefix(name, prefix) {
				return nil
			}
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || !isCode(v.Type) {
				return true
			}
			for _, value := range v.Values {
				if text, ok := value.(*ast.BasicLit); ok {
					code, _ := strconv.Unquote(text.Value)
					codes[state.Code(code)] = name
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return codes
}

func isCode(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "Code"
	case *ast.SelectorExpr:
		x, ok := e.X.(*ast.Ident)
		return ok && x.Name == "state" && e.Sel.Name == "Code"
	}
	return false
}

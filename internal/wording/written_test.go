package wording

import (
	stdflag "flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unmarked finds flags and commands in a text from which the ways are taken out.
var unmarked = regexp.MustCompile(`\bxstate (--|[a-z]{2,} (FILE|[a-z]|[A-Z-])|[a-z]{3,}$)|(^|[ (])--[a-z]`)

// TestWritten reads all texts of the engine's hints, and of its other sentences. None has a flag or a command outside
// of a way, and no way is a flag or a command any more at the doors of agents and programs.
func TestWritten(t *testing.T) {
	ways, hints := 0, 0
	for _, text := range texts(t) {
		hints++
		text.whole = strings.ReplaceAll(text.whole, "python -m pytest --collect-only", "pytest") // has flags of its own
		if bare := way.ReplaceAllString(text.whole, "…"); unmarked.MatchString(bare) {
			t.Errorf("%s: a flag or a command stands outside of backticks: %q", text.at, text.whole)
		}
		ways += len(way.FindAllString(text.whole, -1))
		for _, d := range []Door{Tools, API, Program} {
			if got := d.Hint(text.whole); commandLine.MatchString(got) {
				t.Errorf("%s: at door %d the hint is %q", text.at, d, got)
			}
		}
	}
	if ways < 100 || hints < 300 {
		t.Errorf("only %d ways in %d hints are found", ways, hints)
	}
}

// TestTable: testdata/hints.txt has each hint with ways as a person, an agent and a client of the API get it. With
// -update it is written.
func TestTable(t *testing.T) {
	const path = "testdata/hints.txt"
	var rows []string
	for _, text := range texts(t) {
		if hint := text.whole; way.MatchString(hint) {
			rows = append(rows, fmt.Sprintf("command line: %s\n       tools: %s\n         API: %s\n",
				CommandLine.Hint(hint), Tools.Hint(hint), API.Hint(hint)))
		}
	}
	slices.Sort(rows)
	want := strings.Join(slices.Compact(rows), "\n")
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if d := cmp.Diff(want, string(got)); err != nil || d != "" {
		t.Errorf("%s (-want +got; go test ./internal/wording -run TestTable -update writes it), %v:\n%s", path, err, d)
	}
}

var update = stdflag.Bool("update", false, "write testdata/hints.txt")

// written is a text of the source. What is not written there is an X.
type written struct{ at, whole string }

// texts are the hints of all packages but those of the doors, of benchmarks and of what only the command line shows.
func texts(t *testing.T) (found []written) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "bench" || name == "build" || name == "api" || strings.HasPrefix(d.Name(), ".g")):
			return filepath.SkipDir
		case filepath.Ext(name) != ".go", strings.HasSuffix(name, "_test.go"):
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			for _, x := range hintsAt(n) {
				if text := literal(x); text != "" {
					found = append(found, written{files.Position(x.Pos()).String(), text})
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// hintsAt returns the expressions at a node that are hints: fields, variables and parameters of that name, and what
// functions return that have it in theirs.
func hintsAt(n ast.Node) (found []ast.Expr) {
	isHint := func(name string) bool { return strings.HasSuffix(strings.ToLower(name), "hint") || name == "remedy" }
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if k, ok := n.Key.(*ast.Ident); ok && isHint(k.Name) {
			return []ast.Expr{n.Value}
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			name := ""
			switch left := left.(type) {
			case *ast.Ident:
				name = left.Name
			case *ast.SelectorExpr:
				name = left.Sel.Name
			}
			if isHint(name) && len(n.Rhs) == len(n.Lhs) {
				found = append(found, n.Rhs[i])
			}
		}
	case *ast.FuncDecl:
		if !isHint(n.Name.Name) || n.Body == nil {
			return nil
		}
		ast.Inspect(n.Body, func(in ast.Node) bool {
			if r, ok := in.(*ast.ReturnStmt); ok {
				found = append(found, r.Results...)
			}
			return true
		})
	case *ast.CallExpr: // of functions that take a hint
		name := ""
		switch f := n.Fun.(type) {
		case *ast.Ident:
			name = f.Name
		case *ast.SelectorExpr:
			name = f.Sel.Name
		}
		switch name {
		case "malformed", "refuse", "fail", "conflict", "unedited", "find":
			return n.Args
		}
	}
	return found
}

// literal is the text of an expression; "" if no part of it is one.
func literal(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(x.Value); err == nil && x.Kind == token.STRING {
			return text
		}
	case *ast.BinaryExpr:
		left, right := literal(x.X), literal(x.Y)
		if left == "" && right == "" {
			return ""
		}
		return or(left) + or(right)
	case *ast.CallExpr:
		if len(x.Args) > 0 {
			return strings.NewReplacer("%d", "1", "%s", "X", "%q", "X").Replace(literal(x.Args[0]))
		}
	}
	return ""
}

func or(text string) string {
	if text == "" {
		return "X"
	}
	return text
}

package house

import (
	"cmp"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// limits are the figures of TestHouse that may fall and not rise: exported names of the door, and per package the
// references between files that run back up. A package that is not listed may have none.
var limits = struct {
	doorFiles, doorNames int
	back                 map[string]int
}{
	doorFiles: 10, doorNames: 83,
	back: map[string]int{
		"patch":                 5,
		"depgraph/python":       14,
		"depgraph/javascript":   9,
		"depgraph/bash":         6,
		"state":                 21,
		"runner/journal":        2,
		"runner/kernel":         2,
		"runner/kernel/mixed":   1,
		"runner/kernel/bash":    9,
		"runner/kernel/node":    2,
		"runner/sandbox":        2,
		"runner/sandbox/keeper": 1,
		"runner/sandbox/proxy":  1,
		"runner":                38,
		"runner/suite":          7,
		".":                     0,
		"bench":                 7,
		"internal/serve/mcp":    1,
		"cmd/xstate":            7,
	},
}

// TestHouse measures how the code is laid out. Per package: its files and lines; lines of comment per line of code; the
// exported names, methods included; the references between its files (file A uses what file B defines), and how many of
// these run back up in the best order of files that a search finds. With -v it prints the figures.
func TestHouse(t *testing.T) {
	t.Logf("%-28s %5s %6s %8s %8s %10s %4s", "package", "files", "lines", "comments", "exported", "references", "back")
	for _, l := range layers {
		p := measurePackage(t, l.folder)
		t.Logf("%-28s %5d %6d %8.2f %8d %10d %4d", l.folder, p.files, p.lines,
			float64(p.comments)/float64(max(1, p.lines-p.comments-p.blank)), p.exported, p.references, len(p.back))
		if most := limits.back[l.folder]; len(p.back) > most {
			t.Errorf("%s: %d references between files run back up, want at most %d:\n%s",
				l.folder, len(p.back), most, strings.Join(p.back, "\n"))
		}
		if l.folder != "." {
			continue
		}
		if p.files > limits.doorFiles {
			t.Errorf("the door has %d files, want at most %d", p.files, limits.doorFiles)
		}
		if p.exported > limits.doorNames {
			t.Errorf("the door exports %d names, want at most %d", p.exported, limits.doorNames)
		}
	}
}

// packageMeasure is what measurePackage counts in one folder, tests left out.
type packageMeasure struct {
	files, lines, comments, blank, exported, references int
	back                                                []string // "a.go -> b.go", references that run back up
}

// noImports is an importer that knows no package: names of other packages stay unresolved, and the package's own do
// not.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not followed") }

var _ types.Importer = noImports{}

func measurePackage(t *testing.T, folder string) packageMeasure {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var m packageMeasure
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		m.files++
		m.lines += strings.Count(string(text), "\n")
		for line := range strings.Lines(string(text)) {
			switch line = strings.TrimSpace(line); {
			case line == "":
				m.blank++
			case strings.HasPrefix(line, "//"):
				m.comments++
			}
		}
		files = append(files, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	config := types.Config{Importer: noImports{}, Error: func(error) {}, FakeImportC: true}
	pkg, _ := config.Check(folder, fset, files, info) // errors: what other packages define
	m.exported = exportedNames(pkg)

	fileOf := func(p token.Pos) string { return filepath.Base(fset.Position(p).Filename) }
	refs := map[string]map[string]bool{}
	for id, obj := range info.Uses {
		if obj.Pkg() != pkg || !obj.Pos().IsValid() {
			continue
		}
		if v, ok := obj.(*types.Var); ok && v.IsField() {
			continue // a field is its type's
		}
		from, to := fileOf(id.Pos()), fileOf(obj.Pos())
		if from != to {
			if refs[from] == nil {
				refs[from] = map[string]bool{}
			}
			refs[from][to] = true
		}
	}
	for _, to := range refs {
		m.references += len(to)
	}
	m.back = backReferences(refs)
	return m
}

// exportedNames counts the exported objects of a package and their exported methods.
func exportedNames(pkg *types.Package) int {
	n := 0
	for _, name := range pkg.Scope().Names() {
		obj := pkg.Scope().Lookup(name)
		if !obj.Exported() {
			continue
		}
		n++
		typ, ok := obj.(*types.TypeName)
		if !ok || typ.IsAlias() {
			continue
		}
		named := typ.Type().(*types.Named)
		for method := range named.Methods() {
			if method.Exported() {
				n++
			}
		}
		if i, ok := named.Underlying().(*types.Interface); ok {
			n += i.NumExplicitMethods()
		}
	}
	return n
}

// backReferences orders files so that few references run from a file to one that comes after it, and returns those
// that do (Eades, Lin and Smyth, "A fast and effective heuristic for the feedback arc set problem", 1993).
func backReferences(refs map[string]map[string]bool) []string {
	nodes := map[string]bool{}
	for from, tos := range refs {
		nodes[from] = true
		for to := range tos {
			nodes[to] = true
		}
	}
	out := func(n string) (k int) {
		for to := range refs[n] {
			if nodes[to] {
				k++
			}
		}
		return k
	}
	in := func(n string) (k int) {
		for from := range nodes {
			if refs[from][n] {
				k++
			}
		}
		return k
	}
	var high, low []string // high: who refers; low: who is referred to
	take := func(list *[]string, n string) { *list = append(*list, n); delete(nodes, n) }
	for len(nodes) > 0 {
		sorted := slices.Sorted(maps.Keys(nodes))
		if i := slices.IndexFunc(sorted, func(n string) bool { return out(n) == 0 }); i >= 0 {
			take(&low, sorted[i])
		} else if i := slices.IndexFunc(sorted, func(n string) bool { return in(n) == 0 }); i >= 0 {
			take(&high, sorted[i])
		} else {
			take(&high, slices.MaxFunc(sorted,
				func(a, b string) int { return cmp.Compare(out(a)-in(a), out(b)-in(b)) }))
		}
	}
	slices.Reverse(low)
	order := append(high, low...)
	for improve(order, refs) {
	}
	var back []string
	for i, from := range order {
		for _, to := range order[:i] {
			if refs[from][to] {
				back = append(back, from+" -> "+to)
			}
		}
	}
	return back
}

// improve moves each file to the place in order where the fewest of its references run back up. It reports whether it
// moved one to advantage.
func improve(order []string, refs map[string]map[string]bool) (better bool) {
	for _, file := range slices.Clone(order) {
		at := slices.Index(order, file)
		rest := slices.Delete(slices.Clone(order), at, at+1)
		cost := 0 // of standing first: all who refer to it run back
		for _, other := range rest {
			if refs[other][file] {
				cost++
			}
		}
		best, least, here := 0, cost, cost
		for i, other := range rest { // past other
			if refs[other][file] {
				cost--
			}
			if refs[file][other] {
				cost++
			}
			if cost < least {
				best, least = i+1, cost
			}
			if i+1 == at {
				here = cost
			}
		}
		if least < here {
			copy(order, slices.Insert(rest, best, file))
			better = true
		}
	}
	return better
}

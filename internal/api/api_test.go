package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/bench"
	"github.com/xstate-engine/xstate/state/provenance"
)

// documents has a value of each type of this package.
var documents = []any{
	Approve{}, Approved{}, Call{}, CallAttempt{}, CallRow{}, CallToolCost{}, CallTotal{}, CallUndo{}, Calls{},
	Effects{}, Reverted{}, Reverts{},
	About{}, Answer{}, Artifact{}, Artifacts{}, Bisection{}, Blame{}, Block{}, Check{}, CheckVerifier{},
	CheckCode{}, CodeCheck{}, CodeFinding{}, Credit{}, CreditRow{}, Diff{},
	DiffPatch{}, Doctor{}, DoctorPython{}, Edit{}, Error{}, Evidence{}, Event{}, Exec{}, ExecBlock{}, ExecFile{},
	Export{}, Push{}, Pull{}, Failure{},
	Figure{}, Figures{}, Flow{},
	Apply{}, DiffFiles{}, FileChange{}, PrivateRun{}, Fork{}, Freed{}, Head{},
	Import{}, Init{}, Log{},
	Failures{}, QueryDenied{}, Denied{}, Budgets{}, BudgetLine{},
	Graph{}, GraphEdge{}, LogGraph{}, CallTree{}, CallsSummary{}, RefreshedCall{}, LogGraphStep{}, LogSession{},
	LogStep{}, NodeCounts{},
	Patch{},
	PatchEdit{}, PatchText{}, Placement{}, Plan{}, Policy{}, LevelReport{},
	LimitReport{}, PlanBlock{}, PlanNode{}, PlannedEdit{}, Preflight{},
	Problem{}, Query{}, QueryBlock{},
	QueryBlocks{}, QueryDependents{}, QueryPatch{}, QueryPath{}, QuerySymbol{}, QueryUnverified{}, QueryValue{},
	QueryVersion{}, QueryVolatile{}, QueryWhere{}, Replay{}, Results{}, Rollback{}, Run{}, SessionStatus{},
	Page{}, Server{}, ServedRun{}, ServedSession{}, Status{}, Test{}, Undo{}, UndoStep{}, Verified{}, VerifiedFile{},
	VerifiedStatement{}, Verify{}, Why{},
}

// TestDocumentsAreListed: the list above is complete.
func TestDocumentsAreListed(t *testing.T) {
	var listed []string
	for _, d := range documents {
		listed = append(listed, reflect.TypeOf(d).Name())
	}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				s, ok := spec.(*ast.TypeSpec)
				if !ok || slices.Contains(listed, s.Name.Name) {
					continue
				}
				if _, number := s.Type.(*ast.Ident); !number {
					t.Errorf("type %s of %s is not in documents", s.Name.Name, f.Name())
				}
			}
		}
	}
}

// TestDocumentsAreDescribed: docs/json.md names every field of every document.
func TestDocumentsAreDescribed(t *testing.T) {
	page, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{"version": true}
	for _, code := range regexp.MustCompile("`[^`]+`").FindAllString(string(page), -1) {
		for _, name := range regexp.MustCompile(`[A-Za-z_0-9]+`).FindAllString(code, -1) {
			named[name] = true
		}
	}
	fields := map[string][]string{}
	seen := map[reflect.Type]bool{reflect.TypeFor[provenance.Statement](): true} // in-toto describes its fields
	for _, d := range append(slices.Clone(documents), bench.Report{}) {
		collectFields(reflect.TypeOf(d), fields, seen)
	}
	if len(fields) < 100 {
		t.Fatalf("the documents have %d fields, want more", len(fields))
	}
	for name, types := range fields {
		if !named[name] {
			t.Errorf("docs/json.md does not name the field %s of %s", name, strings.Join(types, ", "))
		}
	}
}

// collectFields adds the names that fields have in JSON, each with the types that have it.
func collectFields(t reflect.Type, fields map[string][]string, seen map[reflect.Type]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		collectFields(t.Elem(), fields, seen)
		return
	case reflect.Struct:
	default:
		return
	}
	if seen[t] || !strings.HasPrefix(t.PkgPath(), "github.com/xstate-engine/xstate") {
		return
	}
	seen[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if !f.Anonymous || name != "" {
			if name == "" {
				name = f.Name
			}
			fields[name] = append(fields[name], t.String())
		}
		collectFields(f.Type, fields, seen)
	}
}

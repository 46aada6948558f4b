package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/xstate-engine/xstate"

// layer is what one package may do. Its test files are free.
type layer struct {
	folder  string
	imports []string // the packages of this module that it may import, by folder
	pure    bool     // no files, clock, randomness, network, processes or goroutines
}

// layers are the packages in the order in which data flows. An import points only backwards.
var layers = []layer{
	{folder: "internal/lang", pure: true},
	{folder: "internal/parents", pure: true},
	{folder: "internal/wording", pure: true},
	{folder: "depgraph/python/pytree", pure: true},
	{folder: "depgraph/javascript/jstree", pure: true},
	{folder: "depgraph/bash/nesting", pure: true},
	{folder: "runner/beneath"},
	{folder: "patch/diff", pure: true},
	{folder: "patch/syntax", imports: []string{"internal/lang"}, pure: true},
	{folder: "patch/syntax/python", imports: []string{"patch/syntax"}, pure: true},
	{folder: "patch/syntax/javascript", imports: []string{"patch/syntax", "depgraph/javascript/jstree"}, pure: true},
	{folder: "patch/syntax/bash", imports: []string{"patch/syntax", "depgraph/bash/nesting"}, pure: true},
	{folder: "patch", imports: []string{"internal/lang", "patch/diff", "patch/syntax", "patch/syntax/python",
		"patch/syntax/javascript", "patch/syntax/bash"}, pure: true},
	{folder: "depgraph", imports: []string{"internal/lang"}, pure: true},
	{folder: "depgraph/python", imports: []string{"internal/lang", "depgraph/python/pytree", "depgraph"}, pure: true},
	{folder: "depgraph/javascript", imports: []string{"internal/lang", "depgraph/javascript/jstree",
		"depgraph"}, pure: true},
	{folder: "depgraph/bash", imports: []string{"internal/lang", "depgraph/bash/nesting", "depgraph"}, pure: true},
	{folder: "depgraph/languages", imports: []string{"internal/lang", "depgraph", "depgraph/python",
		"depgraph/javascript",
		"depgraph/bash"}, pure: true},
	{folder: "state/output", pure: true},
	{folder: "state/inspect", pure: true},
	{folder: "state", imports: []string{"internal/parents", "depgraph", "state/output"}},
	{folder: "state/statetest", imports: []string{"state"}},
	{folder: "state/keys", imports: []string{"state"}},
	{folder: "state/query", imports: []string{"internal/lang", "patch", "patch/syntax", "patch/diff", "depgraph",
		"depgraph/languages",
		"state", "state/inspect", "state/output"}},
	{folder: "state/artifact", imports: []string{"internal/lang", "internal/parents", "runner/beneath",
		"patch", "patch/syntax", "depgraph", "depgraph/languages", "state", "state/query"}},
	{folder: "state/provenance", imports: []string{"internal/lang", "patch", "patch/syntax", "depgraph",
		"depgraph/python", "state", "state/keys",
		"state/output", "state/query", "state/artifact"}},
	{folder: "state/flow", imports: []string{"state", "state/query", "state/artifact"}},
	{folder: "runner/remote", imports: []string{"depgraph", "state", "state/keys"}},
	{folder: "runner/sandbox/keeper"},
	{folder: "runner/sandbox/proxy"},
	{folder: "runner/sandbox", imports: []string{"internal/parents", "runner/beneath", "runner/sandbox/keeper",
		"runner/sandbox/proxy"}},
	{folder: "runner/sandbox/secret"},
	{folder: "runner/sandbox/policy", imports: []string{"internal/parents",
		"state", "runner/remote", "runner/sandbox/proxy", "runner/sandbox",
		"runner/sandbox/secret"}},
	{folder: "runner/journal", imports: []string{"state"}},
	{folder: "runner/journal/source", imports: []string{"internal/parents", "state", "runner/sandbox/policy",
		"runner/journal"}},
	{folder: "runner/journal/rule", imports: []string{"depgraph", "state", "state/query", "runner/sandbox/policy",
		"runner/journal"}},
	{folder: "runner/preflight", imports: []string{"internal/lang", "depgraph", "depgraph/languages",
		"depgraph/python", "state",
		"runner/sandbox/policy",
		"runner/journal", "runner/journal/rule"}},
	{folder: "runner/kernel/caches"},
	{folder: "runner/kernel", imports: []string{"internal/lang", "internal/parents", "runner/beneath", "depgraph",
		"state", "state/inspect",
		"state/output", "runner/sandbox", "runner/kernel/caches"}},
	{folder: "runner/journal/web", imports: []string{"state", "runner/sandbox/proxy", "runner/sandbox/policy",
		"runner/journal", "runner/kernel"}},
	{folder: "runner/kernel/kerneltest", imports: []string{"internal/lang", "depgraph", "state", "state/output",
		"runner/kernel"}},
	{folder: "runner/kernel/python", imports: []string{"internal/parents",
		"depgraph", "depgraph/python", "state", "state/output", "runner/sandbox",
		"runner/kernel/caches", "runner/kernel"}},
	{folder: "runner/kernel/bash", imports: []string{"runner/beneath", "depgraph", "depgraph/bash", "state",
		"state/inspect",
		"runner/sandbox", "runner/kernel"}},
	{folder: "runner/kernel/node", imports: []string{"internal/parents",
		"depgraph", "depgraph/javascript", "depgraph/javascript/jstree",
		"state", "runner/sandbox", "runner/kernel"}},
	{folder: "runner/kernel/mixed", imports: []string{"internal/lang", "depgraph", "depgraph/languages", "state",
		"state/inspect",
		"runner/sandbox",
		"runner/kernel"}},
	{folder: "runner/basestate", imports: []string{"runner/beneath", "depgraph", "state"}},
	{folder: "runner/machine", imports: []string{"runner/beneath"}},
	{folder: "runner", imports: []string{"internal/parents", "internal/wording", "runner/remote", "runner/machine",
		"depgraph", "depgraph/languages", "state", "state/inspect", "state/output", "runner/sandbox",
		"runner/sandbox/secret", "runner/beneath",
		"runner/basestate", "runner/journal", "runner/kernel"}},
	{folder: "runner/suite", imports: []string{"depgraph", "state", "state/output", "runner/sandbox",
		"runner/sandbox/secret", "runner/basestate", "runner/kernel"}},
	{folder: "runner/replay", imports: []string{"internal/lang", "internal/parents",
		"runner/beneath", "depgraph", "depgraph/languages", "state", "state/output", "runner",
		"runner/journal", "runner/kernel/python", "state/query"}},
	{folder: "runner/private", imports: []string{"internal/parents", "runner/beneath", "state", "state/query"}},
	{folder: ".", imports: []string{"internal/parents",
		"patch", "patch/diff", "depgraph", "depgraph/languages", "depgraph/python", "state",
		"state/inspect", "runner", "runner/remote",
		"runner/sandbox/policy",
		"runner/sandbox/secret", "runner/journal", "runner/journal/source", "runner/journal/rule",
		"runner/journal/web",
		"runner/preflight", "runner/kernel", "runner/kernel/bash", "runner/kernel/mixed", "runner/kernel/node",
		"runner/kernel/python", "runner/suite", "state/query", "runner/private", "runner/replay"}},
	{folder: "internal/xstatetest/sampling"},
	{folder: "internal/xstatetest/await"},
	{folder: "internal/xstatetest/clients"},
	{folder: "internal/xstatetest/gateway", imports: []string{"internal/xstatetest/await"}},
	{folder: "internal/xstatetest", imports: []string{"internal/xstatetest/sampling", "internal/xstatetest/await",
		"patch", "patch/syntax", "state", "state/statetest",
		"runner", "runner/kernel/python", "state/query", "state/artifact", "state/provenance", "runner/replay", "."}},
	{folder: "bench", imports: []string{"internal/lang", "depgraph/python/pytree", "patch", "patch/syntax",
		"depgraph",
		"depgraph/python", "state", "state/output", "runner", "runner/kernel", "runner/kernel/mixed",
		"runner/kernel/python", "state/query", "state/provenance", "runner/replay", "."}},
	{folder: "internal/telemetry", imports: []string{"state", "runner", "runner/journal"}},
	{folder: "internal/worker", imports: []string{"patch", "runner", "runner/kernel", "runner/remote",
		"runner/sandbox/policy", "."}},
	{folder: "internal/checkers", pure: true},
	{folder: "internal/api", imports: []string{"internal/lang", "internal/checkers", "depgraph",
		"patch", "state", "state/keys", "runner", "runner/remote", "runner/sandbox",
		"runner/sandbox/policy",
		"runner/journal", "runner/journal/rule", "runner/preflight", "state/query", "state/artifact",
		"state/provenance", "state/flow", "runner/private", "runner/replay", "runner/kernel", "runner/kernel/bash",
		"runner/kernel/node", "runner/kernel/python", "runner/suite", "state/output", "."}},
	{folder: "internal/api/messages", imports: []string{"patch", "state",
		"state/inspect", "state/query", "state/artifact",
		"state/provenance", "state/flow", "internal/api"}},
	{folder: "api/xstate/v1"},
	{folder: "internal/term", imports: []string{"internal/wording", "state", "state/output", "state/provenance",
		"internal/api"}},
	{folder: "internal/verb", imports: []string{"internal/wording", "state",
		"state/inspect", "runner/journal", "internal/api"}},
	{folder: "internal/serve", imports: []string{"internal/parents", "internal/wording", "state", "runner/journal",
		".", "internal/api", "internal/verb"}},
	{folder: "internal/serve/mcp", imports: []string{"internal/wording", "patch", "state", "state/output",
		"state/query", ".", "internal/api", "internal/term", "internal/verb", "internal/serve"}},
	{folder: "internal/serve/rpc", imports: []string{"internal/lang", "internal/parents", "internal/wording",
		"state", "state/inspect", "state/output", "runner/journal", "internal/api", "api/xstate/v1",
		"internal/verb", "internal/serve"}},
	{folder: "internal/serve/page", imports: []string{"internal/wording", "patch/syntax", "depgraph", "state",
		"state/inspect",
		"state/output", "state/query", "state/provenance", "internal/api", "internal/term", "internal/verb",
		"internal/serve"}},
	{folder: "internal/serve/jupyter", imports: []string{"internal/wording", "state", "state/output", "runner/kernel",
		"internal/api", "internal/verb"}},
	{folder: "cmd/xstate/early"},
	{folder: "cmd/xstate", imports: []string{"internal/lang", "internal/checkers", "internal/worker",
		"cmd/xstate/early", "internal/parents",
		"internal/wording",
		"runner/beneath",
		"patch", "patch/diff", "depgraph", "depgraph/languages", "state", "state/keys",
		"state/inspect", "state/output", "runner", "runner/remote", "runner/sandbox",
		"runner/sandbox/policy", "runner/journal", "runner/journal/rule", "runner/journal/source", "runner/preflight",
		"runner/kernel", "runner/kernel/python", "runner/suite", "state/query", "state/artifact", "state/provenance",
		"state/flow", "runner/private", "runner/replay", ".",
		"bench",
		"internal/telemetry", "internal/api", "internal/term", "internal/verb", "internal/serve", "internal/serve/mcp",
		"internal/serve/rpc", "internal/serve/page", "internal/serve/jupyter"}},
	{folder: "internal/lang/toy"},
	{folder: "internal/acceptance"},
	{folder: "internal/house"},
}

// owners are the packages that alone know a foreign module: another one would be bound to it, too.
var owners = map[string][]string{
	"go.etcd.io/bbolt":              {"state"},
	"github.com/fxamacker/cbor":     {"state"},
	"github.com/dominikbraun/graph": {"depgraph"},
	"github.com/smacker/go-tree-sitter": {"patch/syntax/python", "depgraph/python/pytree",
		"depgraph/javascript/jstree"},
	"github.com/spf13/cobra":              {"cmd/xstate"},
	"github.com/fsnotify/fsnotify":        {"cmd/xstate"},
	"github.com/google/cel-go":            {"state/query", "runner/journal/rule"},
	"github.com/secure-systems-lab":       {"state/provenance"},
	"golang.org/x/crypto":                 {"state/keys"},
	"github.com/modelcontextprotocol":     {"runner/journal/source", "internal/serve/mcp"},
	"github.com/google/jsonschema-go":     {"internal/serve/mcp"},
	"github.com/getkin/kin-openapi":       {"runner/journal/source"},
	"github.com/microcosm-cc/bluemonday":  {"state/provenance"},
	"github.com/yuin/goldmark":            {"patch", "state/provenance"},
	"mvdan.cc/sh":                         {"patch/syntax/bash", "depgraph/bash", "runner/kernel/bash"},
	"connectrpc.com/connect":              {"api/xstate/v1", "internal/serve/rpc"},
	"github.com/pelletier/go-toml":        {"runner/sandbox/policy"},
	"github.com/landlock-lsm/go-landlock": {"runner/sandbox"},
	"go.opentelemetry.io":                 {"internal/telemetry"},
	"github.com/bazelbuild/remote-apis":   {"runner/remote"},
	"google.golang.org/grpc":              {"runner/remote"},
	"google.golang.org/genproto":          {"runner/remote"},
}

// impure are the packages, with those below them, that a pure one must not import.
var impure = []string{"os", "time", "math/rand", "crypto/rand", "net", "syscall", "log"}

// maxLines is where a file is to be split.
const maxLines = 600

// root is the repository. A test that changed to it would hide from go test which files it reads.
const root = "../.."

// The test reads the files itself. If it asked "go list", go test would not know what it depends on, and would answer
// from its cache when it should fail.
func TestArchitecture(t *testing.T) {
	for _, v := range violations(t, os.DirFS(root), layers) {
		t.Error(v)
	}
}

func TestLayersPointBackwards(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range layers {
		for _, to := range l.imports {
			if !seen[to] {
				t.Errorf("%s may import %s, which does not come before it", l.folder, to)
			}
		}
		seen[l.folder] = true
	}
}

// TestViolationsAreFound plants one violation of each kind.
func TestViolationsAreFound(t *testing.T) {
	table := []layer{{folder: "low", pure: true}, {folder: "high", imports: []string{"low"}}, {folder: "gone"}}
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"low/doc.go":          "package low",
		"low/up.go":           "package low\nimport \"" + module + "/high\"",
		"low/clock.go":        "package low\nimport \"time\"",
		"low/random.go":       "package low\nimport \"math/rand/v2\"",
		"low/lines.go":        "package low\nimport \"ostrich\"\nfunc f() { g := func() { go f() }; g() }",
		"low/low_test.go":     "package low\nimport (\n\"time\"\n\"" + module + "/high\"\n)\nfunc f() { go f() }",
		"low/testdata/bad.go": "not Go",
		"high/doc.go":         "package high",
		"high/fine.go":        "package high\nimport (\n\"os\"\n\"" + module + "/low\"\n)\nfunc f() { go f() }",
		"high/foreign.go":     "package high\nimport b \"go.etcd.io/bbolt/errors\"",
		"high/long.go":        "package high\n" + strings.Repeat("\n", maxLines),
		"high/generated.go": "// Code generated by hand. DO NOT EDIT.\n\npackage high\n" +
			strings.Repeat("\n", maxLines),
		"high/exact.go":  "package high" + strings.Repeat("\n", maxLines),
		"stray/stray.go": "package stray",
		"build/x.go":     "package x",
		".git/x.go":      "package x",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	want := []string{
		"high/foreign.go: imports go.etcd.io/bbolt/errors, which is for state alone",
		"high/long.go: has 601 lines, want at most 600",
		"low/clock.go: imports time, but low is pure",
		"low/lines.go:3: starts a goroutine, but low is pure",
		"low/random.go: imports math/rand/v2, but low is pure",
		"low/up.go: imports high; low may import nothing of ours",
		"gone: is in the table, but holds no Go files",
		"stray: is not in the table",
		"stray: has no doc.go",
	}
	if d := cmp.Diff(want, violations(t, files, table)); d != "" {
		t.Errorf("violations (-want +got):\n%s", d)
	}
}

// violations checks every Go file below root, and that the table lists exactly the packages there are.
func violations(t *testing.T, root fs.FS, table []layer) []string {
	t.Helper()
	var found []string
	packages := map[string][]string{} // folder → names of files that are not tests
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (base[0] == '.' || base[0] == '_' || base == "testdata" || name == "build" ||
			name == "bin"):
			return fs.SkipDir
		case path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go"):
			packages[path.Dir(name)] = append(packages[path.Dir(name)], base)
			l := layer{folder: path.Dir(name)}
			if i := at(table, l.folder); i >= 0 {
				l = table[i]
			}
			return check(root, name, l, &found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range table {
		if packages[l.folder] == nil {
			found = append(found, l.folder+": is in the table, but holds no Go files")
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		if at(table, folder) < 0 {
			found = append(found, folder+": is not in the table")
		}
		if !slices.Contains(packages[folder], "doc.go") {
			found = append(found, folder+": has no doc.go")
		}
	}
	return found
}

// check adds what file name does that l forbids.
func check(root fs.FS, name string, l layer, found *[]string) error {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	add := func(format string, args ...any) { *found = append(*found, name+fmt.Sprintf(format, args...)) }
	if n := bytes.Count(text, []byte("\n")); n > maxLines && !ast.IsGenerated(file) {
		add(": has %d lines, want at most %d", n, maxLines)
	}
	for _, spec := range file.Imports {
		to, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if below(to, module) {
			folder := path.Clean("./" + strings.TrimPrefix(to, module))
			if !slices.Contains(l.imports, folder) {
				add(": imports %s; %s may import %s", folder, l.folder, list(l.imports))
			}
		}
		if l.pure && slices.ContainsFunc(impure, func(p string) bool { return below(to, p) }) {
			add(": imports %s, but %s is pure", to, l.folder)
		}
		for _, foreign := range slices.Sorted(maps.Keys(owners)) {
			if below(to, foreign) && !slices.Contains(owners[foreign], l.folder) {
				add(": imports %s, which is for %s alone", to, list(owners[foreign]))
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.GoStmt); ok && l.pure {
			add(":%d: starts a goroutine, but %s is pure", files.Position(s.Pos()).Line, l.folder)
		}
		return true
	})
	return nil
}

func at(table []layer, folder string) int {
	return slices.IndexFunc(table, func(l layer) bool { return l.folder == folder })
}

// below reports whether import path p is root or lies below it.
func below(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }

func list(folders []string) string {
	if len(folders) == 0 {
		return "nothing of ours"
	}
	return strings.Join(folders, " and ")
}

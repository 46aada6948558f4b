package javascript

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/depgraph"
	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
	"github.com/xstate-engine/xstate/internal/xstatetest/clients"
	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
)

// eslint-scope and typescript-eslint's scope manager judge the scope table: the test compares it with theirs, mention
// by mention, for every source of some packages whose turn it is. XSTATE_TEST_CLIENTS is the folder that .ci/clients
// makes.

// judgePackages returns the folder of the judges and the packages that they judge.
func judgePackages(t *testing.T) string {
	return clients.Folder(t, "npm-javascript")
}

var judgedPackages = []string{"lodash", "three", "vue", "rxjs", "zod"}

// judged is what the judge says of one file (testdata/scope_facts.cjs).
type judged struct {
	File, Dialect, Error string
	Starts               []int
	Declared             []string
	References           []judgedReference
}

type judgedReference struct {
	At                           int
	Name                         string
	Global, Later, Reads, Writes bool
}

// allowed lists files on which the results differ, and why. The test fails on an entry that no longer differs.
var allowed = map[string]string{
	"node_modules/three/examples/jsm/libs/chevrotain.module.min.js": "the judge resolves no name beside a call of eval",
	"node_modules/effect/src/Channel.ts":                            oldGrammar,
	"node_modules/effect/src/PubSub.ts":                             oldGrammar,
	"node_modules/effect/src/Schema.ts":                             oldGrammar,
	"node_modules/effect/src/ai/McpServer.ts":                       oldGrammar,
	"node_modules/effect/src/http-api/OpenApi.ts":                   oldGrammar,
	"node_modules/effect/src/schema/VariantSchema.ts":               oldGrammar,
}

const oldGrammar = "tree-sitter's grammar does not parse it: variables called as, properties called in, escapes in " +
	"types"

func TestScopesAgreeWithESLint(t *testing.T) {
	folder := judgePackages(t)
	for _, name := range judgedPackages {
		t.Run(name, func(t *testing.T) { judgePackage(t, folder, name) })
	}
}

func judgePackage(t *testing.T, folder, name string) {
	every := 5
	if sampling.All() {
		every = 1
	}
	cmd := exec.Command("node", "testdata/scope_facts.cjs", folder, strconv.Itoa(every), name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("the judges need node: ", err)
	}
	dec := json.NewDecoder(bufio.NewReaderSize(out, 1<<20))
	files, refused, differ, mentions := 0, 0, 0, 0
	for dec.More() {
		var want judged
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		files++
		if want.Error != "" {
			refused++ // a compiler has the last word: Analyze may accept it
			continue
		}
		mentions += len(want.References)
		diff := disagreement(t, folder, want)
		_, known := allowed[want.File]
		switch {
		case diff != "" && !known:
			if differ++; differ < 30 {
				t.Errorf("%s: %s", want.File, diff)
			}
		case diff == "" && known:
			t.Errorf("%s: allowed to differ, and does not", want.File)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if files-refused < 20/every {
		t.Errorf("%d files of %s were judged, want one in %d", files-refused, name, every)
	}
	t.Logf("%d files with %d mentions of names, %d refused by the judge, %d differ", files, mentions, refused, differ)
}

// disagreement analyses a file and describes how the result differs from the judge's, or returns "".
func disagreement(t *testing.T, folder string, want judged) string {
	source, err := os.ReadFile(filepath.Join(folder, want.File))
	if err != nil {
		t.Fatal(err)
	}
	w, err := analyze(source, depgraph.Dialect(want.Dialect), true)
	if err != nil {
		return err.Error()
	}
	if diff := compareMentions(w, want); diff != "" {
		return diff
	}
	if diff := compareStarts(source, want); diff != "" {
		return diff
	}
	return compareFacts(w.facts, want)
}

// compareMentions compares what each mention of a name means. Writes of local names are the walker's own business.
func compareMentions(w *walker, want judged) string {
	text := func(r judgedReference) string {
		return fmt.Sprintf("global=%v later=%v reads=%v writes=%v", r.Global, r.Later, r.Reads, r.Writes)
	}
	got := map[int]judgedReference{}
	for _, r := range w.trace {
		at := got[int(r.at)]
		got[int(r.at)] = judgedReference{At: int(r.at), Global: r.global, Later: r.later, Reads: at.Reads || r.reads,
			Writes: at.Writes || r.assigns}
	}
	for _, r := range want.References {
		g, found := got[r.At]
		delete(got, r.At)
		g.Name = r.Name
		if r.Name == "undefined" {
			continue
		}
		if !r.Global && !g.Global {
			if r.Writes = g.Writes; !r.Reads && !found {
				continue
			}
		}
		if text(r) != text(g) {
			return fmt.Sprintf("%s: %s\n got %s\nwant %s", positionIn(w.text, r.At), r.Name, text(g), text(r))
		}
	}
	for at, r := range got {
		if r.Reads || r.Global {
			return fmt.Sprintf("%s: surplus mention: %s", positionIn(w.text, at), text(r))
		}
	}
	return ""
}

func positionIn(text string, at int) string {
	e := syntaxError(text, at, "")
	return fmt.Sprintf("%d:%d", e.Line, e.Column)
}

// compareStarts compares where statements begin: this is where a parser that takes line ends otherwise is seen.
func compareStarts(source []byte, want judged) string {
	tree, err := parse(source, depgraph.Dialect(want.Dialect))
	if err != nil {
		return err.Error()
	}
	defer tree.Close()
	got := map[int]bool{}
	for _, n := range tree.Nodes {
		switch n.Kind {
		case js.ExpressionStatement:
			if n.Field == js.FieldCondition || n.Field == js.FieldInitializer {
				continue
			}
		case js.ReturnStatement, js.ThrowStatement, js.BreakStatement, js.ContinueStatement, js.IfStatement,
			js.FieldDefinition, js.PublicFieldDefinition, js.ClassStaticBlock:
		default:
			continue
		}
		got[int(n.Start)] = true
	}
	for _, at := range want.Starts {
		if !got[at] {
			return "a statement begins at " + positionIn(string(source), at)
		}
		delete(got, at)
	}
	if len(got) > 0 && !strings.HasSuffix(want.Dialect, "typescript") && want.Dialect != string(TSX) {
		for at := range got {
			return "no statement begins at " + positionIn(string(source), at)
		}
	}
	return ""
}

// compareFacts compares the facts of all nodes with what the mentions say.
func compareFacts(f *depgraph.Facts, want judged) string {
	var got, judge [4]map[string]bool // used, used later, defined, rebound
	for i := range got {
		got[i], judge[i] = map[string]bool{}, map[string]bool{}
	}
	certain := map[string]bool{}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		for k, list := range [][]string{n.Uses, n.Later, n.Defines, n.Rebinds} {
			for _, name := range list {
				got[k][name] = true
			}
		}
		for _, name := range n.Defines {
			certain[name] = true
		}
	}
	for _, r := range want.References {
		if !r.Global || r.Name == "undefined" {
			continue
		}
		later := 0
		if r.Later {
			later = 1
		}
		if r.Reads {
			judge[later][r.Name] = true
		}
		if r.Writes {
			judge[2+later][r.Name] = true
		}
	}
	for _, name := range want.Declared {
		if !judge[2][name] {
			judge[2][name] = true
		}
	}
	for k, what := range []string{"Uses", "Later", "Defines", "Rebinds"} {
		for name := range judge[k] {
			if !got[k][name] && !(k == 0 && certain[name]) {
				return fmt.Sprintf("%s lacks %s", what, name)
			}
		}
		for name := range got[k] {
			if !judge[k][name] && !(k == 0 && judge[2][name]) && !throughThis(f, name) {
				return fmt.Sprintf("%s has %s", what, name)
			}
		}
	}
	return ""
}

// throughThis reports whether a file may mention a name as a member of this or of the global object, which the judges
// do
// not follow.
func throughThis(f *depgraph.Facts, name string) bool {
	code := string(f.Code)
	member := slices.ContainsFunc([]string{".", "['", `["`}, func(before string) bool {
		return strings.Contains(code, before+name)
	})
	return member && slices.ContainsFunc([]string{"this", "globalThis", "global"}, func(object string) bool {
		return strings.Contains(code, object)
	})
}

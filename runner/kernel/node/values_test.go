package node

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/depgraph"
	source "github.com/xstate-engine/xstate/depgraph/javascript"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

// program is a kernel that executes texts.
type program struct {
	testing.TB
	kernel kernel.Kernel
	i      Interpreter
}

func newProgram(t testing.TB, i Interpreter) *program {
	t.Helper()
	folder, spool, store := t.TempDir(), t.TempDir(), t.TempDir()
	k, err := i.Start(t.Context(), kernel.Launch{
		Driver: store, Environ: i.Environ(os.Environ()), Folder: folder, Spool: spool, Store: store, Seed: 1,
		Dialects: []depgraph.Dialect{source.JavaScript},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return &program{t, k, i}
}

// run executes the nodes of a text, and returns the digests that they wrote.
func (p *program) run(text string) map[string]state.Digest {
	p.Helper()
	facts, err := source.Analyze([]byte(text), source.JavaScript)
	if err != nil {
		p.Fatalf("%s: %v", text, err)
	}
	found := map[string]state.Digest{}
	for _, n := range facts.Nodes {
		seen, err := p.kernel.Execute(p.Context(), kernel.Node{
			Text: facts.Code[n.Start:n.End], ID: "b", Filename: "<b>", Line: n.Line, Certain: n.Certain,
		}, kernel.Sink{Record: func(output.Output) {}})
		if err != nil || seen.Failure != nil {
			p.Fatalf("%s: %+v, %v", text, seen.Failure, err)
		}
		for _, w := range seen.Writes {
			found[w.Name] = w.Digest
			if w.Opaque != "" {
				p.Fatalf("%s: %s is opaque: %s", text, w.Name, w.Opaque)
			}
		}
	}
	return found
}

// value returns the text of a random value. n bounds how deep it is.
func value(r *rand.Rand, n int) string {
	atoms := []string{
		"1", "-0", "NaN", "0.1", "2n**70n", "'a'", "'\\ud800'", "'é'", "null", "undefined", "true", "Symbol.for('s')",
		"Symbol.iterator", "shared", "shared.list", "Math", "counter", "counter.read", "new Box(2)", "plain",
		"new Sub()",
	}
	if n == 0 || r.IntN(3) == 0 {
		return atoms[r.IntN(len(atoms))]
	}
	var parts []string
	for range r.IntN(4) {
		parts = append(parts, value(r, n-1))
	}
	list := strings.Join(parts, ",")
	switch r.IntN(13) {
	case 0:
		return "[" + list + "]"
	case 1:
		return "[1,,3," + list + "]"
	case 2:
		return "new Set([" + list + "])"
	case 3:
		return fmt.Sprintf("new Map([[%s,%s]])", value(r, n-1), value(r, n-1))
	case 4:
		return fmt.Sprintf("Object.freeze({z:%s,a:%s})", value(r, n-1), value(r, n-1))
	case 5:
		return fmt.Sprintf("Object.assign(Object.create(null),{k:%s})", value(r, n-1))
	case 6:
		return "new Float32Array([1,2])"
	case 7:
		return "new Uint8Array(shared.memory, 2, 3)"
	case 8:
		return fmt.Sprintf("Object.assign(new RangeError('no'),{code:%s})", value(r, n-1))
	case 9:
		return fmt.Sprintf("Object.assign([1],{extra:%s})", value(r, n-1))
	case 10:
		return "((n) => ({ up: () => ++n, get n() { return n } }))(" + fmt.Sprint(r.IntN(9)) + ")"
	case 11:
		return fmt.Sprintf("Object.defineProperty({}, 'h', {value:%s})", value(r, n-1))
	}
	return fmt.Sprintf("({b:%s,[Symbol.for('k')]:1,a:%s})", value(r, n-1), value(r, n-1))
}

const definitions = `class Box { #inner = [1]; constructor(n) { this.n = n } get inner() { return this.#inner } }
class Sub extends Box { static made = 0; constructor() { super(3); this.own = () => 1 } }
function plain(a, b = 2) { return a + b }
const shared = { list: [1, 2], memory: new ArrayBuffer(8), when: new Date(5), re: /a/g }
const counter = (() => { let n = 0; return { up() { return ++n }, read: () => n } })()
`

// TestValues: random values have equal digests in two processes, and come back from a store in a third with the digests
// and the sharing that they had.
func TestValues(t *testing.T) {
	i := interpreters(t)[0]
	one, two, three := newProgram(t, i), newProgram(t, i), newProgram(t, i)
	for _, p := range []*program{one, two} {
		p.run(definitions)
	}
	// functions and classes come back by themselves, as others need them
	for _, name := range []string{"Box", "plain", "Sub"} {
		restored(t, one, three, []string{name})
	}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 60 {
		text := fmt.Sprintf("var v = %s\nvar w = [v, %s]", value(r, 3), value(r, 2))
		first, second := one.run(text), two.run(text)
		if !maps.Equal(first, second) {
			t.Fatalf("%d: %s\nhas the digests %v, and in another process %v", n, text, first, second)
		}
		got := restored(t, one, three, []string{"shared", "counter", "v", "w"})
		for _, name := range []string{"v", "w"} {
			if got[name] != first[name] {
				t.Fatalf("%d: %s\n%s has the digest %s, and %s after a store", n, text, name, first[name], got[name])
			}
		}
	}
}

// restored stores a group of one program and loads it in another.
func restored(t *testing.T, from, to *program, names []string) map[string]state.Digest {
	t.Helper()
	stored, err := from.kernel.Store(t.Context(), kernel.Storing{Names: names})
	if err != nil || !stored.Done {
		t.Fatalf("Store(%v) = %+v, %v", names, stored, err)
	}
	loaded, err := to.kernel.Load(t.Context(), kernel.Loading{Names: names, Data: stored.Data, Path: stored.Path})
	if err != nil || !loaded.OK {
		t.Fatalf("Load(%v) = %+v, %v", names, loaded, err)
	}
	return loaded.Digests
}

package python

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/xstate-engine/xstate/depgraph"
)

// This test checks the promise of inclusion against CPython. Every name of the module that the compiled code of a node
// can read, bind or delete must be predicted. Conversely, nothing may be predicted that the code does not hold.
func TestNamesAgreeWithCompiledCode(t *testing.T) {
	files, _ := corpus(t)
	cmd := exec.Command("python3", "-I", "testdata/code_names.py")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	enc, dec := json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))
	nodes, wrong := 0, 0
	for i, src := range files {
		if i%4 != 0 { // compiling all takes a minute
			continue
		}
		f, err := Analyze(src, Plain)
		if err != nil {
			continue // TestScopesAgreeWithCPython looks at those
		}
		texts := []string{}
		for _, n := range f.Nodes {
			texts = append(texts, string(src[n.Start:n.End]))
		}
		if err := enc.Encode(map[string]any{"nodes": texts,
			"annotations": slices.Contains(f.Features, "annotations")}); err != nil {
			t.Fatal(err)
		}
		var answers []compiled
		if err := dec.Decode(&answers); err != nil {
			t.Fatal(err)
		}
		for k, a := range answers {
			nodes++
			if msg := a.check(f.Nodes[k]); msg != "" {
				if wrong++; wrong < 20 {
					t.Errorf("%s in\n%.400s", msg, texts[k])
				}
			}
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if nodes < 5000 {
		t.Errorf("judged %d nodes, want thousands", nodes)
	}
	t.Logf("%d nodes, %d wrong", nodes, wrong)
}

// implied are names that the compiler reads or binds by itself: in class bodies, for annotations, and for a string that
// stands first in a text, which is its docstring. __debug__ is a constant.
var implied = map[string]bool{
	"__debug__":       true,
	"__name__":        true,
	"__annotations__": true,
	"__doc__":         true,
	superClass:        true,
}

type compiled struct {
	Reads, Binds, Deletes, Rebinds, Perhaps []string
	ReadsLater                              []string `json:"reads_later"`
}

func (c compiled) check(n depgraph.Node) string {
	for _, set := range []struct {
		what      string
		got, want []string
	}{
		{"Uses or Certain lacks", slices.Concat(n.Uses, n.Defines), c.Reads},
		{"Later lacks", n.Later, c.ReadsLater},
		{"Defines lacks", n.Defines, c.Binds},
		{"Deletes lacks", n.Deletes, c.Deletes},
		{"Rebinds lacks", n.Rebinds, c.Rebinds},
	} {
		for _, name := range set.want {
			if !slices.Contains(set.got, name) && !implied[name] {
				return set.what + " " + name
			}
		}
	}
	for _, set := range []struct {
		what      string
		got, want []string
	}{
		{"Uses has", n.Uses, slices.Concat(c.Reads, c.Deletes, c.Perhaps)},
		{"Later has", n.Later, slices.Concat(c.ReadsLater, c.Reads, c.Perhaps)},
		{"Defines has", n.Defines, c.Binds},
		{"Deletes has", n.Deletes, c.Deletes},
		{"Rebinds has", n.Rebinds, c.Rebinds},
	} {
		for _, name := range set.got {
			if !slices.Contains(set.want, name) && !implied[name] {
				return set.what + " " + name
			}
		}
	}
	return ""
}

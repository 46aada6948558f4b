package python

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/depgraph"
)

func TestCalls(t *testing.T) {
	text := `import requests as r
from xstate import tools, llm as model
import xstate
URL = "https://a.example/x"
twice = "a"
twice = "b"

def fetch(page=r.head("https://d.example")):
    while True:
        r.get(f"https://b.example/{page}")

class Agent:
    def turn(self):
        for _ in range(3):
            model("hello", model="small")
        return self.turn()

tools.mail.send(to=URL)
xstate.tool("order", amount=3)
[tools.search(q) for q in names]
r.get(URL + "/y")
x.y().z()
open("in.txt"), open("out.txt", "w"), Path("p.txt").read_text(), Path("q.txt").open("a"), df.to_csv("r.csv")
`
	got := Calls([]byte(text), map[string]string{})
	arg := func(text string) depgraph.Argument { return depgraph.Argument{Text: text} }
	want := []depgraph.Call{
		{Name: "requests.head", Line: 8, Effect: depgraph.EffectNetwork, First: arg("https://d.example")},
		{
			Name: "requests.get", Line: 10, Effect: depgraph.EffectNetwork, In: "fetch", Loop: depgraph.Forever,
			First: depgraph.Argument{Text: "https://b.example/", Begin: true},
		},
		{Name: "range", Line: 14, In: "Agent.turn", Loop: depgraph.Repeated},
		{
			Name: "xstate.llm", Line: 15, In: "Agent.turn", Loop: depgraph.Repeated, First: arg("hello"),
			Named: map[string]depgraph.Argument{"model": arg("small")},
		},
		{Name: "Agent.turn", Line: 16, In: "Agent.turn"},
		{Name: "xstate.tools.mail.send", Line: 18, Named: map[string]depgraph.Argument{"to": {Name: "URL"}}},
		{Name: "xstate.tool", Line: 19, First: arg("order"), Named: map[string]depgraph.Argument{"amount": {}}},
		{Name: "xstate.tools.search", Line: 20, Loop: depgraph.Repeated, First: depgraph.Argument{Name: "q"}},
		{Name: "requests.get", Line: 21, Effect: depgraph.EffectNetwork,
			First: depgraph.Argument{Name: "URL", Begin: true}},
		{Name: ".z", Line: 22},
		{Name: "x.y", Line: 22},
		{Name: "open", Line: 23, First: arg("in.txt"), Effect: depgraph.EffectFile, Mode: depgraph.Reads},
		{Name: "open", Line: 23, First: arg("out.txt"), Effect: depgraph.EffectFile, Mode: depgraph.Writes},
		{Name: ".read_text", Line: 23, First: arg("p.txt"), Effect: depgraph.EffectFile, Mode: depgraph.Reads},
		{Name: "Path", Line: 23, First: arg("p.txt")},
		{Name: ".open", Line: 23, First: arg("q.txt"), Effect: depgraph.EffectFile, Mode: depgraph.Writes},
		{Name: "Path", Line: 23, First: arg("q.txt")},
		{Name: "df.to_csv", Line: 23, First: arg("r.csv"), Effect: depgraph.EffectFile, Mode: depgraph.Writes},
	}
	if d := gocmp.Diff(want, got.Calls); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
	if d := gocmp.Diff(map[string]string{"URL": "https://a.example/x"}, got.Constants); d != "" {
		t.Errorf("constants (-want +got):\n%s", d)
	}
	if d := gocmp.Diff([]string{"Agent.turn"}, Recursive(got.Calls)); d != "" {
		t.Errorf("recursive (-want +got):\n%s", d)
	}
}

// An import of an earlier block counts, and text that does not parse has no calls.
func TestCallsAcrossBlocks(t *testing.T) {
	imported := map[string]string{}
	Calls([]byte("import xstate as x\n"), imported)
	got := Calls([]byte("x.tool('a')\n"), imported)
	if len(got.Calls) != 1 || got.Calls[0].Name != "xstate.tool" {
		t.Errorf("Calls = %+v, want one of xstate.tool", got.Calls)
	}
	if got := Calls([]byte("x.tool(\n"), imported); len(got.Calls) != 0 {
		t.Errorf("Calls of a syntax error = %+v", got)
	}
}

package policy

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/state"
)

func TestCalls(t *testing.T) {
	const trust = "sandbox.trust = [\"ROOT/above/own\"]\n"
	o := place(t, trust+`
[mcp.here]
command = ["server", "--root", "--root"]
env = ["LANG"]
[mcp.both]
url = "http://user.example"
[models.default]
api = "openai"
model = "m"
key = "MODEL_KEY"
price = {input = 2.5, output = 10}
[tools."here.write"]
class = "reversible"
undo = "here.unwrite"
price = 0.25
`, `
[mcp.stranger]
command = ["rm", "-rf", "/"]
[tools."here.write"]
class = "irreversible"
price = 9
[tools.look]
class = "pure"
`, `
[mcp.both]
command = ["server"]
timeout = "5s"
[mcp.far]
url = "https://far.example/mcp"
headers = {Authorization = "Bearer $TOKEN", X-Version = "2"}
[openapi.shop]
document = "shop.json"
[models.fake]
api = "script"
script = "~/answers.jsonl"
`)
	p, err := Read(o)
	if err != nil {
		t.Fatal(err)
	}
	want := Calls{
		MCP: map[string]MCP{
			"here": {Command: []string{"server", "--root", "--root"}, Env: []string{"LANG"},
				Headers: map[string]string{}},
			"both": {Command: []string{"server"}, Folder: o.Folder, Headers: map[string]string{},
				Timeout: 5 * time.Second},
			"far": {URL: "https://far.example/mcp", Folder: o.Folder,
				Headers: map[string]string{"Authorization": "Bearer $TOKEN", "X-Version": "2"}},
		},
		OpenAPI: map[string]OpenAPI{"shop": {Document: filepath.Join(o.Folder, "shop.json"),
			Headers: map[string]string{}}},
		Models: map[string]Model{
			"default": {API: "openai", Model: "m", Key: "MODEL_KEY", Input: 2.5, Output: 10},
			"fake":    {API: "script", Script: filepath.Join(o.Home, "answers.jsonl")},
		},
		Tools: map[string]Tool{
			"here.write": {Class: "reversible", AtLeast: "irreversible", Undo: "here.unwrite", Price: 0.25},
			"look":       {AtLeast: "pure"},
		},
	}
	if d := cmp.Diff(want, p.Calls); d != "" {
		t.Errorf("Calls (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"MODEL_KEY", "TOKEN"}, p.Calls.Variables()); d != "" {
		t.Errorf("Variables (-want +got):\n%s", d)
	}
	above := filepath.Dir(o.Folder)
	wantRemarks := []string{
		above + "/xstate.toml:3:12: [mcp.stranger] has no effect: the folder " + above + " is not trusted",
		above + "/xstate.toml:6:9: tools.\"here.write\".price \"9\" has no effect: the folder " + above +
			" is not trusted",
		"xstate policy trust " + above + " shows what that grants, and asks",
	}
	if d := cmp.Diff(wantRemarks, p.Remarks()); d != "" {
		t.Errorf("Remarks (-want +got):\n%s", d)
	}
	for i := range p.Settings {
		s := &p.Settings[i]
		if is := s.Field == "mcp.both.url"; is != strings.HasSuffix(s.Ignored, "replaces it") {
			t.Errorf("%s %q: ignored: %q", s.Field, s.Value, s.Ignored)
		}
	}
}

// TestCallErrors: what cannot be meant is refused with its place, and with what would work.
func TestCallErrors(t *testing.T) {
	for text, want := range map[string]string{
		"[mcp.a]": "x:1:2: [mcp.a] says nothing; " +
			"the keys of [mcp.a] are command, env, headers.NAME, timeout, url",
		"[mcp.a]\ncomand = [\"x\"]": "x:2:1: there is no key mcp.a.comand; did you mean " +
			"mcp.a.command?",
		"[[mcp]]\nurl = \"x\"":                       "x:1:3: [[mcp]] is a list of tables; write [mcp] once",
		"[mcp.a]\nurl = \"http://a\"\nenv = [\"A\"]": "x:3:8: mcp.a.env has no meaning beside url; remove it",
		"[mcp.a]\ntimeout = \"5s\"": "x:2:11: [mcp.a] lacks it: command; write command = [\"…\"], " +
			"or url = \"http://…\"",
		"[openapi.a]\ndocument = \"d\"\nheaders.Authorization = \"Bearer hunter2hunter2\"": "x:3:25: " +
			"openapi.a.headers.Authorization seems to hold a secret, which files do not hold; " + headerHint,
		"[models.a]\napi = \"gpt\"": "x:2:7: models.a.api \"gpt\": there is no such word; " +
			"write one of openai, anthropic, script",
		"[models.a]\napi = \"openai\"\nmodel = \"m\"\nprice.input = \"2\"": "x:4:15: models.a.price.input is a " +
			"number; " +
			"write input = 0.25",
		"tools.\"a b\".clas = \"read\"": "x:1:1: there is no key tools.\"a b\".clas; did you mean tools.\"a b\".class?",
		"[mcp.a]\nurl = \"http://me:pw@a\"": "x:2:7: mcp.a.url is no address, or holds a " +
			"password; " + urlHint,
	} {
		found, err := settings("x", []byte(text))
		if err == nil {
			err = checkGroups(found)
		}
		var e *state.Error
		if !errors.As(err, &e) || e.Code != CodeInvalid {
			t.Errorf("settings(%q) = %v, want a refusal", text, err)
			continue
		}
		if d := cmp.Diff(want, e.Message+"; "+e.Hint); d != "" {
			t.Errorf("settings(%q) (-want +got):\n%s", text, d)
		}
	}
}

// TestLists: [[NAME]] numbers its tables, so that each value has a key.
func TestLists(t *testing.T) {
	fields["list.#.word"], tables = field{kind: word}, append(tables, "list", "list.#")
	t.Cleanup(func() { delete(fields, "list.#.word"); tables = tables[:len(tables)-2] })
	found, err := settings("x", []byte("[[list]]\nword = \"a\"\n[[list]]\nword = \"b\""))
	if err != nil || len(found) != 2 || found[1].Field != "list.2.word" || found[1].Value != "b" {
		t.Errorf("settings = %+v, %v, want list.1.word and list.2.word", found, err)
	}
	if _, err := settings("x", []byte("[list]\nword = \"a\"")); err == nil {
		t.Error("settings([list]) = nil, want an error: it is a list")
	}
}

func TestExpand(t *testing.T) {
	getenv := func(name string) string { return map[string]string{"TOKEN": "t$X"}[name] }
	if got, err := Expand("Bearer $TOKEN", getenv); got != "Bearer t$X" || err != nil {
		t.Errorf("Expand = %q, %v", got, err)
	}
	if _, err := Expand("Bearer $GONE", getenv); err == nil || !strings.Contains(err.Error(), "GONE") {
		t.Errorf("Expand($GONE) = %v, want an error that names it", err)
	}
}

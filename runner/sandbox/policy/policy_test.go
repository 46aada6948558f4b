package policy

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
)

// enforcesAll is a system that lacks nothing.
func enforcesAll(sandbox.Spec) []sandbox.Lack { return nil }

// place makes a home with a file of the user, and a program's folder below another one, each with a file.
func place(t *testing.T, user, above, own string) Options {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Folder: filepath.Join(root, "above", "own"), User: filepath.Join(root, "home", "config", FileName),
		Home: filepath.Join(root, "home"), Lacks: enforcesAll}
	for name, text := range map[string]string{
		o.User: user, filepath.Join(root, "above", FileName): above, filepath.Join(o.Folder, FileName): own,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, "ROOT", root)
		if text != "" {
			if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	return o
}

func TestMerge(t *testing.T) {
	const trust = "sandbox.trust = [\"ROOT/above/own\"]\n"
	for _, x := range []struct {
		name, user, above, own string
		asked, standard        Level
		want                   string
	}{
		{name: "nothing", want: "level off"},
		{name: "the verb's", standard: Workspace, want: "level workspace"},
		{name: "the user's before the verb's", standard: Workspace, user: "sandbox.level = \"off\"", want: "level off"},
		{name: "a folder raises", standard: Workspace, own: "sandbox.level = \"strict\"", want: "level strict"},
		{name: "a folder does not lower", standard: Workspace, own: "sandbox.level = \"off\"", want: "level workspace"},
		{name: "nor one above", user: "sandbox.level = \"strict\"", above: "sandbox.level = \"workspace\"",
			want: "level strict"},
		{name: "a trusted one does", standard: Workspace, user: trust, own: "sandbox.level = \"off\"",
			want: "level off"},
		{name: "the nearer does not shadow", above: "sandbox.level = \"strict\"", own: "files.deny = [\"x\"]",
			want: "level strict\nfiles.deny \"ROOT/above/own/x\""},
		{name: "the caller decides", asked: Workspace, user: "sandbox.level = \"strict\"", want: "level workspace"},
		{name: "only the user allows", asked: Workspace,
			user: "files.write = [\"/srv/a\"]\nnetwork.hosts = [\"a.org\"]",
			own: "files.write = [\"/srv/b\"]\nnetwork.hosts = [\"b.org\"]\nenvironment.pass = [\"B\"]\n" +
				"environment.secrets = [\"S\"]",
			want: "level workspace\nfiles.write \"/srv/a\"\nnetwork.hosts \"a.org\""},
		{name: "who is trusted allows", asked: Workspace, user: trust + "network.hosts = [\"a.org\"]",
			own:  "network.hosts = [\"b.org\"]\nenvironment.secrets = [\"S\"]",
			want: "level workspace\nnetwork.hosts \"a.org\"\nnetwork.hosts \"b.org\"\nenvironment.secrets \"S\""},
		{name: "trust is not inherited", asked: Workspace, user: "sandbox.trust = [\"ROOT/above\"]",
			own: "network.hosts = [\"b.org\"]", want: "level workspace"},
		{name: "denials add up", asked: Workspace, user: "files.deny = [\"/a\"]", own: "files.deny = [\"b\"]",
			want: "level workspace\nfiles.deny \"/a\"\nfiles.deny \"ROOT/above/own/b\""},
		{name: "limits fall", asked: Workspace, user: "limits.memory = \"4GiB\"\nlimits.processes = 10",
			above: "limits.memory = \"2GiB\"",
			own:   "limits.memory = \"3GiB\"\nlimits.processes = 20\nlimits.cpu = \"1m\"",
			want:  "level workspace\nlimits.cpu 1m0s\nlimits.memory 2GiB\nlimits.processes 10"},
		{name: "and rise by trust", asked: Workspace, user: trust + "limits.memory = \"4GiB\"",
			own: "limits.memory = \"8GiB\"", want: "level workspace\nlimits.memory 8GiB"},
		{name: "home", asked: Workspace, user: "files.read = [\"~/data\"]",
			want: "level workspace\nfiles.read \"ROOT/home/data\""},
	} {
		t.Run(x.name, func(t *testing.T) {
			o := place(t, x.user, x.above, x.own)
			o.Asked, o.Default = x.asked, x.standard
			p, err := Read(o)
			if err != nil {
				t.Fatal(err)
			}
			root := filepath.Dir(o.Home)
			want := strings.ReplaceAll(x.want, "ROOT", root) + "\n"
			if d := cmp.Diff(want, p.Text()); d != "" {
				t.Errorf("policy (-want +got):\n%s", d)
			}
		})
	}
}

// TestProtected: a program cannot write the files that bound its next run, nor those of the user.
func TestProtected(t *testing.T) {
	o := place(t, "sandbox.trust = [\"ROOT/elsewhere\"]\nfiles.write = [\"ROOT/elsewhere\"]", "", "")
	o.Asked = Workspace
	p, err := Read(o)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Dir(o.Home)
	want := []string{filepath.Join(o.Folder, FileName), filepath.Join(root, "elsewhere", FileName)}
	if d := cmp.Diff(want, p.Bounds().ReadOnly); d != "" {
		t.Errorf("ReadOnly (-want +got):\n%s", d)
	}
	o.Workspace = root // with the home in it
	if p, err = Read(o); err != nil || !slices.Contains(p.Bounds().Deny, filepath.Dir(o.User)) {
		t.Errorf("Deny = %q, %v, want the user's folder in it", p.Bounds().Deny, err)
	}
}

// TestRootFolder: the root is its own parent, so a search for policy files above it has no other end. A program in it
// cannot be bounded by its folder. Without bounds it runs, and what the user allows to write may be all.
func TestRootFolder(t *testing.T) {
	o := place(t, "", "", "")
	o.Folder, o.Workspace = "/", "/"
	if p, err := Read(o); err != nil || p.Level != Off {
		t.Errorf("Read in the root folder = %v, %v, want the level off", p, err)
	}
	for _, level := range []Level{Workspace, Strict} {
		o.Asked = level
		if _, err := Read(o); state.CodeOf(err) != state.CodeRootFolder {
			t.Errorf("Read(%s) in the root folder = %v, want %s", level, err, state.CodeRootFolder)
		}
	}
	o = place(t, "sandbox.level = \"workspace\"\nfiles.write = [\"/\"]", "", "")
	p, err := Read(o)
	if err != nil {
		t.Fatal(err)
	}
	if name := filepath.Join(real(o.Folder), FileName); !slices.Contains(p.Bounds().ReadOnly, name) ||
		!slices.Contains(p.Bounds().ReadOnly, "/"+FileName) {
		t.Errorf("ReadOnly = %q, want the policy files from %s up to the root", p.Bounds().ReadOnly, name)
	}
}

func TestUnenforceable(t *testing.T) {
	o := place(t, "sandbox.level = \"strict\"\nfiles.deny = [\"/a\"]", "", "")
	o.Lacks = func(sandbox.Spec) []sandbox.Lack {
		return []sandbox.Lack{{Field: "files.deny", Message: "it has no spaces"}}
	}
	_, err := Read(o)
	want := o.User + ":2:15: files.deny cannot be enforced on this system: it has no spaces"
	var e *state.Error
	if !errors.As(err, &e) || e.Code != CodeUnenforceable || e.Message != want {
		t.Errorf("Read = %v, want %s", err, want)
	}
	o.Asked = Workspace
	p, err := Read(o)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Remarks(); len(got) != 1 || !strings.Contains(got[0], "files.deny: it has no spaces") {
		t.Errorf("Remarks = %q, want the lack", got)
	}
	if _, _, unenforced := p.Record(); len(unenforced) != 1 {
		t.Errorf("Record = %q, want the lack", unenforced)
	}
}

func TestEnviron(t *testing.T) {
	all := []string{"PATH=/bin", "LC_ALL=C", "PYTHONPATH=x", "AWS_SECRET_ACCESS_KEY=k", "SSH_AUTH_SOCK=/s", "HF_HOME=h",
		"KEY=v", "XSTATE_PYTHON=p"}
	p := &Policy{Level: Workspace, Pass: []string{"HF_*"}, Secrets: []string{"KEY"}}
	want := []string{"PATH=/bin", "LC_ALL=C", "PYTHONPATH=x", "HF_HOME=h", "KEY=v", "XSTATE_PYTHON=p"}
	if d := cmp.Diff(want, p.Environ(all)); d != "" {
		t.Errorf("Environ (-want +got):\n%s", d)
	}
	for _, p := range []*Policy{nil, {Level: Off}} {
		if d := cmp.Diff(all, p.Environ(all)); d != "" {
			t.Errorf("Environ without bounds (-want +got):\n%s", d)
		}
	}
}

func TestSecretKey(t *testing.T) {
	p := &Policy{Secrets: []string{"KEY", "GONE"}, user: filepath.Join(t.TempDir(), "xstate", FileName)}
	digest := func() string {
		s, err := p.SecretsOf([]string{"KEY=long-enough"})
		if err != nil {
			t.Fatal(err)
		}
		d, _ := s.Digest("long-enough")
		return d
	}
	if first := digest(); first == "" || first != digest() {
		t.Errorf("Digest = %q and then %q, want the same: the key is kept", first, digest())
	}
	info, err := os.Stat(filepath.Join(filepath.Dir(p.user), keyFile))
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the key has mode %v, %v, want it for the user alone", info.Mode(), err)
	}
	if _, err := p.SecretsOf([]string{"KEY=short"}); state.CodeOf(err) != CodeInvalid {
		t.Errorf("SecretsOf(short) = %v, want %s", err, CodeInvalid)
	}
}

// TestSchema: the schema has the fields that are read, and accepts and refuses what the reader does.
func TestSchema(t *testing.T) {
	const name = "../../../docs/policy.schema.json"
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var doc schemaNode
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	listed := doc.keys(&doc, "")
	slices.Sort(listed)
	if d := cmp.Diff(slices.Sorted(maps.Keys(fields)), listed); d != "" {
		t.Errorf("fields of the schema (-want +got):\n%s", d)
	}
	schema, err := jsonschema.NewCompiler().Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	example := exampleOf(t, "sandbox.md")
	example = strings.ReplaceAll(example, "trust = ", "# trust = ") // of the user's file
	for text, fine := range map[string]bool{
		example:                                  true,
		exampleOf(t, "calls.md"):                 true,
		"limits.memory = \"500MB\"":              true,
		"limits.cpu = \"1h30m\"":                 true,
		"network.hosts = [\"a.org\", \"*.b.c\"]": true,
		"files.reads = []":                       false,
		"sandbox.level = \"high\"":               false,
		"limits.memory = 4":                      false,
		"limits.memory = \"4 apples\"":           false,
		"limits.processes = 0":                   false,
		"limits.cpu = \"60\"":                    false,
		"network.hosts = [\"https://a.org\"]":    false,
		"network.hosts = [\"*\"]":                false,
		"files.read = \"/data\"":                 false,
		"files.read = [\"/data/*\"]":             false,
		"environment.secrets = [\"A_*\"]":        false,
		"x = 1":                                  false,

		"[mcp.a]\ncommand = [\"x\", \"x\"]\nenv = [\"A\"]":                                       true,
		"mcp.a.url = \"http://a\"\nmcp.a.headers = {Authorization = \"Bearer $T\", X-V = \"2\"}": true,
		"mcp = {a = {command = [\"x\"], timeout = \"5s\"}}":                                      true,
		"mcp.a.timeout = \"5s\"":                          false,
		"mcp.a = {command = [\"x\"], url = \"http://a\"}": false,
		"mcp.a.url = \"ftp://a\"":                         false,
		"mcp.a.command = \"x\"":                           false,
		"mcp.\"a.b\".command = [\"x\"]":                   false,
		"mcp.a.comand = [\"x\"]":                          false,
		"openapi.a.document = \"a.json\"":                 true,
		"openapi.a.base = \"http://a\"":                   false,
		"models.\"gpt-9.1\" = {api = \"openai\", model = \"gpt-9.1\", key = \"K\", price = {input = 2.5, output = " +
			"1}}": true,
		"models.a = {api = \"openai\"}":                                       false,
		"models.a = {api = \"script\", script = \"a.jsonl\"}":                 true,
		"models.a = {api = \"script\", model = \"m\"}":                        false,
		"models.a = {api = \"other\", model = \"m\"}":                         false,
		"models.a = {api = \"openai\", model = \"m\", price.input = -1}":      false,
		"models.a = {api = \"openai\", model = \"m\", price = 3}":             false,
		"tools.\"a.b\" = {class = \"read\", price = 0.01, lifetime = \"5m\"}": true,
		"tools.a.class = \"harmless\"":                                        false,
		"[[mcp]]\nurl = \"http://a\"":                                         false,

		"[[rule]]\nwhen = \"true\"\nthen = \"deny\"\n[[rule]]\nwhen = \"true\"\nthen = \"ask\"\non = \"program\"": true,
		"[[rule]]\nwhen = \"true\"":                    false,
		"[[rule]]\nwhen = \"true\"\nthen = \"refuse\"": false,
		"[rule]\nwhen = \"true\"\nthen = \"deny\"":     false,
		"[budget]\nusd = 1.5\ntokens = 10\n\"calls.search\" = 3\nwall = \"1m\"\nsoft = {usd = 1, executions = 2}": true,
		"[budget.session]\ncalls = 3\n[budget.agent.a]\nusd = 2\n[budget.agent.a.soft]\ntokens = 3":               true,
		"budget.cals = 3":               false,
		"budget.session.wall = \"1m\"":  false,
		"budget.soft.usd = \"1\"":       false,
		"budget.agent.a.soft.calls = 0": false,
	} {
		var value any
		if err := toml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(normal(t, value)); (err == nil) != fine {
			t.Errorf("schema: %q: %v, want fine = %v", text, err, fine)
		}
		found, err := settings("x", []byte(text))
		if err == nil {
			err = checkGroups(found)
		}
		if err == nil {
			err = checkRules(found)
		}
		if (err == nil) != fine {
			t.Errorf("settings(%q) = %v, want fine = %v", text, err, fine)
		}
	}
}

// exampleOf is the first example of a page of the documentation.
func exampleOf(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	_, example, found := strings.Cut(string(text), "```toml\n")
	if !found {
		t.Fatalf("%s has no example", page)
	}
	example, _, _ = strings.Cut(example, "```")
	return example
}

// schemaNode is a part of the schema that describes a table.
type schemaNode struct {
	Ref        string                `json:"$ref"`
	Properties map[string]schemaNode `json:"properties"`
	Others     json.RawMessage       `json:"additionalProperties"`
	Items      *schemaNode           `json:"items"`
	Defs       map[string]schemaNode `json:"$defs"`
}

// keys are the names of fields below a node, as fields has them.
func (n *schemaNode) keys(root *schemaNode, name string) (all []string) {
	if def, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok {
		d := root.Defs[def]
		n = &d
	}
	below := func(part string, of schemaNode) {
		all = append(all, of.keys(root, strings.Trim(name+"."+part, "."))...)
	}
	for key, x := range n.Properties {
		below(key, x)
	}
	var others schemaNode
	if json.Unmarshal(n.Others, &others) == nil {
		below("*", others)
	}
	if n.Items != nil && n.Items.Properties != nil {
		below("#", *n.Items)
	}
	if len(all) == 0 {
		return []string{name}
	}
	return all
}

// normal gives a value the types that JSON has.
func normal(t *testing.T, value any) any {
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// FuzzSettings: no file makes the reader panic, and what it takes is TOML of known fields.
func FuzzSettings(f *testing.F) {
	for _, text := range []string{"files.read = [\"a\"]", "[limits]\ncpu = \"1s\"", "sandbox = {level = \"off\"}",
		"[[x]]", "a",
		"[mcp.\"a.b\"]\nheaders.\"X Y\" = \"$\"", "models.a = {price = {input = 1e3}}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, err := settings("x", []byte(text))
		if err != nil {
			return
		}
		_ = checkGroups(found)
		for _, s := range found {
			if _, known := fields[s.field]; !known || s.Line < 1 || s.Column < 1 {
				t.Errorf("settings(%q) has %+v", text, s)
			}
		}
	})
}

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/term"
)

// evil is what a terminal acts on: it sets the title, asks a question that the terminal answers, colours, moves back,
// and turns the direction of text.
const evil = "\x1b]0;pwned\x07\x1b[6n\x1b[8m\u009b2J\r\u202e\x7f"

// coloured is what the program of the test puts out. Alone it is written as it is.
const coloured = "\x1b[32mgreen\x1b[0m"

// TestNothingForTheTerminal runs each verb on a session whose texts would all make a terminal act. Nothing of them
// reaches it, but what the program puts out.
func TestNothingForTheTerminal(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "folder "+evil)
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	file := "p" + evil + ".py"
	inSource := strings.ReplaceAll(evil, "\r", "") // which ends a line of Python
	source := "# %% first " + inSource + "\nimport os, time, xstate\n# " + inSource + "\nprint('" +
		strings.ReplaceAll(coloured, "\x1b", `\x1b`) + "')\nx = '" + inSource + "'\n" +
		"open(x[:9] + 'made', 'w').close()\nnow = time.time()\n\n" +
		"# %% second\nif x: raise ValueError(x)\n\n# %% third\nxstate.ask('go on? ' + x[:9], ['yes', x[:9]])\n"
	write(file, source)
	write("test_a.py", "def test_a():\n    assert '"+inSource+"' == ''\n")
	write("xstate.toml", "[files]\ndeny = [\"a\"]\n")
	write("edit.diff", "garbage "+evil)
	environ := append(os.Environ(), "XSTATE_PYTHON="+plainPython(t), "XSTATE_NO_SERVER=1")
	verb := func(args ...string) string {
		var out, errOut bytes.Buffer
		commands{}.Do(t.Context(), serve.Call{Args: append([]string{"--no-server"}, args...), Folder: folder,
			Environ: environ, Stdin: strings.NewReader("y = 1 # " + inSource), Stdout: &out, Stderr: &errOut})
		return out.String() + errOut.String()
	}
	origin := []string{"--agent", "agent " + evil, "--reason", "reason " + evil, "--model", "m" + evil,
		"--label", "l=" + evil}
	with := func(args ...string) []string { return append(args, origin...) }

	const first = "first-0-pwned-6n-8m-2j"
	calls := map[string][][]string{
		"run":  {with("run", file), {"run", "none" + evil}, {"run", file, "--fresh"}},
		"exec": {with("exec", "--session", "s "+evil, "-c", "# %% t "+inSource+"\nprint(1)\n1/0 # "+inSource)},
		"patch": {with("patch", file, "--block", "second", "-"), {"patch", file, "edit.diff"},
			{"patch", "--session", file, "--block", "b" + evil, "-"}},
		"plan":      {{"plan", file}, {"plan", file, "x" + evil}},
		"preflight": {{"preflight", file}},
		"execute":   {{"execute"}, {"execute", "x" + evil}, {"execute", "x", "--cas", "c" + evil}},
		"why":       {{"why", file, first}, {"why", file, "second"}, {"why", file, "b" + evil}},
		"query": {{"query", file}, {"query", file, "--block", first}, {"query", file, "--symbol", "x"},
			{"query", file, "--value", "x"}, {"query", file, "--failed"}, {"query", file, "--volatile"},
			{"query", file, "--unverified"}, {"query", file, "--patch", "2"}, {"query", file, "--where", evil},
			{"query", file, "--affected-by", "x"}, {"query", file, "--where", `step.kind == "run"`}},
		"log":        {{"log", file}, {"log", file, "--tree"}, {"log", "--graph"}},
		"show":       {{"show", file}, {"show", file, first}, {"show", file, "2"}, {"show", file, evil}},
		"diff":       {{"diff", file, "1", "3"}, {"diff", file, "0"}, {"diff", file, evil}},
		"graph":      {{"graph", "--session", evil}},
		"kernel":     {{"kernel"}, {"kernel", "-f", evil, "--language", evil}, {"kernel", "install", "--python", evil}},
		"fork":       {with("fork", "--session", file, "other "+evil), {"fork", "--session", file, "other " + evil}},
		"apply":      {{"apply", evil}},
		"rollback":   {{"rollback", file, "--to-step", "2"}},
		"undo":       {{"undo", file, "--by", evil}, {"undo", file, "2"}},
		"calls":      {{"calls", file}, {"calls", "1"}, {"calls", file, "--waiting"}},
		"approve":    {{"approve", "1", "--choice", evil}, {"approve", "1", "--deny", "--reason", evil}},
		"blame":      {{"blame", "--session", file, first}},
		"credit":     {{"credit", file}, {"credit", file, first}},
		"bisect":     {{"bisect", file, "b" + evil}},
		"replay":     {{"replay", file}, {"replay", file, "--cached"}},
		"verify":     {{"verify", file, first}, {"verify", file, "b" + evil}},
		"test":       {{"test", "test_a.py"}},
		"check-code": {{"check-code", file}, {"check-code", evil}, {"check-code", "--with", evil, file}},
		"bench":      {{"bench", "--out", "", evil}},
		"artifact":   {{"artifact", "list"}, with("artifact", "add", "--session", file, evil), {"artifact", evil}},
		"evidence":   {{"evidence", file, "x"}, {"evidence", file, evil}},
		"flow":       {{"flow", file}},

		"check-verifier": {{"check-verifier", file, "x"}, {"check-verifier", "--session", file, evil}},
		"export": {{"export", file, "--format", "archive", "--out", "out" + evil},
			{"export", file, "--format", evil}},
		"import":  {{"import", "none" + evil}, {"import", "out" + evil}},
		"push":    {{"push", file}, {"push", evil}},
		"pull":    {{"pull", file}, {"pull", evil}},
		"ui":      {{"ui", "--print"}, {"ui", evil}},
		"serve":   {{"serve", "--status"}, {"serve", "--listen", evil}},
		"init":    {{"init"}},
		"check":   {{"check"}},
		"policy":  {{"policy"}, {"policy", "check", "none" + evil}},
		"doctor":  {{"doctor"}},
		"gc":      {{"gc"}},
		"mcp":     {{"mcp", "none" + evil}},
		"version": {{"version"}},
		"completion": {{"completion", evil}, {"__complete", "show", ""}, {"__complete", "show", file, ""},
			{"__complete", "query", "--session", ""}},
		"man":  {{"man", "none" + evil}},
		"help": {{"help", evil}, {evil}, {"--" + evil}},
		"":     {{}},
	}
	order := []string{"run", "exec", "patch"}
	for _, cmd := range (&app{printer: printer{ui: &term.UI{}}}).root().Commands() {
		if name := cmd.Name(); name != "run" && name != "exec" && name != "patch" {
			order = append(order, name)
		}
		if calls[cmd.Name()] == nil {
			t.Errorf("the verb %s is not tried", cmd.Name())
		}
	}
	order = append(order, "")
	printed := false
	for _, name := range order {
		for _, args := range calls[name] {
			text := verb(args...)
			printed = printed || name == "run" && strings.Contains(text, coloured+"\n")
			rest := strings.ReplaceAll(text, coloured, "")
			if i := strings.IndexFunc(rest, term.IsControl); i >= 0 {
				t.Errorf("%q writes %q", args, rest[max(0, i-60):min(len(rest), i+40)])
			}
			if testing.Verbose() {
				fmt.Printf("%.60q: %.1500s\n", args, rest)
			}
		}
	}
	if !printed {
		t.Error("what the program put out is not as it was")
	}
}

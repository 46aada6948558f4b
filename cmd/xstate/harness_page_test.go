package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/clients"
)

const harnessPage = "../../docs/harness.md"

// fence is a fenced block of the page: of a file, if its first line names one, else a console session.
type fence struct {
	language, file, text string
	start, end           int // of the text in the page
}

var fencedBlock = regexp.MustCompile("(?ms)^```(\\w+) ?(\\S*)\n(.*?)^```$")

// pageSections returns the blocks of a page by their headings.
func pageSections(page string) map[string][]fence {
	sections := map[string][]fence{}
	headings := regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatchIndex(page, -1)
	for _, m := range fencedBlock.FindAllStringSubmatchIndex(page, -1) {
		name := ""
		for _, h := range headings {
			if h[0] < m[0] {
				name = page[h[2]:h[3]]
			}
		}
		sections[name] = append(sections[name], fence{
			language: page[m[2]:m[3]], file: page[m[4]:m[5]], text: page[m[6]:m[7]], start: m[6], end: m[7],
		})
	}
	return sections
}

// TestHarnessPage runs everything on docs/harness.md as a reader would: each section in a new folder with the files
// that it shows. With -update it writes the true outputs into the page.
func TestHarnessPage(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	data, err := os.ReadFile(harnessPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	if len(page) > 10<<10 {
		t.Errorf("the page has %d bytes, want at most %d: it is read in ten minutes", len(page), 10<<10)
	}
	sections := pageSections(page)
	for _, want := range []string{
		"Shell", "Python", "A loop with a model", "TypeScript", "curl", "Go", "MCP", "E2B's client",
	} {
		if len(sections[want]) == 0 {
			t.Errorf("the page has no block in a section %s", want)
		}
	}
	var outputs []fence
	for name, blocks := range sections {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			outputs = append(outputs, tryPageSection(t, name, blocks)...)
		})
	}
	if *update {
		if err := os.WriteFile(harnessPage, []byte(withOutputs(page, outputs)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// withOutputs replaces the texts of blocks in a page.
func withOutputs(page string, outputs []fence) string {
	var b strings.Builder
	for at := range len(page) + 1 {
		skip := false
		for _, o := range outputs {
			if at == o.start {
				b.WriteString(o.text)
			}
			skip = skip || o.start <= at && at < o.end
		}
		if !skip && at < len(page) {
			b.WriteByte(page[at])
		}
	}
	return b.String()
}

// tryPageSection runs the console sessions of a section, and returns them with what they printed.
func tryPageSection(t *testing.T, name string, blocks []fence) (outputs []fence) {
	folder, err := os.MkdirTemp("", "xsh") // short: it holds a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	defer stopServers(t, folder)
	environ, port := pageEnviron(t, name, folder), freePort(t)
	for _, block := range blocks {
		switch {
		case block.file == "mcp.json":
			checkMCPConfiguration(t, folder, block.text, environ)
		case block.file != "":
			writePageFile(t, folder, block)
		case block.language != "console":
			t.Errorf("a block of %s has no file name", block.language)
		default:
			got := runConsole(t, folder, strings.ReplaceAll(block.text, "49999", port), environ)
			got = strings.ReplaceAll(got, port, "49999")
			if !matchesPage(block.text, got) {
				t.Errorf("the page says (-update writes what is true)\n%s\nand this was printed\n%s", block.text, got)
				block.text = got
			}
			outputs = append(outputs, block)
		}
	}
	return outputs
}

// pageEnviron returns the environment after the set-up of a section in a folder: a client or E2B's package is
// installed. It skips a section whose tool is missing here.
func pageEnviron(t *testing.T, section, folder string) []string {
	python := xstatetest.Pythons()[0]
	first := t.TempDir() // of PATH
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(first, name)); err != nil {
			t.Fatal(err)
		}
	}
	environ := append(os.Environ(), "XSTATE_PYTHON="+python, "XDG_CACHE_HOME="+t.TempDir(), "XSTATE_AGENT=",
		"NO_COLOR=1", "PYTHONDONTWRITEBYTECODE=1", "NODE_NO_WARNINGS=1")
	switch section {
	case "Python", "A loop with a model":
		if os.Getenv("XSTATE_TEST_CLIENTS") == "" { // pip cannot be asked to install the client
			source, err := filepath.Abs(filepath.Join(pythonClient, "src"))
			if err != nil {
				t.Fatal(err)
			}
			found, err := exec.LookPath(clientPython(python))
			if err != nil {
				t.Fatal(err)
			}
			environ = append(environ, "PYTHONPATH="+source)
			link(found, "python")
			break
		}
		environ = append(environ, "VIRTUAL_ENV=", "PATH="+filepath.Dir(installedClient(t))+":"+os.Getenv("PATH"))
		return environ
	case "TypeScript":
		link(filepath.Join(clients.Folder(t, "npm-mcp"), "node_modules", "node", "bin", "node"), "node")
		packages := filepath.Join(folder, "node_modules", "@xstate-engine")
		if err := os.MkdirAll(packages, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(compiledClient(t), filepath.Join(packages, "client")); err != nil {
			t.Fatal(err)
		}
	case "E2B's client":
		environ = append(environ, "PATH="+filepath.Join(clients.Folder(t, "e2b"), "bin")+":"+os.Getenv("PATH"))
		return environ
	case "Go":
		cache, err := exec.Command("go", "env", "GOCACHE").Output() // it is below XDG_CACHE_HOME
		if err != nil {
			t.Skip(err)
		}
		environ = append(environ, "GOCACHE="+strings.TrimSpace(string(cache)))
	case "curl":
		if _, err := exec.LookPath("curl"); err != nil {
			t.Skip(err)
		}
	}
	return append(environ, "PATH="+first+":"+os.Getenv("PATH"))
}

// writePageFile writes a file of the page. A Go program becomes a module that uses this one.
func writePageFile(t *testing.T, folder string, block fence) {
	t.Helper()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(block.file, block.text)
	if block.language != "go" {
		return
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	const name = "github.com/xstate-engine/xstate"
	text := strings.Replace(string(mod), "module "+name, "module example", 1)
	write("go.mod", text+fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %s => %s\n", name, name, root))
	write("go.sum", string(sum))
}

// runConsole runs the commands of a console session, and returns the session with what they print.
func runConsole(t *testing.T, folder, session string, environ []string) string {
	t.Helper()
	var b strings.Builder
	for i, c := range strings.Split("\n"+session, "\n$ ")[1:] {
		lines := strings.SplitAfter(c+"\n", "\n")
		command := lines[0]
		for _, line := range lines[1:] { // those that the shell asks for
			if !strings.HasPrefix(line, "> ") {
				break
			}
			command += line
		}
		script := strings.ReplaceAll(command, "\n> ", "\n")
		cmd := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", script)
		cmd.Dir, cmd.Env = folder, environ
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "$ %s%s", command, varying.ReplaceAll(out, []byte("$1…$2")))
	}
	return b.String()
}

// varying is what differs from run to run in remarks.
var varying = regexp.MustCompile(`(process )\d+|<?[\d.]+( ms)`)

// matchesPage reports whether an output is that of the page, where … stands for any text of a line.
func matchesPage(page, got string) bool {
	parts := strings.Split(strings.TrimSpace(page), "…")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(strings.TrimSpace(got))
}

// freePort returns a port that nobody listens at.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// checkMCPConfiguration starts the server that a host's configuration names, and calls a tool.
func checkMCPConfiguration(t *testing.T, folder, text string, environ []string) {
	t.Helper()
	var config struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	server := config.Servers["xstate"]
	for i, arg := range server.Args {
		if strings.HasPrefix(arg, "/") {
			server.Args[i] = folder
		}
	}
	cmd := exec.CommandContext(t.Context(), server.Command, server.Args...)
	cmd.Dir, cmd.Env = "/", environ
	session, err := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil).
		Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	call := &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": "6 * 7"}}
	result, err := session.CallTool(t.Context(), call)
	if err == nil && !strings.Contains(textOf(result), "42") {
		err = errors.New(textOf(result))
	}
	if err = errors.Join(err, session.Close()); err != nil {
		t.Errorf("exec over MCP: %v", err)
	}
}

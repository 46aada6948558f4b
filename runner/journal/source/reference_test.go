package source

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/internal/xstatetest/clients"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// These tests run the reference servers of the protocol, which its authors wrote.

func TestFilesystemServer(t *testing.T) {
	bin := clients.Folder(t, "npm-servers") + "/node_modules/.bin/"
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, policy.Calls{
		MCP:   map[string]policy.MCP{"fs": {Command: []string{bin + "mcp-server-filesystem", folder}}},
		Tools: map[string]policy.Tool{"fs.move_file": {Class: "reversible", Undo: "fs.move_back", Price: 0.5}},
	})
	path := filepath.Join(folder, "a.txt")
	args := func(more string) string { return fmt.Sprintf(`{"path":%q%s}`, path, more) }
	for name, want := range map[string]journal.Class{"read_text_file": journal.Read, "write_file": journal.Idempotent,
		"move_file": journal.Reversible} {
		if got := r.tool(t, name).Class; got != want {
			t.Errorf("the class of %s is %q, want %q", name, got, want)
		}
	}
	if _, err := r.call(t, "write_file", args(`,"content":"hello"`)); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); string(data) != "hello" {
		t.Errorf("the file has %q, %v", data, err)
	}
	first := r.wantJSON(t, "fs.read_text_file", args(""), `{"content":"hello"}`)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	again := r.wantJSON(t, "read_text_file", args(""), `{"content":"hello"}`)
	if !again.Served || again.Call.ID != first.Call.ID {
		t.Errorf("the second call is %+v, want the record of the first", again.Call)
	}
	got, err := r.call(t, "read_text_file", fmt.Sprintf(`{"path":%q}`, folder+"/none"))
	if state.CodeOf(err) != journal.CodeRefused || !strings.Contains(err.Error(), "ENOENT") {
		t.Errorf("reading what is not there = %s, %v, want a refusal", got.JSON, err)
	}
	if _, err = r.call(t, "read_text_file", `{"file":"x"}`); state.CodeOf(err) != journal.CodeArguments {
		t.Errorf("wrong arguments: %v, want %s", err, journal.CodeArguments)
	}
}

func TestMemoryServer(t *testing.T) {
	bin := clients.Folder(t, "npm-servers") + "/node_modules/.bin/"
	file := filepath.Join(t.TempDir(), "memory.jsonl")
	r := newRig(t, policy.Calls{MCP: map[string]policy.MCP{
		"memory": {Command: []string{bin + "mcp-server-memory"}, Env: []string{"MEMORY_FILE_PATH"}},
	}}, "MEMORY_FILE_PATH="+file, "NOT_PASSED=1")
	r.wantJSON(t, "create_entities", `{"entities":[{"name":"ada","entityType":"person","observations":["counts"]}]}`,
		`{"entities":[{"entityType":"person","name":"ada","observations":["counts"]}]}`)
	if data, err := os.ReadFile(file); !strings.Contains(string(data), "ada") {
		t.Errorf("the file of the server has %q, %v: the variable was not passed", data, err)
	}
	r.wantJSON(t, "search_nodes", `{"query":"ada"}`,
		`{"entities":[{"entityType":"person","name":"ada","observations":["counts"]}],"relations":[]}`)
}

// everything checks tools of the server that has all that the protocol has.
func everything(t *testing.T, c policy.MCP) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "script.jsonl")
	if err := os.WriteFile(script,
		[]byte(`{"match":"sing","reply":"la la","usage":{"input_tokens":3,"output_tokens":2}}`),
		0o666); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, policy.Calls{MCP: map[string]policy.MCP{"all": c},
		Models: map[string]policy.Model{"m": {API: "script", Script: script, Input: 10}}})
	r.wantJSON(t, "echo", `{"message":"hi"}`, `"Echo: hi"`)
	r.wantJSON(t, "all.get-sum", `{"a":2,"b":40}`, `"The sum of 2 and 40 is 42."`)
	got, err := r.call(t, "get-structured-content", `{"location":"New York"}`)
	var weather struct{ Temperature float64 }
	if err != nil || json.Unmarshal(got.JSON, &weather) != nil || weather.Temperature == 0 {
		t.Errorf("structured content = %s, %v", got.JSON, err)
	}
	got, err = r.call(t, "get-tiny-image", `{}`)
	var parts []any
	if err != nil || json.Unmarshal(got.JSON, &parts) != nil || len(parts) != 3 {
		t.Fatalf("an image = %.200s, %v, want three parts", got.JSON, err)
	}
	if image, ok := parts[1].(map[string]any); !ok || image["type"] != "image" || image["mimeType"] != "image/png" ||
		image["data"] == "" {
		t.Errorf("the image is %.100v", parts[1])
	}
	if _, err = r.call(t, "trigger-long-running-operation", `{"duration":0.2,"steps":2}`); err != nil {
		t.Errorf("a tool that reports progress: %v", err)
	}
	got, err = r.call(t, "trigger-sampling-request", `{"prompt":"sing","maxTokens":10}`)
	if err != nil || !strings.Contains(string(got.JSON), "la la") || got.Call.Usage.MicroUSD != 30 {
		t.Errorf("sampling = %s, %v, for %d, want the model's answer for 30", got.JSON, err, got.Call.Usage.MicroUSD)
	}
	got, err = r.call(t, "trigger-elicitation-request", `{}`)
	if err != nil || !strings.Contains(string(got.JSON), "declined") {
		t.Errorf("elicitation = %s, %v, want it declined", got.JSON, err)
	}
}

func TestEverythingServer(t *testing.T) {
	bin := clients.Folder(t, "npm-servers") + "/node_modules/.bin/"
	everything(t, policy.MCP{Command: []string{bin + "mcp-server-everything", "stdio"}})
}

func TestEverythingOverHTTP(t *testing.T) {
	bin := clients.Folder(t, "npm-servers") + "/node_modules/.bin/"
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	_ = free.Close()
	cmd := exec.Command(bin+"mcp-server-everything", "streamableHttp")
	cmd.Env = append(os.Environ(), "PORT="+port)
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for lines := bufio.NewScanner(out); ; {
		if !lines.Scan() {
			t.Fatal("the server says nothing")
		}
		if strings.Contains(lines.Text(), port) {
			break
		}
	}
	go func() { _, _ = bufio.NewReader(out).WriteTo(os.Stderr) }()
	everything(t, policy.MCP{URL: "http://127.0.0.1:" + port + "/mcp"})
}

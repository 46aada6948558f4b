package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/pelletier/go-toml/v2"
)

const agentsFolder = "../../clients/agents"

// TestAgentInstructions: all agents have the text of the skill, without its front matter. With -update it writes them.
func TestAgentInstructions(t *testing.T) {
	skill, err := os.ReadFile(filepath.Join(agentsFolder, "claude-code/skills/xstate/SKILL.md"))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.SplitN(string(skill), "---\n", 3)
	if len(parts) != 3 || parts[0] != "" {
		t.Fatal("the skill does not begin with front matter")
	}
	text := strings.TrimPrefix(parts[2], "\n")
	for _, page := range []string{"codex/AGENTS.md", "gemini-cli/GEMINI.md"} {
		golden(t, filepath.Join(agentsFolder, page), text)
	}
}

// agentServer is the server of an agent's configuration.
type agentServer struct {
	Command string            `json:"command" toml:"command"`
	Args    []string          `json:"args" toml:"args"`
	Env     map[string]string `json:"env" toml:"env"`
}

// TestAgentConfigurations starts the server that each configuration names, as the agent does in a folder, and finds the
// tools there that the instructions name.
func TestAgentConfigurations(t *testing.T) {
	for _, c := range []struct {
		file, project string // the variable by which the agent names its folder
		read          func([]byte, any) error
	}{
		{"claude-code/.mcp.json", "${CLAUDE_PROJECT_DIR}", json.Unmarshal},
		{"gemini-cli/gemini-extension.json", "${workspacePath}", json.Unmarshal},
		{"codex/config.toml", "", toml.Unmarshal},
	} {
		t.Run(filepath.Dir(c.file), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(agentsFolder, c.file))
			if err != nil {
				t.Fatal(err)
			}
			var file struct {
				JSON map[string]agentServer `json:"mcpServers" toml:"-"`
				TOML map[string]agentServer `json:"-" toml:"mcp_servers"`
			}
			if err := c.read(text, &file); err != nil {
				t.Fatal(err)
			}
			server, found := file.JSON["xstate"]
			if !found {
				server = file.TOML["xstate"]
			}
			folder := t.TempDir()
			cmd := exec.CommandContext(t.Context(), server.Command, server.Args...)
			cmd.Dir = folder
			if i := slices.Index(cmd.Args, c.project); i >= 0 {
				cmd.Args[i], cmd.Dir = folder, "/"
			}
			cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
			for name, value := range server.Env {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
			session, err := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil).
				Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			checkAgentTools(t, session)
			call := &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": "6 * 7"}}
			result, err := session.CallTool(t.Context(), call)
			if err != nil || !strings.Contains(textOf(result), "42") {
				t.Errorf("exec: %v, %v", result, err)
			}
			if _, err := os.Stat(filepath.Join(folder, ".xstate")); err != nil {
				t.Errorf("the server did not work in the folder of the agent: %v", err)
			}
			call = &mcp.CallToolParams{Name: "history", Arguments: map[string]any{}}
			result, err = session.CallTool(t.Context(), call)
			if want := filepath.Dir(c.file); err != nil || !strings.Contains(textOf(result), want) {
				t.Errorf("the steps do not name %s: %s, %v", want, textOf(result), err)
			}
		})
	}
}

// checkAgentTools compares the tools of a server with those that the instructions name.
func checkAgentTools(t *testing.T, session *mcp.ClientSession) {
	t.Helper()
	listed, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	const named = "approve edit exec history plan query run show undo value why"
	for name := range strings.FieldsSeq(named) {
		if !slices.ContainsFunc(listed.Tools, func(tool *mcp.Tool) bool { return tool.Name == name }) {
			t.Errorf("there is no tool %s", name)
		}
	}
}

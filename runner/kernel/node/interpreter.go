package node

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// Codes of errors about the interpreter.
const (
	CodeNotFound state.Code = "no-node"      // no interpreter was found
	CodeTooOld   state.Code = "node-too-old" // before 18
	CodeBroken   state.Code = "node-broken"  // it does not start
)

// oldest is the oldest version that the driver runs on.
const oldest = 18

// Interpreter is one Node, with what identifies it. It is a kernel.Language.
type Interpreter struct {
	Path    string `json:"-"`
	Version string `json:"version"` // without the v in front
	Machine string `json:"machine"`
	Major   int    `json:"major"`
}

// String returns the text that people see: "node 20.11.0".
func (i Interpreter) String() string { return "node " + i.Version }

// Identity names the interpreter, and the variables that it reads when it starts.
func (i Interpreter) Identity(environ map[string]string) string {
	text := fmt.Sprintf("%s %s", i, i.Machine)
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		if strings.HasPrefix(name, "NODE_") || name == "TZ" || strings.HasPrefix(name, "LC_") || name == "LANG" {
			text += fmt.Sprintf(" %s=%q", name, environ[name])
		}
	}
	return text
}

// Find returns the Node to use for a program in folder: the one asked for, XSTATE_NODE, or node on the path.
func Find(ctx context.Context, asked, folder string, environ []string) (Interpreter, error) {
	if asked == "" {
		asked = kernel.Getenv(environ, "XSTATE_NODE")
	}
	named := asked != ""
	if !named {
		asked = "node"
	}
	path, err := kernel.LookPath(asked, kernel.Getenv(environ, "PATH"))
	if err == nil {
		path, err = filepath.Abs(path)
	}
	switch {
	case err != nil && named:
		return Interpreter{}, &state.Error{
			Code: CodeNotFound, Message: fmt.Sprintf("there is no Node at %q", asked),
			Hint: "set XSTATE_NODE to the path of a Node, or unset it", Err: err,
		}
	case err != nil:
		return Interpreter{}, &state.Error{
			Code: CodeNotFound, Message: "no Node was found: there is no node on the PATH",
			Hint: "install Node 18 or later, or set XSTATE_NODE to its path",
		}
	}
	return Identify(ctx, folder, path, environ)
}

const probe = `console.log(JSON.stringify({version:process.versions.node,machine:process.arch,` +
	`major:+process.versions.node.split(".")[0],other:process.versions.bun||process.versions.deno||""}))`

// Identify returns the Node at path. The answer is cached for as long as the file at path stays the same.
func Identify(ctx context.Context, folder, path string, environ []string) (Interpreter, error) {
	cache := userCache()
	memo := ""
	if cache != "" && os.MkdirAll(cache, 0o755) == nil {
		memo = filepath.Join(cache, "node-"+string(state.DigestOf([]byte(fileKey(path)))[:16]))
	}
	found := Interpreter{}
	if data, err := os.ReadFile(memo); memo != "" && err == nil && json.Unmarshal(data, &found) == nil &&
		found.Version != "" {
		found.Path = path
		return found, found.check()
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-e", probe)
	cmd.Dir, cmd.Env = folder, environ
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err == nil {
		err = json.Unmarshal(stdout.Bytes(), &found)
	}
	if err != nil {
		if ctx.Err() != nil && context.Cause(ctx) == context.Canceled {
			return found, ctx.Err()
		}
		return found, broken(path, err, stderr.String())
	}
	found.Path = path
	if err := found.check(); err != nil {
		return found, err
	}
	if data, err := json.Marshal(found); err == nil && memo != "" {
		_ = os.WriteFile(memo, data, 0o644) // only a cache: without it the interpreter is started again
	}
	return found, nil
}

// fileKey returns a text that changes when the file at path may have become another interpreter.
func fileKey(path string) string {
	key := "node " + path
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	if info, err := os.Stat(real); err == nil {
		key += fmt.Sprintf(" %s %d %d", real, info.Size(), info.ModTime().UnixNano())
	}
	return key
}

func broken(path string, err error, stderr string) error {
	said := kernel.LastLine(stderr)
	if said != "" {
		said = "; it said: " + said
	}
	return &state.Error{Code: CodeBroken, Message: fmt.Sprintf("the interpreter %s does not start%s", path, said),
		Hint: "try it by hand, or set XSTATE_NODE to the path of another", Err: err}
}

func (i Interpreter) check() error {
	if i.Major >= oldest {
		return nil
	}
	return &state.Error{
		Code:    CodeTooOld,
		Message: fmt.Sprintf("%s is Node %s; xstate needs %d or later", i.Path, i.Version, oldest),
		Hint:    "set XSTATE_NODE to the path of another",
	}
}

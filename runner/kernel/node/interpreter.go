package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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

// locate finds the Node to use: the one asked for, XSTATE_NODE, or node on the path.
func locate(s kernel.Search) (kernel.Located, error) {
	at, err := s.Command("XSTATE_NODE", "node")
	switch {
	case err != nil && at.Named:
		return at, &state.Error{
			Code: CodeNotFound, Message: fmt.Sprintf("there is no Node at %q", at.Path),
			Hint: "set XSTATE_NODE to the path of a Node, or unset it", Err: err,
		}
	case err != nil:
		return at, &state.Error{
			Code: CodeNotFound, Message: "no Node was found: there is no node on the PATH",
			Hint: "install Node 18 or later, or set XSTATE_NODE to its path",
		}
	}
	return at, nil
}

const probe = `console.log(JSON.stringify({version:process.versions.node,machine:process.arch,` +
	`major:+process.versions.node.split(".")[0],other:process.versions.bun||process.versions.deno||""}))`

// identify returns the Node at a path. The answer is kept for as long as the file at path stays the same.
func identify(ctx context.Context, s kernel.Search, path string) (kernel.Language, error) {
	ask := s.Probe(path, "-e", probe)
	ask.Memo = "node"
	found := Interpreter{Path: path}
	answer, err := ask.Answer(ctx)
	if err == nil {
		err = json.Unmarshal([]byte(answer), &found)
	}
	if err != nil {
		return nil, broken(path, err)
	}
	return found, found.check()
}

// broken is the error of a Node that does not start, or does not answer.
func broken(path string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &state.Error{Code: CodeBroken, Message: fmt.Sprintf("the interpreter %s does not start%s", path,
		kernel.Said(err)), Hint: "try it by hand, or set XSTATE_NODE to the path of another", Err: err}
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

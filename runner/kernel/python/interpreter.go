package python

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	CodeNotFound state.Code = "no-python"      // no interpreter was found
	CodeTooOld   state.Code = "python-too-old" // before 3.10
	CodeBroken   state.Code = "python-broken"  // it does not start
)

// Interpreter is one interpreter of Python, with what identifies it. It is a kernel.Language.
type Interpreter struct {
	Path           string `json:"-"`
	Implementation string `json:"implementation"`
	Version        string `json:"version"`
	Machine        string `json:"machine"`
	Major          int    `json:"major"`
	Minor          int    `json:"minor"`
	Prefix         string `json:"prefix"`      // of the environment: two of them may hold different packages
	BasePrefix     string `json:"base_prefix"` // where the standard library lies
}

// String returns the text that people see: "cpython 3.12.1".
func (i Interpreter) String() string { return strings.ToLower(i.Implementation) + " " + i.Version }

// Identity names the interpreter, and the variables that it reads when it starts: nothing can observe that it reads
// them.
func (i Interpreter) Identity(environ map[string]string) string {
	text := fmt.Sprintf("%s %s %q", i, i.Machine, i.Prefix)
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		if strings.HasPrefix(name, "PYTHON") {
			text += fmt.Sprintf(" %s=%q", name, environ[name])
		}
	}
	return text
}

// Find returns the path of the interpreter to use for a program in folder: the one asked for, XSTATE_PYTHON,
// $VIRTUAL_ENV, .venv beside the program, python3 on the path, in that order.
func Find(asked, folder string, environ func(string) string) (string, error) {
	if asked == "" {
		asked = environ("XSTATE_PYTHON")
	}
	if asked != "" {
		path, err := kernel.LookPath(asked, environ("PATH"))
		if err != nil {
			return "", &state.Error{
				Code:    CodeNotFound,
				Message: fmt.Sprintf("there is no Python interpreter at %q", asked),
				Hint:    "name one with --python PATH, or unset XSTATE_PYTHON",
				Err:     err,
			}
		}
		return filepath.Abs(path)
	}
	var tried []string
	if env := environ("VIRTUAL_ENV"); env != "" {
		tried = append(tried, filepath.Join(env, "bin", "python"))
	}
	tried = append(tried, filepath.Join(folder, ".venv", "bin", "python"))
	for _, path := range tried {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, nil
		}
	}
	path, err := kernel.LookPath("python3", environ("PATH"))
	if err != nil {
		return "", &state.Error{
			Code:    CodeNotFound,
			Message: "no Python interpreter was found: there is no python3 on the PATH",
			Hint:    "install Python 3.10 or later, or name one with --python PATH",
		}
	}
	return filepath.Abs(path)
}

// probe imports nothing that Python does not import when it starts: platform and json would take as long as the start.
const probe = `import os, sys
print(sys.implementation.name, sys.version.split()[0], os.uname().machine, *sys.version_info[:2], sep="\n")
print(sys.prefix, sys.base_prefix, sep="\n")`

// Identify returns the interpreter at path. The answer is cached, in the user's cache or else in folder, for as long as
// the file at path stays the same; where that is only a launcher, also what the launcher decides by. So a command that
// starts no kernel starts no interpreter. A launcher decides in the folder and the environment of the program.
func Identify(ctx context.Context, folder, path, workspace string, environ []string) (Interpreter, error) {
	if cache := userCache(); cache != "" && os.MkdirAll(cache, 0o755) == nil {
		folder = cache
	}
	key := state.DigestOf([]byte(interpreterKey(path, workspace, environ)))
	memo := filepath.Join(folder, "python-"+string(key[:16]))
	if data, err := os.ReadFile(memo); err == nil {
		found := Interpreter{}
		if json.Unmarshal(data, &found) == nil && found.BasePrefix != "" {
			found.Path = path
			return found, found.check()
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-I", "-c", probe)
	cmd.Dir, cmd.Env = workspace, environ
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	found := Interpreter{}
	if err == nil {
		_, err = fmt.Sscanf(
			stdout.String(),
			"%s\n%s\n%s\n%d\n%d\n",
			&found.Implementation,
			&found.Version,
			&found.Machine,
			&found.Major,
			&found.Minor,
		)
	}
	if err != nil {
		if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
			return found, ctx.Err()
		}
		return found, broken(path, err, stderr.String())
	}
	lines := strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n")
	found.Path, found.Prefix, found.BasePrefix = path, lines[len(lines)-2], lines[len(lines)-1]
	if err := found.check(); err != nil {
		return found, err
	}
	if data, err := json.Marshal(found); err == nil {
		_ = os.WriteFile(memo, data, 0o644) // only a cache: without it the interpreter is started again
	}
	return found, nil
}

func broken(path string, err error, stderr string) error {
	said := kernel.LastLine(stderr)
	if said != "" {
		said = "; it said: " + said
	}
	return &state.Error{Code: CodeBroken, Message: fmt.Sprintf("the interpreter %s does not start%s", path, said),
		Hint: "try it by hand, or name another with --python PATH", Err: err}
}

func (i Interpreter) check() error {
	if i.Major < 3 || i.Major == 3 && i.Minor < 10 {
		return &state.Error{
			Code:    CodeTooOld,
			Message: fmt.Sprintf("%s is Python %s; xstate needs 3.10 or later", i.Path, i.Version),
			Hint:    "name another interpreter with --python PATH",
		}
	}
	return nil
}

// Launched reports whether a script starts the interpreter, such as one of pyenv's.
func (i Interpreter) Launched() bool {
	head := make([]byte, 2)
	if f, err := os.Open(i.Path); err == nil {
		_, _ = f.Read(head)
		f.Close()
	}
	return string(head) == "#!"
}

// interpreterKey returns a text that changes when the file at path may have become another interpreter.
func interpreterKey(path, workspace string, environ []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", path)
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	if info, err := os.Stat(real); err == nil {
		fmt.Fprintf(&b, "%s %d %d\n", real, info.Size(), info.ModTime().UnixNano())
	}
	if (Interpreter{Path: real}).Launched() { // such as pyenv's: other files decide which interpreter it starts
		fmt.Fprintf(&b, "PYENV_VERSION=%s\n", kernel.Getenv(environ, "PYENV_VERSION"))
		for _, name := range []string{
			filepath.Join(workspace, ".python-version"), filepath.Join(filepath.Dir(filepath.Dir(real)), "version"),
		} {
			if data, err := os.ReadFile(name); err == nil {
				fmt.Fprintf(&b, "%s %q\n", name, data)
			}
		}
	}
	return b.String()
}

package python

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	Prefix         string `json:"prefix"`      // the environment's: two of them may hold different packages
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
				Hint:    "name one with `--python PATH`, or unset XSTATE_PYTHON",
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
			Hint:    "install Python 3.10 or later, or name one with `--python PATH`",
		}
	}
	return filepath.Abs(path)
}

// probe imports nothing that Python does not import when it starts: platform and json would take as long as the start.
const probe = `import os, sys
print(sys.implementation.name, sys.version.split()[0], os.uname().machine, *sys.version_info[:2], sep="\n")
print(sys.prefix, sys.base_prefix, sep="\n")`

// Identify returns the interpreter at path. The answer is kept for as long as the file at path stays the same; where
// that is only a launcher, also what the launcher decides by. So a command that starts no kernel starts no interpreter.
// A launcher decides in the folder and the environment of the program.
func Identify(ctx context.Context, s kernel.Search, path string) (Interpreter, error) {
	ask := s.Probe(path, "-I", "-c", probe)
	ask.Memo, ask.Key = "python", launcherKey(path, s.Folder, s.Environ)
	found := Interpreter{Path: path}
	answer, err := ask.Answer(ctx)
	if err == nil {
		_, err = fmt.Sscanf(
			answer,
			"%s\n%s\n%s\n%d\n%d\n",
			&found.Implementation,
			&found.Version,
			&found.Machine,
			&found.Major,
			&found.Minor,
		)
	}
	if err != nil {
		return found, broken(path, err)
	}
	if err := found.check(); err != nil {
		return found, err
	}
	lines := strings.Split(strings.TrimSuffix(answer, "\n"), "\n")
	if len(lines) < 7 {
		return found, broken(path, fmt.Errorf("it printed %q", answer))
	}
	found.Prefix, found.BasePrefix = lines[len(lines)-2], lines[len(lines)-1]
	return found, nil
}

// broken is the error of an interpreter that does not answer.
func broken(path string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &state.Error{Code: CodeBroken, Message: fmt.Sprintf("the interpreter %s does not start%s", path,
		kernel.Said(err)), Hint: "try it by hand, or name another with `--python PATH`", Err: err}
}

func (i Interpreter) check() error {
	if i.Major < 3 || i.Major == 3 && i.Minor < 10 {
		return &state.Error{
			Code:    CodeTooOld,
			Message: fmt.Sprintf("%s is Python %s; xstate needs 3.10 or later", i.Path, i.Version),
			Hint:    "name another interpreter with `--python PATH`",
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

// launcherKey returns a text that changes when the launcher at path may start another interpreter, such as pyenv's:
// other files decide which one. It is empty where path is the interpreter itself.
func launcherKey(path, folder string, environ []string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !(Interpreter{Path: real}).Launched() {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "PYENV_VERSION=%s\n", kernel.Getenv(environ, "PYENV_VERSION"))
	for _, name := range []string{
		filepath.Join(folder, ".python-version"), filepath.Join(filepath.Dir(filepath.Dir(real)), "version"),
	} {
		if data, err := os.ReadFile(name); err == nil {
			fmt.Fprintf(&b, "%s %q\n", name, data)
		}
	}
	return b.String()
}

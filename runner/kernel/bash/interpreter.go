package bash

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// CodeNotFound is the code of errors about a Bash that is not there, does not start, or is older than 4.4.
const CodeNotFound state.Code = "no-bash"

// Interpreter is one Bash, with what identifies it. It is a kernel.Language.
type Interpreter struct {
	Path    string
	Version string // 5.2.15
	Machine string
	Major   int
	Minor   int
}

// String returns the text that people see: "bash 5.2.15".
func (i Interpreter) String() string { return "bash " + i.Version }

// Identity names the interpreter, and the variables that it reads when it starts.
func (i Interpreter) Identity(environ map[string]string) string {
	text := fmt.Sprintf("%s %s", i, i.Machine)
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		switch {
		case name == "LANG", strings.HasPrefix(name, "LC_"), name == "TZ", name == "SHELLOPTS", name == "BASHOPTS",
			name == "BASH_ENV", name == "POSIXLY_CORRECT", strings.HasPrefix(name, "BASH_FUNC_"):
			text += fmt.Sprintf(" %s=%q", name, environ[name])
		}
	}
	return text
}

// Find returns the Bash to use for a program in a folder: the one asked for, XSTATE_BASH, or bash on the path.
func Find(ctx context.Context, asked, folder string, environ []string) (Interpreter, error) {
	if asked == "" {
		asked = kernel.Getenv(environ, "XSTATE_BASH")
	}
	named := asked != ""
	if !named {
		asked = "bash"
	}
	path, err := kernel.LookPath(asked, kernel.Getenv(environ, "PATH"))
	if err == nil {
		path, err = filepath.Abs(path)
	}
	switch {
	case err != nil && named:
		return Interpreter{}, refused(err, "there is no Bash at %q", asked)
	case err != nil:
		return Interpreter{}, refused(err, "no Bash was found: there is no bash on the PATH")
	}
	return identify(ctx, folder, path, environ)
}

// refused is the error of an interpreter that cannot be used.
func refused(err error, format string, args ...any) error {
	return &state.Error{Code: CodeNotFound, Message: fmt.Sprintf(format, args...), Err: err,
		Hint: "install Bash 4.4 or later, or set XSTATE_BASH to the path of one"}
}

const probe = `printf '%s\n' "${BASH_VERSINFO[@]}"`

// identify starts the Bash at a path to ask for its version: that takes no longer than to look for a note of it.
func identify(ctx context.Context, folder, path string, environ []string) (Interpreter, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--norc", "--noprofile", "-c", probe)
	cmd.Dir = folder
	for _, line := range environ {
		if !strings.HasPrefix(line, "BASH_ENV=") {
			cmd.Env = append(cmd.Env, line)
		}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil && context.Cause(ctx) == context.Canceled {
		return Interpreter{}, ctx.Err()
	}
	lines := strings.Split(stdout.String(), "\n")
	i := Interpreter{Path: path}
	if err == nil && len(lines) >= 6 {
		_, err = fmt.Sscan(lines[0]+" "+lines[1], &i.Major, &i.Minor)
	} else if err == nil {
		err = fmt.Errorf("it printed %q", stdout.String())
	}
	if err != nil {
		return i, broken(path, err, stderr.String())
	}
	i.Version, i.Machine = strings.Join(lines[:3], "."), lines[5]
	if i.Major < 4 || i.Major == 4 && i.Minor < 4 {
		return i, refused(nil, "%s is Bash %s; xstate needs 4.4 or later", path, i.Version)
	}
	return i, nil
}

func broken(path string, err error, stderr string) error {
	said := kernel.LastLine(stderr)
	if said != "" {
		said = "; it said: " + said
	}
	return refused(err, "the interpreter %s does not start%s", path, said)
}

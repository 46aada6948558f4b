package bash

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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

// locate finds the Bash to use: the one asked for, XSTATE_BASH, or bash on the path.
func locate(s kernel.Search) (kernel.Located, error) {
	at, err := s.Command("XSTATE_BASH", "bash")
	switch {
	case err != nil && at.Named:
		return at, refused(err, "there is no Bash at %q", at.Path)
	case err != nil:
		return at, refused(err, "no Bash was found: there is no bash on the PATH")
	}
	return at, nil
}

// refused is the error of an interpreter that cannot be used.
func refused(err error, format string, args ...any) error {
	return &state.Error{Code: CodeNotFound, Message: fmt.Sprintf(format, args...), Err: err,
		Hint: "install Bash 4.4 or later, or set XSTATE_BASH to the path of one"}
}

const probe = `printf '%s\n' "${BASH_VERSINFO[@]}"`

// identify returns the Bash at a path. The answer is kept for as long as the file at path stays the same.
func identify(ctx context.Context, s kernel.Search, path string) (kernel.Language, error) {
	ask := s.Probe(path, "--norc", "--noprofile", "-c", probe)
	ask.Memo = "bash"
	ask.Environ = slices.DeleteFunc(slices.Clone(ask.Environ), func(line string) bool {
		return strings.HasPrefix(line, "BASH_ENV=")
	})
	answer, err := ask.Answer(ctx)
	lines := strings.Split(answer, "\n")
	i := Interpreter{Path: path}
	if err == nil && len(lines) >= 6 {
		_, err = fmt.Sscan(lines[0]+" "+lines[1], &i.Major, &i.Minor)
	} else if err == nil {
		err = fmt.Errorf("it printed %q", answer)
	}
	if err != nil {
		return nil, broken(path, err)
	}
	i.Version, i.Machine = strings.Join(lines[:3], "."), lines[5]
	if i.Major < 4 || i.Major == 4 && i.Minor < 4 {
		return nil, refused(nil, "%s is Bash %s; xstate needs 4.4 or later", path, i.Version)
	}
	return i, nil
}

// broken is the error of a Bash that does not start, or does not answer.
func broken(path string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return refused(err, "the interpreter %s does not start%s", path, kernel.Said(err))
}

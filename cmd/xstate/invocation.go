package main

import (
	"errors"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

// invocationFlags are what a command line says of how the program is started.
type invocationFlags struct {
	arguments []string // after "--"
	stdin     string   // a file; "-" is the standard input of xstate
}

func (f *invocationFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(
		&f.stdin,
		"stdin",
		"",
		"the program reads this `FILE` as standard input; - is that of xstate (default: it is empty)",
	)
}

// takesProgram checks the arguments of a verb that takes a FILE and, after "--", arguments of the program.
func takesProgram(cmd *cobra.Command, args []string) error {
	own, _ := programArguments(cmd, args)
	return takes(1, 1, "a FILE: "+patch.FileKinds()+"; arguments of the program follow --")(cmd, own)
}

// takesProgramOrSession checks the arguments of a verb that takes a FILE. With --session alone, it takes the recorded
// program of a session without a file, as exec makes.
func takesProgramOrSession(cmd *cobra.Command, args []string) error {
	own, program := programArguments(cmd, args)
	if len(own) > 0 || !cmd.Flags().Changed("session") {
		return takesProgram(cmd, args)
	}
	for _, name := range []string{"stdin", "watch"} { // needsFile has the others
		if cmd.Flags().Changed(name) {
			return fileless(cmd.Name(), "--"+name+" needs", "--"+name)
		}
	}
	if len(program) > 0 {
		return fileless(cmd.Name(), programNeeds, "-- ARGUMENT")
	}
	return nil
}

// needsFile refuses what a run of a recorded program cannot have.
func needsFile(f *verb.Run) error {
	for _, x := range []struct {
		name  string
		given bool
	}{
		{"--workdir", f.Workdir != ""}, {"--write", f.Write}, {"--expect", f.Expect != nil}, {"--merge", f.Merge},
		{"--private", f.Private},
	} {
		if x.given {
			return fileless(f.Verb(), x.name+" needs", x.name)
		}
	}
	if len(f.Arguments) > 0 {
		return fileless(f.Verb(), programNeeds, "-- ARGUMENT")
	}
	return withoutContents(f.Contents)
}

// withoutContents refuses contents of no file.
func withoutContents(contents *string) error {
	if contents == nil {
		return nil
	}
	return &usageError{err: errors.New("the contents are those of no file"), hint: "name the file that would hold them"}
}

const programNeeds = "arguments of the program need"

// fileless is the error of what only the program of a file can have.
func fileless(verb, what, words string) error {
	return &usageError{err: errors.New(what + " a FILE"), hint: "xstate " + verb + " FILE " + words}
}

// programArguments separates the arguments of a verb from those of the program.
func programArguments(cmd *cobra.Command, args []string) (own, program []string) {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		return args[:dash], slices.Clone(args[dash:])
	}
	return args, nil
}

// with calls act with the FILE of a verb, and with how its program is to be started.
func (f *invocationFlags) with(
	c caller, cmd *cobra.Command, args []string, act func(name string, in *runner.Invocation) error,
) error {
	own, program := programArguments(cmd, args)
	f.arguments = program
	in, done, err := f.invocation(c, cmd.InOrStdin())
	if err != nil {
		return err
	}
	defer done()
	return act(own[0], in)
}

// invocation returns it for a session. own is the standard input of xstate. done removes what it needed.
func (f *invocationFlags) invocation(c caller, own io.Reader) (in *runner.Invocation, done func(), err error) {
	in, done = &runner.Invocation{Arguments: f.arguments, StdinFile: c.path(f.stdin)}, func() {}
	if f.stdin == "-" {
		if in.StdinFile, err = keepInput(c.tempDir(), own); err != nil {
			return nil, done, err
		}
		done = func() { os.Remove(in.StdinFile) }
	}
	if info, err := os.Stat(in.StdinFile); in.StdinFile != "" && (err != nil || !info.Mode().IsRegular()) {
		return nil, done, &state.Error{
			Code:    api.CodeNoFile,
			Message: "there is no file " + f.stdin + " to read as standard input",
			Hint:    "`xstate run FILE --stdin FILE`, or `--stdin -` for that of xstate",
		}
	}
	return in, done, nil
}

// keepInput copies from to a temporary file and returns its path. The caller removes the file.
func keepInput(folder string, from io.Reader) (path string, err error) {
	f, err := os.CreateTemp(folder, "xstate-stdin-")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, from)
	if bad := f.Close(); err == nil {
		err = bad
	}
	if err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

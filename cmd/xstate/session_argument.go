package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/term"
)

// The rule: a verb that is about a session takes it as its first argument, or with --session. A session is named by its
// file or by its name. If a verb has other arguments, the first is a session if the others are enough without it. If it
// could be either, it is a session if it names a program's file or a session of the store.

// sessionFlag adds --session to a verb that takes no session as an argument, because its own arguments may be files.
func (a *app) sessionFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().
		StringVar(&a.session, "session", "", "the `SESSION`: its file or its name (default: the only one of the store)")
	a.completeSessions(cmd)
	a.named(cmd, "--session")
	return cmd
}

// completeSessions completes --session.
func (a *app) completeSessions(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc(
		"session",
		func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return a.called(cmd.Context()), cobra.ShellCompDirectiveDefault
		},
	)
}

// ofSession makes a verb take a session as its first argument, too.
func (a *app) ofSession(cmd *cobra.Command) *cobra.Command {
	a.sessionFlag(cmd)
	verb, own, _ := strings.Cut(cmd.Use, " ")
	cmd.Use = strings.TrimSpace(verb + " [SESSION] " + own)
	check, run, complete := cmd.Args, cmd.RunE, cmd.ValidArgsFunction
	taken := 0 // arguments that name the session
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := a.fileAlone(cmd, args); err != nil && a.session == "" {
			return err
		}
		if a.session == "" && a.leads(cmd, args, check) {
			a.session, taken = args[0], 1
		}
		if len(args) > 1 && check(cmd, args[:1]) != nil && check(cmd, nil) == nil { // the verb has no other arguments
			return takes(0, 1, "a SESSION")(cmd, args)
		}
		return check(cmd, args[taken:])
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd, args[taken:]) }
	cmd.ValidArgsFunction = func(
		cmd *cobra.Command,
		args []string,
		begun string,
	) (names []string, how cobra.ShellCompDirective) {
		if a.session == "" && len(args) == 0 {
			names = a.called(cmd.Context())
		} else if a.session == "" && a.isSession(cmd, args[0]) {
			a.session, args = args[0], args[1:]
		}
		if complete == nil {
			return names, how
		}
		more, how := complete(cmd, args, begun)
		return append(names, more...), how
	}
	a.named(cmd, "")
	return cmd
}

// named prepares what an error shows of a command that does not say which session it means: the same one that does.
func (a *app) named(cmd *cobra.Command, flag string) {
	before := func(*cobra.Command, []string) {
		a.naming = func(session string) string {
			words := []string{cmd.Root().Name()}
			for i, arg := range a.call.Args {
				words = append(words, term.Quoted(arg))
				if arg == cmd.Name() {
					words = append(words, strings.Fields(flag+" "+term.Quoted(session))...)
					words = append(words, quotedAll(a.call.Args[i+1:])...)
					break
				}
			}
			return strings.Join(words, " ")
		}
	}
	cmd.PreRun = before
}

func quotedAll(args []string) (all []string) {
	for _, arg := range args {
		all = append(all, term.Quoted(arg))
	}
	return all
}

// leads reports whether the first argument is the session. check knows the verb's other arguments.
func (a *app) leads(cmd *cobra.Command, args []string, check cobra.PositionalArgs) bool {
	if len(args) == 0 || check(cmd, args[1:]) != nil {
		return false
	}
	return check(cmd, args) != nil || a.isSession(cmd, args[0])
}

// isSession reports whether an argument is a program's file, or names a session of the store.
func (a *app) isSession(cmd *cobra.Command, arg string) bool {
	if a.isProgram(arg) {
		return true
	}
	return !isNumber(arg) && slices.Contains(a.sessionNames(cmd.Context()), arg)
}

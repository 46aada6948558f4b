package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state/query"
)

// otherVerbs are words that people try as verbs, and what does what they mean. The verbs that look alike do not.
var otherVerbs = map[string]string{
	"stop":        "`xstate serve --stop` ends the server; Ctrl-C stops what runs",
	"kill":        "`xstate serve --stop` ends the server; Ctrl-C stops what runs",
	"list":        "`xstate query` lists the blocks, `xstate log` the steps, and xstate alone the sessions",
	"ls":          "`xstate query` lists the blocks, `xstate log` the steps, and xstate alone the sessions",
	"sessions":    "xstate alone lists the sessions",
	"status":      "xstate alone says which sessions are here, and what is next",
	"history":     "`xstate log` lists the steps",
	"edit":        "`xstate patch FILE PATCHFILE` applies an edit",
	"apply-patch": "`xstate patch FILE PATCHFILE` applies an edit",
	"revert":      "`xstate undo` takes back edits, `xstate calls revert` the effects of calls",
	"eval":        "`xstate exec -c CODE` runs code",
	"start":       "`xstate run FILE` runs a program",
	"watch":       "`xstate run FILE --watch` runs what an edit affects whenever the file is saved",
	"delete":      "`xstate patch` takes a diff that deletes a block; sessions are history, and stay",
	"rm":          "`xstate patch` takes a diff that deletes a block; sessions are history, and stay",
	"reset":       "`xstate rollback --to-step N` goes back; `xstate run FILE --fresh` reuses nothing",
	"clear":       "`xstate run FILE --fresh` reuses nothing; `xstate gc` removes results",
}

// noVerb returns the error for a word that is not a verb.
func noVerb(cmd *cobra.Command, word string) error {
	err := fmt.Errorf("there is no verb %q", word)
	if hint := otherVerbs[word]; hint != "" {
		return &usageError{err: err, hint: hint}
	}
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		return &usageError{err: err, hint: "did you mean: `xstate " + near[0] + "`"}
	}
	return &usageError{err: err, hint: "`xstate --help` lists the verbs; to run a file: `xstate run FILE`"}
}

// flagError is the error of a flag that a verb does not have, or of a value that the flag does not take.
func flagError(cmd *cobra.Command, err error) error {
	hint := helpOf(cmd) + " lists the flags"
	var value *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &value):
		err = fmt.Errorf("%q is no value for --%s", value.GetValue(), value.GetFlag().Name)
		if takes, ok := strings.CutPrefix(value.Unwrap().Error(), "want "); ok {
			hint = "it takes " + takes
		}
		if value.GetFlag().Value.Type() == "duration" {
			hint = "name the unit, as in `--" + value.GetFlag().Name + " 5s`"
		}
	case errors.As(err, &unknown):
		if near := nearFlags(cmd, unknown.GetSpecifiedName()); near != "" {
			hint = "did you mean " + near + "? " + hint
		}
	}
	if value == nil && cmd.Name() == "run" {
		hint += "; to pass flags to the program: `xstate run FILE -- --flag`"
	}
	return &usageError{err: err, hint: hint}
}

// nearFlags are the flags of a verb whose first words are this one, or that begin like it, or the one that is the
// most like it; "" if none is.
func nearFlags(cmd *cobra.Command, word string) string {
	if word == "n" && cmd.Flags().Lookup("limit") != nil {
		return "`--limit`"
	}
	var names, begin, words []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		names = append(names, f.Name)
		if word != "" && strings.HasPrefix(f.Name, word) {
			begin = append(begin, "`--"+f.Name+"`")
			if strings.HasPrefix(f.Name, word+"-") {
				words = append(words, "`--"+f.Name+"`")
			}
		}
	})
	if len(words) > 0 {
		return strings.Join(words, " or ")
	}
	if len(begin) > 0 {
		return strings.Join(begin, " or ")
	}
	near := strings.TrimSuffix(strings.TrimPrefix(query.DidYouMean(word, names), "did you mean "), "? ")
	if near == "" || len(word) < 3 {
		return ""
	}
	return "`--" + near + "`"
}

// needsBlock are verbs about one block of a program. A file alone does not say which.
var needsBlock = map[string]bool{"why": true, "blame": true, "bisect": true, "verify": true}

// fileAlone is the error of a verb that is given a program's file and no block of it; nil if it is not.
func (c caller) fileAlone(cmd *cobra.Command, args []string) error {
	if !needsBlock[cmd.Name()] || cmd.Flags().Changed("by") || len(args) != 1 || !c.isProgram(args[0]) {
		return nil
	}
	file := term.Quoted(args[0])
	return &usageError{
		err:  fmt.Errorf("%s is a program, and %s needs a BLOCK of it", args[0], cmd.CommandPath()),
		hint: fmt.Sprintf("`xstate %s %s BLOCK`; `xstate query %s` lists its blocks", cmd.Name(), file, file),
	}
}

// likeCode reports whether a word is code rather than the name of a file.
func likeCode(word string) bool { return strings.ContainsAny(word, " ()=;'\"\n") }

// former hides a verb that is part of another one now. It works for one more release.
func former(old *cobra.Command, now string) *cobra.Command {
	old.Hidden = true
	old.Short += " (now xstate " + now + ")"
	old.Long = "This is part of xstate " + now + " now, and goes with a later release.\n\n" + old.Long
	return old
}

// alone is the error of a flag that is given together with one of others; nil if it is not.
func alone(cmd *cobra.Command, name string, others ...string) error {
	if !cmd.Flags().Changed(name) {
		return nil
	}
	for _, other := range others {
		if cmd.Flags().Changed(other) {
			return &usageError{err: fmt.Errorf("--%s and --%s exclude each other", name, other),
				hint: "use one at a time"}
		}
	}
	return nil
}

// needs is the error of flags that are given without another one; nil if they are not.
func needs(cmd *cobra.Command, name string, others ...string) error {
	for _, other := range others {
		if cmd.Flags().Changed(other) && !cmd.Flags().Changed(name) {
			return &usageError{err: fmt.Errorf("--%s needs --%s", other, name), hint: helpOf(cmd) + " shows an example"}
		}
	}
	return nil
}

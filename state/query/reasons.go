package query

import (
	"fmt"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// sentences are the codes of reasons in words.
var sentences = map[string]string{
	state.ReasonNew:     "this code was never run",
	state.ReasonCode:    "its code was edited",
	state.ReasonInput:   "what it reads has changed",
	state.ReasonSharing: "names it reads share objects in another way than before",
	state.ReasonMaybe:   "what it reads may come out different",
	state.ReasonLost:    "it was run, but its results are gone",
	state.ReasonMachine: "it was run on another machine, and asks for what may differ there",
	state.ReasonEngine: "it was run by another interpreter, with other variables for it (PYTHON…), or by another " +
		"version of xstate",
	state.ReasonRetry:   "it failed before in a way that may not happen again",
	state.ReasonLayout:  "its output cites lines, and those have moved",
	state.ReasonForced:  "it was asked for",
	state.ReasonPinned:  "it is pinned",
	state.ReasonServed:  "it was given what was recorded",
	state.ReasonReused:  "its code and all that it reads are as they were when its result was recorded",
	state.ReasonBlocked: "it needs what a failed block would have defined",
	state.ReasonSyntax:  "it is not valid Python",
	state.ReasonEnded:   "the program ends before it",
	state.ReasonMayEnd:  "a block before it may end the program",

	state.ReasonUnblocked: "it was blocked in the run before",
}

// Sentence returns a reason in words.
func Sentence(r state.Reason) string {
	text, ok := sentences[r.Code]
	if !ok {
		text = r.Code
	}
	limit := time.Duration(r.Limit * float64(time.Second))
	switch {
	case r.Code == state.ReasonLimit:
		return fmt.Sprintf("it timed out after %s before; a longer --timeout or --always BLOCK tries again", limit)
	case r.Code == state.ReasonRetry && r.Limit > 0:
		return fmt.Sprintf("it timed out after %s before, and has more time now", limit)
	case r.Code == state.ReasonBlocked && r.By != "":
		return "it needs what " + r.By + " would have defined"
	case r.Code == state.ReasonEnded && r.By != "":
		return "block " + r.By + " ends the program before it"
	case r.Code == state.ReasonMayEnd && r.By != "":
		return "block " + r.By + ", which ended the program before, runs first"
	case r.Code == state.ReasonUnblocked && r.By != "":
		return "it was blocked in the run before: " + r.By + " had failed"
	case r.Key.Space() == "call":
		return callSentence(r)
	case r.Key != "":
		text = strings.Replace(text, "what it reads", keyText(r.Key)+", which it reads,", 1)
		if r.Key == "conf:argv" {
			text = strings.Replace(text, "has changed", "have changed", 1)
		}
	}
	return text
}

// callSentence says in words how the outcome of a call differs.
func callSentence(r state.Reason) string {
	name := "a call that it makes"
	if r.Call != "" {
		name = "the call " + r.Call
	}
	was, now := string(r.Was), string(r.Now)
	switch {
	case strings.HasPrefix(now, "waiting:"):
		return name + " waits for a decision"
	case strings.HasPrefix(now, "declined:"):
		return name + " was declined"
	case strings.HasPrefix(now, "denied:"):
		return name + " is denied"
	case strings.HasPrefix(was, "waiting:") && r.Now == state.Absent:
		return name + " was approved"
	case strings.HasPrefix(was, "waiting:"):
		return name + " was decided"
	case strings.HasPrefix(was, "denied:") && r.Now == state.Absent:
		return name + " was denied, under other rules"
	case r.Now == state.Absent:
		return name + " has no result any more"
	case r.Code == state.ReasonMaybe:
		return name + " may have another result"
	}
	return name + " has another result"
}

// settings are names of hidden state in words.
var settings = map[string]string{
	"argv":  "the arguments of the program",
	"argv0": "the first of sys.argv",
	"stdin": "the position in the standard input",

	"modules":  "what the program changed in libraries or in its process",
	"sys.path": "the path on which modules are found",
	"locale":   "the locale",
	"warnings": "the filters of warnings",
	"logging":  "the levels of loggers",
}

// inputText names a part of the standard input, see basestate.InputName.
func inputText(part string) string {
	part, ended := strings.CutSuffix(part, "$")
	from, upto, _ := strings.Cut(part, "-")
	if ended {
		return "the standard input from byte " + from + " to its end"
	}
	return "the standard input from byte " + from + " to byte " + upto
}

// keyText returns a key in words.
func keyText(k depgraph.Key) string {
	switch k.Space() {
	case "var":
		return k.Name()
	case "file":
		return "the file " + k.Name()
	case "open":
		return "the open file " + k.Name()
	case "process":
		return "the child processes that run"
	case "inode":
		return "which open file " + k.Name() + " leads to"
	case "dir":
		if dir, _ := k.Listing(); dir != k.Name() {
			return "the list of packages in " + dir
		}
		return "the list of files in " + k.Name()
	case "files":
		return "the list of files that the program wrote"
	case "reach":
		return "the list of names that reach " + k.Name()
	case "mode":
		return "the permissions of " + k.Name()
	case "time":
		return "the time of " + k.Name()
	case "env":
		return "the environment variable " + k.Name()
	case "stdin":
		return inputText(k.Name())
	case "conf":
		if name := settings[k.Name()]; name != "" {
			return name
		}
	case "module":
		return "the package " + k.Name()
	case "program":
		name, _, _ := strings.Cut(k.Name(), "@")
		return "the program " + name
	case "order":
		return "the order in which files were written: " + strings.ReplaceAll(k.Name(), "\n", ", ")
	case "call":
		return "a call that it makes"
	case "count":
		return "how many equal calls were made before"
	case "effect":
		scope, _, _ := strings.Cut(k.Name(), "/")
		return "how many equal calls with an effect on " + scope + " were made before"
	case "scope":
		return "what was called before with an effect on " + k.Name()
	case "policy":
		return "what the policy says of: " + k.Name()
	case "rng":
		return "the state of " + k.Name()
	case "cwd":
		return "the working directory"
	}
	return string(k)
}

package wording

import "strings"

// Door is how a reader came to the engine.
type Door int

// The doors. The zero value is the command line.
const (
	CommandLine Door = iota
	Tools            // an agent's tools, over MCP
	API              // and the clients that are made of it
	Program          // a program that handles an exception; what is recorded has these words
)

// verb is a verb of the command line in another door.
type verb struct {
	command   string            // the verb
	name      string            // in the door: a tool, or a method
	arguments []string          // the names of its arguments there, in the order of the command line
	flags     map[string]string // flag → its name there
}

// switches are flags without a value.
var switches = strings.Fields(`append fresh verify restore-files merge dry-run run private keep-file cached failed
	unverified volatile waiting deny write trust force files json full recorded refresh stop status again`)

// the makes a verb. Flags have their own names with underscores, or are FLAG=NAME; FLAG= is what the door does anyway.
func the(command, name, arguments, flags string) verb {
	v := verb{command, name, strings.Fields(arguments), map[string]string{}}
	for _, f := range strings.Fields(flags) {
		flag, own, named := strings.Cut(f, "=")
		if !named {
			own = underscored(flag)
		}
		v.flags[flag] = own
	}
	return v
}

// verbs are what each door has. Where a verb of the command line is several of a door, the first that takes the flags
// is meant. The packages of the doors test that they have these verbs.
var verbs = map[Door][]verb{
	Tools: {
		the("exec", "exec", "", "session replace append timeout agent reason"),
		the("patch", "edit", "", "session block run format expect merge timeout"),
		the("plan", "plan", "", "session"),
		the("run", "run", "session", "session fresh verify restore-files timeout"),
		the("why", "why", "block", "session"),
		the("query", "query", "", "session at-step block symbol affected-by depends-on where limit after"),
		the("query", "value", "", "session at-step value=name"),
		the("query", "show", "", "session patch=step full="),
		the("query", "show", "block", "session"),
		the("log", "history", "", "session limit after"),
		the("undo", "undo", "step", "session by dry-run"),
		the("approve", "approve", "call", "choice deny result reason"),
		the("fork", "fork", "new", "session private at-step"),
		the("replay", "replay", "", "session step from to block cached timeout"),
	},
	API: {
		the("exec", "exec", "", "session replace append timeout language"),
		the("patch", "edit", "", "session block run format expect merge dry-run timeout"),
		the("plan", "plan", "file", "session python"),
		the("run", "run", "file",
			"session fresh verify restore-files timeout python always never jobs write expect merge"),
		the("why", "why", "block", "session"),
		the("query", "query", "", "session at-step block symbol affected-by depends-on version patch where "+
			"failed unverified volatile limit after"),
		the("query", "value", "", "session at-step value=name"),
		the("query", "show", "of", "session full="),
		the("log", "history", "", "session limit after"),
		the("diff", "diff", "from to", "session"),
		the("undo", "undo", "steps", "session by dry-run keep-file"),
		the("rollback", "rollback", "", "session to-step keep-file"),
		the("calls", "calls", "", "session waiting tool block since cost"),
		the("approve", "approve", "call", "choice deny result reason by"),
		the("fork", "fork", "new", "session private at-step"),
		the("replay", "replay", "", "session step from to block cached jobs"),
		the("replay", "verify", "", "session block times"),
		the("evidence", "evidence", "of", "session at-step"),
	},
}

// Names returns the verbs of a door as hints name them, each with the names of its values.
func (d Door) Names() map[string][]string {
	found := map[string][]string{}
	for _, v := range verbs[d] {
		found[v.name] = append(found[v.name], v.arguments...)
		for _, own := range v.flags {
			if own != "" { // the door does it anyway
				found[v.name] = append(found[v.name], own)
			}
		}
	}
	return found
}

func underscored(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

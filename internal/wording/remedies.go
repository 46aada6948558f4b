package wording

// remedies are hints by the code of an error, where another thing can be done than at the command line.
var remedies = map[Door]map[string]string{
	Tools: {
		"no-store": "nothing ran here yet; exec begins a session",
		"no-session": "exec begins a session with a name, and edit one with a file; or give the name of one that " +
			"exists as session",
		"no-file":        "put the file back, or name another session; edit begins a program in a new file",
		"no-run":         "history lists the runs; exec or run makes one",
		"value-not-kept": "exec an expression that prints the value; it is computed again",
		"which-session":  "name one of them as session",
		"usage":          "see the description of the tool and of its arguments",
	},
	API: {
		"no-store":       "nothing ran here yet; exec begins a session",
		"no-session":     "exec begins a session; List names those that exist",
		"no-run":         "nothing ran yet; exec or run does",
		"value-not-kept": "exec an expression that prints the value; it is computed again",
		"which-session":  "name one of them as session",
		"usage":          "docs/api.md shows requests, api/xstate/v1 has all fields",
	},
}

// Remedy words the hint of an error with a code for a door.
func (d Door) Remedy(code, hint string) string {
	if own, ok := remedies[d][code]; ok {
		return own
	}
	return d.Hint(hint)
}

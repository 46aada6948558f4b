package mcp

import (
	"regexp"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/state"
)

// Codes of errors that this package makes itself.
const (
	codeUsage    state.Code = "usage"
	codeInternal state.Code = "internal"
	codeTooLarge state.Code = "too-large"
)

// hints are what a client of the tools can do about an error, where the verb's hint names a command.
var hints = map[state.Code]string{
	"no-store":         "nothing ran here yet; exec begins a session",
	"no-session":       "exec begins a session; give the name of one that exists as session",
	"no-block":         "show lists the blocks of the program",
	"no-step":          "history lists the steps",
	"no-version":       "query with block shows a block's present version",
	"no-value":         "show lists the blocks; query with symbol shows which of them bind a name",
	"value-not-kept":   "exec an expression that prints the value; it is computed again",
	"no-run":           "nothing ran yet; exec or run does",
	"not-executed":     "show says which blocks failed or were blocked; correct them with exec or edit",
	"nothing-to-undo":  "history lists the edits that can be taken back",
	"session-exists":   "choose another name for the new session",
	"no-file":          "a session that is named after a file needs the file; edit makes it, or name another session",
	"conflict":         "others have edited the program since; show it, and make the edit from what is there now",
	"unrecorded-edits": "the file was edited by others; run records its edits, then try again",
	"file-edited":      "keep the edited file, or overwrite it: run with restore_files",
	"store-busy":       "another process uses the store; try again in some seconds",
	"interrupted":      "it was stopped; call it again to continue",
	"patch-absent":     "show prints the block's present text; make the patch from that",
	"patch-ambiguous":  "name the block, or give more lines around the place",
	"patch-no-target":  "show lists the blocks; name one of them, or give the code of a new block",
	"patch-exists":     "it exists already; patch it instead, or leave it",
	"patch-overlap":    "send the parts that change the same lines one after the other",
	"no-python":        "whoever runs the server must install Python 3.10 or later, or set XSTATE_PYTHON to one",
	"python-too-old":   "whoever runs the server must set XSTATE_PYTHON to Python 3.10 or later",
	"python-broken":    "whoever runs the server must set XSTATE_PYTHON to an interpreter that starts",
	"unchanged":        "nothing differs, so there is nothing to look for",

	"interpreter-changed": "whoever runs the server must say that it is theirs, by xstate exec --python PATH",
}

// hint is the hint of an error for a client that has tools and no command line.
func hint(e *api.Error) string {
	if h, ok := hints[e.Code]; ok {
		return h
	}
	if e.Code == codeUsage {
		return "see the description of the tool and of its arguments"
	}
	if strings.Contains(e.Hint, "xstate ") || strings.Contains(e.Hint, "--") {
		return "on the command line: " + e.Hint
	}
	return e.Hint
}

// flagName finds the flags that messages of verbs name.
var flagName = regexp.MustCompile(`--([a-z][a-z-]*)`)

// inTools rewords the message of a usage error: flags of verbs are arguments here.
func inTools(e *api.Error) string {
	if e.Code != codeUsage {
		return e.Message
	}
	return flagName.ReplaceAllStringFunc(e.Message, func(f string) string {
		return strings.ReplaceAll(strings.TrimPrefix(f, "--"), "-", "_")
	})
}

// failed is the result of a call that did nothing: code, sentence, hint, and the places that a patch may have meant.
func failed(e *api.Error) *sdk.CallToolResult {
	r := &reply{}
	r.line("%s: %s", e.Code, e.Message)
	if e.Hint != "" {
		r.line("hint: %s", e.Hint)
	}
	for _, c := range e.Candidates {
		r.line("near: line %d (similarity %.2f)", c.Line, c.Score)
		r.body(c.Text, 1000)
	}
	for _, c := range e.Conflicts {
		r.line("conflict: block %s: %s", c.ID, c.Why)
		for _, x := range c.Clashes {
			r.line("line %d is now:", x.Line)
			r.body(x.Ours, 1000)
			r.line("and the edit makes it:")
			r.body(x.Theirs, 1000)
		}
	}
	// Some clients check structured content against the tool's schema even when it is an error: the codes go elsewhere.
	return &sdk.CallToolResult{IsError: true, Content: r.contents(), Meta: sdk.Meta{"error": e}}
}

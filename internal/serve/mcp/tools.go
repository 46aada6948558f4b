package mcp

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
)

// Arguments that several tools have.
var (
	ofSession = argument{name: "session", kind: text, about: `the session: a name, or a program's file such as ` +
		`analysis.py (default "main")`}
	atStep = argument{name: "at_step", kind: integer, about: "the program after this step (default: the last)"}
	within = argument{name: "timeout", kind: number,
		about: "stop a part of a block that runs longer than so many seconds"}
	agent = argument{name: "agent", kind: text, about: "your name, if several agents work on the session"}
	why   = argument{name: "reason", kind: text, about: "why you do it, in a few words; history keeps it"}
)

// tools are all tools, in the order in which agents meet them.
var tools = []*tool{
	{
		name: "exec", title: "Execute code",
		about: "Execute code, Python unless the program or language says otherwise, as in a cell of a notebook, and " +
			"return what it printed, its last value, errors and pictures. Variables, imports and functions stay for " +
			"later calls. The code becomes a block of the " +
			"program: a new one at the end, or the new version of the block that it corrects or repeats, which then " +
			"takes that block's place. Other blocks that the change affects run again by themselves; all others keep " +
			"their results.",
		arguments: []argument{
			{
				name: "code", kind: text, required: true,
				about: "the code; the value of its last expression is returned",
			},
			ofSession,
			{
				name: "replace", kind: text,
				about: "the block whose place the code takes (default: decided by what it defines)",
			},
			{name: "append", kind: boolean, about: "true: it is a new block at the end, whatever it resembles"},
			{
				name: "language", kind: text, about: "of the code (default: that of the program)",
				oneOf: api.Languages(),
			},
			{name: "call_id", kind: text, about: "your id of this call: the same code under the same id is executed " +
				"once, so a retry returns the first result"},
			within, agent, why,
		},
		destructive: true, openWorld: true,
		documents: []any{api.Exec{}},
		request: func(in *input) (request, *api.Error) {
			return request{events: true, read: as(execReply), ask: &verb.Exec{
				InSession: in.about(), Code: in.text("code"), Language: in.text("language"),
				Replace: in.text("replace"), Append: in.is("append"), Text: execText, Timeout: in.timeout(),
				Origin: in.origin(),
			}}, nil
		},
	},
	{
		name: "edit", title: "Edit the program",
		about: "Change the program by a patch in any usual format: a unified or git diff, a diff without line " +
			"numbers, SEARCH/REPLACE blocks, *** Begin Patch, a text editor's call as JSON, or the new code of whole " +
			"blocks. All of it is applied, or nothing. Nothing runs unless run is true. Use it to change several " +
			"blocks at once, parts of long blocks, or a program's file; to correct one block, exec is simpler.",
		arguments: []argument{
			{name: "patch", kind: text, required: true, about: "the patch, or code"},
			ofSession,
			{name: "block", kind: text, about: "the block to patch where the patch names none"},
			{name: "run", kind: boolean, about: "true: then run what is affected"},
			{
				name: "format", kind: text,
				about: "the patch's format (default: detected)",
				oneOf: []string{"block", "cell", "git", "old-new", "search-replace", "text-editor", "udiff", "unified",
					"v4a"},
			},
			{
				name: "expect", kind: text,
				about: "fail unless the session is at this step, or the block has this version",
			},
			{name: "merge", kind: boolean, about: "true, with expect: merge if others have edited other lines since"},
			within, agent, why,
		},
		destructive: true, openWorld: true,
		documents: []any{api.Patch{}},
		request: func(in *input) (request, *api.Error) {
			return request{read: as(editReply), ask: &verb.Patch{
				InSession: in.about(), Text: in.text("patch"), Format: in.text("format"), Block: in.text("block"),
				Expect: in.text("expect"), Merge: in.is("merge"), Run: in.is("run"), Timeout: in.timeout(),
				Origin: in.origin(),
			}}, nil
		},
	},
	{
		name: "plan", title: "Plan a run",
		about: "Say what an edit would run, why, and how long that took before; nothing is executed or recorded. " +
			"With patch: as if it was edited so, in any format that edit takes. Without: what run would do now.",
		arguments: []argument{
			{name: "patch", kind: text, about: "a patch, or code, as for edit (default: no edit)"},
			{name: "block", kind: text, about: "the block to patch where the patch names none"},
			ofSession,
		},
		readOnly: true, idempotent: true,
		documents: []any{api.Plan{}},
		request: func(in *input) (request, *api.Error) {
			if in.has("patch") {
				return request{read: as(planReply), answer: planIn, ask: &verb.Patch{
					InSession: in.about(), Text: in.text("patch"), Block: in.text("block"), DryRun: true,
				}}, nil
			}
			session, file := in.program()
			return request{read: as(planReply), ask: &verb.Plan{InSession: session, File: file}}, nil
		},
	},
	{
		name: "run", title: "Run what is affected",
		about: "Run the blocks that are new, edited or affected, and no others, and return their output. Use it " +
			"after edit or undo, or after data files changed. If the session is a program's file, edits of the file " +
			"are recorded first. The outcome equals a run of the whole program from the top.",
		arguments: []argument{
			ofSession,
			{name: "fresh", kind: boolean, about: "true: reuse nothing, execute every block"},
			{
				name: "verify", kind: boolean,
				about: "true: then run all from scratch and compare; slow, repeats effects",
			},
			{name: "restore_files", kind: boolean, about: "true: overwrite results that were edited since"},
			within, agent, why,
		},
		destructive: true, openWorld: true,
		documents: []any{api.Run{}},
		request: func(in *input) (request, *api.Error) {
			session, file := in.program()
			return request{events: true, read: as(runReply), ask: &verb.Run{
				InSession: session, File: file, Fresh: in.is("fresh"), Verify: in.is("verify"),
				RestoreFiles: in.is("restore_files"), Timeout: in.timeout(), Origin: in.origin(),
			}}, nil
		},
	},
	{
		name: "why", title: "Explain a block",
		about: "Say why a block ran, was reused, failed or is blocked in the last run: the input that changed, its " +
			"values before and after, and who wrote it; and what the next run would do with it. Nothing is executed.",
		arguments: []argument{{name: "block", kind: text, required: true, about: "the block"}, ofSession},
		readOnly:  true, idempotent: true,
		documents: []any{api.Why{}},
		request: func(in *input) (request, *api.Error) {
			return request{read: as(whyReply), ask: &verb.Why{InSession: in.about(), Block: in.text("block")}}, nil
		},
	},
	{
		name: "query", title: "Query the record",
		about: "Answer from the record, at the last step or an earlier one; nothing is executed. Ask one thing: a " +
			"block with all that it read and wrote; who binds and reads a name; what must re-run if something " +
			"changes; which blocks failed; or an expression. With none of these: the whole program as it was after " +
			"the step.",
		arguments:  queryArguments,
		readOnly:   true,
		idempotent: true,
		documents: []any{api.Query{}, api.QueryBlock{}, api.QuerySymbol{}, api.QueryDependents{}, api.QueryBlocks{},
			api.QueryUnverified{}, api.QueryVolatile{}, api.QueryWhere{}},
		request: queryRequest,
	},
	{
		name: "show", title: "Show the program",
		about: "Show the program as it is now: every block with its source, status, output and pictures. With block: " +
			"that one, and what it read and wrote. With step: what that edit changed, and what ran because of it.",
		arguments: []argument{
			ofSession,
			{name: "block", kind: text, about: "a block"},
			{name: "step", kind: integer, about: "the step of an edit"},
		},
		readOnly: true, idempotent: true,
		documents: []any{api.Query{}, api.QueryBlock{}, api.QueryPatch{}},
		request:   showRequest,
	},
	{
		name: "value", title: "Show a value",
		about: "Show the value of a variable after the last step or an earlier one: its type, shape, size and text. " +
			"Nothing of the program is executed. Values that were cheap to compute may not be kept: then exec the " +
			"name.",
		arguments: []argument{
			{name: "name", kind: text, required: true, about: "the variable"}, ofSession, atStep,
		},
		readOnly: true, idempotent: true,
		documents: []any{api.QueryValue{}},
		request: func(in *input) (request, *api.Error) {
			return request{read: as(valueReply), ask: &verb.Query{
				InSession: in.about(), Moment: in.moment(), Value: in.text("name"),
			}}, nil
		},
	},
	{
		name: "flow", title: "Follow texts through calls",
		about: "Show what reached each call of a tool or model, by its words: files and earlier answers, to the " +
			"part; where its answer went; and what to look at: parts that no call was given, two calls with one " +
			"part, texts that were cut, answers that were dropped.",
		arguments: []argument{
			ofSession,
			{name: "call", kind: integer, about: "this call alone, with all that may have reached it (default: all)"},
			atStep,
		},
		readOnly: true, idempotent: true,
		documents: []any{api.Flow{}},
		request: func(in *input) (request, *api.Error) {
			ask := &verb.Flow{InSession: in.about(), Moment: in.moment()}
			if n := in.number("call"); n != nil {
				ask.Call = state.CallID(*n)
			}
			return request{read: as(flowReply), ask: ask}, nil
		},
	},
	{
		name: "history", title: "List the steps",
		about: "List the steps of a session, newest first: edits with their author and reason, runs with their " +
			"outcome, undos and forks. Step numbers are what at_step, undo, fork and replay take.",
		arguments: []argument{
			ofSession,
			{name: "limit", kind: integer, about: "list at most so many; 0 for all (default 20)"},
			{name: "after", kind: integer, about: "continue a list with the steps before this one"},
		},
		readOnly: true, idempotent: true,
		documents: []any{api.Log{}},
		request: func(in *input) (request, *api.Error) {
			ask := &verb.Log{InSession: in.about(), Limit: in.number("limit")}
			if after := in.step("after"); after != nil {
				ask.After = *after
			}
			return request{read: as(historyReply), ask: ask}, nil
		},
	},
	{
		name: "undo", title: "Take edits back",
		about: "Take back the last edit (a patch of several blocks is one), the edit of one step, a range of them, " +
			"or all edits of an agent, and keep what others did since. A " +
			"later edit of the same lines is a conflict: then nothing changes. Nothing runs: call run afterwards, " +
			"which finds the former results. An undo is a step, and can be undone.",
		arguments: []argument{
			{name: "step", kind: integer,
				about: "the step of the edit, or the first of a range (default: the last edit)"},
			{name: "through", kind: integer, about: "the last step of a range"},
			{name: "by", kind: text, about: "take back the edits of this agent only; without step all of them"},
			{name: "dry_run", kind: boolean, about: "true: say what would change, and change nothing"},
			ofSession, agent, why,
		},
		destructive: true, idempotent: true,
		documents: []any{api.Undo{}},
		request:   undoRequest,
	},
	{
		name: "approve", title: "Decide about a call",
		about: "Decide about a call of the program that waits: a rule asks about it, the program asks a question, or " +
			"its answer was lost. Only your user can know: ask first. Then run goes on; earlier calls are not " +
			"repeated.",
		arguments: []argument{
			{name: "call", kind: integer, required: true, about: "the number of the call, as the reply named it"},
			{name: "choice", kind: text, about: "one of the choices (default: yes)"},
			{name: "deny", kind: boolean, about: "true: decline the call"},
			{name: "result", kind: text, about: `with choice "happened": what the call returned, as JSON`},
			{name: "reason", kind: text, about: "why; the program gets it if the call is declined"},
		},
		destructive: true, openWorld: true,
		documents: []any{api.Approve{}},
		request: func(in *input) (request, *api.Error) {
			return request{read: as(approveReply), ask: &verb.Approve{
				Calls: []state.CallID{state.CallID(*in.number("call"))}, Choice: in.text("choice"), Deny: in.is("deny"),
				Result: in.text("result"), Reason: in.text("reason"), By: in.client,
			}}, nil
		},
	},
	{
		name: "fork", title: "Fork a session",
		about: "Begin a new session with the history of another one up to a step, to try another way. Nothing is " +
			"run: what both have in common keeps its results. The other session does not change.",
		arguments: []argument{
			{
				name: "new", kind: text, required: true,
				about: "the new session: a name, or a file to write the program into",
			},
			{
				name: "private", kind: boolean,
				about: "true: in a folder of its own, a copy of the one that the program runs in, so that versions " +
					"run side by side",
			},
			ofSession, atStep, agent, why,
		},
		idempotent: true,
		documents:  []any{api.Fork{}},
		request: func(in *input) (request, *api.Error) {
			return request{read: as(forkReply), ask: &verb.Fork{
				InSession: in.about(), Moment: in.moment(), New: in.text("new"), Private: in.is("private"),
				Origin: in.origin(),
			}}, nil
		},
	},
	{
		name: "replay", title: "Replay recorded runs",
		about: "Execute recorded runs again, in a clean interpreter and a clean copy of the folder, and compare " +
			"everything with the record: equal, or the first difference with its cause. Nothing of the session or " +
			"the folder changes. Parts that used the network or started processes get their recorded results.",
		arguments: []argument{
			ofSession,
			{name: "step", kind: integer, about: "replay the run that is this step"},
			{name: "from", kind: integer, about: "replay the runs from this step on"},
			{name: "to", kind: integer, about: "replay the runs up to this step"},
			{name: "block", kind: text, about: "replay this block with all that it needs, in the last of the runs"},
			{name: "cached", kind: boolean, about: "true: execute nothing, verify the digests of the record"},
			within,
		},
		readOnly: true, idempotent: true,
		documents: []any{api.Replay{}},
		request: func(in *input) (request, *api.Error) {
			return request{read: as(replayReply), ask: &verb.Replay{
				InSession: in.about(), From: in.step("from"), To: in.step("to"), Step: in.step("step"),
				Block: in.text("block"), Cached: in.is("cached"), Timeout: in.timeout(),
			}}, nil
		},
	},
}

// execText is how many bytes of text exec answers with.
const execText = 12_000

// program is the file or the session that run and plan take: a program's file, or a session that has none.
func (in *input) program() (session verb.InSession, file string) {
	if s := in.session(); slices.Contains(api.ProgramKinds, filepath.Ext(s)) {
		return verb.InSession{}, s
	}
	return in.about(), ""
}

// planIn is the plan of a patch that was not applied.
func planIn(document any) any {
	if d := verb.As[api.Patch](document); d != nil && d.Plan != nil {
		return d.Plan
	}
	return nil
}

var queryArguments = []argument{
	ofSession, atStep,
	{name: "block", kind: text, about: "one block: source, outputs, and everything that it read and wrote"},
	{name: "symbol", kind: text, about: "a name of the program: the blocks that bind and read it, and its value"},
	{
		name: "affected_by", kind: text,
		about: "a block, name, file or package: everything that must re-run if it changes",
	},
	{name: "depends_on", kind: text, about: "the same, direct readers only"},
	{name: "list", kind: text, about: "blocks that failed or were blocked; that nothing confirmed; whose result may " +
		"vary from run to run", oneOf: []string{"failed", "unverified", "volatile"}},
	{name: "where", kind: text, about: `an expression in CEL over block, trace, step or origin, such as ` +
		`block.status == "failed", or trace.reads.exists(r, r.key == "file:data.csv"), or step.kind == "run"`},
	{name: "limit", kind: integer, about: "with where: list at most so many"},
	{name: "after", kind: text, about: "with where: continue a list"},
}

func queryRequest(in *input) (request, *api.Error) {
	ask := &verb.Query{
		InSession: in.about(), Moment: in.moment(), Block: in.text("block"), Symbol: in.text("symbol"),
		AffectedBy: in.text("affected_by"), DependsOn: in.text("depends_on"), Where: in.text("where"),
		Limit: in.number("limit"), After: in.text("after"),
	}
	read := as(snapshotReply)
	switch {
	case ask.Block != "":
		read = as(blockReply)
	case ask.Symbol != "":
		read = as(symbolReply)
	case ask.AffectedBy != "", ask.DependsOn != "":
		read = as(dependentsReply)
	case ask.Where != "":
		read = as(foundReply)
	}
	switch in.text("list") {
	case "failed":
		ask.Failed, read = true, as(listReply("failed or blocked"))
	case "unverified":
		ask.Unverified, read = true, as(unverifiedReply)
	case "volatile":
		ask.Volatile, read = true, as(volatileReply)
	}
	return request{ask: ask, read: read}, nil
}

func showRequest(in *input) (request, *api.Error) {
	block, step := in.text("block"), in.number("step")
	switch {
	case block != "" && step != nil:
		return request{}, &api.Error{Code: api.CodeUsage, Message: "block and step exclude each other",
			Hint: "query takes a block with at_step"}
	case block != "":
		return request{read: as(blockReply), ask: &verb.Query{InSession: in.about(), Block: block}}, nil
	case step != nil:
		return request{read: as(patchReply), ask: &verb.Query{InSession: in.about(), Patch: strconv.Itoa(*step)}}, nil
	}
	return request{read: as(snapshotReply), ask: &verb.Show{InSession: in.about()}}, nil
}

func undoRequest(in *input) (request, *api.Error) {
	ask := &verb.Undo{InSession: in.about(), By: in.text("by"), DryRun: in.is("dry_run"), Origin: in.origin()}
	first, last := in.number("step"), in.number("through")
	switch {
	case last != nil && first == nil:
		return request{}, &api.Error{Code: api.CodeUsage, Message: "through needs step, the first of the range",
			Hint: "undo takes step 5 with through 9 for the edits of the steps 5 to 9"}
	case last != nil:
		ask.Steps = fmt.Sprintf("%d..%d", *first, *last)
	case first != nil:
		ask.Steps = strconv.Itoa(*first)
	}
	return request{ask: ask, read: as(undoReply)}, nil
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/wording"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
	"github.com/xstate-engine/xstate/state/provenance"
)

// execution is one call of exec, as it is shown.
type execution struct {
	*app
	o       *opened
	budget  int
	started time.Time
	wrote   string // the file that goes along
	origin  xstate.Origin

	blocks []xstate.BlockID // the blocks that the code became
	shown  *term.Clipper    // what they put out, as it comes
	line   string           // the part of the output that has not ended its line
	calls  *api.CallsSummary
	d      api.Exec
}

// document fills in the document, and ends what is shown of the code's output.
func (x *execution) document(done *xstate.ExecResult) {
	out := done.Outcome
	x.places.follow(out)
	x.d = api.Exec{Version: api.Version, Session: x.o.history.Name(), Step: done.Step.Number, File: x.wrote,
		Seconds: micro(out.Seconds), Engine: micro(out.Engine), Saved: micro(out.Saved),
		ResultSeconds: micro(out.ResultSeconds),
		SettleSeconds: micro(max(0, time.Since(x.started).Seconds()-out.ResultSeconds)),
		Calls:         x.calls, Others: []api.ExecBlock{}, Files: []api.ExecFile{},
		Notices: append(x.noticesOf(x.o.store), out.Warnings...)}
	if skipped := done.SkippedText(); skipped != "" {
		x.d.Notices = append(x.d.Notices, skipped)
	}
	x.d.Notices = append(x.d.Notices, afterFailures(done)...)
	if run := done.Step.Run; run != nil {
		c := run.Blocks
		x.d.Ran, x.d.Reused, x.d.Failed = c.Ran, c.Reused, c.Failed
		x.d.Blocked, x.d.NotReached = c.Blocked, c.NotReached
		x.d.Suspended, x.d.Waiting = c.Waiting, waitingCalls(out)
		x.d.Sandbox = run.Sandbox
		if run.Ended != nil {
			x.d.ExitCode = &run.Ended.Code
		}
	}
	if out.Stopped != nil {
		x.d.Stopped = stoppedBy(out.Stopped)
	}
	x.d.TakenBack, x.d.Repeated = len(done.Undone) > 0, done.Repeated
	var text strings.Builder
	for i := range out.Blocks {
		if b := &out.Blocks[i]; slices.Contains(x.blocks, b.ID) {
			text.WriteString(x.own(b, out))
		}
	}
	x.cut(done, &text)
	x.whole(text.String())
	x.decision(done)
	x.d.Open = openFailures(out, x.blocks)
	var others []*runner.BlockOutcome
	for i := range out.Blocks {
		if b := &out.Blocks[i]; !slices.Contains(x.blocks, b.ID) && affected(b) {
			others = append(others, b)
		}
	}
	for _, b := range others {
		x.other(b, max(x.budget-text.Len(), x.budget/8)/len(others))
	}
}

// keptParts are the blocks that were cut to what they did before they failed.
func keptParts(done *xstate.ExecResult) (kept []xstate.BlockID) {
	for _, p := range done.Placements {
		if p.Decision != nil && p.Decision.By == patch.ByKept {
			kept = append(kept, xstate.BlockID(p.Block))
		}
	}
	return kept
}

// afterFailures says what became of blocks that had failed, and that the code does not name.
func afterFailures(done *xstate.ExecResult) (said []string) {
	for _, p := range done.Placements {
		if p.Decision == nil {
			continue
		}
		switch p.Decision.By {
		case patch.ByKept:
			said = append(said, fmt.Sprintf(
				"block %s failed before; the part that did not fail is kept, as this code uses it", p.Block))
		case patch.ByAnswer:
			said = append(said, fmt.Sprintf("block %s failed before; this code takes its place", p.Block))
		}
	}
	return said
}

// cut says of code that was interrupted, or that ended the program, what became of it. Of the statement that was
// interrupted nothing is recorded, so its text is what it had put out.
func (x *execution) cut(done *xstate.ExecResult, text *strings.Builder) {
	gone := "the code was interrupted"
	switch {
	case done.Outcome.Stopped != nil && (x.d.Status == state.StatusNew.String() || x.d.Status == ""):
		if text.Len() == 0 {
			text.WriteString(x.shown.Text())
		}
	case x.d.TakenBack:
		if done.Outcome.Stopped == nil {
			gone = "the code ended the program"
		}
	default:
		return
	}
	if x.d.TakenBack {
		gone += ", and was taken back"
	}
	if err := done.Outcome.Stopped; state.CodeOf(err) == journal.CodeBudget {
		x.d.Error = &state.ExecError{Type: runner.TypeBudget, Message: err.Error(), Block: x.d.Block}
		gone = runner.TypeBudget + ": " + err.Error()
	} else if err != nil {
		x.d.Error = &state.ExecError{Type: "KeyboardInterrupt", Message: gone, Block: x.d.Block}
		gone = "KeyboardInterrupt: " + gone
	}
	text.WriteString(x.told(gone + "\n"))
}

// openFailures returns the blocks that failed before a call and fail still, beside those that it is about.
func openFailures(out *xstate.Outcome, own []xstate.BlockID) (open []xstate.BlockID) {
	for i := range out.Blocks {
		if b := &out.Blocks[i]; b.Status == state.StatusFailed && !slices.Contains(own, b.ID) && !affected(b) {
			open = append(open, b.ID)
		}
	}
	return open
}

// affected reports whether a call executed a block, or changed its outcome.
func affected(b *runner.BlockOutcome) bool {
	if b.Before != nil && b.Status.Bad() && b.Status == b.Before.Status && !ranAny(b) {
		return false
	}
	return isNews(b)
}

// own takes a block that the code became into the document, and returns its text.
func (x *execution) own(b *runner.BlockOutcome, out *xstate.Outcome) string {
	if x.d.Error == nil {
		x.d.Block, x.d.Status, x.d.Result = b.ID, state.StatusWith(b.Status, b.Err), nil
		x.d.Error = x.clipError(x.places.explain(b.Err))
		if b.Err == nil {
			x.d.Error = x.missing(b, out)
		}
		for _, o := range b.Outputs {
			if o.Kind == "result" {
				text := o.Text
				if plain, ok := o.Data["text/plain"]; ok {
					text = plain
				}
				var clipped bool
				text, clipped = term.Clip(text, x.budget/4, term.LeftOut(x.command(b.ID)))
				x.d.Result, x.d.Clipped = &text, x.d.Clipped || clipped
			}
		}
	}
	x.d.Denied = append(x.d.Denied, b.Denied...)
	var text strings.Builder
	text.WriteString(x.outputs(b))
	if b.Err == nil && len(b.Denied) > 0 {
		text.WriteString(x.told("[xstate: " + x.deniedHint(b.Denied) + "]\n"))
	}
	switch {
	case b.Err != nil && b.Ending == nil: // a program that ends prints why by itself
		text.WriteString(x.told(x.places.errorText(b.Err)))
	case b.Err == nil && x.d.Error != nil:
		text.WriteString(x.told(x.d.Error.Message + "\nhint: " + x.d.Error.Hint + "\n"))
	}
	return text.String()
}

// outputs returns what a block put out, as a text. Its pictures are files of the document.
func (x *execution) outputs(b *runner.BlockOutcome) string {
	x.d.Files = append(x.d.Files, x.figures(b.ID, b.Outputs)...)
	var text strings.Builder
	for _, o := range b.Outputs {
		if len(o.Data) > 0 {
			endLine(&text)
		}
		text.WriteString(x.outputText(b.ID, o))
	}
	endLine(&text)
	text.WriteString(notes(b.Outputs))
	return text.String()
}

// told returns a text of xstate's, to be shown between outputs of the program.
func (x *execution) told(text string) string {
	if x.ui.JSON {
		return text
	}
	return term.Escape(text)
}

// outputText renders one output. A picture that the terminal cannot show is a file.
func (x *execution) outputText(block xstate.BlockID, o output.Output) string {
	if picture := x.ui.Picture(o); picture != "" && !x.ui.JSON {
		return picture + "\n"
	}
	files := x.figures(block, []output.Output{o})
	if len(files) == 0 {
		return x.places.outputText(o)
	}
	return fmt.Sprintf("[%s %s: %s]\n", files[0].Media, term.Size(int64(files[0].Bytes)), files[0].File)
}

// missing returns the error of code that could not run because of another block; nil if it could.
func (x *execution) missing(b *runner.BlockOutcome, out *xstate.Outcome) *state.ExecError {
	var by xstate.BlockID
	for _, n := range b.Nodes {
		if n.Status.Skipped() {
			by = xstate.BlockID(n.Reason.By)
			break
		}
	}
	e := &state.ExecError{Type: "NotExecuted", Block: b.ID}
	switch b.Status {
	case state.StatusBlocked:
		e.Message, e.Hint = whyUndefined(by, out)
	case state.StatusNotReached:
		e.Message = fmt.Sprintf("the code was not executed: block %s ends the program before it", by)
		e.Hint = x.door.Hint(fmt.Sprintf("submit block %s without its exit: `xstate exec --replace %s`", by, by))
	default:
		return nil
	}
	return e
}

// whyUndefined says why a block does not define what code needs, and what to do.
func whyUndefined(by xstate.BlockID, out *xstate.Outcome) (message, hint string) {
	message = fmt.Sprintf("the code was not executed: it needs what block %s defines, which ", by)
	hint = fmt.Sprintf("submit block %s corrected: a block that fails defines nothing", by)
	i := slices.IndexFunc(out.Blocks, func(o runner.BlockOutcome) bool { return o.ID == by })
	if i < 0 || out.Blocks[i].Err == nil {
		return message + "fails", hint
	}
	e := out.Blocks[i].Err
	if len(e.Waiting) > 0 {
		return message + e.Message, fmt.Sprintf("the code runs when block %s continues, after the decision", by)
	}
	return message + "fails with " + e.Type + ": " + e.Message, hint
}

// whole makes the text of the call, clipped, and keeps all of it in a file if it is.
func (x *execution) whole(text string) {
	whole := x.command(x.d.Block)
	if len(text) > x.budget {
		name := filepath.Join("outputs", term.Short(string(state.DigestOf([]byte(text))))+".txt")
		if path, err := x.keep(name, []byte(text)); err == nil {
			whole = x.inFile(path)
			x.d.Files = append(x.d.Files, api.ExecFile{Block: x.d.Block, Media: "text/plain", File: path,
				URI: x.uri(x.d.Block) + "/text", Bytes: len(text)})
		}
	}
	var clipped bool
	x.d.Text, clipped = term.Clip(text, x.budget, term.LeftOut(whole))
	x.d.Clipped = x.d.Clipped || clipped
	rest, ok := strings.CutPrefix(text, x.shown.Text())
	if ok {
		x.shown.Add(rest)
	} else if x.d.Error != nil { // the record has no states of a screen that were written over
		x.shown.Add(x.errorAlone(text))
	}
	x.shown.End(term.LeftOut(whole))
}

// inFile says where a text is whole that is kept in a file. Code that is bounded may not read the file, and who comes
// by another door than the command line may have no way to it: a tool answers with a link, and all others have the
// record.
func (x *execution) inFile(path string) string {
	switch {
	case x.door == wording.Tools:
		return "a link below leads to all of it"
	case x.door != wording.CommandLine:
		return x.command(x.d.Block)
	case x.d.Sandbox != "" && x.d.Sandbox != string(policy.Off):
		return x.command(x.d.Block) + "; it is in " + path + ", too, which the sandbox hides from code"
	}
	return "all of it is in " + path
}

// errorAlone returns the end of a text from the error on.
func (x *execution) errorAlone(text string) string {
	rendered := x.told(x.places.errorText(x.d.Error))
	if i := strings.LastIndex(text, rendered); i >= 0 {
		return text[i:]
	}
	return rendered
}

// decision says what became of the code.
func (x *execution) decision(done *xstate.ExecResult) {
	x.d.Action = "replace"
	if done.Repeated {
		x.d.Action = "unchanged"
	}
	for _, p := range done.Placements {
		if xstate.BlockID(p.Block) != x.d.Block || p.Decision != nil && p.Decision.By == patch.ByKept {
			continue
		}
		x.d.Decision = p.Decision
		if p.Unchanged {
			x.d.Action = "unchanged"
		}
	}
	for _, e := range done.Revision.Edits {
		if xstate.BlockID(e.ID) == x.d.Block && e.Op == patch.OpAppend {
			x.d.Action = "append"
		}
	}
}

// other takes a block into the document that the code is not. A picture that it draws again is one of the call: it
// shows what the code changed.
func (x *execution) other(b *runner.BlockOutcome, budget int) {
	whole := x.outputs(b)
	if b.Err != nil {
		whole += x.places.errorText(b.Err)
	}
	text, clipped := term.Clip(whole, budget, term.LeftOut(x.command(b.ID)))
	x.d.Clipped = x.d.Clipped || clipped
	x.d.Others = append(x.d.Others, api.ExecBlock{Block: b.ID, Status: state.StatusWith(b.Status, b.Err),
		Reason: b.Reason, Text: text, Error: x.clipError(x.places.explain(b.Err)), Seconds: micro(b.Seconds)})
}

// clipError returns an error with at most the budget of its traceback.
func (x *execution) clipError(e *state.ExecError) *state.ExecError {
	if e == nil || len(strings.Join(e.Traceback, "\n")) <= x.budget {
		return e
	}
	whole := x.door.Text("`xstate query --full` prints all of it")
	text, _ := term.Clip(strings.Join(e.Traceback, "\n"), x.budget, term.LeftOut(whole))
	short := *e
	short.Traceback, x.d.Clipped = strings.Split(text, "\n"), true
	return &short
}

// command says how to see all of a block's output.
func (x *execution) command(block xstate.BlockID) string {
	return x.door.Text(fmt.Sprintf("`xstate query --session %s --at-step %d --block %s` prints it",
		term.Quoted(x.o.history.Name()), x.d.Step, term.Quoted(string(block))))
}

func (x *execution) uri(block xstate.BlockID) string {
	return fmt.Sprintf("xstate://session/%s/step/%d/block/%s", x.o.history.Name(), x.d.Step, block)
}

// figures returns the pictures among outputs, as files.
func (x *execution) figures(block xstate.BlockID, outputs []output.Output) []api.ExecFile {
	var files []api.ExecFile
	for i, o := range outputs {
		for _, f := range provenance.Figures(block, []output.Output{o}) {
			name := filepath.Join("figures", term.Short(string(state.DigestOf(f.Data)))+"-"+f.Name)
			path, err := x.keep(name, f.Data)
			if err != nil {
				continue // the record has the picture all the same
			}
			files = append(files, api.ExecFile{Block: block, Media: f.Media, File: path, Bytes: len(f.Data),
				URI: fmt.Sprintf("%s/output/%d", x.uri(block), i)})
		}
	}
	return files
}

// keptFor is how long a file stays in the user's cache that no call has answered with since.
const keptFor = 7 * 24 * time.Hour

// keep writes a file into the user's cache, under a name that only this content has, and removes old ones there: the
// store has what they hold.
func (x *execution) keep(name string, data []byte) (path string, err error) {
	folder, err := x.cacheDir()
	if err != nil {
		return "", err
	}
	path = filepath.Join(folder, "xstate", name)
	now := time.Now()
	if info, err := os.Stat(path); err == nil && info.Size() == int64(len(data)) {
		return path, os.Chtimes(path, now, now)
	}
	others, _ := os.ReadDir(filepath.Dir(path)) // empty if the folder does not exist yet
	for _, x := range others {
		if info, err := x.Info(); err == nil && now.Sub(info.ModTime()) > keptFor {
			_ = os.Remove(filepath.Join(filepath.Dir(path), x.Name())) // another process may have done so
		}
	}
	return path, writeFiles(filepath.Dir(path), map[string][]byte{filepath.Base(path): data})
}

package replay

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// otherEngine reports whether the run was recorded with an interpreter, or a version of xstate, that gives all code
// other digests.
func (x *replaying) otherEngine() bool {
	for _, ref := range x.order {
		if rec := x.recorded[ref]; x.ours[rec.Code] {
			return false
		}
	}
	return true
}

// codeCause returns the cause if the digest of the code differs from the recorded one.
func (x *replaying) codeCause() Cause {
	if x.otherEngine() {
		return CauseInterpreter
	}
	return CauseCode
}

// versions names the two interpreters.
func (x *replaying) versions() string {
	if x.found.Interpreter != x.config.Languages.String() {
		return fmt.Sprintf("recorded with %s, replayed with %s", x.found.Interpreter, x.config.Languages)
	}
	return fmt.Sprintf("%s in another environment, or another version of xstate", x.config.Languages)
}

// causeFolder says that a node depends on the name of the folder. The name differs in a replay, and no text shows what
// else the name changed. So the node cannot be compared.
const causeFolder Cause = "folder"

// causeOf returns the cause that a changed input implies.
var causeOf = map[string]Cause{
	"file":   CauseFile,
	"stat":   CauseFile,
	"dir":    CauseFile,
	"mode":   CauseFile,
	"time":   CauseFile,
	"link":   CauseFile,
	"files":  CauseFile,
	"env":    CauseEnvironment,
	"stdin":  CauseEnvironment,
	"isset":  CauseEnvironment,
	"conf":   CauseEnvironment,
	"cwd":    CauseEnvironment,
	"rng":    CauseRandomness,
	"module": CausePackage,

	"program": CausePackage,
	"order":   CauseFile,
}

// causeOfMark maps marks to causes, the most specific first.
var causeOfMark = []struct {
	mark   string
	cause  Cause
	detail string
}{
	{"refused network", CauseNetwork, "it asks the network, which a replay does not let it; the recording did not"},
	{
		"refused subprocess",
		CauseSubprocess,
		"it starts a process, which a replay does not let it; the recording did not",
	},
	{
		"refused file",
		CauseFile,
		"it changes a file outside the workspace, which a replay does not let it; the recording did not",
	},
	{"network", CauseNetwork, "it asks the network"},
	{"thread", CauseRace, "it leaves threads running"},
	{
		"entropy",
		CauseRandomness,
		"it draws from the randomness of the operating system, or from a generator without a seed",
	},
	{"clock", CauseClock, "it reads the clock"},
	{"subprocess", CauseSubprocess, "it starts processes"},
	{"process", CauseProcess, "it depends on what differs from process to process: its number, addresses"},
	{"time-out", CauseClock, "it was stopped after the time that was given"},
	{"kernel died", CauseRace, "the interpreter died"},
	{
		state.MarkVaried,
		CauseRace,
		"verify found that it comes to something else each time, from the same code and inputs",
	},
}

// explain fills in the cause of a divergence.
func (c *comparison) explain(
	ctx context.Context,
	ref nodeRef,
	rec *recordedNode,
	n *runner.NodeOutcome,
	d *Divergence,
	reads []otherInput,
) error {
	t := n.Result()
	switch {
	case rec.Code != n.Code && c.otherEngine() && rec.trace != nil && c.byPackage(d, rec.trace, t):
	case rec.Code != n.Code && c.otherEngine():
		d.Cause, d.Detail = CauseInterpreter, c.versions()
	case rec.Code != n.Code:
		d.Cause, d.Detail = CauseCode, "what was recorded is of other code than the block had then"
	case len(reads) > 0:
		c.byInput(d, reads)
	case c.byPackage(d, rec.trace, t), byMark(d):
	case c.restsOnFolder(rec.trace):
		d.Cause = causeFolder
	default:
		return c.again(ctx, ref, d, t)
	}
	return nil
}

// byInput explains a divergence by an input that differs. It prefers an input from outside to one that the program
// made: the latter would be a consequence.
func (c *comparison) byInput(d *Divergence, reads []otherInput) {
	at := max(slices.IndexFunc(reads, func(r otherInput) bool { return causeOf[r.Key.Space()] != "" }), 0)
	r := reads[at]
	d.Key, d.Cause = r.Key, causeOf[r.Key.Space()]
	text := "differs"
	switch {
	case r.Now == state.Absent:
		text = "is gone"
	case r.Was == state.Absent:
		text = "was not there"
	}
	switch {
	case d.Cause == "":
		d.Cause, d.Detail = CauseInput, fmt.Sprintf("%s, which it reads, %s", r.Key.Name(), text)
	case d.Cause == CauseFile && strings.HasSuffix(r.Key.Name(), ".py") && r.Key.Space() == "file":
		d.Cause, d.Detail = CauseCode, fmt.Sprintf("the module %s %s", r.Key.Name(), text)
	case d.Cause == CauseFile:
		d.Detail = fmt.Sprintf(
			"%s %s",
			map[string]string{"dir": "what is in the directory ", "mode": "the permissions of ",
				"time": "the time of "}[r.Key.Space()]+r.Key.Name(),
			text,
		)
	case r.Key.Space() == "program":
		name, _, _ := strings.Cut(r.Key.Name(), "@")
		d.Detail = fmt.Sprintf("the program %s, or a file of the system that it used, %s", name, text)
	case r.Key.Space() == "order":
		d.Detail = "the order differs in which files were written whose times a child process compares"
	case d.Cause == CausePackage:
		d.Detail = fmt.Sprintf("the version of package %s %s", r.Key.Name(), text)
	case d.Cause == CauseRandomness:
		d.Detail = fmt.Sprintf("the state of the generator %s %s", r.Key.Name(), text)
	case r.Key.Space() == "env" || r.Key.Space() == "isset":
		d.Detail = fmt.Sprintf("the variable %s of the environment %s", r.Key.Name(), text)
	default:
		d.Detail = fmt.Sprintf("%s %s", r.Key, text)
	}
}

// byPackage explains a divergence by an import that fails.
func (c *comparison) byPackage(d *Divergence, rec, t *state.Trace) bool {
	if rec.Err != nil || t.Err == nil || t.Err.Type != "ModuleNotFoundError" && t.Err.Type != "ImportError" {
		return false
	}
	d.Cause, d.Detail = CausePackage, t.Err.Message
	for _, a := range rec.Reads {
		if a.Key.Space() == "module" && strings.Contains(t.Err.Message, "'"+a.Key.Name()) {
			why := t.Err.Message + installedThen(rec.Paths[a.Key])
			d.Key, d.Detail = a.Key, fmt.Sprintf("package %s is gone: %s", a.Key.Name(), why)
			c.miss(Missing{Step: c.step.Number, What: string(a.Key), Why: why})
		}
	}
	return true
}

// installedThen returns the distribution of a package at the time, from the file that showed its version:
// NAME-VERSION.dist-info/RECORD.
func installedThen(witness string) string {
	folder := filepath.Base(filepath.Dir(witness))
	if ext := filepath.Ext(folder); ext == ".dist-info" || ext == ".egg-info" {
		name, version, _ := strings.Cut(strings.TrimSuffix(folder, ext), "-")
		return fmt.Sprintf("; it ran with %s %s", name, version)
	}
	return ""
}

// byMark explains a divergence by the marks of the node.
func byMark(d *Divergence) bool {
	for _, known := range causeOfMark {
		for _, m := range d.Marks {
			if m == known.mark || known.mark == "refused file" && strings.HasPrefix(m, known.mark) {
				d.Cause, d.Detail = known.cause, known.detail
				return true
			}
		}
	}
	return false
}

// times is how often an unexplained node executes again. Three equal results rule out most races.
const times = 3

// again explains a divergence that nothing else explains. If repeated executions differ, it is a race. If they agree,
// the record is false: its code does not produce the recorded result.
func (c *comparison) again(ctx context.Context, ref nodeRef, d *Divergence, t *state.Trace) error {
	at := slices.IndexFunc(c.program, func(b state.ProgramBlock) bool { return b.ID == ref.block })
	for range times {
		out, err := c.run(
			ctx,
			c.program[:at+1],
			func(block state.BlockID, i int) bool { return nodeRef{block, i} == ref },
		)
		if err != nil {
			return err
		}
		n := &out.Blocks[at].Nodes[ref.at]
		if other := n.Result(); other == nil || !sameResults(t, other) {
			d.Cause, d.Detail = CauseRace, "it comes to something else each time, from the same code and inputs"
			return nil
		}
	}
	d.Cause, d.Detail = CauseRecord, fmt.Sprintf(
		"its code came to the same %d times from the recorded inputs, and not to what is recorded",
		times+1,
	)
	return nil
}

// sameResults reports whether two executions had equal results.
func sameResults(a, b *state.Trace) bool {
	return a.Outputs == b.Outputs && failure(a) == failure(b) &&
		query.ErrorText(a.Failure()) == query.ErrorText(b.Failure()) &&
		slices.Equal(a.Writes, b.Writes)
}

package replay

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Cause is why a node came to something else than what was recorded.
type Cause string

const (
	CauseCode        Cause = "code"        // other code was recorded, or a module of the workspace is another
	CauseInput       Cause = "input"       // a value that it reads is another
	CauseFile        Cause = "file"        // a file, or a directory, is another, or gone
	CauseInterpreter Cause = "interpreter" // it was recorded with another, or by another version of xstate
	CausePackage     Cause = "package"     // a package is of another version, or gone
	CauseEnvironment Cause = "environment" // a variable of the environment, a setting of the process
	CauseRandomness  Cause = "randomness"
	CauseClock       Cause = "clock"
	CauseNetwork     Cause = "network"    // it asks for what the recording did not, or was not kept
	CauseSubprocess  Cause = "subprocess" // likewise
	CauseProcess     Cause = "process"    // what differs from process to process: its number, addresses
	CauseRace        Cause = "race"       // it comes out otherwise from the same code and inputs
	CauseRecord      Cause = "record"     // the record is damaged, or says what its code does not come to
)

// Divergence is a node that came to something else than what was recorded, for a cause of its own.
type Divergence struct {
	Step     state.StepNumber `json:"step"`
	Node     string           `json:"node"`
	Block    state.BlockID    `json:"block"`
	Line     int              `json:"line,omitempty"` // of the node in its block
	What     string           `json:"what"`           // status, output, error, "value NAME", "file NAME", "read KEY", record
	Recorded string           `json:"recorded"`
	Replayed string           `json:"replayed"`
	Cause    Cause            `json:"cause"`
	Key      depgraph.Key     `json:"key,omitempty"` // what the cause is about: file:data.csv, module:numpy
	Detail   string           `json:"detail"`        // one sentence
	Marks    []string         `json:"marks,omitempty"`
}

// compare looks for the first node that diverges for a cause of its own and has not been told yet, or that cannot be
// compared, and has it served. It reports whether there was one: the program is to be executed again from there.
func (x *replaying) compare(ctx context.Context, out *runner.Outcome) (bool, error) {
	now := map[nodeRef]*runner.NodeOutcome{}
	for i := range out.Blocks {
		for j := range out.Blocks[i].Nodes {
			now[nodeRef{out.Blocks[i].ID, j}] = &out.Blocks[i].Nodes[j]
		}
	}
	c := &comparison{replaying: x, same: map[[2]state.Digest]bool{}, holds: map[state.Digest]bool{}}
	for _, ref := range x.order {
		if x.served[ref] != nil || x.known[ref] {
			continue
		}
		rec, n := x.recorded[ref], now[ref]
		if rec.trace == nil && !rec.damaged && rec.Status != state.StatusBlocked {
			x.serve(ref, ServedUnrecorded, nil)
			continue
		}
		d, err := c.node(ctx, ref, rec, n)
		if err != nil {
			return false, err
		}
		if d == nil {
			continue
		}
		x.known[ref] = true
		if d.Cause == causeFolder {
			x.serve(ref, ServedFolder, nil)
			return true, nil
		}
		d.Step, d.Node, d.Block = x.step.Number, rec.name, ref.block
		if n != nil {
			d.Line = n.Line
		}
		x.found.Divergences = append(x.found.Divergences, *d)
		x.serve(ref, ServedDiverged, nil)
		return true, nil
	}
	return false, nil
}

// comparison compares the nodes of one execution of the program with the record.
type comparison struct {
	*replaying
	same  map[[2]state.Digest]bool // digests of one value, recorded and replayed
	holds map[state.Digest]bool    // recorded ones of values that hold the name of the folder
}

// difference is one place where a node differs.
type difference struct {
	what           string
	recorded, here string
}

// node returns how a node diverges, or nil.
func (c *comparison) node(
	ctx context.Context,
	ref nodeRef,
	rec *recordedNode,
	n *runner.NodeOutcome,
) (*Divergence, error) {
	if rec.damaged {
		return &Divergence{
			What:   "record",
			Cause:  CauseRecord,
			Detail: fmt.Sprintf("the record of %s is damaged", rec.name),
		}, nil
	}
	if n == nil {
		return &Divergence{
			What:     "code",
			Recorded: string(rec.Code),
			Cause:    c.codeCause(),
			Detail:   "the block has other parts than were recorded: " + c.versions(),
		}, nil
	}
	if (rec.Status == state.StatusBlocked) != (n.Status == state.StatusBlocked) {
		return &Divergence{
			What:     "status",
			Recorded: settled(rec.Status),
			Replayed: settled(n.Status),
			Cause:    CauseRecord,
			Detail:   "whether it can run differs, and nothing before it does",
		}, nil
	}
	t := n.Result()
	if t == nil || rec.trace == nil {
		return nil, nil // blocked both times
	}
	found, err := c.differences(rec, t)
	if err != nil {
		return nil, err
	}
	reads := c.inputs(rec.trace, t)
	otherCode := rec.Code != n.Code
	if len(found) == 0 && len(reads) == 0 && (!otherCode || c.otherEngine()) {
		return nil, nil
	}
	d := &Divergence{Marks: both(rec.trace.Marks, t.Marks)}
	switch {
	case len(found) > 0:
		d.What, d.Recorded, d.Replayed = found[0].what, found[0].recorded, found[0].here
	case len(reads) > 0:
		d.What, d.Recorded, d.Replayed = "read "+string(reads[0].Key), string(reads[0].Was), string(reads[0].Now)
	default:
		d.What, d.Recorded, d.Replayed = "code", string(rec.Code), string(n.Code)
	}
	return d, c.explain(ctx, ref, rec, n, d, reads)
}

// otherInput is a key that a node read with another digest.
type otherInput struct {
	Key      depgraph.Key
	Was, Now state.Digest
}

// inputs are what both executions read, and found otherwise. The name of the folder is another each time.
func (c *comparison) inputs(rec, t *state.Trace) []otherInput {
	now := map[depgraph.Key]state.Digest{}
	for _, a := range t.Reads {
		now[a.Key] = a.Digest
	}
	var found []otherInput
	for _, a := range rec.Reads {
		d, ok := now[a.Key]
		if ok && a.Key != "conf:folder" && !c.equal(a.Key, a.Digest, d) {
			found = append(found, otherInput{a.Key, a.Digest, d})
		}
	}
	return found
}

// equal reports whether two digests of a key name the same: one by lineage is named after what made it, and may be
// another where the value is not.
func (c *comparison) equal(k depgraph.Key, rec, now state.Digest) bool {
	if rec == now || c.same[[2]state.Digest{rec, now}] {
		return true
	}
	switch k.Space() {
	case "var", "conf", "display", "held":
		return byLineage(rec) && byLineage(now)
	}
	return false
}

// differences are those of what a node came to.
func (c *comparison) differences(rec *recordedNode, t *state.Trace) ([]difference, error) {
	var found []difference
	add := func(what, recorded, here string) {
		if recorded != here {
			found = append(found, difference{what, recorded, here})
		}
	}
	outputs, _, err := runner.Outputs(c.store, t)
	if err != nil {
		return nil, err
	}
	add("status", failure(rec.trace), failure(t))
	add("output", rec.outputs, c.named(query.Text(outputs)))
	add("error", query.ErrorText(rec.trace.Err), c.named(query.ErrorText(t.Err)))
	was, now := writesOf(rec.trace), writesOf(t)
	keys := maps.Clone(was)
	maps.Copy(keys, now)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		a, made := was[k]
		b, makes := now[k]
		what := map[string]string{"var": "value ", "file": "file "}[k.Space()]
		if c.equal(k, a, b) || what == "" && !(made && makes) || k.Space() == "time" || c.temporary(k) {
			continue
		}
		x, y := rec.trace.Info[k], t.Info[k]
		if k.Space() == "var" && x.Type == y.Type && x.Repr != y.Repr && x.Repr == c.named(y.Repr) {
			c.same[[2]state.Digest{a, b}], c.holds[a] = true, true
			continue
		}
		if (k.Space() == "cwd" || k.Space() == "conf") && c.sameFolder(a, b) {
			c.same[[2]state.Digest{a, b}] = true
			continue
		}
		if what == "" {
			what = k.Space() + " "
		}
		add(what+k.Name(), described(a, x), described(b, y))
	}
	return found, nil
}

// sameFolder reports whether two stored values of hidden state, such as the search path, differ in the name of the
// folder alone.
func (c *comparison) sameFolder(rec, now state.Digest) bool {
	was, ok := unnamed(c.subject.Store(), rec, c.config.Workspace)
	is, ok2 := unnamed(c.store, now, c.folder)
	return ok && ok2 && was == is
}

// unnamed is a stored value, a pickle, without the name of a folder where a text begins with it, and without the
// lengths that it makes others.
func unnamed(store *state.Store, d state.Digest, folder string) (string, bool) {
	v, ok, err := store.Value(d)
	if err != nil || !ok {
		return "", false
	}
	data, ok, err := store.Blob(v.Blob)
	if err != nil || !ok {
		return "", false
	}
	if len(data) > 11 && data[0] == 0x80 && data[2] == 0x95 { // PROTO, FRAME
		data = data[11:]
	}
	var b strings.Builder
	rest := string(data)
	for {
		before, after, found := strings.Cut(rest, folder)
		n := len(before)
		switch {
		case !found:
			b.WriteString(rest)
			return b.String(), true
		case n >= 2 && before[n-2] == 0x8c: // SHORT_BINUNICODE
			before = before[:n-2]
		case n >= 5 && before[n-5] == 'X': // BINUNICODE
			before = before[:n-5]
		}
		b.WriteString(before + "\x00")
		rest = after
	}
}

// temporary reports whether a key is a file outside the workspace: which of those remain is not looked at.
func (c *comparison) temporary(k depgraph.Key) bool {
	return k.Space() == "file" && path.IsAbs(k.Name())
}

// restsOnFolder reports whether a node read the name of the folder, or a value that differs by nothing else.
func (c *comparison) restsOnFolder(rec *state.Trace) bool {
	return slices.ContainsFunc(rec.Reads, func(a state.Access) bool {
		return a.Key == "conf:folder" || a.Key.Space() == "cwd" && a.Digest != state.Absent || c.holds[a.Digest]
	})
}

// named is a text with the folder named as it was recorded.
func (c *comparison) named(text string) string {
	return strings.ReplaceAll(text, c.folder, c.config.Workspace)
}

func writesOf(t *state.Trace) map[depgraph.Key]state.Digest {
	all := map[depgraph.Key]state.Digest{}
	for _, a := range t.Writes {
		all[a.Key] = a.Digest
	}
	return all
}

func failure(t *state.Trace) string {
	if t.Err != nil {
		return "failed"
	}
	return "done"
}

// described is a value as people may compare it.
func described(d state.Digest, info state.ValueInfo) string {
	switch {
	case d == state.Absent:
		return "absent"
	case info.Repr != "":
		return info.Repr + " (" + query.Short(d) + ")"
	case info.Type != "":
		return info.Type + " " + info.Shape + " (" + query.Short(d) + ")"
	}
	return string(d)
}

// both joins two lists of marks.
func both(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

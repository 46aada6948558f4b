package replay

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

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

// otherInput is a key that a node read with a different digest.
type otherInput struct {
	Key      depgraph.Key
	Was, Now state.Digest
}

// inputs are the keys that both executions read with different digests, except for the name of the folder, which always
// differs.
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

// equal reports whether two digests of a key mean equal values. A digest by lineage names what made the value, so it
// may differ though the value does not.
func (c *comparison) equal(k depgraph.Key, rec, now state.Digest) bool {
	if rec == now || c.same[[2]state.Digest{rec, now}] {
		return true
	}
	switch k.Space() {
	case "var", "conf", "display", "held", "open", "process":
		return byLineage(rec) && byLineage(now)
	case "load": // importing a library that saw only what is on every machine makes no difference to a node
		usual := []state.Digest{state.Absent, "loaded"}
		return slices.Contains(usual, rec) && slices.Contains(usual, now)
	}
	return false
}

// differences are the differences of the results of a node.
func (c *comparison) differences(rec *recordedNode, t *state.Trace) ([]difference, error) {
	var found []difference
	add := func(what, recorded, here string) {
		if recorded != here {
			found = append(found, difference{what, recorded, here})
		}
	}
	outputs, _, err := c.store.Outputs(t)
	if err != nil {
		return nil, err
	}
	add("status", failure(rec.trace), failure(t))
	add("output", rec.outputs, c.named(query.Text(outputs)))
	add("error", query.ErrorText(rec.trace.Failure()), c.named(query.ErrorText(t.Failure())))
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

// sameFolder reports whether two stored values of hidden state, such as the search path, differ only in the name of the
// folder.
func (c *comparison) sameFolder(rec, now state.Digest) bool {
	was, ok := unnamed(c.subject.Store(), rec, c.config.Workspace)
	is, ok2 := unnamed(c.store, now, c.folder)
	return ok && ok2 && was == is
}

// unnamed returns a stored value, a pickle, without the folder names at the beginning of texts, and without the lengths
// that depend on them.
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

// temporary reports whether a key is a file outside the workspace. A replay does not compare which of those remain.
func (c *comparison) temporary(k depgraph.Key) bool {
	return k.Space() == "file" && path.IsAbs(k.Name())
}

// restsOnFolder reports whether a node read the name of the folder, or a value that differs only by that name.
func (c *comparison) restsOnFolder(rec *state.Trace) bool {
	return slices.ContainsFunc(rec.Reads, func(a state.Access) bool {
		return a.Key == "conf:folder" || a.Key.Space() == "cwd" && a.Digest != state.Absent || c.holds[a.Digest]
	})
}

// named returns a text with the folder's recorded name in place of the copy's.
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
	switch {
	case t.Err != nil:
		return "failed"
	case t.Ending != nil:
		return fmt.Sprintf("ended the program with exit code %d", t.Ending.Code)
	}
	return "done"
}

// both joins two lists of marks.
func both(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

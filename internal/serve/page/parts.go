package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
	"github.com/xstate-engine/xstate/state/provenance"
	"github.com/xstate-engine/xstate/state/query"
)

// render makes the parts of a program. A block that shows what it showed before is not made again.
func (v *view) render(d *query.Snapshot) (*rendering, error) {
	before := map[state.BlockID]part{}
	if r := v.p.renderings.last(d.Session); r != nil && v.AtStep == nil {
		for _, x := range r.parts {
			before[x.ID] = x
		}
	}
	now := &rendering{step: d.Step.Number, parts: make([]part, 0, len(d.Blocks))}
	for i := range d.Blocks {
		data, hash, err := v.blockData(&d.Blocks[i])
		if err != nil {
			return nil, err
		}
		part, known := before[d.Blocks[i].ID]
		if !known || part.Hash != hash {
			if part, err = data.part(hash); err != nil {
				return nil, err
			}
		}
		now.parts = append(now.parts, part)
	}
	if v.AtStep == nil {
		v.p.renderings.keep(d.Session, now)
	}
	return now, nil
}

// blockData is what the template of a part gets.
type blockData struct {
	*view
	Block   *query.BlockView
	Reason  string           // why the last run did with it what it did
	By      string           // the block that is the cause
	Then    state.StepNumber // at which it was executed
	Source  template.HTML
	Outputs []provenance.PageOutput
}

// blockData describes a block, and returns a hash of all that its part shows.
func (v *view) blockData(b *query.BlockView) (*blockData, string, error) {
	data := &blockData{view: v, Block: b}
	data.Reason, data.By = reasonOf(b)
	switch b.Status { // no other, or each run would change all parts
	case "ran":
		data.Then = b.RanAt
	case "failed":
		data.Then = b.FailedAt
	}
	shown, err := json.Marshal(struct {
		Title, Dialect, Status, Source, Reason, By string
		Then                                       state.StepNumber
		Marks, Names                               []string
		Outputs                                    []output.Output
		Error                                      *state.ExecError
		Seconds                                    float64
	}{
		b.Title, string(b.Dialect), b.Status, b.Source, data.Reason, data.By,
		data.Then, b.Marks, data.names(), b.Outputs, b.Error, b.Seconds,
	})
	if err != nil {
		return nil, "", fmt.Errorf("describe block %s: %w", b.ID, err)
	}
	sum := sha256.Sum256(shown)
	return data, hex.EncodeToString(sum[:8]), nil
}

// names are the variables that the block read or wrote.
func (d *blockData) names() (names []string) {
	for _, n := range d.Block.Nodes {
		for _, list := range [][]query.AccessView{n.Reads, n.Writes} {
			for _, a := range list {
				if name, is := strings.CutPrefix(string(a.Key), "var:"); is && a.Digest != state.Absent {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// addresses are those of the values of the variables, by their names in the source.
func (d *blockData) addresses() map[string]string {
	addresses := map[string]string{}
	for _, name := range d.names() {
		addresses[name[strings.LastIndexByte(name, ':')+1:]] = d.At("value", "name", name)
	}
	return addresses
}

// part makes the HTML of a block.
func (d *blockData) part(hash string) (part, error) {
	var err error
	if d.Outputs, err = outputsOf(d.Block); err != nil {
		return part{}, err
	}
	d.Source = highlighted(d.Block.Source, string(d.Block.Dialect), d.addresses())
	if e := d.Block.Error; e != nil && e.Line > 0 && (e.Block == "" || e.Block == d.Block.ID) {
		d.Source = withFault(d.Source, e.Line)
	}
	var out bytes.Buffer
	if err := templates().ExecuteTemplate(&out, "block", d); err != nil {
		return part{}, fmt.Errorf("render block %s: %w", d.Block.ID, err)
	}
	return part{ID: d.Block.ID, Hash: hash, HTML: template.HTML(out.String())}, nil
}

// part renders one block.
func (v *view) part(b *query.BlockView) (part, error) {
	data, hash, err := v.blockData(b)
	if err != nil {
		return part{}, err
	}
	return data.part(hash)
}

// reasonOf says in a sentence why the last run executed a block, or did not: the reason of the node with most to say.
func reasonOf(b *query.BlockView) (text, by string) {
	if text = waitsFor(b); text != "" {
		return text, ""
	}
	for _, status := range []string{"failed", "blocked", "ran", "not-reached"} {
		for _, n := range b.Nodes {
			if n.Status == status && n.Reason.Code != "" && n.Reason.Code != state.ReasonReused {
				return because(status, n.Reason), otherBlock(n.Reason, b.ID)
			}
		}
	}
	return "", ""
}

// waitsFor says why a block must run that has not since: it was edited, or what it read has another value now.
func waitsFor(b *query.BlockView) string {
	switch {
	case b.Status == "new" && b.Edited != 0:
		return fmt.Sprintf("edited at step %d, and not run since", b.Edited)
	case b.Status != query.StatusStale:
		return ""
	}
	var names []string
	for _, n := range b.Nodes {
		for _, a := range n.Reads {
			if a.Stale {
				names = query.AppendNew(names, keyText(a.Key))
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	verb := " has"
	if len(names) > 1 {
		verb = " have"
	}
	const most = 4
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("%d more", len(names)-most))
	}
	return strings.Join(names, ", ") + verb + " another value since it ran, or will have"
}

// parts answers with the parts that a browser asks for.
func (p *Page) parts(w http.ResponseWriter, r *http.Request) {
	v := p.view(w, r)
	d, err := v.snapshot()
	if err != nil {
		v.fail(err)
		return
	}
	now, err := v.render(d)
	if err != nil {
		v.fail(err)
		return
	}
	var out strings.Builder
	for i := range now.parts {
		if slices.Contains(v.query["block"], string(now.parts[i].ID)) {
			out.WriteString(now.parts[i].section())
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(out.String())) // the client is gone
}

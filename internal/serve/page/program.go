package page

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/provenance"
	"github.com/xstate-engine/xstate/state/query"
)

// sessions lists the sessions of the store.
func (v *view) sessions() error {
	d, err := ask[api.Status](v.r.Context(), v.p, &verb.Status{})
	if err != nil {
		return err
	}
	v.Name, v.Title, v.Data = "sessions", "Sessions", d
	return nil
}

// program shows the blocks of a session with what they put out.
func (v *view) program() error {
	d, err := v.snapshot()
	if err != nil {
		return err
	}
	v.Name, v.Title = "program", v.Session
	data := &programData{Snapshot: d, Counts: map[string]int{}}
	_, data.Failed = v.p.begunIn(v.Session).outcome()
	for i := range d.Blocks {
		part, err := v.part(&d.Blocks[i])
		if err != nil {
			return err
		}
		data.Parts = append(data.Parts, part)
		if status := d.Blocks[i].Status; status != "ran" && status != "reused" {
			data.Counts[status]++
		}
	}
	v.Data = data
	return nil
}

// programData is what the view of a program shows.
type programData struct {
	*query.Snapshot
	Parts  []part
	Counts map[string]int // of blocks, by status
	Failed string         // why what a browser began last was not done
}

// snapshot asks for the whole program.
func (v *view) snapshot() (*query.Snapshot, error) {
	all := 0
	d, err := ask[api.Query](v.r.Context(), v.p, &verb.Query{
		InSession: verb.In(v.Session), Moment: verb.Moment{AtStep: v.AtStep}, Limit: &all,
	})
	if err != nil {
		return nil, err
	}
	v.Session = d.Session
	return d.Snapshot, nil
}

// part is a block of the program as HTML.
type part struct {
	ID   state.BlockID
	Hash string // of its HTML: a browser that has it needs no other
	HTML template.HTML
}

// blockData is what the template of a part gets.
type blockData struct {
	*view
	Block   *query.BlockView
	Reason  string           // why the last run did with it what it did
	By      string           // the block that is the cause
	Then    state.StepNumber // at which it ran
	Source  template.HTML
	Outputs []provenance.PageOutput
	Failed  *state.ExecError
}

// part renders a block.
func (v *view) part(b *query.BlockView) (part, error) {
	outputs, err := provenance.PageOutputs(b)
	if err != nil {
		return part{}, err
	}
	reason, by := reasonOf(b)
	data := blockData{
		view: v, Block: b, Reason: reason, By: by, Source: highlighted(b.Source, string(b.Dialect)), Outputs: outputs,
	}
	if b.Status == "ran" { // always, or each run would change all parts
		data.Then = b.RanAt
	}
	var out bytes.Buffer
	if err := templates().ExecuteTemplate(&out, "block", &data); err != nil {
		return part{}, fmt.Errorf("render block %s: %w", b.ID, err)
	}
	sum := fnv.New64a()
	_, _ = sum.Write(out.Bytes())
	return part{ID: b.ID, Hash: fmt.Sprintf("%016x", sum.Sum64()), HTML: template.HTML(out.String())}, nil
}

// reasonOf says in a sentence why the last run executed a block, or did not: the reason of the node with most to say.
func reasonOf(b *query.BlockView) (text, by string) {
	for _, status := range []string{"failed", "blocked", "ran", "not-reached"} {
		for _, n := range b.Nodes {
			if n.Status == status && n.Reason.Code != "" && n.Reason.Code != state.ReasonReused {
				if by = blockOf(n.Reason.By); by == string(b.ID) {
					by = ""
				}
				return because(status, n.Reason), by
			}
		}
	}
	return "", ""
}

// parts answers with the parts that a browser asks for.
func (p *Page) parts(w http.ResponseWriter, r *http.Request) {
	v := p.view(w, r)
	d, err := v.snapshot()
	if err != nil {
		v.fail(err)
		return
	}
	var out strings.Builder
	for i := range d.Blocks {
		b := &d.Blocks[i]
		if !slices.Contains(v.query["block"], string(b.ID)) {
			continue
		}
		part, err := v.part(b)
		if err != nil {
			v.fail(err)
			return
		}
		fmt.Fprintf(&out, `<section id="b-%s" data-hash="%s">%s</section>`, template.HTMLEscapeString(string(b.ID)),
			part.Hash, part.HTML)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(out.String())) // the client is gone
}

// block shows one block: why it ran, what it read and wrote, who wrote it, its versions.
func (v *view) block() error {
	id := v.query.Get("block")
	one, err := ask[api.QueryBlock](v.r.Context(), v.p, &verb.Query{
		InSession: verb.In(v.Session), Moment: verb.Moment{AtStep: v.AtStep}, Block: id,
	})
	if err != nil {
		return err
	}
	data := &blockPage{QueryBlock: one}
	data.RanAt, data.Then = v.lastCauses(one.Block, one.Step.Number)
	if data.Part, err = v.part(one.Block); err != nil {
		return err
	}
	if v.AtStep == nil {
		why, err := ask[api.Why](v.r.Context(), v.p, &verb.Why{InSession: verb.In(v.Session), Block: id})
		if err != nil {
			data.Unplanned = err.Error()
		} else {
			for _, n := range why.Nodes {
				data.Did.add(n.Name, n.Action, n.Reason, n.WasValue, n.NowValue)
			}
			for _, n := range why.Next {
				data.Next.add(n.Name, n.Action, n.Reason, n.WasValue, n.NowValue)
			}
		}
		affected, err := ask[api.QueryDependents](v.r.Context(), v.p,
			&verb.Query{InSession: verb.In(v.Session), AffectedBy: id})
		if err == nil {
			data.Affected = affected
			data.Unknown = slices.ContainsFunc(affected.Blocks, func(d query.Dependent) bool { return d.Seconds == 0 })
		}
	} else {
		data.Did.known = v.valuesAround(one.Step.Number)
		data.Did.of(one.Block)
	}
	versions, err := ask[api.QueryVersion](v.r.Context(), v.p,
		&verb.Query{InSession: verb.In(v.Session), Version: id})
	if err == nil {
		data.Versions = versions.Versions
	}
	v.Name, v.Title, v.Data = "blockpage", id, data
	return nil
}

// blockPage is what the view of a block shows.
type blockPage struct {
	*api.QueryBlock
	Part      part
	Did, Next causes  // of the last run, and of the next
	Then      []cause // when it last ran, if the last run did not execute it
	RanAt     state.StepNumber
	Unknown   bool   // the cost of a block that a change affects
	Unplanned string // why it is not known what the next run would do
	Affected  *api.QueryDependents
	Versions  []query.VersionView
}

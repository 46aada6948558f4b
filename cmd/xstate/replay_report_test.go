package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
	"github.com/xstate-engine/xstate/state/query"
)

// hostile is what a program or an agent may have named anything.
const hostile = `<script>alert("1")</script>`

// reportOf is a replay of one run that diverged, with the program of the run.
func reportOf() (*replay.Report, map[xstate.StepNumber]*query.Snapshot) {
	d := replay.Divergence{
		Step:     3,
		Node:     "a|b",
		Block:    "a|b",
		What:     "output",
		Cause:    replay.CauseFile,
		Detail:   "<i>data.csv</i> differs",
		Recorded: "<script>alert(1)</script>\n```\n# no title",
		Replayed: "2",
	}
	x := &replay.Report{
		Session: "s<b>",
		Result:  replay.Diverged,
		Runs: []replay.RunReport{
			{Step: 3, Result: replay.Diverged, Divergences: []replay.Divergence{d},
				Served: []replay.ServedNode{{Node: "net", Why: replay.ServedEffect, What: []string{"network"}}}},
			{Step: 5, Result: replay.Equal},
		},
		Missing: []replay.Missing{{Step: 3, What: "file:data.csv", Why: "it is gone"}},
	}
	x.First = &x.Runs[0].Divergences[0]
	frame := &state.ValueInfo{Type: "DataFrame", Repr: hostile, Shape: "(344, 7)"}
	program := &query.Snapshot{Blocks: []query.BlockView{
		{
			ID: "a|b", Source: "print(" + hostile + ")", Version: "abc", Edited: 2, Status: "ran",
			EditedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
			Origin:   state.Origin{Agent: "coder", Model: "m-1", CallID: "call-17", Reason: "fix " + hostile},
			Nodes: []query.NodeView{{
				Name:  "a|b",
				Reads: []query.AccessView{{Key: "file:data.csv", Digest: "0123456789abcdef"}, {Key: "stat:no.cfg"}},
				Writes: []query.AccessView{
					{Key: depgraph.Var("frame"), Digest: "fedc", Value: frame}, {Key: "file:out.csv", Digest: "77"},
				},
			}},
			Outputs: []output.Output{
				{Kind: "stdout", Text: hostile},
				{Kind: "display", Data: map[string]string{"image/png": "iVBORw0KGgo=", "text/plain": "a figure"}},
				{Kind: "display", Data: map[string]string{"image/png": `" onerror="alert(1)`}},
			},
		},
		{ID: "net", Index: 1, Source: "get()", Status: "ran", Nodes: []query.NodeView{{Name: "net"}}},
		{ID: "plain", Index: 2, Source: "x = 1", Status: "reused", Nodes: []query.NodeView{{Name: "plain"}}},
	}}
	return x, map[xstate.StepNumber]*query.Snapshot{3: program, 5: program}
}

// TestReplayPage: the page shows code, data and agents, and nothing of the program becomes part of the page.
func TestReplayPage(t *testing.T) {
	page, err := replayHTML(reportOf())
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "<i>", "s<b>", "http:", "https:", "onerror=\"", "src=\"\""} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %s", bad)
		}
	}
	for _, want := range []string{
		"<h2>First divergence</h2>", "<h2>Missing</h2>", "step 3, missing file:data.csv: it is gone",
		"<h2>Step 3: code, data and agents</h2>", "print(&lt;script&gt;alert(",
		"<td>file:data.csv</td><td></td><td>0123456789ab</td><td>from the workspace</td>",
		"<td>var:frame</td><td>DataFrame &lt;script&gt;", "(344, 7)", "<td>file:out.csv</td>", "<p>stat:no.cfg</p>",
		"by coder (m-1), call-17: fix &lt;script&gt;",
		"<td>a|b</td><td>2</td><td>2026-01-02T03:04:05Z</td><td>coder (m-1), call-17</td>",
		"recorded: ran, replayed: diverged", "recorded: ran, replayed: served from the recording",
		`<img alt="picture" src="data:image/png;base64,iVBORw0KGgo=">`,
		"[3] plain: as in step 3", "</html>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s:\n%s", want, page)
		}
	}
	if strings.Contains(page, "Other divergences") {
		t.Error("the first divergence is told twice")
	}
	wellFormed(t, page)
}

// wellFormed parses the page: what it cites must not end an element or begin one.
func wellFormed(t *testing.T, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && (e.Name.Local == "script" || e.Name.Local == "i") {
			t.Errorf("the page has an element %s", e.Name.Local)
		}
	}
}

// TestReplayMarkdown: what a program put out cannot become part of the report that cites it.
func TestReplayMarkdown(t *testing.T) {
	x, _ := reportOf()
	text := replayMarkdown(x)
	for _, want := range []string{"````\n<script>alert(1)</script>\n```\n# no title\n````", `a\|b: output (file)`,
		"## Missing", `\<i\>data.csv`} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %s:\n%s", want, text)
		}
	}
}

package main

import (
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/runner/replay"
)

// TestReplayReport: what a program put out cannot become part of the report that cites it.
func TestReplayReport(t *testing.T) {
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
		Runs:    []replay.RunReport{{Step: 3, Result: replay.Diverged, Divergences: []replay.Divergence{d}}},
		Missing: []replay.Missing{{Step: 3, What: "file:data.csv", Why: "it is gone"}},
	}
	x.First = &x.Runs[0].Divergences[0]
	page := replayReport(x, "html")
	for _, bad := range []string{"<script>", "<i>", "s<b>"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %s", bad)
		}
	}
	for _, want := range []string{"&lt;script&gt;alert(1)", "<h2>First divergence</h2>", "<h2>Missing</h2>",
		"step 3, missing file:data.csv: it is gone", "</html>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s:\n%s", want, page)
		}
	}
	if strings.Contains(page, "Other divergences") {
		t.Error("the first divergence is told twice")
	}
	text := replayReport(x, "md")
	for _, want := range []string{"````\n<script>alert(1)</script>\n```\n# no title\n````", `a\|b: output (file)`,
		"## Missing", `\<i\>data.csv`} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %s:\n%s", want, text)
		}
	}
}

package bench

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// runOf makes a run that took seconds.
func runOf(version int, s Strategy, ran int, seconds float64, equal bool) Run {
	r := Run{Version: version, Strategy: s, Ran: ran, Blocks: 4, Seconds: seconds, Equal: equal, Differs: []string{}}
	if !equal {
		r.Differs = []string{"value x"}
	}
	return r
}

func results() []Result {
	return []Result{{Program: "<a>", Workload: "files", Blocks: 4, Runs: []Run{
		runOf(0, Scratch, 4, 1, true), runOf(0, Down, 4, 1, true), runOf(0, Xstate, 4, 2, true),
		runOf(1, Scratch, 4, 1, true), runOf(1, Down, 2, 0.5, false), runOf(1, Xstate, 1, 0.25, true),
		runOf(2, Scratch, 4, 1, true), runOf(2, Down, 1, 0.25, true), runOf(2, Xstate, 3, 0.75, true),
	}}}
}

func TestSummarize(t *testing.T) {
	s := Summarize(results())
	var x, down *Row
	for i := range s.Rows {
		switch s.Rows[i].Strategy {
		case Xstate:
			x = &s.Rows[i]
		case Down:
			down = &s.Rows[i]
		}
	}
	if x == nil || down == nil {
		t.Fatalf("rows: %+v", s.Rows)
	}
	if x.Equal != 2 || x.Edits != 2 || down.Equal != 1 || down.Shown != 0 {
		t.Errorf(
			"equal: xstate %d of %d, down %d, of which %d show; want 2 of 2, 1, 0",
			x.Equal,
			x.Edits,
			down.Equal,
			down.Shown,
		)
	}
	if d := cmp.Diff(&Quartiles{0.375, 0.5, 0.625}, x.Saved); d != "" {
		t.Errorf("saved (-want +got):\n%s", d)
	}
	if d := cmp.Diff(&Quartiles{-0.3125, -0.125, 0.0625}, x.SavedDown); d != "" { // 0.25 for 0.5, 0.75 for 0.25
		t.Errorf("saved against down (-want +got):\n%s", d)
	}
	if x.First.Median != 2 || x.BreakEven.Median != 2 { // one second more, half a second saved by each edit
		t.Errorf("first run %v, break-even %v; want 2 and 2", x.First, x.BreakEven)
	}
	if len(s.Fewer) != 0 { // down is not right on all of the program
		t.Errorf("fewer: %v, want none", s.Fewer)
	}
	all := results()
	all[0].Runs[4].Equal = true
	all[0].Runs[5].Equal = false
	s = Summarize(all)
	if len(s.Fewer) != 1 || s.Fewer[0].Version != 2 || s.Fewer[0].Strategy != Down {
		t.Errorf("fewer: %v, want down after edit 2", s.Fewer)
	}
	if len(s.Wrong) != 1 || s.Wrong[0].Version != 1 {
		t.Errorf("wrong: %v, want edit 1", s.Wrong)
	}
}

// TestReport: the page is whole by itself, names of programs cannot break it, and the documents have every run.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	page, err := NewReport(results(), Options{}, 1, 2, time.Unix(0, 0)).Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`(src|href|url\()\s*=?`).FindString(
		strings.ReplaceAll(string(text), "http://www.w3.org/2000/svg", "")); m != "" ||
		strings.Contains(string(text), "<script") {
		t.Errorf("the page refers to something: %q", m)
	}
	if strings.Contains(string(text), "<a>") || strings.Count(string(text), "<svg") != 4 {
		t.Error("the page has a name unescaped, or not four plots")
	}
	if _, err := os.Stat(filepath.Join(dir, "peers.md")); err == nil {
		t.Error("there is a table of peers, though none was measured")
	}
	f, err := os.Open(filepath.Join(dir, "runs.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if rows, err := csv.NewReader(f).ReadAll(); err != nil || len(rows) != 10 {
		t.Errorf("runs.csv has %d rows (%v), want 10", len(rows), err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(data, &back); err != nil || !cmp.Equal(back.Results, results()) {
		t.Errorf("report.json has other results: %v", err)
	}
}

// TestPeersReport: refused edits are listed, and count nowhere else.
func TestPeersReport(t *testing.T) {
	all, dir := results(), t.TempDir()
	for version := range 3 {
		x := runOf(version, Marimo, 4, 0.5, version != 1)
		if version == 2 {
			x = Run{Version: version, Strategy: Marimo, Blocks: 4, Refused: "Multiple<Definition>", Differs: []string{}}
		}
		all[0].Runs = append(all[0].Runs, x)
	}
	all[0].Runs[len(all[0].Runs)-2].Differs = []string{"file f" + leftoverSuffix}
	if _, err := NewReport(all, Options{Peers: []string{"marimo 1.0"}}, 1, 1, time.Unix(0, 0)).Write(dir); err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile(filepath.Join(dir, "peers.md"))
	if want := "| files | marimo | 1 | 0 of 1 | 1 | 100% (100 to 100) | 500 ms (500 to 500) | 250 ms (250 to 250) " +
		"| 0.5x (0.5 to 0.5) |\n\nmarimo 1.0; 1 of 1 programs.\n"; err != nil ||
		!strings.HasSuffix(string(table), want) {
		t.Errorf("peers.md = %s (%v), want it to end in %s", table, err, want)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || !strings.Contains(string(page), "<td>1</td><td>Multiple&lt;Definition&gt;</td>") ||
		strings.Contains(string(page), "<td>2: </td><td>marimo</td>") {
		t.Errorf("the page does not tell what marimo refused, or calls it wrong (%v)", err)
	}
}

// TestResume: what was measured is not measured again, and a line that was cut short is left out.
func TestResume(t *testing.T) {
	python, dir := interpreter(t), t.TempDir()
	first := *edited(blocksOf("x = 1", "print(x)"), rewritten{0, "x = 2"})
	second := *edited(blocksOf("x = 1", "import time; time.sleep(30)"), rewritten{0, "x = 2"})
	first.Name, second.Name = "first", "second"
	records, err := OpenSavedResults(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Python: python, Strategies: []Strategy{Scratch, Down}}
	stopped, stop := context.WithCancel(t.Context())
	o.OnResult = func(r Result) error { stop(); return records.Add(r) }
	got, err := Measure(stopped, []Program{first, second}, o)
	if err == nil || len(got) != 1 || got[0].Program != "first" {
		t.Fatalf("Measure stopped after the first program = %v, %v; want that, and why", got, err)
	}
	file := filepath.Join(dir, resultsName)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(whole, whole[:len(whole)/2]...), 0o644); err != nil {
		t.Fatal(err)
	}
	if records, err = OpenSavedResults(dir); err != nil || !cmp.Equal(records.Results, got) {
		t.Fatalf("records = %v, %v; want those of before", records.Results, err)
	}
	second.Versions[0].Blocks[1].Source, second.Versions[1].Blocks[1].Source = "print(x)", "print(x)"
	measured := 0
	o.Earlier = records.Results
	o.OnResult = func(r Result) error { measured++; return records.Add(r) }
	again, err := Measure(t.Context(), []Program{first, second}, o)
	if err != nil || len(again) != 2 || measured != 1 || !cmp.Equal(again[0], got[0]) {
		t.Errorf("Measure again = %v, %v with %d measured; want both, the second measured", again, err, measured)
	}
	if records, err = OpenSavedResults(dir); err != nil || len(records.Results) != 2 {
		t.Errorf("records = %v, %v; want two", records.Results, err)
	}
	if none, err := Measure(t.Context(), []Program{second}, Options{Python: python, Budget: 1}); err != nil ||
		len(none) != 0 {
		t.Errorf("Measure without time = %v, %v; want nothing", none, err)
	}
}

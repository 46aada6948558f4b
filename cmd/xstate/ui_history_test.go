package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner/sandbox"
)

// brokenProgram fails when rows is empty. Its block shown puts out a table and a picture.
const brokenProgram = `# %% data
rows = [1, 2, 3]
# %% shown
class Shown:
    def _repr_html_(self):
        return f"<table><tr><td>{len(rows)} rows</td></tr></table>"
Shown()
# %% mean
mean = sum(rows) / len(rows)
print("mean", mean)
`

// workedOn is a server with a session b.py: coder breaks it, fixer tries to repair it and then does, and it is forked.
// The steps: 1 to 3 appends, 4 run, 5 edit by coder, 6 run, 7 edit by fixer, 8 run, 9 edit by fixer, 10 run.
func workedOn(t *testing.T, coder, reason string) *inServer {
	t.Helper()
	s := newInServer(t, serve.Options{})
	text := brokenProgram
	edit := func(old, new string, args ...string) {
		text = strings.Replace(text, old, new, 1)
		s.write("b.py", text)
		s.do(nil, append([]string{"run", "b.py"}, args...)...)
	}
	edit("", "")
	origin, err := json.Marshal(map[string]any{"agent": coder, "model": "opus", "tokens_in": 1000, "tokens_out": 50,
		"cost_usd": 0.25, "reason": reason})
	if err != nil {
		t.Fatal(err)
	}
	edit("[1, 2, 3]", "[]", "--origin", string(origin))
	edit("/ len(rows)", "/ len(rowz)", "--agent", "fixer", "--reason", "first try")
	edit("/ len(rowz)", "/ max(len(rows), 1)", "--agent", "fixer", "--reason", "guard")
	s.done(nil, "fork", "b.py", "side", "--at-step", "4")
	s.done(nil, "fork", "side", "deeper")
	return s
}

// document runs a command and reads its document.
func document[D any](s *inServer, args ...string) (d D) {
	s.t.Helper()
	_, out, errOut := s.do(nil, append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &d); err != nil || strings.Contains(out, `"error":{"code"`) {
		s.t.Fatalf("xstate %s: %v: %s%s", strings.Join(args, " "), err, out, errOut)
	}
	return d
}

// TestPageHistory reads what each step was, by whom, and what it cost.
func TestPageHistory(t *testing.T) {
	t.Parallel()
	s := workedOn(t, "coder", "no rows")
	b := newBrowser(t, s, false)
	page := b.shows("/ui/history?session=b.py", "1000&#43;50 tokens, $0.25", `<span class="model">opus</span>`,
		`agent=coder`, "no rows", `<a href="/ui/history?session=side">side</a> forked after`,
		`<a href="/ui/history?session=deeper">deeper</a> forked after`, ">fork side</a>")
	if n := strings.Count(page, `class="number"`); n != 10 {
		t.Errorf("the history shows %d steps, want 10", n)
	}
	page = b.shows("/ui/history?session=b.py&agent=fixer&kind=edit", `value="fixer"`, "<option selected>edit</option>")
	if n := strings.Count(page, `class="number"`); n != 2 {
		t.Errorf("fixer's edits are %d steps, want 2:\n%s", n, page)
	}
	b.shows("/ui/history?session=side", "<strong>side</strong>", `session=b.py&amp;step=4`)

	// A step can be reached from each other one, and so can the program and its values then.
	b.shows("/ui/step?session=b.py&step=5", `rel="prev"`, `rel="next"`, "step=1", "step=10", `max="10" value="5"`,
		"step 5 of 10", "rows = []")
	b.shows("/ui/program?session=b.py&step=4", `rel="next"`, "mean 2.0", "step 4 of 10")
	b.shows("/ui/values?session=b.py&step=4", `rel="next"`, "[1, 2, 3]")
	if page := b.shows("/ui/step?session=b.py&step=10", "step 10 of 10"); strings.Contains(page, `rel="next"`) {
		t.Errorf("the last step has a next one:\n%s", page)
	}

	// A run is compared with the run before: tables are side by side, texts and values line by line.
	page = b.shows("/ui/step?session=b.py&step=6", "Compared with the run of", `<div class="sides">`, "[1, 2, 3]",
		"ZeroDivisionError", "replay it")
	before, after := strings.Index(page, "<td>3 rows</td>"), strings.Index(page, "<td>0 rows</td>")
	if before < 0 || after < before {
		t.Errorf("the tables of step 6 are at %d and %d, want one after the other:\n%s", before, after, page)
	}

	b.shows("/ui/compare?session=b.py&from=4&to=6", "From step 4 to step 6", "rows = []", "ZeroDivisionError",
		`<div class="sides">`)
	if status, page := b.get("/ui/compare?session=b.py&from=x&to=6"); status != http.StatusNotFound ||
		!strings.Contains(page, "is no step") {
		t.Errorf("compare from x: status %d: %s", status, page)
	}

	// Who wrote each line.
	b.shows("/ui/block?session=b.py&block=mean", "/ui/blame?block=mean")
	page = b.shows("/ui/blame?session=b.py&block=mean", "max(len(rows), 1)", "fixer", "guard")
	for _, l := range document[api.Blame](s, "blame", "b.py", "mean").Lines {
		if link := fmt.Sprintf("step=%d\">%d</a>", l.Step, l.Step); !strings.Contains(page, link) {
			t.Errorf("the page names no step %d:\n%s", l.Step, page)
		}
	}
	if page := b.shows("/ui/blame?session=b.py&block=mean&step=4"); strings.Contains(page, "fixer") {
		t.Errorf("fixer wrote nothing before step 4:\n%s", page)
	}
}

// TestPageFailures: a failure has what caused it, what did not help, and what did.
func TestPageFailures(t *testing.T) {
	t.Parallel()
	s := workedOn(t, "coder", "no rows")
	d := document[api.Failures](s, "log", "b.py", "--failures")
	if len(d.Failures) != 1 {
		t.Fatalf("log --failures: %+v, want one", d.Failures)
	}
	f := d.Failures[0]
	if f.Block != "mean" || f.Since != 6 || f.Fixed != 10 || len(f.Causes) != 1 || f.Causes[0].Number != 5 ||
		len(f.Tries) != 1 || f.Tries[0].Run != 8 || len(f.Tries[0].Edits) != 1 || f.Tries[0].Edits[0].Number != 7 ||
		len(f.Fixes) != 1 || f.Fixes[0].Number != 9 || f.Gone != 0 {
		t.Errorf("log --failures: %+v", f)
	}
	b := newBrowser(t, s, false)
	page := b.shows("/ui/failures?session=b.py", "1 failure, all fixed")
	at := 0
	for _, text := range []string{"caused by", ">step 5</a>", "coder", "failed in", ">step 6</a>", "ZeroDivisionError",
		"tried", ">step 7</a>", "first try", ">step 8</a>", "NameError", "fixed by", ">step 9</a>", "passed in",
		">step 10</a>"} {
		next := strings.Index(page[at:], text)
		if next < 0 {
			t.Fatalf("the chain does not go on with %q:\n%s", text, page)
		}
		at += next
	}

	s.write("b.py", strings.Replace(brokenProgram, "[1, 2, 3]", "1 / 0", 1))
	s.do(nil, "run", "b.py")
	b.shows("/ui/failures?session=b.py", "2 failures", "1 not fixed", "still fails", "/ui/audit?block=data")
	s.write("b.py", brokenProgram[strings.Index(brokenProgram, "# %% shown"):])
	s.do(nil, "run", "b.py")
	b.shows("/ui/failures?session=b.py", "removed in")
}

// audited waits for the end of what was begun in a session, and looks for texts in what came of it.
func (b *browser) audited(session string, texts ...string) {
	b.t.Helper()
	await.Until(b.t, "the audit of "+session+" has ended", func() bool {
		_, page := b.get("/ui/audit?session=" + session)
		return !strings.Contains(page, "running since")
	})
	b.shows("/ui/audit?session="+session, texts...)
}

// TestPageAudits starts a bisection and replays, and waits for what they find.
func TestPageAudits(t *testing.T) {
	t.Parallel()
	s := workedOn(t, "coder", "no rows")
	b := newBrowser(t, s, true)
	b.shows("/ui/audit?session=b.py&block=mean", `name="block" value="mean"`)
	begin := func(form url.Values) {
		t.Helper()
		form.Set("session", "b.py")
		if status, page := b.post("/ui/audit", form); status != http.StatusOK {
			t.Errorf("%v: status %d: %s", form, status, page)
		}
	}
	found := document[api.Bisection](s, "bisect", "b.py", "mean", "--bad", "8")
	begin(url.Values{"do": {"bisect"}, "block": {"mean"}, "bad": {"8"}})
	b.audited("b.py", "Bisection: block mean, bad 8",
		fmt.Sprintf("step %d</a>", found.First.Number), "coder", "Before, step")

	begin(url.Values{"do": {"replay"}, "from": {"4"}, "to": {"4"}})
	b.audited("b.py", "Replay: from 4, to 4", `<span class="state passed">equal</span>`, "1 run")
	begin(url.Values{"do": {"replay"}})
	b.audited("b.py", "Replay: all runs", "4 runs")
	begin(url.Values{"do": {"bisect"}, "block": {"none"}})
	b.audited("b.py", `role="alert"`, "none")
	form := url.Values{"session": {"b.py"}, "do": {"replay"}, "from": {"x"}}
	status, page := b.post("/ui/audit", form)
	if status != http.StatusNotFound || !strings.Contains(page, "is no step") {
		t.Errorf("a replay from x: status %d: %s", status, page)
	}

	// What differs is shown with what was recorded.
	s.write("r.py", "import os\nprint('drew', os.urandom(4))\n")
	s.done(nil, "run", "r.py")
	b.post("/ui/audit", url.Values{"session": {"r.py"}, "do": {"replay"}})
	b.audited("r.py", "randomness", "<h4>Recorded</h4>", "<h4>Replayed</h4>", "drew", "diverged")

	looks := newBrowser(t, s, false)
	if page := looks.shows("/ui/audit?session=b.py", "xstate ui --edit"); strings.Contains(page, "<form") {
		t.Errorf("a browser that looks has a form:\n%s", page)
	}
}

// TestPageAuditStops: one session has one replay at a time, and it can be stopped.
func TestPageAuditStops(t *testing.T) {
	t.Parallel()
	s := newInServer(t, serve.Options{})
	fast := filepath.Join(t.TempDir(), "fast") // outside of the folder: a replay does not restore it
	s.write("w.py", fmt.Sprintf("import os, time\nwhile not os.path.exists(%q):\n    time.sleep(0.05)\n", fast))
	if err := os.WriteFile(fast, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	s.done(nil, "run", "w.py")
	if err := os.Remove(fast); err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, s, true)
	form := url.Values{"session": {"w.py"}, "do": {"replay"}}
	b.post("/ui/audit", form)
	b.shows("/ui/audit?session=w.py", "running since", "Stop")
	if status, page := b.post("/ui/audit", form); status != http.StatusNotFound || !strings.Contains(page, "goes on") {
		t.Errorf("a second replay: status %d: %s", status, page)
	}
	b.post("/ui/audit", url.Values{"session": {"w.py"}, "do": {"stop"}})
	b.audited("w.py", "interrupted")
}

// spendingPolicy is a policy of a user with a model, a tool, a rule that asks, and budgets.
const spendingPolicy = `[budget]
usd = 1.5
[budget.session]
tokens = 1000
[budget.soft]
calls = 5
[models.default]
api = "script"
script = "answers.jsonl"
price = {input = 1, output = 2}
`

// TestPageAgents: who did what, what it cost, what waits, and what was denied.
func TestPageAgents(t *testing.T) {
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	s := newInServer(t, serve.Options{})
	folder := filepath.Join(config, "xstate")
	policy := spendingPolicy + fmt.Sprintf("[sandbox]\ntrust = [%q]\n", s.folder)
	policy = strings.Replace(policy, "answers.jsonl", filepath.Join(folder, "answers.jsonl"), 1)
	answers := `{"match": "France", "reply": "Paris", "usage": {"input_tokens": 1000, "output_tokens": 500}}`
	for name, text := range map[string]string{"xstate.toml": policy, "answers.jsonl": answers} {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	program := `# %% data
x = 1
# %% ask
import xstate
@xstate.step
def outer(task):
    return xstate.llm(task)
print(outer("The capital of France?"))
# %% choose
choice = xstate.ask("which one?", choices=["left", "right"])
`
	outside := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(outside, []byte("secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	program += fmt.Sprintf("# %%%% leak\ntry:\n    open(%q).read()\nexcept OSError:\n    print(\"caught\")\n", outside)
	s.write("a.py", program)
	level, _ := sandbox.Probe()
	bounded := level == sandbox.LevelCalls
	args := []string{"run", "a.py", "--agent", "coder", "--model", "opus"}
	if bounded {
		args = append(args, "--sandbox", "workspace")
	}
	s.do(nil, args...)
	s.write("a.py", strings.Replace(program, "x = 1", "x = 2", 1))
	s.do(nil, append(args[:2:2], "--agent", "other")...)

	b := newBrowser(t, s, true)
	page := b.shows("/ui/agents?session=a.py", "3 calls", "which one?", "Before it", "<option>left</option>",
		"outer(", "2 made", "$0.002", ">coder</a>", ">other</a>", "Blocks with several authors", "coder, other",
		"<td>session</td><td>tokens</td>")
	if bounded {
		for _, text := range []string{"read " + outside, fmt.Sprintf("files.read = [&#34;%s&#34;]", outside)} {
			if !strings.Contains(page, text) {
				t.Errorf("the agents do not show %q:\n%s", text, page)
			}
		}
	}
	credit := document[api.Credit](s, "credit", "a.py")
	if n := strings.Count(page, "agent="); n != len(credit.Rows) {
		t.Errorf("the page has %d agents, and credit %+v", n, credit.Rows)
	}
	for _, l := range document[api.Budgets](s, "calls", "a.py", "--budgets").Budgets {
		if l.Scope == "session" && (l.Spent != "1500" || !l.Over) || l.Scope == "run" && l.What == "usd" && l.Over {
			t.Errorf("budget %+v", l)
		}
	}
	if d := document[api.QueryDenied](s, "query", "--denied", "--session", "a.py"); bounded && len(d.Denied) != 1 {
		t.Errorf("query --denied: %+v, want one", d)
	}
	call := page[strings.Index(page, `name="call" value="`)+len(`name="call" value="`):]
	call, _, _ = strings.Cut(call, `"`)
	form := url.Values{"session": {"a.py"}, "call": {call}, "choice": {"left"}, "answer": {"approve"},
		"back": {"agents"}}
	if status, page := b.post("/ui/decide", form); status != http.StatusOK || !strings.Contains(page, "Who did what") ||
		strings.Contains(page, "waits for a decision") {
		t.Errorf("decide: status %d: %s", status, page)
	}
	b.shows("/ui/calls?session=a.py", "which one?", "left", `<a href="/ui/flow?session=a.py">`)
	b.shows("/ui/flow?session=a.py", "What reached each call", `<a href="/ui/block?block=ask&amp;session=a.py">`,
		"nothing, by its words", "no request and no result depends on the answer of call 3 of choose")
	b.shows("/ui/history?session=a.py", "1000&#43;500 tokens, $0.002")
}

// TestPageOfHostileAgents: names, reasons and errors are shown as text.
func TestPageOfHostileAgents(t *testing.T) {
	t.Parallel()
	s := workedOn(t, "<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`)
	s.write("b.py", strings.Replace(brokenProgram, "[1, 2, 3]",
		`exec('raise ValueError("<script>alert(1)</script>")')`, 1))
	s.do(nil, "run", "b.py", "--agent", "<iframe src=x>", "--reason", "<script>alert(1)</script>")
	b := newBrowser(t, s, true)
	for _, path := range []string{"history?session=b.py", "failures?session=b.py", "agents?session=b.py",
		"blame?session=b.py&block=data", "step?session=b.py&step=5", "audit?session=b.py&block=" +
			url.QueryEscape(`"><script>alert(1)</script>`),
		"history?session=b.py&agent=" + url.QueryEscape(`"><script>alert(1)</script>`) + "&kind=%3Cscript%3E",
		"blame?session=b.py&block=" + url.QueryEscape("<script>alert(1)</script>")} {
		_, page := b.get("/ui/" + path)
		_, page, _ = strings.Cut(page, "<main")
		for _, found := range harm.FindAllString(withoutSources(page), -1) {
			t.Errorf("%s has %q", path, found)
		}
	}
	b.shows("/ui/failures?session=b.py", "&lt;script&gt;alert(1)&lt;/script&gt;")
}

// TestFailureOfSeveralEdits: of several edits that one run brings, those count from which the block that fails read
// something else than before.
func TestFailureOfSeveralEdits(t *testing.T) {
	t.Parallel()
	s := newInServer(t, serve.Options{})
	program := "# %% other\nk = 1\n# %% clean\nrow = {'revenue': 2}\n# %% helper\ndef money(x): return round(x, 2)\n" +
		"# %% same\nn = 5\n# %% region\ntotal = money(row['revenue']) + n\n"
	s.write("f.py", program)
	s.done(nil, "run", "f.py")
	edits := strings.NewReplacer("k = 1", "k = 2", "revenue': 2", "income': 2", "x, 2", "x, 1", "n = 5", "n = 4 + 1")
	s.write("f.py", edits.Replace(program))
	s.do(nil, "run", "f.py")
	d := document[api.Failures](s, "log", "f.py", "--failures")
	if len(d.Failures) != 1 {
		t.Fatalf("log --failures: %+v, want one", d.Failures)
	}
	var causes []string
	for _, e := range d.Failures[0].Causes {
		causes = append(causes, string(e.Block))
	}
	if d := cmp.Diff([]string{"clean", "helper"}, causes); d != "" {
		t.Errorf("causes (-want +got):\n%s", d)
	}
	b := newBrowser(t, s, false)
	b.shows("/ui/failures?session=f.py", "caused by one of")
}

package checkers

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// printed is what the checkers printed of files in /w.
var printed = map[string]string{
	"ruff": `[{"cell":null,"code":"F401","end_location":{"column":10,"row":1},"filename":"/w/a.py","fix":null,` +
		`"location":{"column":8,"row":1},"message":"` + "`os`" + ` imported but unused","noqa_row":1,"url":""},` +
		`{"code":"invalid-syntax","filename":"/w/a.py","location":{"column":1,"row":3},"message":"Expected )"}]`,
	"mypy": `{"file": "/w/a.py", "line": 2, "column": 9, "end_line": 2, "end_column": 12, "message": "No", ` +
		`"hint": "Maybe", "code": "assignment", "severity": "error"}
Found 1 error in 1 file (checked 1 source file)`,
	"ty": `[{"check_name":"invalid-assignment","description":"invalid-assignment: No","severity":"major",` +
		`"location":{"path":"a.py","positions":{"begin":{"line":2,"column":10},"end":{"line":2,"column":13}}}}]`,
	"pyright": `note about a newer version
{"version":"1.1.414","generalDiagnostics":[{"file":"/w/a.py","severity":"information","message":"No","rule":"r",` +
		`"range":{"start":{"line":1,"character":9},"end":{"line":1,"character":12}}}],"summary":{}}`,
	"pylint": `[{"type":"convention","line":1,"column":0,"path":"a.py","symbol":"invalid-name","message":"No"}]`,
	"eslint": `[{"filePath":"/w/a.js","messages":[` +
		`{"ruleId":"no-undef","severity":2,"message":"No","line":1,"column":5},` +
		`{"ruleId":null,"severity":1,"message":"File ignored","line":0}]}]`,
	"tsc": `a.ts(1,7): error TS2322: No
  because
b.ts(2,1): error TS1005: ';' expected.`,
	"shellcheck": `[{"file":"s.sh","line":2,"endLine":2,"column":6,"level":"style","code":2086,"message":"No"}]`,
}

func TestFindings(t *testing.T) {
	want := map[string][]Finding{
		"ruff": {{"ruff", "F401", "warning", "`os` imported but unused", "a.py", 1, 8},
			{"ruff", "invalid-syntax", "error", "Expected )", "a.py", 3, 1}},
		"mypy":    {{"mypy", "assignment", "error", "No\nMaybe", "a.py", 2, 10}},
		"ty":      {{"ty", "invalid-assignment", "error", "No", "a.py", 2, 10}},
		"pyright": {{"pyright", "r", "note", "No", "a.py", 2, 10}},
		"pylint":  {{"pylint", "invalid-name", "note", "No", "a.py", 1, 1}},
		"eslint": {{"eslint", "", "warning", "File ignored", "a.js", 0, 0},
			{"eslint", "no-undef", "error", "No", "a.js", 1, 5}},
		"tsc": {{"tsc", "TS2322", "error", "No\n  because", "a.ts", 1, 7},
			{"tsc", "TS1005", "error", "';' expected.", "b.ts", 2, 1}},
		"shellcheck": {{"shellcheck", "SC2086", "note", "No", "s.sh", 2, 6}},
	}
	for _, name := range Names() {
		got, err := Check{Checker: name}.Findings(printed[name]+"\nexit 1\n", "", "/w")
		if d := cmp.Diff(want[name], got); d != "" || err != nil {
			t.Errorf("%s: %v, (-want +got):\n%s", name, err, d)
		}
		empty := map[string]string{"mypy": "", "tsc": "", "pyright": "{}"}
		text, special := empty[name]
		if !special {
			text = "[]"
		}
		if got, err := (Check{Checker: name}).Findings(text+"\nexit 0\n", "", "/w"); len(got) > 0 || err != nil {
			t.Errorf("%s of files without findings: %v, %v", name, got, err)
		}
	}
}

// TestFailedChecks: what is no result of a check is never one without findings.
func TestFailedChecks(t *testing.T) {
	for _, c := range []struct{ checker, stdout, stderr, want string }{
		{"ruff", "", "", "it did not end, or"},
		{"ruff", "\nexit x\n", "", "it did not end"},
		{"ruff", "\nexit 2\n", "bad ruff.toml\n", "it ended with 2: bad ruff.toml"},
		{"mypy", "mypy: can't read file\n\nexit 2\n", "", "it ended with 2, and printed no finding: mypy: can't"},
		{"mypy", "Killed\n\nexit 137\n", "", "it ended with 137: Killed"},
		{"tsc", "Error: 1 at node.js\n\nexit 1\n", "", "it ended with 1, and printed no finding"},
		{"pylint", "usage\n\nexit 32\n", "", "it ended with 32: usage"},
		{"ruff", "\nexit 127\n", "ruff: not found", "it ended with 127: ruff: not found"},
		{"eslint", "oops\nexit 1\n", "", "what it printed cannot be read: invalid character"},
		{"tsc", "error TS5083: Cannot read file tsconfig.json.\n\nexit 1\n", "", "error TS5083"},
	} {
		got, err := Check{Checker: c.checker}.Findings(c.stdout, c.stderr, "/w")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %q: %v, %v, want an error with %q", c.checker, c.stdout, got, err, c.want)
		}
	}
}

func TestChecks(t *testing.T) {
	find := func(name string) string {
		if name == "pyright" {
			return ""
		}
		return "/bin dir/" + name
	}
	files := []string{"a.py", "it's.py", "b.sh", "-c.sh", "c.md"}
	checks := Checks(files, []string{"ruff", "mypy", "pyright", "shellcheck"}, find)
	var got []string
	for _, c := range checks {
		got = append(got, c.Checker+" "+strings.Join(c.Files, " ")+": "+c.Source)
	}
	end := `; printf '\nexit %s\n' "$?")`
	want := []string{
		`ruff a.py: ('/bin dir/ruff' check --no-cache --no-fix --output-format=json -- a.py` + end,
		`ruff it's.py: ('/bin dir/ruff' check --no-cache --no-fix --output-format=json -- 'it'\''s.py'` + end,
		`mypy a.py it's.py: ('/bin dir/mypy' --output=json --cache-dir=/dev/null --show-absolute-path -- a.py ` +
			`'it'\''s.py'` + end,
		`shellcheck b.sh: ('/bin dir/shellcheck' --format=json -- b.sh` + end,
		`shellcheck -c.sh: ('/bin dir/shellcheck' --format=json -- ./-c.sh` + end,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

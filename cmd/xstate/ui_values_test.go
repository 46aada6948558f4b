package main

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/internal/serve"
)

const valuesProgram = `# %% data
rows = [{"id": i, "name": "n%d" % (i % 3), "<b>": "<script>alert(1)</script>"} for i in range(120)]
nested = {"first": [1, 2, {"deep": ["x" * 300]}], "<i>k</i>": "<img src=x onerror=alert(1)>", 7: list(range(200))}
text = "<script>alert(1)</script>\n" * 1000
pixel = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc00000030101"
    "00c9fe92ef0000000049454e44ae426082") + bytes(100)
# %% used
print(len(rows), len(nested), len(text), len(pixel))
`

// TestPageOfValues looks into values: a table by pages, nested data by paths, a text, an image; now and at a step
// before.
func TestPageOfValues(t *testing.T) {
	t.Parallel()
	s := newInServer(t, serve.Options{})
	s.write("v.py", valuesProgram)
	s.done(nil, "run", "v.py")
	b := newBrowser(t, s, false)
	const value = "/ui/value?session=v.py&name="

	page := b.shows(value+"rows", "rows 0 to 49 of 120", "row=50", `<th scope="col" class="num">`,
		"<dt>mean</dt><dd>59.5</dd>", "<dt>n0</dt><dd>40</dd>",
		`<svg class="bars" role="img" aria-label="histogram from 0 to 119, 20 bins: 6, 6,`,
		"&lt;script&gt;alert(1)&lt;/script&gt;", "<td>n1</td>")
	if n := strings.Count(page, "<td>n"); n != 50 {
		t.Errorf("the page has %d rows, want 50", n)
	}
	b.shows(value+"rows&row=100", "rows 100 to 119 of 120", "row=50", `<td class="num">119</td>`)
	b.shows(value+"rows&row=100000", "rows 119 to 119 of 120")
	b.shows(value+"rows&row=-1&column=x&path=", "rows 0 to 49 of 120")

	b.shows(value+"nested", "3 items", `<code class="key">&#39;first&#39;</code>`,
		"<details open><summary>", "<details><summary>", `>150 more</a>`, "&lt;i&gt;k&lt;/i&gt;", "path=2")
	b.shows(value+"nested&path=2", "Part 2 of", "items 0 to 49 of 200", "row=50")
	b.shows(value+"nested&path=2&row=150", "items 150 to 199 of 200", "[199]", "path=2")
	b.shows(value+"nested&path=0.2.0.0", strings.Repeat("x", 300))
	if status, page := b.get(value + "nested&path=9.9"); status != http.StatusOK || strings.Contains(page, "internal") {
		t.Errorf("a path to nothing: status %d: %s", status, page)
	}
	b.shows(value+"text", "&lt;script&gt;alert(1)&lt;/script&gt;\n&lt;script&gt;")
	b.shows(value+"pixel", `<img src="data:image/png;base64,iVBORw0KGgo`)
	for _, path := range []string{"rows", "nested", "text", "pixel", "nested&path=1"} {
		_, page := b.get(value + path)
		if found := harm.FindString(page); found != "" {
			t.Errorf("%s has %q", path, found)
		}
		if strings.Contains(page, " style=") {
			t.Errorf("%s has a style of its own, which the policy forbids", path)
		}
	}

	s.write("v.py", strings.Replace(valuesProgram, "range(120)", "range(130)", 1))
	s.done(nil, "run", "v.py")
	b.shows(value+"rows", "of 130")
	b.shows(value+"rows&step=3&row=50", "rows 50 to 99 of 120", "step=3")
}

// TestPageOfFrames looks into what libraries hold. Values of up to 32 kB are always stored.
func TestPageOfFrames(t *testing.T) {
	t.Parallel()
	if exec.Command(plainPython(t), "-c", "import pandas").Run() != nil {
		t.Skip("no pandas")
	}
	s := newInServer(t, serve.Options{})
	s.write("f.py", `# %% data
import numpy as np, pandas as pd
df = pd.DataFrame({"n": range(60), "t": ["a", None] * 30, **{"c%d" % i: [i % 2 > 0] * 60 for i in range(80)}})
stack = np.arange(24.0).reshape(2, 3, 4)
parts = {"train": df, "n": 1}
# %% used
print(len(df), stack.sum(), len(parts))
`)
	s.done(nil, "run", "f.py")
	b := newBrowser(t, s, false)
	const value = "/ui/value?session=f.py&name="
	b.shows(value+"df", "rows 0 to 49 of 60", "columns 0 to 59 of 82",
		`<span class="name">n</span><span class="type">int64`,
		"<dt>missing</dt><dd>30</dd>", `<th scope="row" class="num">49</th>`, `<td class="none">nan</td>`)
	b.shows(value+"df&row=50&column=60", "rows 50 to 59 of 60", "columns 60 to 81 of 82", "c79",
		`href="/ui/value?column=60&amp;name=df&amp;session=f.py"`)
	b.shows(value+"stack", "The slice [0] is shown", "path=1", "<dt>max</dt><dd>23</dd>", "3 rows", "4 columns")
	b.shows(value+"stack&path=1", "Part 1 of", `<td class="num" title="23.0">23</td>`)
	b.shows(value+"parts", `name=parts&amp;path=0`)
	b.shows(value+"parts&path=0", "rows 0 to 49 of 60")

	out := s.done(nil, "query", "--value", "df", "--rows", "55", "--json")
	for _, text := range []string{`"rows":60`, `"from":55`, `"mean":"29.5"`} {
		if !strings.Contains(out, text) {
			t.Errorf("query --rows does not say %s: %s", text, out)
		}
	}
}

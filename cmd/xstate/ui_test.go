package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/internal/serve"
)

// browser is a client of the page with a jar for cookies.
type browser struct {
	t    *testing.T
	base string
	http *http.Client
}

// newBrowser is invited by the server. Its Referer, as a browser would send it, is not looked at.
func newBrowser(t *testing.T, s *inServer, edit bool) *browser {
	t.Helper()
	base, err := s.server.ListenHTTP()
	if err != nil {
		t.Fatal(err)
	}
	b := newStranger(t, base)
	if status, _ := b.get(s.server.Page.Invite(edit)); status != http.StatusOK {
		t.Fatalf("the invitation: status %d", status)
	}
	return b
}

func newStranger(t *testing.T, base string) *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t, base, &http.Client{Jar: jar}}
}

func (b *browser) get(path string) (status int, text string) {
	b.t.Helper()
	return b.do(http.MethodGet, path, nil, nil)
}

func (b *browser) post(path string, form url.Values) (status int, text string) {
	b.t.Helper()
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Sec-Fetch-Site": {"same-origin"}}
	return b.do(http.MethodPost, path, header, strings.NewReader(form.Encode()))
}

func (b *browser) do(method, path string, header http.Header, body io.Reader) (status int, text string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Host = strings.Join(header["Host"], "")
	answer, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer.StatusCode, string(all)
}

// shows gets a view and looks for texts in it.
func (b *browser) shows(path string, texts ...string) string {
	b.t.Helper()
	status, page := b.get(path)
	if status != http.StatusOK {
		b.t.Errorf("%s: status %d: %s", path, status, page)
	}
	for _, text := range texts {
		if !strings.Contains(page, text) {
			b.t.Errorf("%s does not show %q:\n%s", path, text, page)
		}
	}
	return page
}

const pageProgram = `# %% data
rows = [1, 2, 3]
# %% total
total = sum(rows)
print("total", total)
`

// servedProgram is a server whose store has a session of pageProgram, p.py.
func servedProgram(t *testing.T) *inServer {
	t.Helper()
	s := newInServer(t, serve.Options{})
	s.write("p.py", pageProgram)
	s.done(nil, "run", "p.py")
	return s
}

// TestPage reads every view of a session, before and after an edit.
func TestPage(t *testing.T) {
	t.Parallel()
	s := servedProgram(t)
	b := newBrowser(t, s, false)
	b.shows("/ui/", `href="/ui/program?session=p.py"`)
	b.shows("/ui/program?session=p.py", `id="b-data"`, "total 6", "it ran for the first time")
	b.shows("/ui/values?session=p.py", "rows", "[1, 2, 3]")
	b.shows("/ui/value?session=p.py&name=total", "<pre class=\"whole\">6</pre>")
	b.shows("/ui/graph?session=p.py", `data-from="data" data-to="total"`)
	b.shows("/ui/evidence?session=p.py&of=total", "Code, in the order in which it ran")
	b.shows("/ui/calls?session=p.py", "0 calls")
	b.shows("/ui/agents?session=p.py", "0 calls")

	s.write("p.py", strings.Replace(pageProgram, "3]", "4]", 1))
	s.done(nil, "run", "p.py")
	b.shows("/ui/block?session=p.py&block=total", "rows, which it reads, has changed", "[1, 2, 3]", "[1, 2, 4]",
		"If this changes")
	b.shows("/ui/history?session=p.py", "step=4", "ran 2, reused 0")
	b.shows("/ui/step?session=p.py&step=4", `class="removed"`, "rows = [1, 2, 4]")
	b.shows("/ui/program?session=p.py&step=3", "total 6", "after step 3")

	// What a change of a name would reach; what has not run is dashed; what is read and written is there.
	s.write("g.py", "# %% load\nimport json\nn = json.load(open('n.json'))\ndef twice(x): return x * 2\n"+
		"def text(x): return str(x)\n# %% double\nt = twice(n)\n# %% save\nopen('out.txt', 'w').write(text(n))\n")
	s.write("n.json", "3")
	s.done(nil, "run", "g.py")
	b.shows("/ui/graph?session=g.py&block=load&if=twice", "If twice of load changes", "It can reach 2 blocks",
		`class="node file" data-node="file:n.json"`, `data-from="save" data-to="written file:out.txt"`,
		`class="edge symbol solid" data-from="load" data-to="double"`)
	b.shows("/ui/graph?session=g.py&modules=1", `data-from="module:json" data-to="load"`)
	var large strings.Builder
	for i := range 130 {
		fmt.Fprintf(&large, "# %%%% b%d\nv%d = %d\n", i, i, i)
	}
	s.write("large.py", large.String())
	s.done(nil, "run", "large.py")
	b.shows("/ui/graph?session=large.py", "130 blocks, in groups", `data-node="b0 … b3"`)
	b.shows("/ui/graph?session=large.py&open=b0", `data-node="b2"`, `data-node="b4 … b7"`)

	// What a run would do; the line at which a block failed, within a token of several lines.
	s.write("f.py", "# %% a\nx = 1\n# %% b\ns = \"\"\"one\ntwo\"\"\" + 1\n")
	s.do(nil, "run", "f.py")
	b.shows("/ui/program?session=f.py", `<mark title="it failed here">s = <span class="s">`)
	s.write("f.py", "# %% a\nx = 2\n# %% b\ns = x\n")
	b.shows("/ui/plan?session=f.py", "Would execute 2 blocks", "Edits of the file, not recorded yet",
		`<a href="/ui/block?block=b&amp;session=f.py">b</a></td><td><span class="state run">run</span>`)
	b.shows("/ui/plan?session=p.py", "Would execute nothing. Reused: 2")

	s.write("empty.py", "x = 1\n")
	s.done(nil, "run", "empty.py")
	s.done(nil, "undo", "empty.py", "1", "--keep-file")
	b.shows("/ui/graph?session=empty.py&around=b1", "0 blocks")

	// Every view of the past is shown, also where nothing was there yet.
	for _, view := range []string{"program", "block", "graph", "history", "step", "values", "value", "calls",
		"evidence", "agents", "failures", "blame", "audit", "plan", "flow"} {
		for _, step := range []string{"1", "4"} {
			path := "/ui/" + view + "?session=p.py&block=total&name=total&of=total&step=" + step
			if status, page := b.get(path); status >= 500 || strings.Contains(page, "internal error") {
				t.Errorf("%s: status %d: %s", path, status, page)
			}
		}
	}

	for _, path := range []string{"program?session=none.py", "block?session=p.py&block=none", "step?session=p.py",
		"value?session=p.py&name=none", "program?session=p.py&step=99", "nothing"} {
		if status, page := b.get("/ui/" + path); status != http.StatusNotFound || strings.Contains(page, "internal") {
			t.Errorf("%s: status %d: %s", path, status, page)
		}
	}
}

// TestPageAdmits tries to get in without an invitation, and to do with one more than it allows.
func TestPageAdmits(t *testing.T) {
	t.Parallel()
	s := servedProgram(t)
	looks, edits := newBrowser(t, s, false), newBrowser(t, s, true)
	form := url.Values{"session": {"p.py"}}
	status := func(want int, what string, got int, page string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: status %d, want %d: %s", what, got, want, page)
		}
	}
	stranger := newStranger(t, looks.base)
	for _, path := range []string{"/ui/", "/ui/program?session=p.py", "/ui/events?session=p.py", "/ui/enter",
		"/ui/enter?code=", "/ui/enter?code=ABC"} {
		got, page := stranger.get(path)
		status(http.StatusUnauthorized, "a stranger's "+path, got, page)
	}
	code := s.server.Page.Invite(true)
	got, page := newStranger(t, looks.base).get(code)
	status(http.StatusOK, "an invitation", got, page)
	got, page = stranger.get(code)
	status(http.StatusUnauthorized, "an invitation that was used", got, page)

	for _, path := range []string{"/ui/run", "/ui/edit", "/ui/undo", "/ui/decide", "/ui/audit"} {
		got, page := looks.post(path, form)
		status(http.StatusForbidden, "a look at "+path, got, page)
	}
	got, page = edits.do(http.MethodGet, "/ui/", http.Header{"Host": {"evil.example:80"}}, nil)
	status(http.StatusForbidden, "another host", got, page)
	for _, header := range []http.Header{
		{"Origin": {"https://evil.example"}},
		{"Sec-Fetch-Site": {"cross-site"}},
		{"Sec-Fetch-Site": {"same-site"}},
	} {
		header.Set("Content-Type", "application/x-www-form-urlencoded")
		got, page = edits.do(http.MethodPost, "/ui/run", header, strings.NewReader(form.Encode()))
		status(http.StatusForbidden, "a request from another origin", got, page)
	}
	// The cookie is none of the API, and the token none of the page.
	got, page = edits.do(http.MethodPost, "/xstate.v1.SessionService/List",
		http.Header{"Content-Type": {"application/json"}}, strings.NewReader("{}"))
	status(http.StatusUnauthorized, "the API with the page's cookie", got, page)
	token, err := s.server.Token()
	if err != nil {
		t.Fatal(err)
	}
	got, page = stranger.do(http.MethodGet, "/ui/", http.Header{"Authorization": {"Bearer " + token}}, nil)
	status(http.StatusUnauthorized, "the page with the API's token", got, page)
}

// TestPageHeaders: nothing but what the server has may be loaded, and no address leaves.
func TestPageHeaders(t *testing.T) {
	t.Parallel()
	s := newInServer(t, serve.Options{})
	b := newBrowser(t, s, false)
	answer, err := b.http.Get(b.base + "/ui/")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
			"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
	} {
		if got := answer.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, c := range b.http.Jar.Cookies(answer.Request.URL) {
		if !strings.HasPrefix(c.Name, "xstate-") {
			t.Errorf("cookie %s", c.Name)
		}
	}
}

// hostilePage is a program that puts out, and is named, what would run if it were HTML.
const hostilePage = `# %% data <img src=x onerror=alert(1)>
class Page:
    def _repr_html_(self):
        return ("<script>alert(1)</script><img src=x onerror=alert(1)><a href='javascript:alert(1)'>x</a>"
                "<form action='https://evil.example'><button>go</button></form>"
                "<iframe src='https://evil.example'></iframe><style>@import 'https://evil.example'</style>"
                "<meta http-equiv=refresh content='0;url=https://evil.example'>"
                "<svg onload=alert(1)><script>alert(1)</script></svg><b>kept</b>")
    def _repr_svg_(self):
        return "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><script>alert(1)</script></svg>"
Page()
# %% text
print("</pre><script>alert(1)</script>\x1b[31mred\x1b[0m")
globals()["<script>alert(1)</script>"] = "<script>alert(1)</script>"
# %% failed
raise ValueError("<script>alert(1)</script>")
`

// harm are the ways in which a page could run or load what a program put out.
var harm = regexp.MustCompile(`(?i)<script>|<script [^s]|<img[^>]*onerror|<iframe|<form[^>]*evil|javascript:|` +
	`<meta http|@import|<svg[^>]*onload|https://evil`)

// TestPageOfHostileOutputs: what a program puts out is shown, and neither runs nor loads anything.
func TestPageOfHostileOutputs(t *testing.T) {
	t.Parallel()
	s := newInServer(t, serve.Options{})
	s.write("h.py", hostilePage)
	s.do(nil, "run", "h.py")
	b := newBrowser(t, s, true)
	views := []string{"program?session=h.py", "values?session=h.py", "graph?session=h.py", "history?session=h.py",
		"step?session=h.py&step=1", "step?session=h.py&step=2", "evidence?session=h.py&of=text", "calls?session=h.py",
		"flow?session=h.py",
		"block?session=h.py&block=text", "block?session=h.py&block=failed", "parts?session=h.py&block=failed",
		"value?session=h.py&name=" + url.QueryEscape("<script>alert(1)</script>"),
		"program?session=" + url.QueryEscape("<script>alert(1)</script>"),
		"block?session=h.py&block=" + url.QueryEscape("<img src=x onerror=alert(1)>")}
	for _, path := range views {
		_, page := b.get("/ui/" + path)
		_, page, _ = strings.Cut(page, "<main") // the head has the page's own script
		for _, found := range harm.FindAllString(withoutSources(page), -1) {
			t.Errorf("%s has %q", path, found)
		}
	}
	b.shows("/ui/program?session=h.py", "<b>kept</b>", "&lt;/pre&gt;&lt;script&gt;")
}

// withoutSources leaves out the escaped texts of a page: what is between < and > remains.
func withoutSources(page string) string {
	return strings.Join(regexp.MustCompile(`<[^>]*>`).FindAllString(page, -1), "\n")
}

// TestPageChanges runs, edits and takes back from the page, and follows by its events.
func TestPageChanges(t *testing.T) {
	t.Parallel()
	s := servedProgram(t)
	b := newBrowser(t, s, true)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events := b.follow(ctx, "p.py", "3")

	page := b.shows("/ui/block?session=p.py&block=data", "Record, and run what it affects")
	version := regexp.MustCompile(`name="version" value="(\w+)"`).FindStringSubmatch(page)[1]
	form := url.Values{"session": {"p.py"}, "block": {"data"}, "version": {version}, "source": {"rows = [10]\r\n"}}
	if status, page := b.post("/ui/edit", form); status != http.StatusOK {
		t.Fatalf("edit: status %d: %s", status, page)
	}
	stamp := events.until("stamp", func(data string) bool { return strings.Contains(data, `"step":5`) })
	if !strings.Contains(stamp, `{"id":"total","hash":"`) && !strings.Contains(stamp, `id=\"b-total\"`) {
		t.Errorf("stamp %s", stamp)
	}
	b.shows("/ui/parts?session=p.py&block=total", "total 10")
	text, err := os.ReadFile(filepath.Join(s.folder, "p.py"))
	if err != nil || !strings.Contains(string(text), "rows = [10]\n") || strings.Contains(string(text), "\r") {
		t.Errorf("the file has %q: %v", text, err)
	}

	// An edit of a version that is not there any more changes nothing, and says why.
	form.Set("source", "rows = [11]")
	if status, page := b.post("/ui/edit", form); status != http.StatusOK {
		t.Fatalf("edit: status %d: %s", status, page)
	}
	events.until("stamp", func(data string) bool { return !strings.Contains(data, `"failed":""`) })

	if status, page := b.post("/ui/undo", url.Values{"session": {"p.py"}, "step": {"4"}}); status != http.StatusOK {
		t.Fatalf("undo: status %d: %s", status, page)
	}
	events.until("stamp", func(data string) bool { return strings.Contains(data, `"step":6`) })
	if status, page := b.post("/ui/run", url.Values{"session": {"p.py"}}); status != http.StatusOK {
		t.Fatalf("run: status %d: %s", status, page)
	}
	events.until("stamp", func(data string) bool { return strings.Contains(data, `"step":7`) })
	b.shows("/ui/program?session=p.py", "total 6")

	// What another process does is seen, too.
	s.write("p.py", strings.Replace(pageProgram, "3]", "5]", 1))
	s.done(nil, "run", "p.py")
	stamp = events.until("stamp", func(data string) bool { return strings.Contains(data, `"step":9`) })
	if !strings.Contains(stamp, "total 8") || strings.Contains(stamp, `"blocks"`) {
		t.Errorf("stamp %s, want the part that changed alone", stamp)
	}
	b.shows("/ui/parts?session=p.py&block=total", "total 8")
}

// followed are the events of a page, as they come.
type followed struct {
	t     *testing.T
	lines *bufio.Scanner
}

func (b *browser) follow(ctx context.Context, session, since string) *followed {
	b.t.Helper()
	path := "/ui/events?parts=1&session=" + session + "&since=" + since
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.base+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	answer, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { answer.Body.Close() })
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	return &followed{b.t, lines}
}

// until returns the data of the next event with a name that is wanted.
func (f *followed) until(name string, wanted func(data string) bool) string {
	f.t.Helper()
	for event := ""; f.lines.Scan(); {
		if now, ok := strings.CutPrefix(f.lines.Text(), "event: "); ok {
			event = now
		}
		data, ok := strings.CutPrefix(f.lines.Text(), "data: ")
		if ok && !json.Valid([]byte(data)) {
			f.t.Errorf("event %s has no JSON: %s", event, data)
		}
		if ok && event == name && wanted(data) {
			return data
		}
	}
	f.t.Fatalf("the events ended: %v", f.lines.Err())
	return ""
}

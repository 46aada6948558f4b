package main

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
)

// TestPageFollowsAll: what an open page shows besides the blocks changes with them, and a program may lose all blocks.
func TestPageFollowsAll(t *testing.T) {
	t.Parallel()
	s := newInServer(t, serve.Options{})
	s.write("p.py", "# %% a\nx = 1\n")
	s.done(nil, "run", "p.py")
	b := newBrowser(t, s, false)
	b.shows("/ui/program?session=p.py", `data-step="2"`)
	events := b.follow(t.Context(), "p.py", "2")
	step := func(number string, texts ...string) {
		t.Helper()
		stamp := events.until("stamp", func(data string) bool { return strings.Contains(data, `"step":`+number+",") })
		for _, text := range texts {
			if !strings.Contains(stamp, text) {
				t.Errorf("step %s: no %s in %s", number, text, stamp)
			}
		}
	}
	s.write("p.py", "# %% a\nx = 1 / 0\n")
	s.do(nil, "run", "p.py")
	step("4", `1 failed`, `step 4\u003c/p`, `id=\"b-a\"`)
	s.write("p.py", "# %% a\nx = 2\n")
	s.done(nil, "run", "p.py")
	step("6", `1 block step 6`)
	s.done(nil, "undo", "p.py", "5")
	step("7", "The last edit has not been run")
	s.done(nil, "undo", "p.py", "3")
	s.done(nil, "undo", "p.py", "1", "--keep-file")
	step("9", `"blocks":[]`, "0 blocks")
}

// TestPageKeepsWhatIsRefused: an edit that is refused says so until there is another step, and its text is not lost.
func TestPageKeepsWhatIsRefused(t *testing.T) {
	t.Parallel()
	s := servedProgram(t)
	b := newBrowser(t, s, true)
	version := func() string {
		page := b.shows("/ui/block?session=p.py&block=data")
		return regexp.MustCompile(`name="version" value="(\w+)"`).FindStringSubmatch(page)[1]
	}
	form := url.Values{"session": {"p.py"}, "block": {"data"}, "version": {version()}, "source": {"rows = ['mine']"}}
	s.write("p.py", strings.Replace(pageProgram, "3]", "4]", 1))
	b.post("/ui/edit", form)
	const why, mine = "has edits that are not recorded", "rows = [&#39;mine&#39;]"
	await.Until(t, "the edit is refused", func() bool {
		_, page := b.get("/ui/program?session=p.py")
		return strings.Contains(page, why)
	})
	b.shows("/ui/program?session=p.py", why, mine)
	s.done(nil, "run", "p.py")
	if page := b.shows("/ui/program?session=p.py", "total 7"); strings.Contains(page, why) {
		t.Error("what was refused is shown after another step")
	}

	// A form without a block or its version would write the whole program anew.
	for _, name := range []string{"block", "version"} {
		form.Set("version", version())
		form.Set("block", "data")
		form.Set(name, "")
		status, page := b.post("/ui/edit", form)
		if status != http.StatusNotFound || !strings.Contains(page, mine) {
			t.Errorf("an edit without a %s: status %d: %s", name, status, page)
		}
	}
	b.shows("/ui/program?session=p.py", "total 7")
}

// TestPageLetsServerEnd: a page that is open keeps no server whose store is damaged, and is not ended by a command of
// another version.
func TestPageLetsServerEnd(t *testing.T) {
	t.Parallel()
	s := servedProgram(t)
	b := newBrowser(t, s, false)
	events := b.follow(t.Context(), "p.py", "2")
	events.until("stamp", func(string) bool { return true })
	if serve.Find(s.server.Pool.Store().State().Dir()).Retire(t.Context()) {
		t.Fatal("another version ended the server")
	}
	s.server.Spent("it is damaged")
	for events.lines.Scan() { // or the test ends by its time
		continue
	}
}

// TestPageOfPast: what leads from a view of the past to one that has only the present does not say that it shows the
// past, and the history marks the step.
func TestPageOfPast(t *testing.T) {
	t.Parallel()
	s := servedProgram(t)
	s.write("p.py", strings.Replace(pageProgram, "3]", "4]", 1))
	s.done(nil, "run", "p.py")
	b := newBrowser(t, s, false)
	page := b.shows("/ui/program?session=p.py&step=3", "after step 3", `"/ui/history?session=p.py&amp;step=3"`,
		`"/ui/agents?session=p.py"`)
	for _, m := range regexp.MustCompile(`<nav.*?</nav>`).FindAllString(page, 1) {
		for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(m, -1) {
			b.shows(html.UnescapeString(link[1]), "<h1>")
		}
	}
	if page = b.shows("/ui/history?session=p.py&step=3"); strings.Count(page, `aria-current="step"`) != 1 {
		t.Errorf("the history does not mark step 3:\n%s", page)
	}
	for _, view := range []string{"plan", "agents", "calls", "failures", "audit"} {
		if page := b.shows("/ui/" + view + "?session=p.py&step=3"); strings.Contains(page, "after step") {
			t.Errorf("%s says that it shows the past", view)
		}
	}
}

// TestPageOfLongOutput: of a long text the beginning and the end are shown, and sent with each change.
func TestPageOfLongOutput(t *testing.T) {
	t.Parallel()
	s := newInServer(t, serve.Options{})
	s.write("p.py", "print('first', 'é' * 1_000_000, 'last')\n")
	s.done(nil, "run", "p.py")
	page := newBrowser(t, s, false).shows("/ui/program?session=p.py", "first é", "é last", "bytes are recorded")
	if len(page) > 300_000 || strings.ContainsRune(page, '\uFFFD') {
		t.Errorf("the page has %d bytes, or broken characters", len(page))
	}
}

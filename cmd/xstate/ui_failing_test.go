package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/internal/serve"
)

// article returns the part of a block in a view of the program.
func article(page, block string) string {
	_, part, _ := strings.Cut(page, `<section id="b-`+block+`"`)
	part, _, _ = strings.Cut(part, "</section>")
	return part
}

// TestPageOfOldFailure: a block that fails as before says at which step it was executed, whichever run was the last.
func TestPageOfOldFailure(t *testing.T) {
	t.Parallel()
	s := newInServer(t, serve.Options{})
	program := "# %% data\nx = 1\n# %% fails\ny = 1 / 0\n# %% total\nprint(y)\n"
	s.write("f.py", program)
	s.do(nil, "run", "f.py") // step 4
	for _, x := range []string{"2", "3"} {
		s.write("f.py", strings.Replace(program, "x = 1", "x = "+x, 1))
		s.do(nil, "run", "f.py") // steps 6 and 8
	}
	b := newBrowser(t, s, false)
	link := regexp.MustCompile(`>(at step \d+)</a>`)
	for path, want := range map[string]string{"": "at step 4", "&step=6": "at step 4", "&step=4": "at step 4"} {
		page := b.shows("/ui/program?session=f.py" + path)
		if got := link.FindStringSubmatch(article(page, "fails")); len(got) != 2 || got[1] != want {
			t.Errorf("fails, %q: %q, want %q:\n%s", path, got, want, article(page, "fails"))
		}
		if got := link.FindString(article(page, "total")); got != "" {
			t.Errorf("total, %q: %s, and it is blocked", path, got)
		}
	}
	s.write("f.py", strings.Replace(program, "1 / 0", "2 / 0", 1))
	s.do(nil, "run", "f.py") // step 11
	page := b.shows("/ui/program?session=f.py")
	if got := link.FindStringSubmatch(article(page, "fails")); len(got) != 2 || got[1] != "at step 11" {
		t.Errorf("fails after another edit: %q, want at step 11", got)
	}
}

// TestPageReasonsOfSource: a block is reached "by its source" through names that its source has. What it read in the
// last whole run counts where its source is the same, or has the name still.
func TestPageReasonsOfSource(t *testing.T) {
	t.Parallel()
	s := newInServer(t, serve.Options{})
	program := "# %% load\nrows = [1]\nextra = 5\n# %% add\ndef add(r):\n    r.append(2)\n# %% more\nadd(rows)\n" +
		"# %% edited\nprint(rows)\n# %% same\nprint(rows, extra)\n# %% calls\ndef show(): print(extra)\n" +
		"# %% shown\nshow()\n# %% named\nprint(len(rows))\n"
	s.write("r.py", program)
	s.done(nil, "run", "r.py") // step 9
	edits := strings.NewReplacer("rows = [1]", "1 / 0\nrows = [1]", "print(rows)\n", "print(7)\n",
		"len(rows)", "rows, 1")
	s.write("r.py", edits.Replace(program))
	s.do(nil, "run", "r.py")
	b := newBrowser(t, s, false)
	chips := func(block string) map[string]string {
		page := b.shows("/ui/block?session=r.py&block=" + block)
		_, page, _ = strings.Cut(page, "<h2>If this changes</h2>")
		page, _, _ = strings.Cut(page, "</ul>")
		found := map[string]string{}
		for _, m := range regexp.MustCompile(`<li><a [^>]*>(\w+)</a>(.*?)</li>`).FindAllStringSubmatch(page, -1) {
			text := regexp.MustCompile(`<span class="time">[^<]*</span>|<[^>]*>`).ReplaceAllString(m[2], "")
			found[m[1]] = strings.Join(strings.Fields(text), " ")
		}
		return found
	}
	want := map[string]string{"load": "", "more": "perhaps, by its source rows",
		"same": "perhaps, by its source extra rows", "shown": "perhaps extra", "named": "perhaps, by its source rows"}
	if d := cmp.Diff(want, chips("load")); d != "" {
		t.Errorf("load reaches (-want +got):\n%s", d)
	}
	const then = "as in the run of step 9 rows"
	want = map[string]string{"more": "", "same": then, "named": then}
	if d := cmp.Diff(want, chips("more")); d != "" {
		t.Errorf("more reaches (-want +got):\n%s", d)
	}
}

// TestPageGraphWhileBlocked: a block that edits a value in place keeps its line to the blocks that read the value while
// it is blocked, unless one of them has another source that does not name it.
func TestPageGraphWhileBlocked(t *testing.T) {
	t.Parallel()
	s := newInServer(t, serve.Options{})
	program := "# %% load\nrows = [1]\n# %% add\ndef add(r):\n    r.append(2)\n# %% more\nadd(rows)\n" +
		"# %% sum\nprint(sum(rows))\n# %% edited\nprint(rows)\n"
	s.write("g.py", program)
	s.done(nil, "run", "g.py") // step 6
	b := newBrowser(t, s, false)
	const line, other = `data-from="more" data-to="sum"`, `data-from="more" data-to="edited"`
	b.shows("/ui/graph?session=g.py", `class="edge symbol solid" `+line, other)
	s.write("g.py", strings.NewReplacer("[1]", "[1 / 0]", "print(rows)", "print(7)").Replace(program))
	s.do(nil, "run", "g.py")
	page := b.shows("/ui/graph?session=g.py", `class="edge symbol dashed" `+line, "symbol, as in the run of step 6",
		"or as in the run of step 6")
	if strings.Contains(page, other) {
		t.Errorf("edited reads no rows any more:\n%s", page)
	}
}

// TestPageSaysWhyOnce: a block that later runs reused has one table of causes, with the step of its run, and the step
// of a run leads to the edits before it.
func TestPageSaysWhyOnce(t *testing.T) {
	t.Parallel()
	s := servedProgram(t)
	program := pageProgram + "# %% last\nlast = 1\n"
	s.write("p.py", program)
	s.done(nil, "run", "p.py") // step 5
	b := newBrowser(t, s, false)
	const causes = "<th>did</th>"
	page := b.shows("/ui/block?session=p.py&block=total",
		`<h2>Why it ran, at <a href="/ui/step?session=p.py&amp;step=3"`)
	if n := strings.Count(page, causes); n != 1 {
		t.Errorf("total has %d tables of causes, want one:\n%s", n, page)
	}
	page = b.shows("/ui/block?session=p.py&block=last", "<h2>Why</h2>")
	if n := strings.Count(page, causes); n != 1 || strings.Contains(page, "Why it ran") {
		t.Errorf("last has %d tables of causes, want one:\n%s", n, page)
	}
	page = b.shows("/ui/step?session=p.py&step=5", "Edits since the run before")
	_, page, _ = strings.Cut(page, "Edits since the run before")
	page, _, _ = strings.Cut(page, "</ul>")
	if strings.Count(page, "<li>") != 1 || !strings.Contains(page, `/ui/step?session=p.py&amp;step=4"`) {
		t.Errorf("the edits of step 5, want step 4 alone:\n%s", page)
	}

	// A failure that a run reused has both: why it is as it is, and why it was executed.
	s.write("p.py", strings.Replace(program, "last = 1", "last = 1 / 0", 1))
	s.do(nil, "run", "p.py") // step 7
	s.write("p.py", strings.NewReplacer("last = 1", "last = 1 / 0", "3]", "4]").Replace(program))
	s.do(nil, "run", "p.py") // step 9
	page = b.shows("/ui/block?session=p.py&block=last", "<h2>Why</h2>", "it failed before", `step=7">step 7</a>`)
	if n := strings.Count(page, causes); n != 2 {
		t.Errorf("last has %d tables of causes, want two:\n%s", n, page)
	}
}

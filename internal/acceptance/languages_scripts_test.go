package acceptance

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner/replay"
)

// TestScripts edits the scripts of a folder at random and judges each run as TestLanguages does. XSTATE_TEST_SCRIPTS
// names the folder, XSTATE_RANDOM_SEED the seed of the edits.
func TestScripts(t *testing.T) {
	folder := os.Getenv("XSTATE_TEST_SCRIPTS")
	if folder == "" {
		t.Skip("set XSTATE_TEST_SCRIPTS to a folder of scripts")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in %s: %v", folder, err)
	}
	seed, _ := strconv.ParseUint(os.Getenv("XSTATE_RANDOM_SEED"), 10, 64)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			playScript(t, "prog"+filepath.Ext(file), string(text), rand.New(rand.NewPCG(seed, 3)))
		})
	}
}

func playScript(t *testing.T, name, text string, r *rand.Rand) {
	o := xstate.SessionOptions{Seed: 7, Workspace: t.TempDir()}
	store := xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName))
	session := xstatetest.OpenSession(t, store, o)
	executed, nodes := 0, 0
	for i, version := range editedScript(text, r) {
		files := map[string][]byte{name: []byte(version)}
		xstatetest.WriteFiles(t, o.Workspace, files)
		if i%3 == 2 {
			session.Close()
			session = xstatetest.OpenSession(t, store, o)
		}
		have := xstatetest.RunFile(t, t.Context(), session, o.Workspace, files, await.Long)
		if i > 0 {
			for _, b := range have.Blocks {
				nodes += len(b.Nodes)
			}
			executed += ranNodes(have)
		}
		have = xstatetest.Blank(have, o.Workspace)
		for _, d := range replay.Compare(have, xstatetest.FromScratch(t, t.Context(), files, o, await.Long)) {
			t.Errorf("version %d: %s (marks: %v)\n%s", i, d, d.Marks, version)
		}
		if what := unlikeAlone(t, files, judgeWhole, have); what != "" {
			t.Errorf("version %d: %s\n%s", i, what, version)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d of %d nodes were executed after edits", executed, nodes)
}

func ranNodes(o *xstate.Outcome) (count int) {
	for _, b := range o.Blocks {
		for _, n := range b.Nodes {
			if executed(n) {
				count++
			}
		}
	}
	return count
}

var (
	digits   = regexp.MustCompile(`\b\d+\b`)
	worded   = regexp.MustCompile(`["'][A-Za-z][A-Za-z ]*["']`)
	oneLiner = regexp.MustCompile(`^[A-Za-z][\w.]*(\(.*\);?| .*;)$`)
)

// editedScript returns a script and what random edits make of it, one after the other.
func editedScript(text string, r *rand.Rand) []string {
	versions := []string{text}
	for range 1000 {
		if len(versions) > 8 {
			break
		}
		last := versions[len(versions)-1]
		lines := strings.SplitAfter(last, "\n")
		i := r.IntN(len(lines))
		switch line := lines[i]; r.IntN(6) {
		case 0, 1:
			lines[i] = changed(r, line, digits, func(string) string { return fmt.Sprint(r.IntN(9)) })
		case 2, 3:
			lines[i] = changed(r, line, worded, func(s string) string { return s[:len(s)-1] + "x" + s[len(s)-1:] })
		case 4:
			if oneLiner.MatchString(strings.TrimSpace(line)) && line == strings.TrimLeft(line, " \t") {
				lines[i] = []string{"", line + line}[r.IntN(2)]
			}
		case 5:
			lines = strings.SplitAfter(versions[r.IntN(len(versions))], "\n")
		}
		if next := strings.Join(lines, ""); next != last {
			versions = append(versions, next)
		}
	}
	return versions
}

// changed changes one of the places of a line that match.
func changed(r *rand.Rand, line string, what *regexp.Regexp, to func(string) string) string {
	places := what.FindAllStringIndex(line, -1)
	if len(places) == 0 {
		return line
	}
	p := places[r.IntN(len(places))]
	return line[:p[0]] + to(line[p[0]:p[1]]) + line[p[1]:]
}

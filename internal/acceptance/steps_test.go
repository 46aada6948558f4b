package acceptance

import (
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/patch/diff"
)

// TestSteps reads a session whose later steps are patches.
func TestSteps(t *testing.T) {
	const session = `-- prog.py --
# %% a
a = 1
a = 1

# %% b
b = 2
-- data.txt --
x
-- step-1/prog.py.patch --
@@
-b = 2
+b = 3
-- step-1/ran --
b
-- step-2/prog.py.patch --
@@
 a = 1

 # %% b
-b = 3
-- step-2/-data.txt --
-- step-3/data.txt --
y
`
	steps, err := xstatetest.StepsOf(txtar.Parse([]byte(session)))
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string][]byte
	for _, s := range steps {
		got = append(got, s.Files)
	}
	want := []map[string][]byte{
		{"prog.py": []byte("# %% a\na = 1\na = 1\n\n# %% b\nb = 2\n"), "data.txt": []byte("x\n")},
		{"prog.py": []byte("# %% a\na = 1\na = 1\n\n# %% b\nb = 3\n")},
		{"prog.py": []byte("# %% a\na = 1\na = 1\n\n# %% b\n"), "data.txt": nil},
		{"data.txt": []byte("y\n")},
	}
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("files of the steps (-want +got):\n%s", d)
	}
}

// TestStepsThatDoNotApply reads sessions with patches that do not say which lines they mean. The error names the
// section, and with it the step.
func TestStepsThatDoNotApply(t *testing.T) {
	const first = "-- prog.py --\na = 1\nb = [\n    2,\n    2,\n]\n"
	for name, c := range map[string]struct{ section, want string }{
		"other text":   {"-- step-3/prog.py.patch --\n@@\n-a = 2\n+a = 3\n", `section "step-3/prog.py.patch": `},
		"twice there":  {"-- step-1/prog.py.patch --\n@@\n-    2,\n", `section "step-1/prog.py.patch": `},
		"other indent": {"-- step-1/prog.py.patch --\n@@\n-b = [\n-  2,\n+b = []\n", "only when compared by indent"},
		"no patch":     {"-- step-1/prog.py.patch --\na = 1\n", `section "step-1/prog.py.patch": `},
		"empty":        {"-- step-1/prog.py.patch --\n", `section "step-1/prog.py.patch": `},
		"other file":   {"-- step-1/other.py.patch --\n@@\n-a\n+b\n", "no step before has other.py"},
		"deleted file": {"-- step-1/-prog.py --\n-- step-2/prog.py.patch --\n@@\n-a = 1\n", "no step before has prog"},
		"earlier step": {"-- step-2/ran --\n-- step-1/prog.py.patch --\n@@\n-a = 1\n", "stands after those of step 2"},
	} {
		if _, err := xstatetest.StepsOf(txtar.Parse([]byte(first + c.section))); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want one with %q", name, err, c.want)
		}
	}
}

// maxRepeated is the highest share of the lines of all sessions that may repeat the same file of the step before.
// Where a step changes a small part of a file, it holds a patch.
const maxRepeated = 0.02

func TestSessionsDoNotRepeatThemselves(t *testing.T) {
	lines, repeated := 0, 0
	for _, pattern := range []string{"../../testdata/*/*.txtar", "../../testdata/tests/*.txt"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no sessions in %s: %v", pattern, err)
		}
		for _, file := range files {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines += strings.Count(string(txtar.Format(archive)), "\n")
			before := map[string]string{}
			for _, f := range archive.Files {
				name := f.Name
				if rest, ok := strings.CutPrefix(name, "step-"); ok {
					_, name, _ = strings.Cut(rest, "/")
				}
				if ext := filepath.Ext(name); ext == "" || ext == ".patch" {
					continue // what ran, or a patch
				}
				text := string(f.Data)
				if old, ok := before[name]; ok {
					added, _ := diff.Stat(old, text)
					repeated += strings.Count(text, "\n") - added
				}
				before[name] = text
			}
		}
	}
	t.Logf("%d lines, of which %d repeat the step before", lines, repeated)
	if share := float64(repeated) / float64(lines); share > maxRepeated {
		t.Errorf(
			"%.1f%% of the lines of the sessions repeat the step before, want at most %.0f%%",
			100*share,
			100*maxRepeated,
		)
	}
}

package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
)

// A new interpreter imports a library only for the nodes that need it, and as the program did.
func TestImportsOfNewInterpreter(t *testing.T) {
	const noted = "import os\nopen(os.environ['NOTES'], 'a').write(__name__ + ' ')\n"
	libraries := map[string][]byte{
		"site-packages/setter/__init__.py": []byte(noted + `
SAW = os.environ.get("SETTER_MODE")
os.environ.setdefault("SETTER_MODE", "set")
class Thing:
    pass
`),
		"site-packages/outer/__init__.py": []byte(noted + "import setter\nSAW = setter.SAW\n"),
		"site-packages/opener/__init__.py": []byte(noted + "from importlib import metadata\n" +
			"PLUGINS = [p.name for p in metadata.entry_points(group='opener')]\n"),
		"site-packages/hooker/__init__.py": []byte(noted + "import copyreg, pickle\n" +
			"class Special: pass\npickle._Pickler.dispatch[Special] = print\n"),
	}
	type step struct {
		name       string
		old, text  string // the edit
		file       string // a new file
		ran, notes string
	}
	for _, test := range []struct {
		name, program string
		steps         []step
	}{
		{
			"variable",
			"# %% a\nimport setter\n\n# %% b\nthing = setter.Thing()\n\n# %% c\nprint(type(thing), setter.SAW)\n\n" +
				"# %% d\nimport os\nprint(os.environ['SETTER_MODE'])\n\n# %% e\nimport outer\nprint(outer.SAW)\n",
			[]step{
				{name: "first", ran: "a b c d e", notes: "setter outer"},
				{name: "other", old: "E']", text: "E'] + '!'", ran: "d"},
				{name: "use", old: "SAW)", text: "SAW, 1)", ran: "c", notes: "setter"},
				{name: "nested", old: "outer.SAW", text: "outer.SAW, 2", ran: "e", notes: "outer setter"},
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, notes := t.TempDir(), filepath.Join(t.TempDir(), "notes")
			options := xstate.SessionOptions{
				Workspace: dir,
				Python:    xstatetest.Pythons()[0],
				Environ:   append(os.Environ(), "NOTES="+notes, "PYTHONPATH="+filepath.Join(dir, "site-packages")),
			}
			xstatetest.WriteFiles(t, dir, libraries)
			// Without templates: each interpreter starts by itself.
			store, err := xstate.Open(t.Context(), filepath.Join(dir, xstate.StoreName), xstate.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			for _, s := range test.steps {
				test.program = strings.Replace(test.program, s.old, s.text, 1)
				if s.file != "" {
					xstatetest.WriteFiles(t, dir, map[string][]byte{s.file: nil})
				}
				session := xstatetest.OpenSession(t, store, options)
				out := runText(t, t.Context(), session, test.program, nil)
				session.Close()
				imported, _ := os.ReadFile(notes)
				os.Remove(notes)
				got := []string{strings.Join(xstatetest.RanBlocks(out), " "), strings.TrimSpace(string(imported))}
				if d := gocmp.Diff([]string{s.ran, s.notes}, got); d != "" {
					t.Errorf("%s: blocks that ran, libraries imported (-want +got):\n%s", s.name, d)
				}
			}
		})
	}
}

package patch

import (
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// TestNameStays: a block lost its name once it no longer defined the function that is called so.
func TestNameStays(t *testing.T) {
	cell := `{"cell_type": "code", "id": "c1", "metadata": {"name": "clean"}, "execution_count": null, ` +
		`"outputs": [], "source": "def clean(x):\n    return x"}`
	notebook := `{"cells": [` + cell + `], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`
	unnamed := strings.Replace(notebook, `{"name": "clean"}`, "{}", 1)
	diff := "--- a/FILE\n+++ b/FILE\n@@\n-def clean(x):\n-    return x\n+clean = abs\n"
	for _, c := range []struct{ name, file, patch, want string }{
		{"p.py", "# %% clean\ndef clean(x):\n    return x\n", "# %% clean\nclean = abs\n", "# %% clean\nclean = abs\n"},
		{"p.py", "# %% clean\nclass clean:\n    x = 1\n", "# %% clean\nclean = abs\n", "# %% clean\nclean = abs\n"},
		{"p.py", "# %% clean\ndef clean(x):\n    return x\n", "# %% clean\ndef wash(x):\n    return x\n",
			"# %% clean\ndef wash(x):\n    return x\n"},
		{"p.py", "# %% clean\ndef clean(x):\n    return x\n", diff, "# %% clean\nclean = abs\n"},
		{"p.py", "# %% clean\ndef clean(x):\n    return x\n", `{"cell_id": "clean", "new_source": "clean = abs"}`,
			"# %% clean\nclean = abs\n"},
		{"p.py", "# %%\ndef clean(x):\n    return x\n", "# %% clean\nclean = abs\n", "# %% clean\nclean = abs\n"},
		{"p.py", "# %%\ndef clean(x):\n    return x\n", diff, "# %%\nclean = abs\n"},
		{"p.ts", "// %% clean\nfunction clean() { return 1; }\n", "// %% clean\nconst clean = 1;\n",
			"// %% clean\nconst clean = 1;\n"},
		{"p.sh", "# %% clean\nclean() { true; }\n", "# %% clean\nclean=1\n", "# %% clean\nclean=1\n"},
		{"p.md", "```python name=clean\ndef clean(x):\n    return x\n```\n", "# %% clean\nclean = abs\n",
			"```python name=clean\nclean = abs\n```\n"},
		{"p.md", "```python\ndef clean(x):\n    return x\n```\n", "# %% clean\nclean = abs\n",
			"```python name=clean\nclean = abs\n```\n"},
		{"p.ipynb", notebook, "# %% clean\nclean = abs\n", `{"name": "clean"}`},
		{"p.ipynb", notebook, `{"cell_id": "c1", "new_source": "clean = abs"}`, `{"name": "clean"}`},
		{"p.ipynb", unnamed, "# %% clean\nclean = abs\n", `"name": "clean"`},
	} {
		r, err := revised(t, c.name, c.file, strings.ReplaceAll(c.patch, "FILE", c.name))
		if err != nil || !strings.Contains(string(r.Text), c.want) {
			t.Errorf("%s by %s: %v, %s; want %s", c.file, c.patch, err, textOf(r), c.want)
		}
	}
	p, _, err := ReadSubmission("# %% clean\nclean = abs", "")
	if err != nil {
		t.Fatal(err)
	}
	no := func(string) bool { return false }
	r, err := Revise(p, Subject{Submitted: &Submitted{Overtaken: no, Consumed: no},
		Blocks: []Block{{ID: "clean", Title: "clean", Dialect: syntax.Python, Source: "def clean(x):\n    return x"}}})
	if err != nil || r.Blocks[0].Title != "clean" {
		t.Errorf("%+v, %v; want the name to stay in a session without a file", r, err)
	}
}

func textOf(r *Revision) string {
	if r == nil {
		return ""
	}
	return string(r.Text)
}

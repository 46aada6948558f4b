package provenance_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state/provenance"
)

// exportedProgram puts out whatever a block can put out.
const exportedProgram = `# %% first things
import sys, base64
print("one\ntwo"); print("oops", file=sys.stderr)
# %% name/with odd:characters
class Rich:
    def _repr_html_(self): return "<b>rich</b>"
    def _repr_png_(self): return base64.b64decode("iVBORw0KGgo=")
    def __repr__(self): return "# %% plain\n` + "```" + `"
Rich()
# %%
def scale(x):
    return 2 * x
# %% failing
scale(1) / 0
# %% blocked
y = [r for r in open("data.csv")]
# %% literal
"no newline: %s <&>" % scale(4)
`

func exported(t *testing.T) *xstatetest.Asked {
	t.Helper()
	return xstatetest.NewAsked(t, exportedProgram, strings.Replace(exportedProgram, "2 * x", "3 * x", 1))
}

// TestExport: a program that is exported reads as the program, at any step, with what it put out then.
func TestExport(t *testing.T) {
	a := exported(t)
	for i, n := range a.Runs {
		for format, name := range map[provenance.Format]string{provenance.FormatScript: "p.py",
			provenance.FormatMarkdown: "p.md", provenance.FormatNotebook: "p.ipynb"} {
			data, err := provenance.Export(t.Context(), a.Session.History(), n, format, provenance.ExportOptions{})
			if err != nil {
				t.Fatalf("Export(%s): %v", format, err)
			}
			again, err := provenance.Export(t.Context(), a.Session.History(), n, format, provenance.ExportOptions{})
			if err != nil || !bytes.Equal(data, again) {
				t.Errorf("Export(%s) twice is not the same: %v", format, err)
			}
			p, err := patch.Parse(name, data)
			if err != nil {
				t.Fatalf("the exported %s: %v\n%s", format, err, data)
			}
			blocks, err := a.Session.History().ProgramAt(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			var want, got []string
			for _, b := range blocks {
				want = append(want, b.Title+": "+b.Source)
			}
			for _, b := range p.Blocks {
				got = append(got, b.Title+": "+b.Source)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("the exported %s (-program +read):\n%s", format, d)
			}
			for _, text := range []string{"oops", "ZeroDivisionError", "plain",
				map[int]string{0: "no newline: 8 <&>", 1: "no newline: 12 <&>"}[i]} {
				if !strings.Contains(string(data), text) {
					t.Errorf("the exported %s of step %d lacks %q:\n%s", format, n, text, data)
				}
			}
			bare, err := provenance.Export(
				t.Context(),
				a.Session.History(),
				n,
				format,
				provenance.ExportOptions{NoOutputs: true},
			)
			if err != nil || strings.Contains(string(bare), "ZeroDivisionError") {
				t.Errorf("Export(%s) without outputs: %v\n%s", format, err, bare)
			}
		}
	}
	if _, err := provenance.Export(t.Context(), a.Session.History(), a.Runs[0], "docx",
		provenance.ExportOptions{}); err == nil {
		t.Error("a program was exported as docx")
	}
}

func valid(t *testing.T, schema string, data []byte) any {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile(xstatetest.Testdata("schema", schema))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(doc); err != nil {
		t.Errorf("%s: %v\n%s", schema, err, data)
	}
	return doc
}

// TestNotebookIsValid: the notebook is what nbformat 4.5 says, whatever the blocks are called and put out.
func TestNotebookIsValid(t *testing.T) {
	a := exported(t)
	data, err := provenance.Export(
		t.Context(),
		a.Session.History(),
		a.Runs[1],
		provenance.FormatNotebook,
		provenance.ExportOptions{},
	)
	if err != nil {
		t.Fatal(err)
	}
	valid(t, "notebook.json", data)
	keep(t, "book.ipynb", data)
	var book struct {
		Cells []struct {
			ID      string
			Outputs []map[string]any
		}
	}
	if err := json.Unmarshal(data, &book); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var kinds []string
	for _, c := range book.Cells {
		if seen[c.ID] {
			t.Errorf("the id %s is there twice", c.ID)
		}
		seen[c.ID] = true
		for _, o := range c.Outputs {
			kinds = append(kinds, o["output_type"].(string))
		}
	}
	if d := cmp.Diff([]string{"stream", "stream", "execute_result", "error", "execute_result"}, kinds); d != "" {
		t.Errorf("outputs (-want +got):\n%s", d)
	}
}

// keep writes what a test made into $XSTATE_TEST_KEEP, to be looked at with the tools of those who know the formats.
func keep(t *testing.T, name string, data []byte) {
	t.Helper()
	if dir := os.Getenv("XSTATE_TEST_KEEP"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPROV: the document is valid PROV-JSON, its relations hold between what is in it, and tell how a value came about.
func TestPROV(t *testing.T) {
	a := xstatetest.NewAsked(t, xstatetest.AskedFirst, xstatetest.AskedSecond)
	data, err := provenance.Export(
		t.Context(),
		a.Session.History(),
		a.Runs[1],
		provenance.FormatPROV,
		provenance.ExportOptions{},
	)
	if err != nil {
		t.Fatal(err)
	}
	doc := valid(t, "prov.json", data).(map[string]any)
	keep(t, "prov.json", data)
	section := func(name string) map[string]any { s, _ := doc[name].(map[string]any); return s }
	known := map[string]string{}
	for _, kind := range []string{"entity", "activity", "agent"} {
		for id := range section(kind) {
			known[id] = kind
		}
	}
	ends := map[string]string{
		"prov:entity":          "entity",
		"prov:activity":        "activity",
		"prov:agent":           "agent",
		"prov:usedEntity":      "entity",
		"prov:generatedEntity": "entity",
		"prov:informed":        "activity",
		"prov:informant":       "activity",
		"prov:delegate":        "agent",
		"prov:responsible":     "agent",
	}
	count := 0
	for _, relation := range []string{"wasGeneratedBy", "used", "wasInformedBy", "wasDerivedFrom",
		"wasAttributedTo", "wasAssociatedWith"} {
		if len(section(relation)) == 0 {
			t.Errorf("there is no %s", relation)
		}
		for id, row := range section(relation) {
			for name, value := range row.(map[string]any) {
				if want, ok := ends[name]; ok && known[value.(string)] != want {
					t.Errorf("%s %s: %s is %v, which is no %s of the document", relation, id, name, value, want)
				}
				count++
			}
		}
	}
	label := func(id string) string {
		for _, kind := range []string{"entity", "activity"} {
			if row, ok := section(kind)[id].(map[string]any); ok {
				return row["prov:label"].(string)
			}
		}
		return ""
	}
	used := map[string]bool{}
	for _, row := range section("used") {
		r := row.(map[string]any)
		used[label(r["prov:activity"].(string))+" used "+label(r["prov:entity"].(string))] = true
	}
	for _, want := range []string{"load used file:data.csv", "scaled used var:scale", "scaled used var:rows",
		"report used var:scaled", "report used report"} {
		if !used[want] {
			t.Errorf("it does not say that %s; it says %v", want, used)
		}
	}
}

// TestSchemasReject: the schemas tell what is not valid.
func TestSchemasReject(t *testing.T) {
	for schema, bad := range map[string][]string{
		"prov.json": {`{"entity": {"no-prefix": {}}}`, `{"used": {"_:u": {"prov:entity": "xs:e"}}}`,
			`{"wasMadeBy": {}}`,
			`{"activity": {"xs:a": {"prov:startTime": "yesterday"}}}`,
			`{"entity": {"xs:e": {"xs:x": {"type": "xsd:int"}}}}`},
		"notebook.json": {`{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}`,
			`{"cells": [{"cell_type": "code", "id": "a b", "metadata": {}, "source": [], "outputs": [], ` +
				`"execution_count": null}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`,
			`{"cells": [{"cell_type": "code", "id": "a", "metadata": {}, "source": [], ` +
				`"outputs": [{"output_type": "stream", "text": "x"}], "execution_count": null}], ` +
				`"metadata": {}, "nbformat": 4, "nbformat_minor": 5}`},
	} {
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		s, err := c.Compile(xstatetest.Testdata("schema", schema))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range bad {
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if s.Validate(doc) == nil {
				t.Errorf("%s takes %s", schema, text)
			}
		}
	}
}

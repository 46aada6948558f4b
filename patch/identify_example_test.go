package patch

import (
	"testing"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// TestDecide checks which block a rewritten text replaces in a small program.
func TestDecide(t *testing.T) {
	program := []Block{
		{ID: "setup", Source: "import pandas as pd\nimport numpy as np"},
		{ID: "load", Source: "frame = pd.read_csv(\"data.csv\")\nframe = frame.dropna()\nprint(frame.shape)"},
		{ID: "clean", Source: "def clean(frame):\n    frame = frame.copy()\n    return frame[frame.weight > 0]"},
		{ID: "fit", Source: "cleaned = clean(frame)\nslope, offset = np.polyfit(cleaned.height, cleaned.weight, " +
			"1)\nprint(slope, offset)"},
		{ID: "plot", Source: "import matplotlib.pyplot as plt\nplt.scatter(cleaned.height, " +
			"cleaned.weight)\nplt.xlabel(\"height\")\nplt.show()"},
	}
	for name, x := range map[string]struct {
		text, failed, want string
		by                 By
	}{
		"as it is": {program[3].Source, "", "fit", ByContent},
		"a function rewritten": {"def clean(rows):\n    keep = rows.weight.between(1, 500)\n    return " +
			"rows.loc[keep].reset_index()", "", "clean", ByDefinition},
		"a line changed": {"frame = pd.read_csv(\"data.csv\", sep=\";\")\nframe = " +
			"frame.dropna()\nprint(frame.shape)", "", "load", BySimilarity},
		"a line more": {"import matplotlib.pyplot as plt\nplt.scatter(cleaned.height, " +
			"cleaned.weight)\nplt.xlabel(\"height\")\nplt.ylabel(\"weight\")\nplt.show()", "", "plot", BySimilarity},
		"an answer": {"cleaned = clean(frame).astype(float)\nslope, offset = " +
			"np.linalg.lstsq(cleaned[[\"height\"]], cleaned.weight)[0]\nprint(slope)", "fit", "fit", BySimilarity},
		"something else": {"import json\nwith open(\"out.json\", \"w\") as f:\n    " +
			"json.dump({\"slope\": slope}, f)", "", "", ByNothing},
		"something else, though one failed": {"print(sorted(frame.columns))", "fit", "", ByNothing},
		"what needs a function is not that": {"print(clean(frame).head())", "clean", "", ByNothing},
		"another function": {"def scale(frame):\n    frame = frame.copy()\n    return frame[frame.weight " +
			"> 0]", "", "", ByNothing},
	} {
		d := newDecider().decide(program, code{syntax.Of(syntax.Python), x.text}, map[string]bool{x.failed: true}, nil)
		if d.Block != x.want || d.By != x.by {
			t.Errorf("%s: %+v, want %q by %s", name, d, x.want, x.by)
		}
		if d.Score < 0 || d.Score > 1 || d.RunnerUpScore > d.Score {
			t.Errorf("%s: scores of %+v", name, d)
		}
	}
	if d := newDecider().decide(program, program[3].code(), nil, map[string]bool{"fit": true}); d.Block == "fit" {
		t.Errorf("a block that was taken already: %+v", d)
	}
}

package python

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	source "github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/state"
)

var update = flag.Bool("update", false, "refresh testdata/semantics.golden")

// documentation is a string that is a statement of its own, where a text or a block begins, in the tokens of a text.
var documentation = regexp.MustCompile(`(^|\x02\x00)[rRuU]?["'][^\x00]*\x00(\x01\x00|$)`)

// codeOf returns the tokens of a Python text without strings that document. Comments and layout are no tokens.
func codeOf(text []byte) (string, error) {
	facts, err := source.Analyze(text, source.Plain)
	if err != nil {
		return "", err
	}
	return documentation.ReplaceAllString(facts.Tokens(), "$1"), nil
}

// TestSemantics makes whoever changes the driver's code decide whether its observations change. Keys hold the constant
// Semantics alone: if a changed driver observed otherwise under the same version, the results of the driver before would be
// reused where they are wrong. The golden holds the version, and a digest of the driver's code.
func TestSemantics(t *testing.T) {
	var code strings.Builder
	for _, f := range driverFiles() {
		tokens, err := codeOf(f.text)
		if err != nil {
			t.Fatalf("%s: %v", f.path, err)
		}
		fmt.Fprintf(&code, "%s %q\n", f.path, tokens)
	}
	if code.Len() == 0 {
		t.Fatal("the driver has no files")
	}
	now := fmt.Sprintf("semantics %d\ncode %s\n", Semantics, state.DigestOf([]byte(code.String())))
	golden := filepath.Join("testdata", "semantics.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if now == string(want) {
		return
	}
	if !strings.HasPrefix(string(want), fmt.Sprintf("semantics %d\n", Semantics)) {
		t.Fatal("Semantics is not the version of the golden: refresh the golden with -update")
	}
	t.Error(
		"what the kernel observes may have changed: raise Semantics, or, if the change cannot alter an observation, " +
			"refresh the golden with -update",
	)
}

// TestCodeOf: an edited comment must not void anybody's results, and an edited statement must be noticed.
func TestCodeOf(t *testing.T) {
	const text = "'''Module.'''\nimport os\n\n\ndef f(x):\n    \"\"\"Doc.\"\"\"\n    return x + 1  # why\n"
	want, err := codeOf([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		old, new string
		same     bool
	}{
		{"# why", "# because", true},
		{"Doc.", "Another.", true},
		{"'''Module.'''\n", "", true},
		{"import os\n\n\n", "import os\n", true},
		{"x + 1", "x + 2", false},
		{"return x + 1", "return 'x'", false},
	} {
		got, err := codeOf([]byte(strings.Replace(text, c.old, c.new, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if (got == want) != c.same {
			t.Errorf("with %q for %q the code is the same: %v, want %v", c.new, c.old, got == want, c.same)
		}
	}
}

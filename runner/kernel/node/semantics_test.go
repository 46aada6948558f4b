package node

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	source "github.com/xstate-engine/xstate/depgraph/javascript"
	"github.com/xstate-engine/xstate/state"
)

var update = flag.Bool("update", false, "refresh testdata/semantics.golden")

// TestSemantics makes whoever changes the driver's code decide whether its observations change. Keys hold the constant
// Semantics alone: if a changed driver observed otherwise under the same version, the results of the driver before
// would be reused where they are wrong. The golden holds the version, and a digest of the driver's code.
func TestSemantics(t *testing.T) {
	var code strings.Builder
	for _, f := range driverFiles() {
		facts, err := source.Analyze(f.text, source.JavaScript)
		if err != nil {
			t.Fatalf("%s: %v", f.name, err)
		}
		fmt.Fprintf(&code, "%s %q\n", f.name, facts.Tokens())
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
	if now != string(want) {
		t.Error("what the kernel observes may have changed: raise Semantics, or, if the change cannot alter an " +
			"observation, refresh the golden with -update")
	}
}

package bash

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	source "github.com/xstate-engine/xstate/depgraph/bash"
	"github.com/xstate-engine/xstate/state"
)

var update = flag.Bool("update", false, "refresh testdata/semantics.golden")

// TestSemantics makes whoever changes the driver's code decide whether its observations change, see package node.
func TestSemantics(t *testing.T) {
	facts, err := source.Analyze([]byte(driver), source.Bash)
	if err != nil {
		t.Fatal(err)
	}
	now := fmt.Sprintf("semantics %d\ncode %s\n", Semantics, state.DigestOf([]byte(facts.Tokens())))
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

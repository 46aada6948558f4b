package serve

import (
	"os"
	"testing"
)

// TestBuild finds the identifier that the linker put into this test.
func TestBuild(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if id := linkerID(path); len(id) < 20 {
		t.Errorf("linkerID = %q, want an identifier", id)
	}
}

package xstatetest

import (
	"fmt"
	"os"
	"testing"
)

// Report adds a text to the file that XSTATE_TEST_REPORT names. go test does not show what tests that pass print.
func Report(t *testing.T, text string) {
	t.Helper()
	path := os.Getenv("XSTATE_TEST_REPORT")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	fmt.Fprintln(f, text)
}

package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Folder returns the folder NAME of XSTATE_TEST_CLIENTS, which .ci/clients makes. Without the variable the test is
// skipped. A folder that is missing fails it, unless it is one that npm makes and there is no npm.
func Folder(t *testing.T, name string) string {
	t.Helper()
	clients := os.Getenv("XSTATE_TEST_CLIENTS")
	if clients == "" {
		t.Skip("XSTATE_TEST_CLIENTS names no folder; .ci/clients makes one")
	}
	folder := filepath.Join(clients, name)
	if _, err := os.Stat(folder); err != nil {
		if _, none := exec.LookPath("npm"); none != nil && strings.HasPrefix(name, "npm-") {
			t.Skip(none)
		}
		t.Fatalf("%v; .ci/clients makes it", err)
	}
	return folder
}

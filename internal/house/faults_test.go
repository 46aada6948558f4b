package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	patchedFile = regexp.MustCompile(`(?m)^--- a/(.*)$`)
	hunkStart   = regexp.MustCompile(`(?m)^@@ .*$`)
)

// TestFaultsApply: each fault that make faults plants has a place in the present sources. Else it would plant none.
func TestFaultsApply(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(root, "testdata/faults/*.patch"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d faults, %v", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files := patchedFile.FindAllStringSubmatch(string(text), -1)
		if len(files) != 1 {
			t.Errorf("%s changes %d files, want 1", name, len(files))
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, files[0][1]))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, hunk := range hunkStart.Split(string(text), -1)[1:] {
			if old := oldText(hunk); !strings.Contains(string(source), old) {
				t.Errorf("%s: %s does not hold\n%s", name, files[0][1], old)
			}
		}
	}
}

// oldText returns what a hunk of a unified diff takes the file to hold.
func oldText(hunk string) string {
	var old strings.Builder
	for line := range strings.Lines(strings.TrimPrefix(hunk, "\n")) {
		if line[0] == ' ' || line[0] == '-' {
			old.WriteString(line[1:])
		}
	}
	return old.String()
}

package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestRecordWith: a process that was killed after a patch was recorded, and before the file held it, left the file as
// an edit that took the patch back. So the file comes first, and is put back when nothing can be recorded.
func TestRecordWith(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.py")
	holds := func(want string) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil && want != "" || string(data) != want {
			t.Errorf("the file holds %q, %v; want %q", data, err, want)
		}
	}
	refused := errors.New("refused")
	write := func(text string, bad error) {
		t.Helper()
		_, err := recordWith(path, []byte(text), func() (int, error) {
			holds(text)
			return 1, bad
		})
		if !errors.Is(err, bad) {
			t.Errorf("recordWith = %v, want %v", err, bad)
		}
	}
	write("x = 1", refused)
	holds("")
	write("x = 1", nil)
	holds("x = 1")
	write("x = 2", refused)
	holds("x = 1")
}

package state

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestStorePrivate: a store is this user's alone, whatever the umask is, and one that others may read becomes so when
// it is opened. A program's files in private folders keep their permissions.
func TestStorePrivate(t *testing.T) {
	dir := storeDir(t)
	s := checkedOpen(t, dir, Options{})
	file := filepath.Join(t.TempDir(), "secret")
	write(t, file, noise(1, 50_000))
	if _, err := s.PutBase(opened(t, file)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutBlob(noise(2, 50_000)); err != nil {
		t.Fatal(err)
	}
	checkClose(t, s)
	expectPrivate(t, dir)
	mine := filepath.Join(dir, privateFolder, "view", "file")
	if err := os.MkdirAll(filepath.Dir(mine), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, mine, nil)
	for _, all := range []bool{true, false} { // as an earlier version made it; and a history that was copied there
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if all && err == nil {
				err = os.Chmod(path, 0o755)
			}
			return err
		})
		if err := os.Chmod(filepath.Join(dir, historyFile), 0o666); err != nil {
			t.Fatal(err)
		}
		checkClose(t, checkedOpen(t, dir, Options{}))
		expectPrivate(t, dir)
	}
	if info, err := os.Stat(mine); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the file of a private folder has permissions %v, %v, want those of the program", info.Mode(), err)
	}
}

func expectPrivate(t *testing.T, dir string) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == filepath.Join(dir, privateFolder) {
			return fs.SkipDir
		}
		info, err := e.Info()
		if seen++; err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has permissions %v, want none for others", path, info.Mode())
		}
		return err
	})
	if err != nil || seen < 8 {
		t.Errorf("looked at %d files: %v", seen, err)
	}
}

package beneath

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWithAccess reads and removes files as an ordinary user, whom permissions hold back.
func TestWithAccess(t *testing.T) {
	const user = 65534
	folder := t.TempDir()
	locked, file := filepath.Join(folder, "locked"), filepath.Join(folder, "file")
	inside := filepath.Join(locked, "x")
	for _, err := range []error{
		os.Mkdir(locked, 0o755), os.WriteFile(inside, nil, 0o644), os.WriteFile(file, []byte("text"), 0o644),
		os.Chmod(locked, 0o555), os.Chmod(file, 0),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() == 0 { // of this thread alone, which ends with the test
		if err := os.Chmod(filepath.Dir(folder), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{locked, inside, file} {
			if err := os.Chown(p, user, user); err != nil {
				t.Fatal(err)
			}
		}
		runtime.LockOSThread()
		if err := unix.Setfsuid(user); err != nil {
			t.Fatal(err)
		}
		defer unix.Setfsuid(0)
	}
	if _, err := os.ReadFile(file); err == nil {
		t.Fatal("the file can be read as it is")
	}
	in, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	err = in.WithAccess("file", func() (err error) { text, err = in.ReadFile("file"); return err })
	if err != nil || string(text) != "text" {
		t.Errorf("the file: %q, %v", text, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0 {
		t.Errorf("permissions of the file: %v, %v", info.Mode(), err)
	}
	if err := os.Remove(inside); err == nil {
		t.Fatal("the file in the folder can be removed as it is")
	}
	if err := in.WithAccess("locked/x", func() error { return in.Remove("locked/x") }); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(locked); err != nil || info.Mode().Perm() != 0o555 {
		t.Errorf("permissions of the folder: %v, %v", info.Mode(), err)
	}
}

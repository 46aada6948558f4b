package remote

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/state"
)

// TestFolderReadOnly reads from a folder as a user who must not write there.
func TestFolderReadOnly(t *testing.T) {
	at := t.TempDir()
	s := openFolder(at)
	defer closeStore(t, s)
	names := testNames(t, 2)
	content, other := testContent(t, "", 100), testContent(t, "other", 100)
	putBlob(t, s, content)
	putRecord(t, s, names[0], []byte("record"), refOf(content))
	withoutRights(t, at)
	if got := oneRecord(t, s, names[0]); string(got) != "record" {
		t.Errorf("the record is %q", got)
	}
	if err := readAll(await.Context(t), s, nil, []state.BlobRef{refOf(content)}); err != nil {
		t.Error(err)
	}
	if err := s.PutBlob(await.Context(t), refOf(other), bytes.NewReader(other)); !errors.Is(err, ErrReadOnly) {
		t.Errorf("PutBlob: %v, want %v", err, ErrReadOnly)
	}
	if err := s.PutRecord(await.Context(t), names[1], []byte("new"), nil); !errors.Is(err, ErrReadOnly) {
		t.Errorf("PutRecord: %v, want %v", err, ErrReadOnly)
	}
	putBlob(t, s, content) // it is there
}

// withoutRights takes the right to write away from all below a folder, and from this test: root would keep it.
func withoutRights(t *testing.T, at string) {
	var folders []string
	err := filepath.WalkDir(at, func(name string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			folders = append(folders, name)
			err = os.Chmod(name, 0o555)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // the user is one of this thread, which ends with the test
	if os.Getuid() == 0 {
		if err := unix.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if os.Getuid() == 0 {
			unix.Setfsuid(0) // it does not fail
		}
		for _, name := range folders {
			os.Chmod(name, 0o755) // so that they can be removed
		}
	})
}

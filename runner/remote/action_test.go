package remote

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	reapi "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/state"
)

func textInput(path, text string) Input {
	return Input{path, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

// TestAction has a worker get what a caller has put.
func TestAction(t *testing.T) {
	folder := t.TempDir()
	task := &Task{Session: "s", Seed: 7, At: 1, Program: []TaskBlock{{ID: "a", Source: "x = 1"}}}
	ref, err := newMachine(t, 1, openFolder(folder)).PutAction(await.Context(t), &Action{Task: task,
		Inputs: []Input{textInput("data.txt", "1\n"), textInput("lib/deep/m.py", "y = 2\n"),
			textInput("lib/e.py", "")},
		Platform: map[string]string{"OSFamily": "linux"}})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ParseAction(ActionName(ref)); again != ref || err != nil {
		t.Errorf("ParseAction(ActionName(%v)) = %v, %v", ref, again, err)
	}
	root := t.TempDir()
	if err := newMachine(t, 1, openFolder(folder)).GetAction(await.Context(t), ref, root); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"data.txt": "1\n", "lib/deep/m.py": "y = 2\n", "lib/e.py": ""} {
		if got, err := os.ReadFile(filepath.Join(root, WorkspaceFolder, name)); string(got) != want || err != nil {
			t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
		}
	}
	got, err := ReadTask(root)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(task, got); d != "" {
		t.Errorf("the task (-want +got):\n%s", d)
	}
	if got.Cache != "test" || len(got.Keys) != 1 {
		t.Errorf("the task names the cache %q and %d keys", got.Cache, len(got.Keys))
	}
}

// TestActionWithheld: an input that must not leave the machine keeps the whole action here.
func TestActionWithheld(t *testing.T) {
	for name, action := range map[string]*Action{
		"input": {Task: &Task{}, Inputs: []Input{textInput("a.txt", "the password is sesame")}},
		"task":  {Task: &Task{Program: []TaskBlock{{Source: "password = 'sesame'"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			action.Withheld = func(r io.Reader) (bool, error) {
				content, err := io.ReadAll(r)
				return bytes.Contains(content, []byte("sesame")), err
			}
			_, err := newMachine(t, 1, openFolder(folder)).PutAction(await.Context(t), action)
			if !errors.Is(err, errWithheld) {
				t.Errorf("PutAction: %v, want %v", err, errWithheld)
			}
			if entries, err := os.ReadDir(folder); len(entries) > 0 || err != nil {
				t.Errorf("the cache has %v, %v", entries, err)
			}
		})
	}
}

// TestActionOfOthers: an input root that would write elsewhere, or has what none of ours has, is refused.
func TestActionOfOthers(t *testing.T) {
	empty := contentOf(nil)
	named := func(name string) *reapi.Directory {
		return &reapi.Directory{Files: []*reapi.FileNode{{Name: name, Digest: digestMessage(empty.ref)}}}
	}
	lost := contentOf([]byte("lost"))
	for name, root := range map[string]*reapi.Directory{
		"above":    named("../x"),
		"deeper":   named("a/b"),
		"absolute": named("/tmp/x"),
		"itself":   named("."),
		"unnamed":  named(""),
		"a link":   {Symlinks: []*reapi.SymlinkNode{{Name: "a", Target: "/etc"}}},
		"a folder above": {Directories: []*reapi.DirectoryNode{{Name: "..",
			Digest: digestMessage(contentOf(nil).ref)}}},
		"a lost file": {Files: []*reapi.FileNode{{Name: "a", Digest: digestMessage(lost.ref)}}},
	} {
		t.Run(name, func(t *testing.T) {
			cache := newMachine(t, 1, openFolder(t.TempDir()))
			all := []content{empty}
			put := func(m proto.Message) *reapi.Digest {
				x, err := contentOfMessage(m)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, x)
				return digestMessage(x.ref)
			}
			action := refOfMessage(put(&reapi.Action{InputRootDigest: put(root)}))
			if err := cache.send(await.Context(t), all); err != nil {
				t.Fatal(err)
			}
			above := t.TempDir()
			folder := filepath.Join(above, "root")
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := cache.GetAction(await.Context(t), action, folder); state.CodeOf(err) != CodeNoAction {
				t.Errorf("GetAction: %v, want the code %s", err, CodeNoAction)
			}
			if entries, err := os.ReadDir(above); len(entries) != 1 || err != nil {
				t.Errorf("beside the folder there are %v, %v", entries, err)
			}
		})
	}
}

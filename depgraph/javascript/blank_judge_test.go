package javascript

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
)

// The TypeScript compiler judges Blank: what it makes of each source of some packages, and the blanked source, must be
// the same program. With XSTATE_TEST_ALL=1 it judges three packages, else one.
func TestBlankAgreesWithTypeScript(t *testing.T) {
	folder := judgePackages(t)
	for i, name := range []string{"zod", "rxjs", "effect"} {
		if i == 0 || sampling.All() {
			t.Run(name, func(t *testing.T) { judgeBlank(t, folder, name) })
		}
	}
}

func judgeBlank(t *testing.T, folder, name string) {
	blanked, errs := t.TempDir(), map[string]string{}
	err := filepath.WalkDir(
		filepath.Join(folder, "node_modules", name),
		func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, "ts") || strings.HasSuffix(path, ".d.ts") {
				return err
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			file, err := filepath.Rel(folder, path)
			if err != nil {
				return err
			}
			out, err := Blank(source, TypeScript)
			if err != nil {
				errs[file] = err.Error()
				return nil
			}
			to := filepath.Join(blanked, file)
			if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
				return err
			}
			return os.WriteFile(to, out, 0o666)
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "testdata/blank_facts.cjs", folder, blanked, name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("the judge needs node: ", err)
	}
	dec := json.NewDecoder(bufio.NewReaderSize(out, 1<<20))
	files, more, differ := 0, 0, 0
	for dec.More() {
		var want struct {
			File, Message, Refused string
			Erasable               bool
		}
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		files++
		if !want.Erasable && errs[want.File] != "" {
			more++
			continue
		}
		_, known := allowed[want.File]
		switch {
		case want.Message != "" && !known:
			if differ++; differ < 30 {
				t.Errorf("%s: %s: %s", want.File, want.Message, errs[want.File])
			}
		case want.Message == "" && known:
			t.Errorf("%s: allowed to differ, and does not", want.File)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files, %d with more than types, %d differ", files, more, differ)
}

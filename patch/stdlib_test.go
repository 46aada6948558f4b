package patch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// library returns the Python files of the interpreter's standard library.
func library(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("python3", "-c", "import os; print(os.path.dirname(os.__file__))").Output()
	if err != nil {
		t.Fatalf("ask python3 for its library: %v", err)
	}
	var files []string
	err = filepath.WalkDir(strings.TrimSpace(string(out)), func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && d.Name() == "site-packages" {
			return filepath.SkipDir
		}
		if strings.HasSuffix(p, ".py") {
			files = append(files, p)
		}
		return err
	})
	if err != nil || len(files) < 500 {
		t.Fatalf("found %d files in the standard library, want 500 at least: %v", len(files), err)
	}
	return files
}

// Every file of the standard library (in short mode every fifth) is read and written back byte for byte, except those
// that are not programs.
func TestLibraryComesBack(t *testing.T) {
	refused := map[Code]int{}
	blocks := 0
	for i, f := range library(t) {
		if testing.Short() && i%5 != 0 {
			continue
		}
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse(f, data)
		if pe := (*ParseError)(nil); errors.As(err, &pe) {
			refused[pe.Code]++
			if pe.Code != CodeEmpty && pe.Code != CodeEncoding {
				t.Errorf("Parse(%s) = %v", f, err)
			}
			continue
		}
		blocks += len(p.Blocks)
		if got := p.Bytes(); !bytes.Equal(got, data) {
			t.Errorf("Parse(%s).Bytes() differs from the file", f)
		}
	}
	t.Logf("%d blocks; refused: %v", blocks, refused)
}

// judge parses every file and each of its blocks, and reports where the blocks together are not the file.
const judge = `
import ast, json, sys, warnings
warnings.simplefilter("ignore")
for line in sys.stdin:
    name, blocks = json.loads(line)
    try:
        whole = ast.parse(open(name, "rb").read())
    except (SyntaxError, ValueError):
        continue
    try:
        parts = [s for b in blocks for s in ast.parse(b).body]
    except SyntaxError as e:
        print(name, e)
        continue
    if ast.dump(ast.Module(parts, [])) != ast.dump(whole):
        print(name, "differs")
    print("ok")
`

// The blocks of a file each parse alone, and together they are the program in the file. CPython decides. It takes 5 ms
// a file, so the test gives it every tenth.
func TestLibraryBlocksParse(t *testing.T) {
	var in bytes.Buffer
	asked := 0
	for i, f := range library(t) {
		if i%10 != 0 {
			continue
		}
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse(f, data)
		if err != nil {
			continue
		}
		var sources []string
		for _, b := range p.Blocks {
			sources = append(sources, b.Source)
		}
		if err := json.NewEncoder(&in).Encode([]any{f, sources}); err != nil {
			t.Fatal(err)
		}
		asked++
	}
	cmd := exec.Command("python3", "-c", judge)
	cmd.Stdin = &in
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("python3: %v\n%s", err, out)
	}
	agreed := 0
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if line == "ok" {
			agreed++
			continue
		}
		t.Error(line)
	}
	if agreed < asked*9/10 {
		t.Errorf("CPython judged %d files of %d", agreed, asked)
	}
}

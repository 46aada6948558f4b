package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state"
)

// exampleFolder is where init --example puts the program by default.
const exampleFolder = "xstate-example"

//go:embed example
var example embed.FS

// layOut writes the example into a folder, and returns the names of its files. It overwrites none.
func (c caller) layOut(folder string) (names []string, err error) {
	files, err := example.ReadDir("example")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		path := filepath.Join(folder, f.Name())
		if _, err := os.Lstat(c.path(path)); !errors.Is(err, fs.ErrNotExist) {
			return nil, &state.Error{
				Code:    api.CodeFileExists,
				Message: fmt.Sprintf("the file %s exists already", path),
				Hint:    "name another folder: `xstate init --example DIR`",
			}
		}
		names = append(names, f.Name())
	}
	if err := os.MkdirAll(c.path(folder), 0o777); err != nil {
		return nil, unwritten(folder, err)
	}
	for _, name := range names {
		data, err := example.ReadFile("example/" + name)
		if err != nil {
			return nil, err
		}
		if err := writeFile(filepath.Join(c.path(folder), name), data); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// tellExample says what is there, and what to do first.
func (w *printer) tellExample(folder string, names []string) {
	w.ui.Talk("made %s in %s", strings.Join(names, ", "), folder)
	if folder != "." {
		w.ui.Print("cd %s\n", term.Quoted(folder))
	}
	w.ui.Print("xstate run rides.py                      # runs its seven blocks\n")
	w.ui.Print("xstate patch rides.py edit.diff --run    # an edit, and only what it affects\n")
	w.ui.Print("xstate why report                        # why the last block ran; README.md has more to try\n")
}

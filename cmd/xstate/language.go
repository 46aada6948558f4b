package main

import (
	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/kernel/python"
)

// languageOf returns the name of the language of a dialect; "" where none has it.
func languageOf(dialect string) string {
	e, _ := kernel.Lookup(depgraph.Dialect(dialect)) // else it has no name
	return e.Name
}

// findLanguage reports whether there is an interpreter for a program that has no session yet, by the dialect of its
// first block. It starts none.
func (c caller) findLanguage(dialect, asked, folder string) error {
	e, err := kernel.Lookup(depgraph.Dialect(dialect))
	if err != nil {
		return err
	}
	search := kernel.Search{Folder: folder, Environ: c.environ}
	if e.Name == python.Name && asked != xstate.AnyPython { // the option names an interpreter of Python
		search.Asked = asked
	}
	_, err = e.Locate(search)
	return err
}

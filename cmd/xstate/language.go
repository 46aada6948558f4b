package main

import (
	"cmp"
	"context"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/kernel/python"
)

// languageOf returns the name of the language of a dialect; "" where none has it.
func languageOf(dialect string) string {
	e, _ := kernel.Lookup(cmp.Or(depgraph.Dialect(dialect), kernel.DefaultDialect)) // else it has no name
	return e.Name
}

// findLanguage reports whether there is an interpreter for a program that has no session yet, by the dialect of its
// first block.
func (c caller) findLanguage(ctx context.Context, dialect, asked, folder string) error {
	e, err := kernel.Lookup(cmp.Or(depgraph.Dialect(dialect), kernel.DefaultDialect))
	if err != nil {
		return err
	}
	if e.Name != python.Name { // the option names an interpreter of Python
		_, err = e.Find(ctx, kernel.Search{Folder: folder, Environ: c.environ, Cache: c.tempDir()})
		return err
	}
	if asked == xstate.AnyPython {
		asked = ""
	}
	_, err = python.Find(asked, folder, c.env)
	return err
}

package api

import (
	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/patch"
)

// ProgramKinds are the endings of files that are programs.
var ProgramKinds = patch.Extensions()

// Languages returns the languages in which users may write code, as they name them.
func Languages() (names []string) {
	for _, v := range lang.Offered() {
		names = append(names, string(v.Dialect))
	}
	return names
}

// Language returns the dialect of a language as users name it; ok is false for one that xstate does not run.
func Language(name string) (dialect string, ok bool) { return patch.DialectNamed(name) }

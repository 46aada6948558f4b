package api

import "github.com/xstate-engine/xstate/patch"

// ProgramKinds are the endings of files that are programs.
var ProgramKinds = patch.Extensions()

// Language returns the dialect of a language as users name it; ok is false for one that xstate does not run.
func Language(name string) (dialect string, ok bool) { return patch.DialectNamed(name) }

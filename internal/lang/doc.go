// Package lang is the table of languages: one row a language, with everything that is said about it in words and
// signs. It is the ground of the module: it is pure and imports no other package of it.
//
// # Nouns
//
//   - A [Dialect] is the name of a language, or of a variant of one, as a block has it: "python", "ipython", "esm".
//   - A [Variant] is what is known of a dialect: what fences and users call it, extensions, the program of a line "#!",
//     the kernel and the cell magic of notebooks.
//   - A [Language] is a row: its variants, the sign that begins a comment and so a marker of a cell, and the space of
//     its names in keys. The variants of a language read each other's names; languages hand values over.
//
// # Invariant
//
// Every dialect, extension, name, program, magic and space belongs to one variant or language. [Register] holds that,
// also for the rows of this package. The empty dialect is that of a block that names none, and means [Default]. This is
// decided in [Of] alone, so packages pass dialects on as they are.
//
// # How a language comes in
//
// A row says nothing of what a language does. That has three levels, each a package below which the next one is not
// known: the text that need not parse (patch/syntax), facts about a text that parses (depgraph), and an interpreter
// (runner/kernel). The package of a language at a level registers itself there by the name of its row when the program
// starts. The packages that need the level import it:
//
//	internal/lang/table.go   the row
//	patch/syntax/ruby        statements, names     imported by patch
//	depgraph/ruby            facts                 imported by depgraph/languages
//	runner/kernel/ruby       a kernel              imported by xstate.go
//
// No level lists dialects, extensions or signs, and none asks whether a language is the new one. TestToy of
// internal/lang/toy adds a language of lines from its own folder, and runs a program in it.
//
// # Why the simple ways fail
//
// A list in each package that needs one: there were seven, with different languages in them, and three packages decided
// what no dialect means. A completion did not know .js files, and a block in a language too new for one list was Python
// there.
//
// A table that is passed to each function: whether a text is a program, a fence or a key is asked in some 140 places,
// many of which are exported functions without a receiver, and each of them would have to be given the same table. The
// table is the same in a process from its first line of main to its end. So it is a variable that only init functions
// extend, as those of package image and of database/sql are: it never changes while it is read, and needs no lock. A
// test registers a language in an init function, too, and so for the whole of its process.
//
// A row with functions: a package that knows patch, facts and kernels of a language cannot be below all of them.
//
// # Failures
//
// [Register] panics about a row that lacks something or repeats what another has: that is an error of the program, and
// shows when it starts. The other functions have none: an unknown dialect, name or extension is reported as such, and
// the caller decides. Package patch reads such a text as [Default]; the analysers and the kernels refuse it.
//
// # What it cannot see
//
// Whether a language can be analysed or run in this process: see package depgraph and package kernel. A dialect that
// only the text decides, such as a module of JavaScript in a .js file, or Python with magics, is found in patch.
package lang

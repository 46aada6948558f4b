// Package xstate is the engine that keeps a program as versioned blocks and re-executes only what an edit affects.
//
// There are two nouns. A Store is a directory (.xstate) that holds the histories of sessions, the results that they
// share, and blobs. A Session is one program with its history. Both are opened, used and closed.
//
// A session is edited (Append, Patch, Move, Delete, Load, Edit; Revise and Record for a patch of any format), planned
// and run (Plan, Run, RunIfChanged), explained (Why, Value), reverted or branched (Rollback, Undo, Fork, MergeFile),
// and tested (Test). History answers questions about the record. Three packages take a History or a Subject: package
// artifact assesses named groups of blocks and files, package provenance describes results for others, and package
// replay executes the record again.
//
// # What it promises
//
// After Run, outputs, values and files equal those of a fresh interpreter that executes the whole program from the
// workspace as it was before the program. replay.Verify checks that. Every edit and every run is on disk when the
// method returns. An edit is recorded, not executed, so that several can be made before one run.
//
// An edit names the program that it was made on. If the program has changed since, the session refuses the edit, or
// merges it by lines if the caller allows that, so no update is lost. Going back executes and erases nothing: Rollback
// adds a step, Fork a session. Results are found by content.
//
// # Why the simple ways fail
//
// Running the whole program after each edit repeats its cost and its effects. Running one block again in the live
// interpreter finds the names as later blocks left them, and mutates twice what is mutated in place. Hashing a block's
// text and the texts before it re-runs all that follows a comment. Hashing the names it mentions misses what functions
// read when they are called, files, aliases and random number generators. So the runner observes reads and writes while
// a node executes, compares values by content, and restores together the names that share objects.
//
// # What it cannot see
//
// A node that reads the clock, the network or the randomness of the operating system is marked (BlockOutcome.Marks):
// its recorded result is one of several possible ones. State that native code hides, and assignments to the attributes
// of library modules, are neither observed nor restored. docs/limits.md lists the limits.
package xstate

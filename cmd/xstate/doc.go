// Command xstate runs programs block by block, keeps what each block really depended on, and after an edit runs again
// only what is affected.
//
// A verb finds the store and the session, calls the packages of the engine, and prints the answer. There are five
// nouns: a verb (one a file; verbs.go has them all), an operation (what other doors ask of it; package internal/verb,
// operate.go), a source (the program's file), an outcome (the exit code), and a document (what --json prints; package
// internal/api). A printer words documents for people.
//
// # Promise
//
// Nothing is made if nothing can run: a file that is not a program, or a machine without an interpreter, leaves no
// store behind. Looking (query, log, diff, doctor) opens the store for reading. An error is a stable code, a sentence
// and a hint; its exit code is that of its class (internal/api/class.go). An interrupted run keeps what was finished.
//
// # What it cannot do
//
// Output appears as it comes on a terminal only; elsewhere the results of a run come together, in program order, when
// the run is over. Programs in one folder run one after the other: a command waits for a lock for some seconds, and
// then fails.
package main

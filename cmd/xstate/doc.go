// Command xstate runs programs block by block, keeps what each block really depended on, and after an edit runs again
// only what is affected.
//
// It is thin: a verb finds the store and the session, asks package xstate, and prints the answer. There are four nouns:
// a verb (one a file), a source (the program's file), an outcome (what the exit code tells), and a document (what --json
// prints, versioned; document.go and the structs beside each verb hold them, and the views of package xstate).
//
// # Promise
//
// Nothing is made where nothing can run: a file that is no program, or a machine without an interpreter, leaves no store
// behind. Looking (query, show, log, diff, graph, check) opens the store for reading. An error is a stable code, a
// sentence and a hint; its exit code comes from the table in exit.go. An interrupted run keeps what was finished.
//
// # What it cannot do
//
// One process has a store at a time: a query waits while a run runs, and gives up after some seconds. Output is shown as
// it comes on a terminal only; elsewhere the results of a run come together, in program order, when it is over.
package main

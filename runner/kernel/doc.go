// Package kernel is the border between the engine and the languages of programs. The engine knows this package alone; a
// language is a separate package that implements what is asked for here, see package python.
//
// # Nouns
//
//   - A Language is one implementation of a language on this machine: a value that the engine is given.
//   - A Kernel is an interpreter that lives, with the namespace of one program.
//   - A Node is a piece of program to execute. An Observation is what the kernel saw of its execution.
//   - A Group is names whose values share mutable objects. It is bound, parked, stored and loaded as a whole.
//   - A Process is the operating system's side of a kernel. It and its driver exchange frames: a header in JSON, and
//     bytes.
//
// # Contract
//
// A kernel starts with an empty namespace. Execute runs a node there and reports all that the node read and wrote: a
// result may be reused wherever each read has the digest that it had. A kernel must mark what it cannot observe, or
// report it as read as a whole. Two values have one digest only if no program of the language can distinguish them. A
// value that was stored and loaded has the digest and the sharing that it had, or the kernel says that it has not. The
// first nodes of a program that is executed in another process, from the same state, have equal observations, unless
// they are marked.
//
// A node with End is the end of a script: the kernel runs what the program has left for then, as the interpreter does,
// and reports it as it reports any node. KeyEnd says whether there is something. A kernel that cannot restore what is
// left reports a change of the interpreter (Observation.Modules) wherever it changes.
//
// A Sink gets what a node puts out twice: as it happens, for a viewer, and in an order that does not depend on time,
// for the record.
//
// Package kerneltest checks the contract for any language.
//
// # Failures
//
// A failure of the program is part of the observation. When the interpreter dies a call returns ErrDied, and the caller
// starts another kernel. When ctx ends during a call, the kernel is interrupted; an interpreter that does not answer
// within two seconds is killed. If a driver reports its own fault, the call fails with the driver's traceback.
// Interpreters that do not start are errors of the language. A language that nothing registered is CodeUnknownLanguage.
//
// # Semantics
//
// Results are kept under keys that hold the language's Identity and Semantics, and not the text of its driver. So an
// edit to a comment of a driver invalidates no results. A language has a test that fails until a change of what is
// observed raises the version.
package kernel

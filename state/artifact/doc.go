// Package artifact assesses named groups of blocks and files: code, tests, docs, data.
//
// There are three nouns. A View is an artifact with its Status after a step. A Need is an artifact that another depends
// on, declared or inferred. A Coverage is the part of a block or file that passing checks executed.
//
// # What it promises
//
// No status is stored, so none is out of date, and any step can be assessed. A status is the worst that can be shown:
// by the members, the texts, what is contained and needed, and the checks. Fresh means that nothing speaks against an
// artifact, not that it is right. An artifact declares what it contains or needs, and that never leads back to it.
// Inferred relations may lead back, for two artifacts may read from one another in turns: they are reported and pass
// nothing on.
//
// # Why the simple way fails
//
// A text of docs depends on signatures, not on code. Comparing times or digests, as make would, calls a guide stale for
// every comment. Searching the code for the words of a text finds them in strings. The last writers of the keys that a
// node read are not all that it depends on: the node that made a directory decides what a listing holds.
//
// # What it cannot see
//
// The content of files between steps, and what only a plan checks: packages, the environment, listings. References by
// another name than the program's (an alias of an import), in notebooks, and in code that is indented. For a check in a
// block: which methods of a class it executed. For a check in a file: whether a function is the same once its file
// changed.
package artifact

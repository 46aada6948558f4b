// Package query answers questions about a session from its record, and executes nothing.
//
// There are four nouns. A History is the record of one session, as of any step. A Snapshot is the program after a step,
// with what its last execution read, wrote and put out. Dependencies are the edges between its nodes. A Filter is an
// expression that picks blocks, executions or steps.
//
// # What it promises
//
// An answer about a step is always the same: it is computed from steps and traces, which do not change.
// Answers distinguish what an execution observed from what only the text says.
//
// # Why the simple way fails
//
// The last state of each block answers no question about the past. The author of a line need not be the author of
// the last edit of its block. Blame follows the block back through its edits to the one that wrote the line. A rollback
// or an undo that restores a line did not write it. The cost of an edit is not the time of the next run: Credit charges
// a node that ran to an edit along the recorded reasons.
//
// # What it cannot see
//
// A value is known by its digest and a short description. A trace that was freed leaves only the status of its node.
package query

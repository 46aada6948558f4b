// Package query answers questions about a session from its record, and executes nothing.
//
// There are four nouns. A History is the record of one session, as of any step. A Snapshot is the program after a step,
// with what its last execution read, wrote and put out. Dependencies are the edges between its nodes. A Filter is an
// expression that picks blocks, executions or steps.
//
// # What it promises
//
// An answer about a step is the same whenever it is asked: it is computed from steps and traces, which do not change.
// What an execution observed and what only the text says are told apart, as evidence.
//
// # Why the simple way fails
//
// The last state of each block answers no question about the past. Who wrote a line is not who last edited its block: a
// line has one writer, whom Blame finds by following the block back through its edits, and who brings a line back by a
// rollback or an undo did not write it. The cost of an edit is not the time of the next run: Credit charges a node that
// ran to an edit along the recorded reasons.
//
// # What it cannot see
//
// A value is known by its digest and a short description. A trace that was freed leaves only the status of its node.
package query

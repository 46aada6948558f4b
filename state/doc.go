// Package state keeps what xstate must not forget, the history of programs, and what it would rather not compute again,
// the results of their executions. It is the only place that knows how they are stored.
//
// # Nouns
//
// There are nine. A Store is a directory. It holds Sessions; a session is a program and its history, a chain of Steps. A
// step holds Changes to the program, which is a list of Blocks in order; a block's text is a Source. Beside history lie
// the results: Traces of executions, Values, and Blobs, the bytes that both refer to.
//
// # Promise
//
// A step that Commit has returned is on disk, whatever happens to the process after. A session's steps form a chain: each
// holds the hash of the one before, the first the hash of the session's birth record, so that no step can be changed,
// dropped, inserted or reordered without every later hash, and the head's, becoming another. Results are disposable:
// losing them costs time. What is damaged is never taken for what was written: in results and blobs it is a miss with a
// reason (Notices), in history an error that names the step or the file.
//
// The promise is against accidents and against edits of the file by those who do not know the head's hash. Whoever can
// rewrite the whole file can also write a new chain; to notice that, keep the head's hash (Head) elsewhere.
//
// # Files
//
//	history.db   bbolt; durable: sessions, heads, steps, indexes, sources, records
//	results.db   bbolt; disposable: traces by digest and by code, values, small blobs, memos
//	blobs/       disposable: ab/abcd….zst, large blobs by the SHA-256 of their content
//	holder       locked by the process that has the store open; says which one
//	.gitignore   keeps all of it out of repositories
//
// A record is CBOR in the core deterministic encoding behind a checksum that covers the record's key too. Why the simple
// way, a bbolt file and trust, does not do: bbolt has no checksums beyond its two meta pages. On a flipped bit it panics,
// faults, recurses without end, returns another value, finds nothing, or hands out a page in use for writing over. So
// the pages are inspected before bbolt opens a file (pages.go), transactions run guarded (database.go), and records are
// sealed (codec.go).
//
// # Programs in time
//
// A block's facts are stored once, in the step that changed them. The program after a step is an index: the order of the
// blocks and, for each, the step that has its facts. An index is kept for a step when the steps since the last index have
// grown larger than it would be. So a step costs its changes and an amortised constant more; the program at any step costs
// at most one index, as many bytes of steps again, and the blocks asked for; forking and going back copy nothing.
//
// # Invariants
//
// Check verifies them all; its Problems carry these numbers.
//
//  1. The pages of history.db form trees, nothing is in two of them, and no page in use is in the free list.
//  2. A session has a birth record and a head. One that was forked names an existing session and step, with its hash.
//  3. The steps kept for a session are those after its fork point up to its head, without gaps; nothing is kept for others.
//  4. A step holds the hash of the one before, the head that of the last step; time does not go back.
//  5. The changes of a step are those its header vouches for, and fit the program they apply to.
//  6. The source of every version is there and has the digest it is named by.
//  7. An index equals the steps replayed; there is one exactly for the steps that say so.
//  8. A step's Was and Now, and its blocks' Edited and RanAt, are true.
//  9. Session records are as written.
//  10. In results.db every record is as written and under its own name. A code lists at most 32 traces, all there.
//  11. A file in blobs/ has the content it is named by.
//
// That a trace, value or blob is missing breaks no invariant.
//
// # Failures
//
//	process killed        the transaction in progress never was; pending results are lost
//	machine stops         the same; results.db may be garbled, and is then set aside
//	disk full             disk-full; nothing of the commit was done, and the store goes on
//	results.db damaged    renamed results.db.damaged-N, replaced by an empty one, noticed
//	history.db damaged    store-damaged, at Open for what its pages show, else when a step is read; nothing is written
//	blob damaged          removed, noticed, missing
//	held by another       store-busy after a bounded wait, naming the process
//	directory read-only   store-readonly
//	newer format          store-newer
//
// # What it cannot see
//
// One process has a store open at a time, or several that only read. Damage in a page of a large history.db that nothing
// reads is found by Check, not by Open.
package state

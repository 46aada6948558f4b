// Package state keeps what xstate must not forget, the history of programs, and what it would rather not compute again,
// the results of their executions. It is the only place that knows how they are stored.
//
// # Nouns
//
// There are ten. A Store is a directory. It holds Sessions; a session is a program and its history, a chain of Steps. A
// step holds Changes to the program, which is a list of Blocks in order; a block's text is a Source. Beside history lie
// the results: Traces of executions, Values, and Blobs, the bytes that both refer to. An Artifact is a named group of blocks,
// files and other artifacts, which a step declared.
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
//	bases/       durable: likewise, what files of the workspace held before a program wrote to them
//	*.lock       locked by a process that writes the database of that name, and by one that begins to read it
//	*.sound      disposable: what the pages of the database were when they were last known to be sound
//	locks/       locked by the process that runs a session
//	.gitignore   keeps all of it out of repositories
//
// A record is CBOR in the core deterministic encoding behind a checksum that covers the record's key too. Why the simple
// way, a bbolt file and trust, does not do: bbolt has no checksums beyond its two meta pages. On a flipped bit it panics,
// faults, recurses without end, returns another value, finds nothing, or hands out a page in use for writing over. So
// the pages are inspected before bbolt opens a file (bolt_inspect.go), transactions run guarded (database.go), and records are
// sealed (codec.go).
//
// # Programs in time
//
// A block's facts are stored once, in the step that changed them. The program after a step is an index: the order of the
// blocks and, for each, the step that has its facts. An index is kept for a step when the steps since the last index have
// grown larger than it would be. So a step costs its changes and an amortised constant more; the program at any step costs
// at most one index, as many bytes of steps again, and the blocks asked for; forking and going back copy nothing. Measured over
// a million steps and ten thousand blocks (bench): 880 bytes a step, sources and indexes included; an append, most of it
// the fsync, takes as long late as early; a fork is 400 bytes.
//
// Which artifacts there are is said whole by each step that declares or drops one, for they are few; every other step names
// the step that said so last. So they are known after any step by reading two, go back with a rollback, and come along with a fork.
//
// A step that changes no block, as a run that had nothing to do is, is written without a look at the index, as long as none is due: the head
// tells about how large one would be. Where single changes of a large step lie is remembered (landmarks), so that to read one block
// costs the same in a step of a million changes. The index at the head is kept in memory while nobody else writes, and is not copied.
//
// # Freeing
//
// Collect frees results by what they are worth: the seconds to compute them again for each byte that they have to
// themselves, divided by the days since the last use and one. The simple way, to evict what was not used for longest, would
// keep a gigabyte that takes a second to make and lose the hour behind a number. A value goes with its blobs; of a trace
// the outputs and files go first, for it is small and tells what its node read. Of several values that share a part, the
// part stays until the last one goes. Records go before the blobs they refer to, so that one who is killed in between leaves
// blobs of no use. A blob that is younger than an hour may be about to be referred to, and stays.
//
// # Several processes
//
// Processes share a store by taking turns, a transaction at a time: readers together, a writer alone (flock on the database
// file, which bbolt's own lock is too). bbolt is made for one process: it keeps the list of free pages in memory, and a
// writer hands out pages that a reader of another process may still look at. So nobody has a transaction open while
// another writes. The simple way, to open the file for every transaction, does do, but costs 0.1 ms each; instead the file
// stays open, unlocked, and is opened anew when its meta pages are not those that were seen last: two reads of 80
// bytes, 4 µs with the locks. A reader keeps its lock for 3 ms, because a run asks for records by the ten thousand. A
// writer takes a second lock, the gate, before it waits for the readers to leave, and a reader passes through it: so
// that readers who come and go do not keep a writer waiting for ever. A socket served by the process that runs
// would need none of that, and a protocol for every question, and somebody to answer when the one who serves is killed.
//
// Every wait has a bound, after which the error names who is waited for. Two writers of one session are told apart by the
// step they build on: the second gets a Conflict. Results that two processes write at once are merged.
//
// A session is run by one process at a time, and so is a workspace (LockRun): a run puts files of the workspace in the
// state that its program needs, node by node, and takes what another does to them for an edit. Programs that share a folder
// therefore wait for one another, though they may write different files: which ones is known only when they have run.
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
//  6. The source of every version is there and has the digest it is named by. So has what a step tells of tests.
//  7. An index equals the steps replayed; there is one exactly for the steps that say so.
//  8. A step's Was and Now, and its blocks' Edited, RanAt and Verified, are true.
//  9. Session records are as written.
//  10. In results.db every record is as written and under its own name. A code lists at most 32 traces, all there.
//  11. A file in blobs/ has the content it is named by.
//  12. So has a file in bases/.
//  13. A step names the step that says which artifacts there are after it: the last of its line that declared one. What
//     that says is well made: names once and in order, kinds that there are, nothing that rests on what is not declared or on itself.
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
//	base damaged          noticed, missing
//	busy with another     store-busy after a bounded wait, naming the process
//	sync refused          store-io; the transaction is taken back, or nothing is written any more
//	directory read-only   store-readonly
//	newer format          store-newer
//	archive altered       archive-damaged, naming session and step; nothing of it is kept (Restore)
//
// # What it cannot see
//
// Damage in a page of a large history.db that nothing reads is found by Check, not by Open; so is damage that leaves size
// and time of a file as they were. Locks of another machine, on a file system that does not pass them on.
package state

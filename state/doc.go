// Package state stores the history of programs and the cached results of their executions. History is durable: losing
// it loses facts. Results are disposable: losing them costs time. No other package knows how either is stored.
//
// # Nouns
//
// There are ten. A Store is a directory. It holds Sessions: a Session is one program and its history, a chain of
// Steps. A Step holds Changes to the program. The program is an ordered list of Blocks; the text of a block is a
// Source. Results are Traces of executions, Values, and Blobs, the bytes that both refer to. An Artifact is a named
// group of blocks, files and other artifacts; a step declares it.
//
// # Promise
//
// A step that Commit has returned is on disk, whatever happens to the process afterwards. The steps of a session form
// a chain: each holds the hash of the step before, and the first holds the hash of the session's creation record. So
// changing, dropping, inserting or reordering a step changes every later hash, and the head's. Damage is never read as
// data. In results and blobs it is a miss with a reason (Notices). In history it is an error that names the step or
// file.
//
// The chain detects accidents and edits by anyone who does not know the head's hash. An attacker who can rewrite the
// whole file can also write a new chain. To detect that, keep the head's hash (Head) somewhere else.
//
// # Files
//
//	history.db   bbolt; durable: sessions, heads, steps, indexes, sources, records
//	calls.db     bbolt; durable: the journal of calls; it exists once there is a call
//	results.db   bbolt; disposable: traces by digest and by code, values, small blobs, memos
//	foreign/     disposable: the same for each imported session that is not trusted, N.db
//	blobs/       disposable: large blobs by the SHA-256 of their content: ab/abcd….zst, or ab/abcd….raw where
//	             compression saves little
//	bases/       durable, named like blobs: what workspace files held before a program wrote to them, and
//	             large arguments and results of calls
//	*.lock       locked by a process that writes the database of that name, and by one that begins to read it
//	*.sound      disposable: size, time and meta pages of the database when its pages were last known to be sound
//	locks/       locked by the process that runs a session
//	.gitignore   keeps all of it out of repositories
//
// A record is CBOR in the core deterministic encoding, behind a checksum that also covers the record's key.
//
// Why not simply trust bbolt? Because bbolt has no checksums beyond its two meta pages. On a flipped bit it may panic,
// fault, recurse without end, return another value, find nothing, or hand out a page in use for writing. There are
// three defences. bolt_inspect.go inspects the pages before bbolt opens a file. database.go guards every transaction
// against panics and faults. codec.go seals every record.
//
// # Programs in time
//
// A block's facts are stored once, in the step that changed them. The program after a step is an index: the order of
// the blocks and, for each block, the step that has its facts. A step gets a stored index when the steps since the
// last index have grown larger than the index would be. The costs follow from that:
//
//   - a step costs its changes and an amortised constant;
//   - the program at any step costs at most one index, as many bytes of steps again, and the blocks asked for;
//   - forking and rolling back copy nothing.
//
// Measured over a million steps and ten thousand blocks (package bench): 880 bytes a step, sources and indexes
// included; 400 bytes a fork. An append takes as long at the end as at the start, and most of it is the fsync.
//
// A step that declares or drops an artifact holds the whole list, because there are few. Every other step names the
// step that holds the list. So two reads give the artifacts after any step, and rollbacks and forks need no rule of
// their own.
//
// Three caches keep common operations cheap. A step that changes no block, such as a run that reused everything, does
// not read the index unless one is due: the head record holds its approximate size. changeOffsets holds where changes
// lie in a large step, so that reading one block costs the same in a step of a million changes. headCache keeps the
// index at the head in memory until another process writes.
//
// # Tiers
//
// A digest shows that a result is the one that was recorded. It does not show that the code, from these inputs,
// produced it, or that the bytes of a value are harmless to load. So each result has a Tier: own, trusted or foreign.
// The invariant is: a Store reads own and trusted results; only what For returns for a foreign session, or for its
// forks, reads that session's foreign results, too.
//
// Why not mark foreign records and let readers look at the mark? Because a reader that forgets is a hole, and there are
// forty of them. Foreign results lie in separate files, which no other Store opens. Own results come first where both
// exist: the identity of a trace does not cover how it describes values. A foreign result that is executed here with
// the same outcome is stored beside the foreign one, as an own one. Foreign calls stay in calls.db, because calls are
// numbered, under places that no believed call has.
//
// The trust of a session is a record that ImportSessions writes in its transaction and that no archive carries. A crash
// before the results are written leaves a foreign session without results.
//
// # Freeing
//
// Collect evicts the results with the lowest retention score: the seconds to recompute a result, per byte that it
// alone uses, divided by one plus the days since its last use. Evicting by last use alone would keep a gigabyte that
// takes a second to recompute and lose a number that takes an hour.
//
// A value goes with its blobs. A trace loses its outputs and files first: the trace itself is small, and it records
// what its node read. A blob that several values share stays until the last of them goes. Records are removed before
// the blobs they refer to, so a killed Collect leaves unreferenced blobs and no dangling references. An unreferenced
// blob younger than an hour stays, because a process may be about to write the record that refers to it.
//
// # Several processes
//
// Processes share a store by locking it for one transaction at a time: readers together, a writer alone (flock on the
// database file, which is also bbolt's own lock). bbolt is made for one process. It keeps the free list in memory, so
// a writer would hand out pages that a reader in another process still uses. Therefore no process has a transaction
// open while another one writes.
//
// Opening the file for every transaction would be correct, but costs 0.1 ms each time. Instead the file stays open and
// unlocked, and is reopened when its meta pages have changed: two reads of 80 bytes, 4 µs with the locks. A reader
// keeps its lock for 3 ms, because a run reads tens of thousands of records. A writer takes a second lock, the gate,
// before it waits for the readers to leave, and every reader passes through the gate. So a stream of readers cannot
// starve a writer. A server in front of the store would need none of this. But it would need a protocol for every
// query, and a successor when the process that serves is killed.
//
// Every wait has a bound; the error afterwards names the process that holds the lock. Commit distinguishes two
// writers of one session by the step they build on: the second gets a Conflict. Results that two processes write at
// once are merged.
//
// LockRun lets one process at a time run a session, and likewise a workspace. A run puts workspace files into the
// state that each node needs, and reads changes by another program as edits. So programs that share a folder wait for
// each other even if they write different files: which files they write is known only after they have run.
//
// # Invariants
//
// Check verifies them all; its Problems carry these numbers.
//
//  1. The pages of history.db form trees, no page is in two of them, and no page in use is in the free list.
//  2. A session has a creation record and a head. A forked one names an existing session and step, with its hash.
//  3. The steps stored for a session are those after its fork point up to its head, without gaps; no others are stored.
//  4. A step holds the hash of the one before, the head that of the last step; time does not go back.
//  5. The changes of a step have the digests in its header, and fit the program they apply to.
//  6. The source of every version exists and has the digest that names it. So does the source with a step's test facts.
//  7. An index equals the replayed steps; there is one exactly for the steps whose headers say so.
//  8. A step's Was and Now, and its blocks' Edited, RanAt and Verified, are true.
//  9. Session records are as written.
//  10. In results.db every record is as written and under its own name. A code lists at most 32 traces, and all exist.
//  11. A file in blobs/ has the content that its name is the digest of.
//  12. So has a file in bases/.
//  13. A step names the step that holds the list of artifacts after it: the last in its history that declared or
//     dropped one. In that list names are unique and sorted, kinds are known, and no artifact depends on itself or on
//     one that is not declared.
//  14. In calls.db every record is as written. A place names the call that has this key, lineage and number, and each
//     call has its place.
//  15. The arguments, the result and the undo of a call have their digests, and large ones exist in bases/.
//  16. A result in results.db is own or trusted, one in foreign/ is foreign. Keys of a trace are sorted, and none is
//     there twice.
//  17. The traces that a program uses are of the code of its nodes.
//  18. The calls that these traces read have records in calls.db.
//
// A missing trace, value or blob breaks no invariant.
//
// # Failures
//
//	process killed        the transaction in progress is rolled back; results of the last 0.4 s are lost
//	machine stops         the same; results.db may be garbled, and is then quarantined
//	disk full             disk-full; nothing of the commit was done, and the store stays usable
//	results.db damaged    renamed to results.db.damaged-N, replaced by an empty one, and reported in Notices
//	history.db damaged    store-damaged: at Open if the pages show it, else when a step is read; nothing is written
//	blob damaged          removed, reported in Notices, then missing
//	calls.db damaged      store-damaged when a call is made or read: a call whose record is lost might happen twice
//	base damaged          reported in Notices, then missing
//	busy with another     store-busy after a bounded wait, naming the process
//	sync refused          store-io; the transaction is reverted, or the store refuses further writes
//	directory read-only   store-readonly
//	newer format          store-newer
//	archive altered       archive-damaged, naming session and step; ImportSessions imports nothing
//
// # What it cannot see
//
// A trace that is wrong in itself, and a value whose bytes do harm, look like others. Open does not find damage in a
// page of a large history.db that nothing reads; Check does. The same holds for damage that leaves a file's size and
// time unchanged. Locks of another machine are invisible on a file system that does not pass them on.
package state

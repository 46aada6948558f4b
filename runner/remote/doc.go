// Package remote shares results between machines: what one has executed, another with the same inputs takes over.
//
// # Nouns
//
//   - A Cache holds results for all who use it: a folder, a server or a bucket. A Store is the way to one (a folder,
//     the Remote Execution API v2, the protocol of S3). It holds blobs by digest and records by name. It is trusted
//     with nothing.
//   - A Record is a small signed text. There are four: Keys, Result, Value and Ref.
//   - Keys are what an execution of a node read, without the digests.
//   - A Result is what an execution did: a trace without its reads, and the blobs that it refers to.
//   - A Value says which blobs are the value of a group of names.
//   - A Ref says how far a whole session was when a person pushed it, and which blob is its archive.
//   - The weak fingerprint names a node by what is known before it runs: its code, the interpreter, the semantics of
//     the kernel. The strong fingerprint names it with the digests of what it reads.
//   - An Action is a node that another machine is to execute, its worker, or all nodes of a run that have no result.
//     The Task has the program and names what other nodes left; with the files of the workspace that may be read, it is
//     the input root.
//   - An Executor gets an Action to a worker: a server of the Remote Execution API, or a command, the launcher.
//   - Roots are the folders of one machine that a record must not name: the home, the workspace, the environment of the
//     interpreter. A record has "{prefix}" in the place of the latter.
//
// # The invariant
//
// A result is used only where an execution here would have read the same: each key that the recorded execution read has
// the same digest at this place in this program, and so has each fact of the machine that the code may ask for (package
// machine). Nothing that came from a cache is interpreted before it is verified:
// a record by its signature, a blob by its digest. Losing, delaying or forging anything costs time, and no more.
//
// # Lookup in two phases
//
// The reads of a node are known only after it has run. So a lookup has two phases, as in BuildXL (two-phase cache
// lookup, weak and strong fingerprints) and Shake. The weak fingerprint leads to the Keys that executions of such nodes
// have had, a few at most. Each of them, with the digests that the keys have here, gives a strong fingerprint, which
// names a Result. Therefore a Result need not say which digests were read: a reader has them. So a cache does not learn
// what the variables of an environment hold.
//
// A Keys record is at the weak fingerprint, the key that signed it, and a number. A writer takes the first number that
// is free and never replaces a record, so all stores can be used that create and read, and a list need not be merged.
// Two writers with one key that take one number at once lose the Keys of one: another machine executes what it could
// have found.
//
// # Round trips
//
// The strong fingerprint of a node depends on the results of the nodes before it, so lookups follow one another. Three
// things keep their number small. The Keys of all nodes of a program are asked for at once. A Result names the results
// that followed in the run that made it (Next): they are asked for together, before the walk comes to them. And the
// answers are kept for as long as the cache is open.
//
// # Whom to believe
//
// Who may write to a cache may write anything into it, and a cache in a bucket has many writers (CVE-2025-36852). So
// each record is signed by the key of who executed the node, and names what it is for. A record without a signature by
// a trusted key does not exist for the reader. The signature covers the name: a record cannot be put in another's
// place. An old record that is put back is a result all the same: it is true for ever.
//
// Each signer has its own records, and a reader asks for those of all keys that it trusts. Otherwise a writer whom no
// one trusts could be the first everywhere, and what others make would have no place. A list of signers, in the order
// of their first upload, is there to name keys that a user might want to trust.
//
// # What is not shared
//
// A result that another execution could differ from (marks), that is pinned, failed, was stopped or was denied
// something; one that read a call, a secret or what the interpreter alone holds; one whose files lie outside of the
// workspace; one that came from elsewhere; one in which the path of a root occurs, in an output, a value or a file, the
// name of the machine, or what a variable of the environment held that the program read.
//
// Paths that are not below the workspace mean something else in another folder: "../x", or a path made from the home. A
// result that read one is found only where the workspace and the home are the same. The interpreter's own files and
// those of the system are exceptions, and so is the home for an import of libraries: it is made again.
//
// # Workers
//
// A worker does for a caller what a colleague does by chance: it executes a node and puts the result into the cache.
// The caller then looks there. So nothing that a worker says counts, but what the lookup verifies: a trusted key, and
// that the execution read what it would have read here. A file that the caller did not foresee is missing on the
// worker. The node then fails there, or its result has another strong fingerprint, and it is executed here.
//
// A Task names results of nodes before its own by their strong fingerprints. The worker takes them as they are, without
// a look at what they read: it has not the inputs of the whole program. That is sound, for what it signs is a statement
// about digests: with this code and these inputs, this comes out. A wrong result among those given leads to a result
// with inputs that no one else has. For the same reason the worker believes the keys that its caller believes, for this
// Task alone.
//
// The Action is of the API, so that any server of it can execute one: its command is `xstate execute`, its digest is
// all that a launcher needs. Its result is in the records above, and not in the action cache under its digest: another
// program with another history, but an equal node, finds it there, too.
//
// # Sessions that travel
//
// Results are shared without being asked for; a session travels when a person says so. Its archive is a blob, and a Ref
// names it: a record at the name of the session and a number. A store creates and never replaces, so a push takes the
// number after the last one, and the last number is found by asking for many at once. A lookup asks for all numbers, so
// a store that frees what was not used for long does not free the first of them before the last. A Ref does not refer
// to its archive for the store, which so may free the archives of former pushes.
//
// A push follows the last Ref only where the history that is pushed has that step with the same hash. The hash covers
// all steps before, so that is a fast-forward, as in Git. After it has put its Ref, a push reads the number back: if it
// finds another's Ref, it begins again, and is refused or follows. A server without a call that creates alone can take
// two Refs for one number at the same moment, and keep the second after the first was read back. Then one push is lost
// in the cache. Its store still has the steps, and its next push or pull finds out.
//
// A Ref by a key that is not trusted takes a number and does not count. The archive is opened after its digest was
// verified, and never more of it is read than the Ref says. Who may write to the cache can hide the last Ref: the one
// before is a true state of the session, to which a push of a store that is further adds.
//
// An archive cannot be without the paths of roots, because the hashes of its steps cover them. A workspace in the
// folder of the store travels as a path from there, and another one as it is, with what the program printed and read.
// So a push tells the readers of the cache what the session holds; results do not.
//
// # Why the simple ways fail
//
//   - To name a result by the code and the results of all nodes before it, as a build by its inputs, misses where an
//     earlier block was edited without effect on this one.
//   - To store traces with their digests, and to compare them, needs a list for each code that grows with the inputs of
//     all who share it, and tells everybody what they were.
//   - To believe the server believes everybody who may write to it.
//   - To keep one Ref for a session, and to replace it, needs a store that compares and swaps: neither a folder on a
//     shared disk nor the Remote Execution API does.
//   - To translate paths from one home to another takes a path that the program names for one that it made.
//   - To take a result over although a link or a protected file is in the place of a file that the program wrote does
//     what the program would not do.
//   - To upload before a run returns makes each first run slower for a second that may never come.
//
// # Failures
//
//	store cannot be reached, or is slow   it is left alone for a while, after two answers that did not come in time
//	record or blob missing                a miss
//	record damaged, or by another key     a miss; the number of keys that are not trusted is reported
//	blob with other content               a miss; it is counted as damaged
//	store full, or read only              uploads end; lookups go on
//	two pushes at once                    one begins again, see above
//	archive of a Ref missing or damaged   a pull fails; the next push uploads one
//	worker fails, dies, or is another     the node is executed here; the run says why
//	no worker begins                      so after half a minute at the node's turn
//	caller killed                         the worker's result is in the cache, for the next run
//	process killed while it uploads       what lacks is uploaded by the next run that has these results
//
// # What it cannot see
//
// A signer that is trusted and lies. Digits that differ between processors, where a library computes with the widest
// instructions that it finds. Files of the system that a native library reads and that no key names.
package remote

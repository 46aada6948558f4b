// Package runner turns a program into its outcome. It executes only what a change affects.
//
// Nouns: a Block and its nodes are what there is to run. A program state (programState) says what every key has at one
// place in the program. A trace (package state) records one execution. A Plan says what would run, and why. A kernel is
// an interpreter process, and the kernel state is what the engine knows of it. The base state says what keys have
// before the first node.
//
// # The promise
//
// After Run, every block's outputs and every value equal those of a fresh interpreter that executes the whole program
// from top to bottom, in the base workspace. Given that, as little as possible is executed.
//
// # The algorithm
//
// The engine walks the nodes in program order and keeps the program state. It looks for a trace of the node's code
// whose reads all have the digests that they have here. If there is one, the state takes the trace's writes, and
// nothing runs. Otherwise the kernel is given the state before the node, and the node runs. Its observed reads and
// writes become a new trace. Invalidation and early cutoff need no rules: a node with equal inputs finds its trace.
//
// One function decides about a node, Engine.decide. A walk that plans, a walk that runs, the Planner and the speculator
// all call it, and Planner answers its queries from an index instead of a walk. Engine.UpToDate asks it nothing: it
// knows a whole program whose inputs are those of the last run.
//
// # Why the simple ways fail
//
//   - To re-run an edited block in the live interpreter runs it on values that hold its own effects: the second run of
//     "xs.append(1)" appends twice.
//   - To re-run it with everything that names connect misses "b = a; b.append(1)". There a changes, and no text says
//     so.
//   - To keep each variable by itself makes two lists of one: after a restart, b is not an alias of a.
//
// So names that reach a common mutable object form a group, a co-variable in Kishu's terms. The engine fingerprints,
// stores and restores a group as one. A trace is valid only where the names that it read share objects as they did
// then. For names that it changed or aliased, everything that shares with them has to share as then. With equal
// contents, equal pairs of places determine the object graph up to identity, so the recorded writes are right.
//
// # The argument for soundness
//
// A node's result depends on what its code reads. Each kind of read is observed, or counts as made:
//
//   - Names. From CPython 3.12 on, an event reports each load that the program's own code executes. Before 3.12, the
//     engine takes the names that the text uses, closed over the functions and classes that their values reach: a
//     superset. An audit event announces code that is compiled at run time. The program's module reports a look at its
//     attributes, for pickle finds classes there. The kernel queries pandas for the names in a text that query or eval
//     is given. A library that pickles a function by value may look up the names in its code. One that evaluates an
//     annotation may look up the names in that text. A node with other dynamic access to the namespace (globals(),
//     frames, by the program or by a module of the workspace) counts as a reader of all names. Where a node queries a
//     name that the namespace was not given, the engine undoes it and runs it again with that name, even if the node
//     went on without.
//   - The object graph behind a name, by its digest. The digest covers all that pickling would, the code, defaults and
//     closures of functions, and the members of classes. The kernel takes instances of the user's classes apart without
//     their own pickling, which may have effects, leave things out, or lie. Arrays that a library allocates without a
//     value, and fills each time before it reads them, count without their elements while nothing else refers to them.
//   - The order of a set, with its table. Elements, and what was removed, have places there that decide what the set
//     lists and where later ones go. An empty set gets a new table when it is fingerprinted. So one that was emptied
//     and filled again may list in another order than in a plain run. A stored set gets its table again. Code whose
//     constant sets would not is not stored, and no bytecode of such modules is kept. Texts hash alike in every run
//     (PYTHONHASHSEED). Objects that hash by address have another order each time: a node that reads a set of them is
//     marked.
//   - A change in place of what many names reach and few nodes change: a class or function of the program, or what a
//     workspace module holds. The names that reach it form no group. The node that changes it reads which names they
//     are (reach:NAME), and writes all of them.
//   - The identity of a NaN, for a container finds it by identity alone. That of a module goes by its name. Others are
//     shared like what can change.
//   - The end of an object that has an effect then (__del__, a file's buffer). The program ends it in a node, and that
//     node reads it. Where the engine goes back it keeps such objects, so they end at no other time.
//   - Files, by audit events and wrapped stat calls; directories by their listing, or for importlib.metadata by the
//     names of packages in it; modules of the workspace by the content of their files and of those they import;
//     packages by the files that state their version. An import that
//     finds a module elsewhere, or nowhere, reads the absence of the files that it would have found. A path is followed
//     to its target, and the symbolic links on the way are read. A node that uses an open handle or a memory map reads
//     its file. Where a library asks whether the file that it replaces exists, only to remove what a failure leaves,
//     the answer counts as read after a failure alone.
//   - Files of native code and of child processes, by system calls (package sandbox). Files that these read, look up,
//     list or lack count as read; files that they write are restored before they run again. Files of the system that
//     they use are one key, compared by identity. A process that looks at a file may compare times: so these are put in
//     the order of the nodes that wrote the files, and that order is a read. kernel.reporting and file_times.go have
//     the arguments. A node whose processes are not fully known is marked and reads all that the program wrote.
//   - Files that stay open between nodes, as separate states: the inode of a handle, the paths that lead there, its
//     position, and the content of its buffer. The states are named by lineage, and are reached by executing the nodes
//     that made them, in order, in one interpreter. open_files.go has the argument.
//   - The content of a workspace module, as a separate key (held:NAME). All nodes that can reach the module read it,
//     and the engine compares it after each of them. A load that reaches the module and reads nothing but its source
//     writes no such key: it may happen at any time, under the options that held there. The engine unloads a module
//     that a state has otherwise, or not yet. Code that can name sys.modules reads every name that is a module or
//     depends on one. A star import reads none.
//   - Inputs of an installed library's import, read by the node that imports it first. The library keeps what it saw.
//     So a library that looked at something, set a variable, or printed, has a key (load:NAME). Nodes that import it
//     again read the key. If it saw something that differs between machines, so do all nodes that use the library or
//     hold something of it. Only a new interpreter imports it again, in the environment of the first, when a value or a
//     node needs it. The effect of such an import is in the state since the first one: it is neither read nor written
//     again. See first_imports.py.
//   - Which submodules are attributes of a package: those that earlier nodes imported, by whatever statement. An
//     interpreter that was given the package alone imports them for the node that uses it.
//   - All objects that there are (gc.get_objects). Such a node reads all names, runs where no earlier versions are
//     left, and is marked.
//   - Which subclasses a class has. A node that lists them reads all names that reach a class of the program, and is
//     given these in the order of their definition. It runs in a new interpreter where an earlier version of one is
//     left.
//   - The layout of blocks: text that code requests from linecache, and line numbers that code reads by attribute. The
//     kernel clears the workspace's files from linecache before each node. Functions of the workspace's modules are
//     treated as the program's text is, as far as the node mentions their names.
//   - As hidden variables: environment, working directory, random number generators, warnings, levels of loggers,
//     locale, time zone, limits, the places of files that are open under a number, and options of numpy, pandas,
//     scikit-learn and matplotlib. Where a read of one cannot be observed, every node counts as its reader. The objects
//     that keep such state (the generator behind random.random, the decimal context) are named and stored as
//     references: a value that holds one means that one.
//   - As one hidden variable that only a new interpreter can undo: attributes assigned to modules and classes of
//     libraries; what is put into dicts, lists and sets that are such attributes and that code of the program or the
//     workspace names; entries of sys.modules; and objects put into places of the interpreter (a signal handler,
//     sys.stdout, a codec, a finder of modules, a logger's handler, an option that is a function). It is named by
//     lineage. A node that changes an object that is reached from there writes it.
//
// The changes of a node are found by comparison: names by identity; by digest, the values of what it read and of all
// that overlaps with what changed; files and hidden variables likewise. A node that sets a seed, an environment
// variable or the working directory to its present value has written it all the same. A logger's file handler is at the
// end of its file, and is reopened there after the engine put other content in place. Every node counts as the
// writer of any other open file that replaces sys.stdout. A value that has no name by content (a generator, a socket, a
// figure) is named by lineage: the code and inputs that made it. A node that reads it counts as changing it.
//
// # What observation costs
//
// A value is fingerprinted when a node has read or written it, so the cost of a run follows what it touches:
//
//   - Arrays of a megabyte and more are hashed as far as they were written to. Their pages are write-protected in a way
//     in which the system notes a write and lets it through (Linux 6.7). Elsewhere all of a touched array is hashed.
//   - Containers and plain instances are hashed level by level, at some tenths of a microsecond an object. A container
//     whose members are containers and constants is hashed again only if it, or one inside it, holds other objects than
//     before. To see that takes a fifth of the time. Where a node of Python is proven to be a pure reader, nothing that
//     it read is looked at again: its code, and all that this calls, can change nothing that was there before.
//     pure_readers.py has the argument. Nothing else that is cheaper shows that none of a million objects was changed.
//   - Instances of the program's classes are read without their __dict__, which CPython 3.11 to 3.13 make only on
//     request. Loops over objects that have one take up to twice the time.
//   - The memory of large arrays is stored in parts that are named by these hashes. A part that the store was given is
//     not copied, hashed or written again, so a frame with one more column costs about that column.
//   - What storing values may cost is stated in store_values.go. The node that needs a value that was not stored
//     computes it again.
//   - Earlier versions of values stay alive, for the nodes that need them, up to RunOptions.Memory bytes.
//
// The engine's cost per node does not grow with the number of names, for a program has thousands. A program state keeps
// indexes (keyTable), and the kernel state notes which names may differ from it (kernelState.differing has the
// argument). The kernel compares the namespace with a copy that it keeps from node to node (node/start.py). Three cases
// still query all names: a node with unobserved access to the namespace, the first node after a state that was made for
// another, and a kernel that has only some of the names.
//
// # What cannot be seen
//
// For clocks, entropy, the network, other processes and threads left running, the node is marked, and so is every node
// that depends on it. Not seen and not marked are: state inside native libraries that no pickle shows; the clock and
// randomness of child processes; what a library's own functions do to module globals of that library; and, where the
// sandbox does not observe system calls, files that native code reads or writes without an audit event.
//
// # Failure
//
// A failed node defines nothing. Its bindings are undone. Values that it changed are dropped, and restored from the
// store or by re-running what made them. Files are put back before the next node runs. Nodes that use what it would
// have defined are blocked, and so are the later nodes of its block. A kernel that dies costs the node, and so does one
// that ignores an interrupt and is killed with all it started. The next kernel starts with an empty namespace and takes
// from the store what it needs. The node's output is in files of the engine. Each file that it wrote was announced,
// with its former content, before the first write. So neither is lost.
//
// A failure is a result like any other, valid while what the node read is unchanged. A failed import has read all that
// can cure it: the places where Python looked for modules, and the listings of the folders of libraries, which each
// installation changes. A node that a time-out stopped has read what led it there, so it is valid for a time-out that
// is not longer. Where what the node read is not known (a dead kernel), or the cure is not seen (the network, space on
// the disk), the trace answers questions and is never reused (state.Trace.Once). The same holds for a node during which
// another process wrote to a file that it read, see edited_inputs.go.
//
// A full disk under the engine's own files fails the run, not the node. See disk.py.
//
// # The end of the program
//
// A node may end the program (sys.exit, SystemExit). Its trace says so, with the exit code (state.Ending). The trace
// holds what the node read, wrote and printed up to there, for a fresh interpreter has all of it at its end. So the end
// is a result like any other: a function of the node's reads. Where these are equal, the trace is reused, and the walk
// ends there. Where the node runs again and does not end the program, later nodes find their traces.
//
// The program state says that the program has ended. Engine.decide then skips a node, before it looks at anything else.
// A skipped node has no result. Its earlier writes are removed, as for a deleted block. A code other than 0 makes the
// node's status failed, but what it wrote stays. In a plan that runs the node again, later nodes that would run may be
// skipped, so they are ActMaybe. The planner gives such a program to a walk. An exception that the program catches, and
// the end of a thread, do not end the program; os._exit is a death.
//
// # The end of a script
//
// A script ends after its last node, and an interpreter then runs what the program has left for that: handlers, timers.
// This is a separate node, the end (depgraph.KindEnd). It has no text. analyse adds it to the last block, where
// Config.Ends says that the program is a script; an interpreter of a notebook or of submissions lives on.
//
// Whether there is something to do is hidden state of the language (kernel.KeyEnd). If it is absent, Engine.decide
// finds nothing to do (ActNone): no outcome and no plan has the node, so a program without handlers costs nothing. The
// handlers are state of the program before the end, either that key itself (Bash) or the interpreter's alone
// (modulesKey: Python, Node). So the registrations are restored as any state is, by executing what made them, and
// another edit starts from the state before the end. No other node reads what the end wrote, for it is the last.
//
// The cases of failure:
//
//   - A node that ends the program runs the handlers itself, for it ends the interpreter. The end is not there then.
//   - After a failure the end comes after the nodes that the failure does not block. It reads failedKey, because an
//     interpreter that ends with an error may leave something out. A handler that needs a name that the failed node
//     would have bound finds it unbound.
//   - A failure that ended the interpreter (kernel.Failures.Ends: a shell under "set -u") has run the handlers.
//   - A code of 0 is not an ending, because the program was complete. Any other code is one, as for other nodes.
//   - A part of a program (RunOptions.Part) does not come to its end. The planner gives a program with an end to a
//     walk.
//
// # What a program is started with
//
// The arguments and the standard input are inputs (Invocation). The kernel observes each use of sys.argv and sys.stdin.
// A node that reads the input reads its start position (conf:stdin), writes its end position, and reads the bytes
// between them, and the end if it met it (stdin:FROM-TO$). So an edited block continues where the block before it
// stopped, and another content matters only to the nodes that looked at what differs.
//
// A run with other arguments is another use of the program: what the last one left in files is part of the workspace
// (Engine.ForgetFiles). Otherwise "p.py save a.txt" and then "p.py save b.txt" would remove a.txt.
//
// Other parts state their own arguments: Planner, speculator, NotServedError (replays), Pin, Preconditions and Suite.
package runner

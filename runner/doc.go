// Package runner turns a program into its outcome, executing only what is affected.
//
// Nouns: a Block and its nodes (what there is to run), a position (what every key has at one place in the program), a
// trace (the record of one execution, in package state), a Plan (what would run, and why), a kernel (an interpreter
// process), the mirror (what the engine knows of the kernel), and the world (what keys have before the first node).
//
// # The promise
//
// After Run, every block's outputs and every value equal those of a fresh interpreter that executes the whole program
// top to bottom from the base workspace. Given that, as little as possible is executed.
//
// # The algorithm
//
// The nodes are walked in program order with a position. A trace of the node's code whose reads all have the digests
// they have here is applied: the position takes its writes, and nothing runs. Otherwise the kernel is given the state of
// this position, the node runs, and what it was observed to read and write becomes a new trace. There is no rule for
// invalidation and none for early cutoff: a node whose inputs come out equal finds its trace.
//
// # Why the simple ways fail
//
//   - Re-running the edited block in the live interpreter runs it on values that already hold its own effects: the
//     second run of "xs.append(1)" appends twice.
//   - Re-running it with all that names connect misses "b = a; b.append(1)", where a changes and no text says so.
//   - Keeping each variable by itself makes two lists of one: after a restart, b is no alias of a.
//
// So names that reach a common mutable object form a group (a co-variable, after Kishu). Groups are fingerprinted,
// stored and restored as one. A trace holds only where the names it read share as they did then, and, for what it
// changed or aliased, where everything that shares with it does: with equal contents, equal pairs of places determine
// the object graph up to identity, so the recorded writes are right.
//
// # The argument for soundness
//
// A node's result depends on what its code reads. Each kind of read is observed, or counted as made:
//
//   - names: from CPython 3.12 on by an event for each load executed by the program's own code; before that by the names
//     the text uses, closed over the functions and classes that the values bound to them reach: a superset. Names read by
//     code compiled at run time: its code object is announced by an audit event. The program's module tells who looks at its
//     attributes (pickle finds classes there), and pandas is asked which names a text given to query or eval has. A library that
//     reads the code of a function may look up the names in it (to pickle it by value), and one that evaluates a text with the program's
//     namespace those in the text (an annotation). A node with other dynamic access to the namespace (globals(), frames, by the
//     program or by a module of the workspace) counts as reading all names. Where a node asks for a
//     name that the namespace was not given, even if it goes on without, it is undone and run again with that name.
//   - the object graph behind a name: by its digest, which covers all that pickling would, and the code, defaults and
//     closures of functions, and the members of classes. Instances of the user's classes are taken apart, stored and put
//     together without their own pickling, which may have effects, leave things out, or lie.
//   - the order of a set: with its table, in which elements and what was removed have their places, for these decide what it
//     lists, and where later ones go. An empty one is given a new table when it is looked at, so that one that was
//     emptied and filled again may list in another order than in a program run by itself. A set that was stored gets its table
//     again; code whose constant sets would not is not stored, and no bytecode of such modules is kept. Texts hash alike in every
//     run (PYTHONHASHSEED). What hashes by its address lies in another order each time: whoever reads a set of such objects is
//     marked.
//   - who sees a change in place of what many reach and few change: a class or function of the program, or what a module of the
//     workspace holds. Those who reach it are no group. The node that changes it reads which names they are (reach:NAME), and
//     changes them all along.
//   - which object a NaN is, for it is found in a container by identity alone: that of a module goes by its name, others are
//     shared like what can change.
//   - the end of an object that does something then (__del__, a file's buffer): it ends when the program ends it, in a node,
//     and whoever ends it reads it. Where the engine goes back it keeps such objects, so that they end at no other time.
//   - files: by audit events and wrapped stat calls; directories by their listing; modules of the workspace by the content
//     of their files and of those they import; packages by the files that tell their version. An import that finds a
//     module elsewhere, or nowhere, reads the absence of the files that it would have found. A path is followed to what it
//     leads to, and the symbolic links on the way are read; who uses an open handle or a memory map reads its file.
//   - what a module of the workspace holds: as a key of its own (held:NAME), read by all that can reach the module, and looked
//     at after each node that can. A load that does and reads nothing but its source writes no such key: it may happen at
//     any time, under the options that held there. A module that a position has otherwise, or not yet, is unloaded. Who can
//     name sys.modules reads every name that is, or rests on, a module; a star import reads none.
//   - what an installed library looks at while it is imported: read by the node that imports it first. What it saw stays in it, so a library that
//     looked at something, or printed, has a key (load:NAME), read by those that import it again and, where it saw what is not the same
//     everywhere, by all who use it or hold something of it. Only a new interpreter imports it again, in the environment of the first.
//   - which submodules are attributes of a package: those that nodes before have imported, by whatever statement; an interpreter that was
//     given the package alone imports them for the node that uses it.
//   - all objects that there are (gc.get_objects): who asks reads all names, runs where no earlier versions are left, and is marked.
//   - which subclasses a class has: who lists them reads all names that reach a class of the program, is given these in the order of
//     their definition, and runs in a new interpreter where an earlier version of one is left.
//   - the layout of blocks: text that is asked for through linecache, which is cleared of the workspace's files before each node, numbers of
//     lines that code asks for by attribute. What the text of the program is asked for, functions of the workspace's modules are, too, as far as
//     the node comes to mention their names.
//   - environment, working directory, random number generators, warnings, levels of loggers, locale, time zone, limits, where files stand
//     that are open under a number, options of numpy,
//     pandas, scikit-learn and matplotlib: as hidden variables. Where a read of one cannot be told, every node counts as its reader.
//     The objects that keep such state (the generator behind random.random, the decimal context) are named and stored as
//     references: who holds one means that one.
//   - attributes assigned to modules and classes of libraries, what is put into dicts, lists and sets that are such attributes and that
//     code of the program or the workspace names, entries of sys.modules, and objects put into places of the interpreter (a signal handler,
//     sys.stdout, a codec, a finder of modules, a logger's handler, an option that is a function): as one hidden variable
//     that a new interpreter alone can take back. It is named by lineage, and whoever changes an object that is reached from
//     there writes it.
//
// What a node changes is found by comparison: names by identity, values of what it read, and of all that overlaps with
// what changed, by digest; files and hidden variables likewise. Who sets a seed, a variable of the environment or the working directory to what
// it is has written it all the same. A file that a logger's handler has open stands at its end, and is opened there anew after the engine
// has put another content in place; of another open file that stands in for sys.stdout, every node counts as its writer. A value that cannot be named by content (a generator, a
// socket, a figure) is named by lineage, the code and inputs that made it, and whoever reads it counts as changing it.
//
// # What observation costs
//
// A value is fingerprinted when a node has read or written it, so that the cost of a run follows what it touches:
//
//   - Arrays of a megabyte and more are hashed as far as they were written to. Their pages are write-protected in a way in
//     which the system notes a write and lets it through (Linux 6.7); elsewhere all of an array is hashed that was touched.
//   - Containers and plain instances are hashed level by level, at some tenths of a microsecond an object. A container of
//     containers and constants is hashed again only if it, or one inside it, holds another object than it did: to see that
//     takes a fifth of the time. Nothing cheaper tells that none of a million objects was changed.
//   - Instances of the program's classes are read without asking for their __dict__, which CPython 3.11 to 3.13 make only then:
//     loops over objects that have one take up to twice the time.
//   - Small values are always stored, others if that takes a quarter, at most, of the time to compute them again. The interpreter
//     goes on when it has pickled them; they are compressed and written meanwhile, for a quarter of the time spent executing. What is
//     waited for is a twentieth of it, and a tenth when the engine closes, when those come first that are dear to compute and
//     cheap to store. What is not stored is computed again by who needs it.
//   - Earlier versions of values are kept alive for the nodes that need them up to RunOptions.Memory bytes.
//
// # What cannot be seen
//
// Clocks, entropy, the network, other processes and threads left running: the node is marked, and so is what rests on
// it. Not seen and not marked: state inside native libraries that no pickle shows, files written or read by native code without
// an audit event, and what a library's own functions do to module globals of that library.
//
// # Ahead of their turn
//
// With RunOptions.Jobs of two and more, nodes execute before the walk comes to them, in other interpreters: those that must execute, by
// what is foreseen, and read nothing that a node before them, which is not done, may write. Their state is made of what the nodes
// before them that are done left, as the store has it. When the walk comes to such a node it takes the trace if it holds: the same
// test that any other trace has to pass. So what was foreseen wrongly costs time and no more.
//
// What a trace does not show must be the same by other means. Files: a node that executes ahead may not write any (it is guarded), and is
// executed again where the program has written one, for it may have read that while it was written. Effects that cannot be taken
// back fail before they happen, and the node is executed in its turn. Values: all that the node left must have been
// stored, or it is executed again. Output is kept, and told in the node's turn.
//
// # Served and guarded
//
// Who replays a program gives nodes results (RunOptions.Serve) that they never execute for: the position takes them as they are, and
// values come from a store beneath the engine's (state.Options.Beneath). A value that was not kept is not computed: who needs it
// is named (NotServedError). What does execute may be guarded (Config.Guard): effects that cannot be taken back fail at their
// audit event, before they happen, and mark the node. So that a replay finds inputs as they were, what nodes read of the workspace
// is kept as blobs: files up to a megabyte, the names in directories, times of files.
//
// # Pins
//
// A block pinned to always executes and is otherwise like any other. One pinned to never keeps its last result where it would not
// hold: the promise is given up there, by the program's own word, and every node that rests on it is marked.
//
// # Tests
//
// A test of a file is a node of another kind. Nouns: a unit is a function, or the level of a module (all but the bodies of functions);
// a phase is a stretch of execution that is observed by itself (the import of a module, the set-up of a fixture, the collection of a
// file, a test); a group is what a phase read that several tests rest on, kept once and named by its content. A trace of a test names
// the units it executed, what it read, and groups: those of its file, its fixtures, and the modules that it used and what these import.
//
// The invariant: a test whose trace holds would, executed now after those before it, execute the same code on the same inputs. By
// induction over what it executes: the first thing that differs would be the text of a function that it enters (its unit), the
// function that a name leads to (what binds names stands at the level of a module, or in a unit that was executed), a value made
// by an import (the group of that module) or by a fixture (its group), or an input (a read). State that an earlier test left is an input:
// what a test leaves changed is found by comparison, who speaks of it comes after that test and holds as long as its trace is the same.
// A function that is called and not entered is a generator, so whether a function is one belongs to where it is defined.
//
// Why the simple ways fail. Lines that were executed, by file: an edit above moves them. Functions by name: the body of another may be
// found under it. Modules that the test's file imports: a registry is filled by a module that it does not import, so modules
// that are not quiet belong to all. Fixtures of wider scope execute during the first test that asks, and end after the last: a trace
// by time alone blames these two. sys.monitoring with its events restarted for each test instruments the whole interpreter anew.
//
// Which tests there are is a result, too (collection): of what was executed and read until they were collected, by hooks as well, of what the
// runner looked at and listed, of the packages, the environment, and the arguments. While that holds, the decision which tests run needs no
// interpreter, and a run of none starts none. To watch the test files alone would miss a conftest that appears, a plug-in, and a test that is there only if
// a file is.
//
// Lines are observed on demand (SuiteOptions.Lines), for they cost more than all else: each line of a function is an event of its own, armed anew
// for each test. They follow from what a trace has, and are no part of it. They are kept beside it as numbers of statements in their
// unit, whose digest covers what statements it has and in which order, so that they hold wherever the text moves to, and whatever becomes of its
// layout; numbers of lines, even counted from the beginning of the function, would not. A statement of several lines is one.
//
// What it costs: reports of tests are sent in bunches. One that read files is sent at once, and the next test waits until these were looked
// at, for it may write to them. A note in memory that both share tells which test is under way. Where the process dies, what it had not sent is lost, and
// those tests run again. Functions are armed again one by one, those alone that were hit; fixtures that execute nothing are not told of.
//
// Failures: a test that takes its interpreter along is crashed, one past its time is stopped, and the rest goes on in a new process; a file
// that cannot be collected is an error in its place; a test that fails is kept, so that no older success counts, and never reused, for
// its report cites lines and may be by chance; a group that was lost is a miss. What cannot be compared (clock, network,
// other processes) marks the test, and it runs every time. See kernel/python/xstate_kernel/suite.py for what is observed, and how.
//
// # The flow
//
// A walk visits every node. A Flow keeps what a plan found, so that the next visits what an edit affects. Nouns: a finding is what was
// decided about a node (the trace that is reused, or why none is, and what that writes); a node has asked for a key when its decision
// looked at what the key has there; to wake a node is to let it wait for a decision.
//
// A decision (Engine.decide, the same that a walk makes) sees the program through an interface of five questions, place, and its
// questions are noted, as reads of a node are when it executes: whatever it asked is what it rests on, also where a trace did not hold, or
// a reason was looked for. For each key there are the nodes that write it and those that asked for it, in program order; what a key has
// at a node is what the last writer before it wrote, found by binary search. Blocks have labels that tell their order and
// survive insertions and moves.
//
// The invariant: between two plans, the finding of each node that does not wait is the one that a decision at its place would come to.
// An edit takes back or makes findings, and lets the nodes of the block wait. Nodes that wait are decided in program order, so that all
// before is settled. Where what a node writes comes out otherwise, those wake that asked for the key, after it and up to the next that
// writes it; where only who wrote it is another, those of them whose reason may name it. To wake too many costs time; to wake too few is
// the fault, so that what no one key tells has keys of its own, which every change wakes that might matter: which names have values,
// which files and variables of the environment were written, what values reach, the text of a block that a result cites. Names that share
// objects wake all who asked for one of them, when who says so, writes or touches one changes. What the world has before the first
// node is asked again for each plan; so costs a plan of nothing what files and packages the program looks at cost, and no more.
//
// Traces come from elsewhere, too. The store tells of which codes it got some (state.Store.Recorded), and their nodes wait; where it
// cannot tell, because another process wrote or results were freed, all nodes do. A result that somebody takes out of the store by hand is
// missed by the next walk, not by a flow. Where a package is found in another place than when
// the flow was made, or a block reads otherwise than it did, the flow gives up (ErrWalk), begins anew, and the program is walked.
//
// A flow plans; nothing executes by it. Runs walk: the argument for soundness above is about walks, and a flow that were wrong would tell a
// wrong plan and no wrong result. Plan does not ask a flow either: it tells
// of every node what its text says, its last execution and what that cost, and to read these is what a walk takes its time for (of its
// processor time results are 36%, texts 25%, the program as recorded 15%). That the two say the same of every node is tested with programs, traces and edits drawn at random
// (TestFlowEqualsWalk), and before and after each run of the sessions in testdata (XSTATE_VERIFY=plan compares in use).
//
// Why the simple ways fail. To keep only the reads of the trace that holds: an older or newer trace that did not hold, for a key that the one
// in use does not read, may hold next time, and is first. To keep digests by position: an insertion moves them all. To compare all
// nodes' keys with what they were: that is the walk.
//
// Memory is flat: a node takes 80 bytes, a key 32, a digest 32, what finds one of them 7, and lists of numbers lie in one array; a Go slice or a string of hex for each
// would be three times as much. The nodes of a key are kept in pieces where they are more than a thousand, as all are that ask whether a figure
// was begun: in one list, each change of one among a million moved two megabytes. Facts of blocks are not kept: those of a block that is visited are read again, 20 µs each.
//
// A Standing is the same idea for a whole program across processes: what a walk that executed nothing rested on. While the
// program, the results and all that stand, another walk would come to the same, and is left out (xstate.Session.RunSettled).
//
// # Failure
//
// A failed node defines nothing: its bindings are undone, values it changed are dropped and restored from the store or by
// re-running what made them, files are put back before the next node runs. Nodes that use what it would have defined are
// blocked. A kernel that dies, or does not hear an interrupt and is killed with all it started, costs the node; the next
// one starts with an empty namespace and takes from the store what it needs. What the node printed is in files of the
// engine's, and each file it wrote was announced, with its former content, before the first write: neither is lost.
package runner

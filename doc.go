// Package xstate is a dependency-aware incremental execution engine for block-by-block Python programs.
//
// A program is a list of blocks that an agent or a person appends, patches, moves and deletes. The engine learns what
// each block really reads and writes. After any change it executes only what is affected, and from the right prior
// state.
//
// # Nouns
//
// A harness needs six. A Store is a directory. It holds Sessions; a session is one program and its history. A Step is
// one event of that history: an edit or a run, with its Origin. A Plan says what a run would execute, and why. An
// Outcome says what became of a run. A Snapshot says what was known after a step: code, reads, writes, outputs, who
// wrote it.
//
// # Promise
//
// After Run, the outputs of every block and the value of every name are those of a fresh interpreter that executes the
// whole program from top to bottom, in the workspace as it was before the program. Outputs are compared as text, with
// object addresses blanked; values by digest. Verify puts it to the test. What was executed is as little as possible:
// nothing whose code and observed inputs are unchanged.
//
// A patch as an agent writes it (patch.Read) becomes edits by Revise, which changes nothing and says what was found
// where, and Record, which keeps all of them or none.
//
// What a call costs follows what changed, where it can. In an open session, Plan after an edit visits only the nodes
// that the edit affects (runner.Planner). RunSettled runs a file that was run last, and needs nothing, without a look
// at the program (runner.Preconditions). The first plan of a session, and a run that has something to do, walk the
// program.
//
// Every edit and every run is on disk when the method returns. An edit is recorded, not executed, so that several can
// be made before one run. Edits and runs that build on a program that another has changed meanwhile are refused with
// code "conflict".
//
// Going back executes and erases nothing: Rollback is a step more, Fork a session more. Results come back by content,
// values when a block asks for them. A program's file is the caller's: Text writes it, Unrecorded tells what would be
// lost.
//
// Who edits a program that others edit, too, says what the edits were made on (Edit, Base, MergeFile): edits of blocks
// that have changed since are refused or merged by lines, so that no update is lost. Undo takes edits back and keeps
// the others'. Both are patch.Rebase: an edit, or the inverse of one, is made on a program that came from its own in
// another way. A line has one writer, whom Blame finds by following the block back through its edits; who brings a line
// back by a rollback or an undo did not write it.
//
// Credit sums up what steps did by who made them, exactly; a node that ran is charged to an edit along the recorded
// reasons. Bisect finds the edit since which a block fails or comes to something else. It is the one question that may
// execute, of programs that are no more: aside, with nothing recorded in the session and all files put back
// (runner.Engine.Isolated).
//
// Replay puts the record to the test, for those who were not there. It executes the program of each recorded run in a
// clean interpreter and a copy of the workspace that is laid out from the record, in a store of its own above the
// session's (state.Options.Beneath): nothing is written where the session is. A run is the whole program at its step,
// so that what it reused is tested, too; the store of the replay makes a node execute once for each code and inputs,
// however many runs have it, which is no less a proof: equal inputs, observed again, name the same execution. Nodes are
// compared by their traces. The first that differs has its cause in its code, in an input that differs though nothing
// before it did, in what was observed of it, or else in nothing: then it is executed three times more, and is a race if
// these differ, and a false record if they agree. It is then served its record (runner.RunOptions.Serve), and the
// program executed again from there: so a consequence is never taken for a cause. What fires effects that cannot be
// taken back is served from the start, and everything else runs guarded (runner.Guard). The copy has another name than
// the workspace: outputs are compared with the name put back, values by their text.
//
// VerifyBlock finds code that varies though nothing was observed that would tell. What is remembered is the code, not
// the block: an edit makes it another, and a result for other inputs is marked, too. A mark takes nothing back: a
// volatile result is reused while its inputs hold, for to execute it again would only draw another, but it proves
// nothing, and who rests on it is told.
//
// An artifact is a name for blocks, files and other artifacts. A step declares it, with what could not be known later:
// what its files held, and what the names meant that its texts speak of. All else is found when it is asked: no status
// is kept, so none is out of date, and it can be asked of any step. A status is the worst that can be shown (judge): by
// the members, the texts, what is contained and needed, and the checks. Fresh means that nothing speaks against it, not
// that it is right. What an artifact contains or needs is declared, and never leads back to it; what is inferred may,
// for two artifacts may read from one another by turns, so it is told and passes nothing on. A text of docs rests on
// signatures, not on code: to compare times or digests, as make would, calls a guide stale for every comment, and to
// search the code for its words finds them in strings.
//
// Evidence is the slice back from a result: of a node that ran, what it was seen to read; of one that did not, and of
// what was edited since it was read, what the text says, so that an edit hides nothing. A check proves something of the
// version that it executed alone, and only if it passed. A Statement says all that to others, and is signed over its
// bytes in an envelope: it vouches that who has the key had this record, and Replay that the record is true. Nothing is
// stated of what was not run.
//
// Test runs tests as nodes (package runner has the argument). What they came to, and which functions and blocks each
// exercised, is kept with a step, durably, as evidence (Checks), and with TestOptions.Lines which lines; the traces
// that results are reused by are results like others. A test in a block is run as a block more, behind the one that
// defines it, aside: it finds the state that the program has there, and changes nothing.
//
// Questions are answered from what is recorded, at any step, and execute nothing: At, Diff, Dependencies, Version,
// Patches, Where with a Filter. Value may start an interpreter to unpickle, which runs no statement of the program.
//
// A program leaves the store as a file (Export) or with its whole history (Archive); Store.Import takes the latter in,
// verified.
//
// # Why the simple ways fail
//
// Running the whole program after each edit repeats its cost and its effects. Running one block again in the live
// interpreter finds the names as later blocks left them, and mutates twice what is mutated in place. Hashing a block's
// text and the texts before it re-runs all that follows a comment; hashing the names it mentions misses what functions
// read when they are called, files, aliases and random number generators. So reads and writes are observed while a node
// executes, values are compared by content, and names that share objects are restored together.
//
// # What it cannot see
//
// A node that reads the clock, the network or the randomness of the operating system is marked (BlockOutcome.Marks):
// its recorded result is one of several possible ones. State that native code hides, and assignments to the attributes
// of library modules, are neither observed nor restored. docs/limits.md lists the limits.
//
// Of an artifact: what files held between steps, and what Plan alone asks (packages, the environment, listings);
// references by another name than the program's (an alias of an import), in notebooks, and in code that is indented. Of
// a check in a block: which methods of a class it executed; of one in a file, whether a function is the same once its
// file is another (the next Test tells). A signature does not tell when it was made, nor whether the key was stolen
// since.
package xstate

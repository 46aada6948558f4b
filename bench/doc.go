// Package bench measures what running a program again costs after an edit, under xstate and under simpler ways, and whether
// the outcome is right. Its tests measure what xstate itself costs.
//
// Nouns: a Program (a series of Versions, each an edit of the one before, and a folder), a Strategy (a way to run it again), a Run (one
// strategy after one edit), a Result (all runs of a program), a Report (results, with their Summary).
//
// # The strategies
//
//	scratch   everything, in a fresh interpreter and a fresh copy of the folder. It judges the others
//	down      from the first block that is another down, in the live interpreter
//	names     blocks that are another, and those that names connect to them by what the text shows, in the live interpreter: what
//	          reactive notebooks do. Before, the names that these blocks bind are taken away. Changes in place are not followed
//	          (marimo's documentation says the same of itself). Where two blocks bind one name, which marimo refuses
//	          (Result.Rebinds), a block depends on the last before it, and a later binder runs again after an earlier one
//	snapshot  from the first block that is another down, after the namespace is made what it was before that block. It is saved
//	          before each block, as one pickle, so that what is shared stays so. Modules, functions, classes, and variables that do not
//	          pickle are kept as they are; files, generators of random numbers and other state of the process are not gone back to.
//	          That is what kernels with checkpoints do. Saving counts as time of the run
//	xstate    a session whose interpreter lives on
//
// All but xstate use python.Baseline, which observes nothing and stops at the first block that fails.
//
// # The peers
//
// Tools that people use instead, each as its documentation says, at the versions of peers/requirements.txt (Peers, only on request: the interpreter
// must have them, so that all run with the same packages). An adapter in the folder peers drives one; it is given version after version,
// and answers with what each block showed, and with digests of values that are made as for the other strategies:
//
//	marimo    the kernel of its editor, told of cells that are new, another or gone, with on_cell_change at "autorun"
//	ipyflow   its kernel in reactive mode, and what its JupyterLab extension does: with a cell, those that the kernel's graph
//	          connects to it are executed, and then those that it calls out of date
//	joblib    Memory: the program as a script, run again in a fresh process, with memory.cache on functions that return something, take
//	          arguments, and neither print, open nor declare globals
//	nbclient  run all in a fresh kernel, in the same folder
//
// A program that a peer refuses is no wrong result: marimo wants each name bound in one cell, joblib needs a function. Such edits
// are counted by themselves (Refused), and xstate's time is given after the same edits as the peer's (Row.Xstate).
//
// Less can be compared than of the other strategies: of what blocks show, what is printed to standard output and the text of the last expression
// (marimo makes tables of it, Jupyter prints it in its own way: the repr is taken; warnings and figures are left out); no names that begin with an
// underscore; of values that hold functions or classes of the program, that they are there: a tool may compile or wrap these.
// Names and files that stay from the run before, when what made them was deleted, are a difference, as with down: only scratch has a fresh
// folder and interpreter. Row.Left counts the edits after which nothing else differs. What a program must ask for in its text (mo.persistent_cache, ipyflow's %%memoize) is not
// measured. Time is that of the tool alone, with the start of its process in the first run, and, of
// joblib and nbclient, of a process or kernel in every run.
//
// # What is compared
//
// After each edit, with scratch: what each block shows, as text with object addresses blanked; the type and message of the error of the
// first block that fails, after which nothing is compared, because what is done then is not the same for all; where none fails, the names that
// are bound, their values by digest (runner.Outcome.Values; what cannot be named by content is compared by being there), and files in the
// folder by content. The digest of a value covers more than == does: the order in which a set lists, aliases within the value, code of
// functions. Sharing between names is not compared.
//
// What xstate marks as volatile at a block, value or file is left out, for all strategies, and counted. Where a strategy differs,
// scratch runs once more: what then differs between these two is left out, and counted as unstable; that nothing marked it
// is still a fault of xstate's. A program that differs after one edit mostly differs after the next ones: edits are made one on the other,
// as people make them, and each counts.
//
// Invariants: equal arguments give equal programs and edits (Edits, Generate); a Result is of all its runs, or has an Error; scratch
// is equal to itself; Ran counts the nodes that xstate executes again for values that it did not keep as a block each.
//
// # Time
//
// Strategies take turns after each edit, and which is first changes, so that a machine's load falls on all. Times are of whole runs:
// scratch with the start of its interpreter, xstate with recording and storing; what it stores when the session ends counts as
// part of its first run. Before all, scratch runs once for nothing. Saved is a share of scratch's time after the same edit, also against
// down, whose own time is often none. An edit pays for the first run by
// what it saves on average (break-even). What the copy of the folder and the judgement take is no part of it.
//
// # Workloads
//
// Notebooks are drawn by figures of public ones: 609 notebooks with 18,324 code cells from 17 repositories on GitHub (among them
// PythonDataScienceHandbook, handson-ml3, pydata-book, ThinkStats2, python-machine-learning-book-3rd-edition, pytudes, pandas_exercises),
// by what package depgraph says of their text; quantiles 0.1, 0.25, 0.5, 0.75, 0.9:
//
//	cells of a notebook             5 10 20 37 64
//	names that a cell binds         0  0  1  2  4
//	earlier names that it reads     0  1  1  2  4
//	cells back to where these were bound  1  2  5 15 41
//
// 15.5% of cells define a function or class, 13.0% import, 24.8% of bindings are of a name that an earlier cell bound. 4.9% of cells change
// an earlier value in place (assignments to items and attributes, append and the like, inplace=True), 1.7% give one a
// second name. The programs in testdata/data are written for this, on data that testdata/make_data.py draws.
//
// # Failure
//
// A program that does not parse is told and left out. A peer that dies refuses what comes after, and the rest is measured on. A block that runs longer than the time-out, or an interpreter that dies, ends the
// program: its Result has an Error, and the runs before count. A bench that is stopped keeps whole results (Records).
//
// # Why the simple ways fail
//
// To time one strategy after the other compares two loads of the machine. To compare outputs alone misses
// a value that was changed twice and is shown after a later edit, and files. To look at values in the live interpreter changes it, so a child process looks. To run
// each strategy in a folder of its own makes every path a difference, so each copy is moved to the same place for its turn.
//
// # What it cannot see
//
// Effects elsewhere than in the folder, which happen once a run: it is for programs that may run often. Memory. Whether edits are like those
// that people make. What the user's packages cost.
//
// # The benchmarks of this package
//
// They give ratios to something measured in the same run, whole processes both, by their medians, so that a machine's speed and
// load cancel out:
//
//   - Null run: a run in which nothing changed, against starting an interpreter that does nothing.
//   - Programs: the first run of the programs of testdata/programs against the same without xstate, in time and peak memory.
//   - Demo: what share of that a run takes after one function was edited.
//   - Globals, Node, Head: what xstate adds to a loop over globals, a node that does nothing, a look at a gigabyte.
//   - Restart: of a gigabyte in thirty variables a new process needs one: how long until it has it, against loading that much.
//   - History: a million steps over ten thousand blocks: queries, appends, opening, forks, bytes a step.
//   - Selection (make selection): 50 edits of functions of a package from the index: the tests that xstate runs, against those whose outcome
//     changes, which running all tells, and those that pytest-testmon runs. All tests observed, against plain pytest.
//
// BenchmarkCost (make growth) is of programs of 10^2 to 10^6 nodes that were never executed: their traces are written into a store as
// executions would have left them, chains of nodes, each in a block, so that an edit of the first affects as many as a chain is long
// (XSTATE_BENCH_NODES chooses sizes). It times:
//
//   - build: the first plan of what is affected in a new process, for each node; and the bytes that it keeps.
//   - null: a plan where nothing changed. plan: one after an edit, its blocks read and parsed again. commit: an edit, durably.
//   - restart: a new process that opens the store and runs a file that has nothing to do. cold: the same, of a store that nobody has
//     looked at since the machine was started, and that is in no cache (Linux). walk: a plan of the whole program, for comparison.
//   - lookup: the traces of a code. graph: the public graph of the program (depgraph.Build).
//
// NullProcess is the same as whole processes, against "xstate version". TestCost has the counts: nodes woken, nodes visited, traces compared, bytes
// committed. Invalidate, in package runner, times how affected nodes are found.
//
// The other benchmarks, here and in the packages below, time parts of the engine: .ci/compare times those of two commits in turn and has benchstat
// judge, .ci/baseline keeps them by date.
//
// Analysis against the bare parse is measured where the parser is at hand: BenchmarkAnalyze in depgraph. Times gate nothing.
package bench

// Package bench measures what running a program again costs after an edit, with xstate and with simpler strategies,
// and whether the outcome is right. Its tests measure the costs of xstate itself.
//
// There are five nouns. A Program is a folder and a series of Versions, each an edit of the version before. A Strategy
// is a way to run the program again. A Run is one strategy after one edit. A Result holds all runs of a program. A
// Report holds results with their Summary.
//
// # The strategies
//
//	scratch   runs everything in a fresh interpreter and a fresh copy of the folder; the others are compared with it
//	down      runs from the first changed block down, in the live interpreter
//	names     runs changed blocks and the blocks that depend on them through names, in the live interpreter
//	snapshot  restores the namespace as it was before the first changed block, then runs from there down
//	xstate    runs a session whose interpreter stays alive
//
// names is what reactive notebooks do. It takes dependencies from the text alone, and unbinds the names of the blocks
// that it runs before it runs them. It does not follow changes in place; marimo's documentation says the same of
// marimo. If two blocks bind one name, a block depends on the last binder before it, and a later binder runs again
// after an earlier one. marimo refuses such programs (Result.Rebinds).
//
// snapshot is what kernels with checkpoints do. It saves the namespace before each block as one pickle, which
// preserves sharing. It keeps modules, functions, classes and variables that do not pickle as they are. It restores
// neither files nor random number generators nor other state of the process. The time to save counts as time of the
// run.
//
// All strategies except xstate use python.Baseline. It observes nothing and stops at the first
// block that fails.
//
// # The peers
//
// Peers are tools that people use instead, at the versions of peers/requirements.txt and used as their documentation
// says. They are measured only on request, because the interpreter must have them installed: all run with the same
// packages. An adapter in the folder peers drives each tool. The bench sends it version after version. It answers with
// what each block displayed, and with digests of values computed as for the other strategies:
//
//	marimo    the kernel of its editor, given new, changed and deleted cells, with on_cell_change at "autorun"
//	ipyflow   its kernel in reactive mode, driven as its JupyterLab extension does: each execution includes the cells
//	          that the kernel's graph connects, and then those that it reports as out of date
//	joblib    Memory: the program is a script in a fresh process each time, with memory.cache on every function that
//	          returns a value, takes arguments, and does not print, open files or declare globals
//	nbclient  runs all in a fresh kernel, in the same folder
//
// A program that a peer refuses is not a wrong result: marimo requires each name to be bound in one cell, and joblib
// needs a function. Refused counts such edits. Row.Xstate gives xstate's time after the edits that the peer accepted.
//
// Less is compared for peers than for the other strategies:
//
//   - Of what a block displays: standard output, and the repr of the last expression. marimo renders tables and Jupyter
//     prints in its own way, so warnings and figures are left out.
//   - No names that begin with an underscore.
//   - Of values that hold functions or classes of the program: only that they exist, because a tool may wrap these.
//
// If a deleted block bound a name or wrote a file, and the name or file is still there, that is a difference, as it is
// for down. Only scratch has a fresh folder and interpreter. Row.LeftoversOnly counts the edits after which nothing
// else differs.
//
// Features that a program must request in its text (mo.persistent_cache, ipyflow's %%memoize) are not measured. Time is
// that of the tool alone. It includes starting its process in the first run; joblib and nbclient start a process or
// kernel in every run.
//
// # What is compared
//
// After each edit an outcome is compared with that of scratch:
//
//   - what each block displays, as text with object addresses blanked;
//   - the type and message of the first error. Nothing after it is compared, because strategies then stop differently;
//   - if no block failed: the bound names, their values by digest, and the files in the folder by content. A value
//     without a digest by content is compared by presence.
//
// The digest of a value covers more than == does: the iteration order of a set, aliases within the value, the code of
// functions. Sharing between names is not compared.
//
// Differences that xstate marks as volatile at a block, value or file are left out for all strategies, and counted. If
// a strategy differs, scratch runs once more. Differences between the two runs of scratch are left out and counted as
// unstable; that xstate did not mark them is still a fault of xstate. A program that differs after one edit mostly
// differs after the next ones too: edits build on each other, as people's edits do, and each counts.
//
// Invariants: equal arguments give equal programs and edits (Edits, Generate). A Result has all its runs or an Error.
// scratch equals itself. In Run.Ran, each node that xstate executes again for a value that was not stored counts as a
// block.
//
// # Time
//
// Strategies take turns after each edit, and a different one starts each turn, so that the load of the machine affects
// all alike. Times are of whole runs: scratch includes the start of its interpreter, and xstate includes recording and
// storing. Storing when the session closes counts as part of xstate's first run. Before all runs, scratch runs once
// untimed, to fill the disk cache. Copying the folder and comparing outcomes are not part of any time.
//
// Saved is a share of scratch's time after the same edit, even when compared with down, whose own time is often close
// to zero. The break-even is the number of edits whose average savings pay for the first run.
//
// # Workloads
//
// Generated notebooks follow the figures of public ones: 609 notebooks with 18,324 code cells from 17 repositories on
// GitHub (among them PythonDataScienceHandbook, handson-ml3, pydata-book, ThinkStats2,
// python-machine-learning-book-3rd-edition, pytudes, pandas_exercises), as package depgraph analyses their text.
// Quantiles 0.1, 0.25, 0.5, 0.75, 0.9:
//
//	cells of a notebook                   5 10 20 37 64
//	names that a cell binds               0  0  1  2  4
//	earlier names that it reads           0  1  1  2  4
//	cells back to where these were bound  1  2  5 15 41
//
// 15.5% of cells define a function or class, and 13.0% import. 24.8% of bindings are of a name that an earlier cell
// bound. 4.9% of cells change an earlier value in place (assignments to items and attributes, append and the like,
// inplace=True). 1.7% give one a second name. The programs in testdata/data were written for this bench, on data that
// testdata/make_data.py generates.
//
// # Failure
//
// A program that does not parse is reported and left out. A peer that dies refuses the remaining versions, and the
// other strategies continue. A block that exceeds the time-out, or an interpreter that dies, ends the program: its
// Result has an Error, and the runs before it count. A bench that is stopped keeps its complete results
// (SavedResults).
//
// # Why the simple ways fail
//
// Timing one strategy after the other compares two loads of the machine. Comparing outputs alone misses files, and a
// value that was changed twice and is displayed only after a later edit. Inspecting values in the live interpreter
// changes it, so a child process inspects them. A folder per strategy makes every path a difference, so each copy is
// moved to the same path for its turn.
//
// # What it cannot see
//
// The bench does not see effects outside the folder, which happen once a run; it is for programs that may run often.
// It measures neither memory nor what the user's packages cost. It does not know whether its edits resemble those that
// people make.
//
// # The benchmarks of this package
//
// They compare medians with something measured in the same run, both as whole processes, so that the speed and load of
// the machine cancel out:
//
//   - Null run: a run in which nothing changed, against starting an interpreter that does nothing.
//   - Programs: the first run of the programs of testdata/programs, against plain Python, in time and peak memory.
//   - Demo: a run after one function was edited, as a share of that.
//   - Globals, Node, Head: what xstate adds to a loop over globals, to an empty node, and to a look at a gigabyte.
//   - Blocks: first runs of programs of thousands of trivial blocks, then edits of one block, planned and run.
//   - Restarted: the edits of ten sessions of a data scientist's agent (testdata/restarted), each in a new process,
//     against the interpreter that runs the same text from scratch. TestRestarted holds which blocks they run, and why.
//   - Restart: a new process needs one of thirty variables that hold a gigabyte: the time until it has it, against
//     loading that much.
//   - Columns: a hundred blocks each compute a column of 200,000 rows, in one frame or under a name each. A new process
//     runs the program after an edit of the block in the middle, against plain Python.
//   - History: a million steps over ten thousand blocks: queries, appends, opening, forks, bytes per step.
//   - Selection (make selection): 50 edits of functions in a package from the index. The tests that xstate runs are
//     compared with those whose outcome changes, found by running all, and with those that pytest-testmon runs. All
//     tests observed, against plain pytest.
//
// BenchmarkCost (make growth) measures programs of 10^2 to 10^6 nodes that were never executed. Their traces are
// written into a store as executions would have left them. The nodes form chains, one node per block, so that editing
// the first node affects a whole chain (XSTATE_BENCH_NODES chooses sizes). It times:
//
//   - build: the first plan of affected nodes in a new process, per node, and the bytes that it keeps;
//   - null: a plan when nothing changed;
//   - plan: a plan after an edit, including reading and parsing its blocks;
//   - commit: an edit, durably;
//   - restart: a new process that opens the store and runs a file that is up to date;
//   - cold: the same after the caches of the operating system were dropped (Linux);
//   - walk: a plan of the whole program, for comparison;
//   - lookup: the traces of a code;
//   - graph: the public graph of the program (depgraph.Build).
//
// NullProcess times the same as whole processes, against "xstate version". TestCost counts: nodes woken, nodes
// visited, traces compared, bytes committed. Invalidate, in package runner, times the search for affected nodes.
//
// The other benchmarks, here and in the packages below, time parts of the engine. .ci/compare times those of two
// commits in turn and passes them to benchstat; .ci/baseline keeps results by date. BenchmarkAnalyze in depgraph
// compares analysis with a bare parse. No test depends on a time.
package bench

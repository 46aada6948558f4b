// Package suite runs the tests of a workspace as nodes: only those whose results may have changed.
//
// # Nouns
//
// A test of a file is a special node. A unit is a function, or the level of a module (all but the bodies of functions).
// A phase is a stretch of execution that is observed by itself: the import of a module, the set-up of a fixture, the
// collection of a file, a test. A group is what a phase read that several tests depend on, kept once and named by its
// content. A trace of a test names the units that it executed, what it read, and groups: those of its file, of its
// fixtures, and of the modules that it used and what these import.
//
// # The invariant
//
// A test whose trace is valid would, executed now after those before it, execute the same code on the
// same inputs. The argument is by induction over what it executes. The first difference would be one of these:
//
//   - the text of a function that it enters: its unit;
//   - the function that a name leads to: what binds names is at the level of a module, or in an executed unit;
//   - a value that an import made (the group of that module) or a fixture (its group);
//   - an input: a read.
//
// State that an earlier test left is an input. The changes of a test are found by comparison. A test that reads it
// comes after that test, and is valid as long as that test's trace is the same. A function that is called and not
// entered is a generator, so whether a function is one belongs to the place that defines it.
//
// # Why the simple ways fail
//
//   - Executed lines, by file: an edit above moves them.
//   - Functions by name: the body of another may be found under it.
//   - Modules that the test's file imports: a module that it does not import may fill a registry, so modules that are
//     not quiet belong to all tests.
//   - A trace by time alone: fixtures of wider scope execute during the first test that requests them, and end after
//     the last. It blames these two.
//   - sys.monitoring with its events restarted for each test instruments the whole interpreter again.
//
// Which tests there are is a result, too (see collection). While that is valid, the decision which tests run needs no
// interpreter, and a run of none starts none.
//
// # What it costs
//
// The process sends reports of tests in bunches. It sends the report of a test that read files at once, and the next
// test waits until the engine has read these files, for it may write to them. A note in shared memory names the running
// test. If the process dies, its unsent reports are lost, and those tests run again. Only functions that were hit are
// armed again, one by one. Fixtures that execute nothing are not reported.
//
// # Failure
//
// A test that ends its interpreter is reported as crashed. One that exceeds its time limit is stopped. The rest runs in
// a new process. A file that cannot be collected is reported as an error in its place. The trace of a failing test is
// kept, so that no older success counts. It is never reused, for its report cites lines, and it may fail by chance. A
// lost group is a miss. An input that cannot be compared (clock, network, other processes) marks the test, and it runs
// every time. The kernel's suite/tests.py says what is observed, and how.
//
// # What it cannot see
//
// The limits of packages runner and runner/kernel/python. A failure that depends on the order of tests is seen only
// through the state that one leaves for another.
package suite

// Package python is the language Python: everything that the engine needs to know of it, behind kernel.Language.
//
// An Interpreter is a Python on this machine, found by Find and identified by Identify. Its kernels run the driver,
// which is the Python package xstate_kernel in this folder: it is embedded in the binary, and installed where the
// interpreter can import it. Facts about failures, constructs and environment variables of Python are in language.go.
//
// A Baseline runs the same blocks without any observation. It is what xstate is measured against.
//
// # Functions
//
// A node that is a part of a function's body (depgraph.Part) is compiled as a function of that name, whose variables
// come from the namespace and go back there: see function_part.py. Its loops run on fast locals, and its tracebacks
// show what those of the whole function do.
//
// # The end of a script
//
// Functions of atexit and finalizers that the program registered are registrations in the interpreter, as handlers of
// signals are (process.py). The end of a script calls them, and keeps the functions: see shutdown.py.
//
// # The walk in C
//
// The loops of the driver that look at every object of a value are in C, too, and are compiled where the driver is
// installed: see native.go. What they tell is what those in Python tell.
//
// # Pure readers
//
// A node that is proven to have changed nothing that was there before is not compared with what was there: see
// pure_readers.py, which has the argument and says what excludes the proof. XSTATE_DEBUG=check has all compared, and
// XSTATE_DEBUG=proofs compares what pure readers read and makes a change a fault of the driver. A proof decides alone
// what is looked at: what a node is said to have read and written is the same in all three ways.
//
// # The start
//
// A start takes the compiled code of what it imports from one file, the bundle: see bundle.py. The interpreter prints
// it, in the bounds of the program, and the engine keeps it by the path and the file of the interpreter. So what an
// interpreter has made serves no other one: a program may have made an interpreter of its own. Without the file the
// modules are imported one by one.
//
// # Semantics
//
// Keys of results hold the constant Semantics, and not the text of the driver. TestSemantics fails when the code of the
// driver changed since the constant did: comments, strings that document and layout do not count.
package python

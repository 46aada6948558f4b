// Package python is the language Python: everything that the engine needs to know of it, behind kernel.Language.
//
// An Interpreter is a Python on this machine, found by Find and identified by Identify. Its kernels run the driver,
// which is the Python package xstate_kernel in this folder: it is embedded in the binary, and installed where the
// interpreter can import it. Facts about failures, constructs and environment variables of Python are in language.go.
//
// A Baseline runs the same blocks without any observation. It is what xstate is measured against.
//
// # Rooms
//
// The driver is built of rooms, which are packages. A module imports only from its own room and from those above it in
// this list, and a room has at most 35 files: TestRooms holds both.
//
//	ground     what knows no value of the program: frames, disk, code and whose it is, memory, the supervisor
//	adapters   what is known of libraries, one file each
//	show       what a program prints and shows: streams, displays, magics, plain forms for other languages
//	look       descriptions of values, for people who look at one
//	value      values: equal, shared, stored and restored
//	observe    what a node reads and does: names, files, calls, clocks, the environment
//	world      state that is no value: modules, hidden variables, what is registered in the interpreter
//	node       the run of a node
//	suite      the runs of tests; its own main
//
// On top are main, template and baseline. Below all rooms are the package itself and bundle, which are there first. The
// files __init__.py of rooms are empty, so that an import loads what it names and no more.
//
// A name by which stores, digests or programs know an object of the kernel outlives a move of its module: see
// kept_names.py in ground.
//
// # Functions
//
// A node that is a part of a function's body (depgraph.Part) is compiled as a function of that name, whose variables
// come from the namespace and go back there: see node/function_part.py. Its loops run on fast locals, and its
// tracebacks show what those of the whole function do.
//
// # The end of a script
//
// Functions of atexit and finalizers that the program registered are registrations in the interpreter, as handlers of
// signals are (process.py). The end of a script calls them, and keeps the functions: see shutdown.py.
//
// # The walk in C
//
// The loops of the driver that look at every object of a value are in C, too, and are compiled where the driver is
// installed: see native.go. They report the same as those in Python.
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
// it, in the bounds of the program, and the engine keeps it by the path and the file of the interpreter. So the
// bundle of one interpreter serves no other one: a program may have made an interpreter itself. Without the file the
// modules are imported one by one.
//
// # Templates
//
// A template is an interpreter that kernel.Templates keeps. It starts as any kernel does, imports modules as any kernel
// does that restores a program, and then waits in C for requests on a socket (native/template.h). For each it forks a
// keeper, which does what package keeper does, and the keeper forks the interpreter. That puts the filter of its box on
// itself, takes its pipes, and continues as the kernel that it is a copy of (xstate_kernel/template.py).
//
// The template itself is not observed: a process cannot have two listeners, and the fork needs one. That loses nothing:
// what the imports look at is in the traces of the nodes that imported first, and these are in the key of the template.
// Files that Python looks at when it starts have stamps, see kernel.Template.
//
// A box with bounds has no template: it would have to import what a program may have written, and to be within the
// bounds already, so it could not make the namespaces and rules of each fork.
//
// Failure: without the loops in C, in another system than Linux, and where a filter or a thread is in the way, each
// interpreter starts by itself. With XSTATE_DEBUG=templates every interpreter is forked, so that all tests try forks.
//
// # Semantics
//
// Keys of results hold the constant Semantics, and not the text of the driver. TestSemantics fails when the code of the
// driver changed since the constant did: comments, strings that document and layout do not count.
package python

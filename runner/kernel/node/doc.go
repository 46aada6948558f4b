// Package node is the languages JavaScript and TypeScript as Node runs them, behind kernel.Language.
//
// An Interpreter is a Node on this machine, found by Find and identified by Identify. Its kernels run the driver, which
// is the folder xstate_kernel: it is embedded in the binary, and installed on disk once.
//
// # How a node of the program is executed
//
// The names of the program are properties of the global object. Transform makes a plan of the text of a node: in place
// of declarations it puts assignments, so that positions stay. The driver executes the plan as a script. Before each
// node it puts an accessor in the place of each name, which notes the first read and then makes way for the value.
//
// # Scripts
//
// Plain Node executes the statements of a script in one turn of its loop: callbacks come after the last one. So in a
// script the driver answers request after request without a return to the loop, as long as no node waits, and no
// callback runs between two nodes unobserved. An asynchronous hook shows whether a node has left something that calls
// back. That is a change of the interpreter which only a new one is without, and the end of the script drains the loop.
// Timers are set again when it goes on, in the order in which they are due by the time that nodes took.
//
// To wait after each node, as for cells, runs a timer before the next statement. To keep what calls back in a queue of
// the driver's would have to know all of Node. A node that has begun to use files is waited for all the same: the
// engine restores files before the next node, and must not do so while one is being written.
//
// # Semantics
//
// Keys of results hold the constant Semantics, and not the text of the driver. TestSemantics fails when the code of the
// driver changed since the constant did.
package node

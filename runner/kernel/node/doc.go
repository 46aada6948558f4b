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
// # Semantics
//
// Keys of results hold the constant Semantics, and not the text of the driver. TestSemantics fails when the code of the
// driver changed since the constant did.
package node

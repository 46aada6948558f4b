// Package jupyter serves notebooks: it is a kernel of Jupyter whose cells are the blocks of a session.
//
// # Nouns
//
// There are four. The front is a process of Python (the package xstate_jupyter in this folder) that speaks the
// messaging protocol of Jupyter, on the classes of ipykernel. The pipe is how the front asks for operations: lines of
// JSON, the requests of package verb with a number each. A notebook is what the front knows of the cells: their ids,
// order and texts. A specification (kernelspec) is how Jupyter finds the kernel.
//
// # The promise
//
// Running a cell gives what a run of the notebook from the top gives. The cell and the cells above it are brought up
// to date, and the cell is executed again if its result may vary. Cells below it keep what they have, and are executed
// when they are run, or with the mode auto at once. The notebook is one session with the command line and with agents:
// it is named after the file of the notebook, if that is known.
//
// # Why not in Go alone
//
// The protocol runs over ZeroMQ. The only client in Go (go-zeromq/zmq4) has had no release since 2024, and its router
// refuses a client that comes back under the same identity, as a page that is loaded again does. A machine with Jupyter
// has ipykernel, whose base class has subshells, the welcome of iopub, and all that is added next.
//
// # What it cannot see
//
// Jupyter sends a kernel the text of the cell to run, and no other. The order of cells and the text of the others are
// read from the file as it was saved last. Without a file (nbclient, a console), the program is the cells that ran, in
// the order in which they first did.
package jupyter

// Package bash turns the text of a block of Bash into facts. It is pure, as package depgraph asks.
//
// # Names
//
// A variable is a name. A function is the name with "()" behind it, so that a variable and a function of one name are
// two. The name "export -p" means the environment of executed programs: a command that exports a variable puts it
// there, and a command that may execute a program uses it.
//
// # Nodes
//
// A node is one command at the top level, with its here-documents: a list with && and || is one command, and so is a
// pipeline. Commands whose here-documents begin on one line are one node, and so are a command that leaves jobs in the
// background and all up to the first one that waits. A definition of a function is KindDef.
//
// # What the text does not show
//
// Scopes are dynamic: a variable that is local to a function is seen by those that it calls. The facts count what these
// do as done to variables of the program, which predicts too much and never too little. Commands whose text or whose
// names are computed (eval, source, ${!x}, declare "$x=1") are Dynamic.
package bash

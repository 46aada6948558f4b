// Package pytree parses Python with tree-sitter and returns the whole tree as one flat slice.
//
// It has one noun: Node, an entry of the slice. The slice is in preorder.
//
// Walking a tree-sitter tree takes calls into C. From Go each is a cgo call of some 50 ns, with five or more per node,
// so the walk would cost several times as much as the parse. So C code does the walk in the same single call as the
// parse, and Go receives plain memory.
//
// The tree has no fields. They would cost a look-up per node, and in this grammar the tokens between children say the
// same. It also has no comments, no line continuations and no text inside strings. It never has error nodes: if
// tree-sitter cannot parse a source without recovery, the result is an *Error.
package pytree

// Package pytree parses Python with tree-sitter and hands over the whole tree as one flat slice.
//
// One noun: Node, an entry of the slice, in preorder. A tree-sitter tree is walked through calls; from Go each is a
// cgo call of some 50 ns, five or more a node, which makes the walk several times as expensive as the parse. So the
// walk is done in C, in the same single call as the parse, and what comes back is plain memory.
//
// Fields are not kept: they cost a lookup a node, and in this grammar the tokens between children tell as much.
// Comments, line continuations and the text inside strings are dropped. A tree holds no error nodes: a source that
// tree-sitter cannot parse without recovery is an *Error.
package pytree

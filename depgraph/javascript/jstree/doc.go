// Package jstree parses JavaScript, TypeScript and TSX with tree-sitter and returns the whole tree as one flat slice.
//
// It has one noun: Node, an entry of the slice. The slice is in preorder. A node has a kind and a field; both are the
// same in the three grammars, which number them differently.
//
// Walking a tree-sitter tree takes calls into C. From Go each is a cgo call of some 50 ns, with five or more per node,
// so the walk would cost several times as much as the parse. So C code does the walk in the same single call as the
// parse, and Go receives plain memory.
//
// The tree has no comments, and no text inside of strings, templates and regular expressions. It has error nodes where
// the parser recovered from an error; Tree.Broken has the first.
package jstree

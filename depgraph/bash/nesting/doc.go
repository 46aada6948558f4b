// Package nesting says which texts of Bash a parser that recurses may read.
//
// The parser of mvdan.cc/sh recurses, and so do those who walk its trees. Go ends the process where a stack is full; no
// part of the program can recover from that. So a text that may be nested too deep is refused before it is parsed. The
// bound on brackets is exact but for those in quotes. The bound on the size is for all that nests without brackets:
// "if if if", "! ! !", "a | a | a".
package nesting

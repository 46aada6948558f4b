// Package depgraph turns the source of blocks into facts and facts into a dependency graph.
//
// It is pure: no files, clock, randomness or goroutines. Its five nouns:
//
//   - Facts: what the text of one block says: its nodes, in order.
//   - Node: the unit of execution inside a block: an import, a definition, or a run of other statements.
//   - Key: the name of something that nodes read or write ("var:x", "file:data.csv").
//   - Edge: a dependency between two nodes, of type import, symbol or order, with its evidence.
//   - Graph: nodes and edges of one program, immutable.
//
// Facts predict; they never prove. The promise is one of inclusion: whatever name an execution of a node reads
// or rebinds in the namespace of the program is among the names predicted for it, or the node carries a Dynamic
// mark that says why it may not be.
package depgraph

// Package depgraph turns facts about the blocks of a program into a dependency graph. A subpackage per language turns
// source into facts: see depgraph/python.
//
// The package is pure: it reads no files, clock or randomness, and starts no goroutines. It has five nouns:
//
//   - Facts: what the text of one block says, as a list of nodes in program order.
//   - Node: the unit of execution inside a block: an import, a definition, or a run of other statements.
//   - Key: the name of something that nodes read or write ("var:x", "file:data.csv").
//   - Edge: a dependency between two nodes, of type import, symbol or order, with its basis.
//   - Graph: the nodes and edges of one program. It is immutable.
//
// Facts predict; they never prove. The promise is one of inclusion. If an execution of a node reads or rebinds a name
// in the program's namespace, then that name is among the names predicted for the node, or the node carries a Dynamic
// mark that says why not. A block that does not parse has no facts, only a *SyntaxError.
//
// # Why the simple way fails
//
// A list of the names in the text is neither sound nor tight. In these examples, which are Python:
//
//	def f(): return k      The definition does not read k. Each call of f reads k, at the place of the call, and k may
//	k = 1                  be bound below f and rebound before each call. So Node keeps Uses and Later apart, and
//	f()                    Build resolves Later at the node that uses f, through any number of functions.
//
//	o = A()                The call below reads what A's methods read, although it does not name A. So Build assumes
//	o.m()                  that a value holds every function that the node which made the value could reach.
//
//	if c: x = 2            This may bind x. A node below that reads x depends on this node and on the last node that
//	                       certainly bound x. Node.Certain distinguishes the two kinds of writers.
//
//	x = load(); x.head()   This does not read an earlier x. A use of x here would tie the node to every earlier
//	                       writer. So a name that is bound on all paths before it is read is not a use.
//
// # What it cannot see
//
//   - Aliases. After "b = a", b.append(1) changes a as well. Only execution shows what is shared.
//   - Arguments and iteration. f(x) may change x, and "for y in x" drains x if x is a generator. Mutates lists only
//     what the text shows: assignments to attributes and items, augmented assignments, and method calls.
//   - The insides of modules: what a call into a library reads from disk, environment or clock, unless the language's
//     analyser lists the call in a table.
package depgraph

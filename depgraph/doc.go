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
// mark that says why it may not be. A block that does not parse has no facts at all, only a *SyntaxError.
//
// # Why the simple way fails
//
// To list the names that occur in the text is neither sound nor tight:
//
//	def f(): return k      k is not read here, but by whoever calls f, at the place of the call. The k that matters may
//	k = 1                  be bound below f and be rebound before each call. So Uses and Later are kept apart, and Build
//	f()                    resolves Later at the node that uses f, through as many functions as there are.
//
//	o = A()                The call below reads what A's methods read, though A is not named there. So a value is taken
//	o.m()                  to hold every function that the node which made it could reach.
//
//	class A:               The body runs at once, in a scope that methods do not see: m reads the module's x. And the
//	    x = x              body reads the module's x, too, because it has not bound its own yet.
//	    def m(self): return x
//
//	[y := f(x) for x in s] binds y in the module, and x nowhere.
//	g = (x for x in s)     reads s here, the rest of its names wherever it is drained.
//
//	if c: x = 2            binds x perhaps. A reader below depends on this node and on the last one that is sure to have
//	                       bound x. Node.Certain tells the two apart.
//
//	x = load(); x.head()   does not read anybody else's x. To list it would tie this node to every older x; so a name
//	                       bound on all paths before it is read is no use (certain.go).
//
//	f"{x = }"              shows its own text. So strings are tokens as written, and everything else is layout-free.
//
// The other half is the parser's. Tree-sitter recovers from errors and takes layout lightly: "if a:\n        b\n    c"
// puts c outside of the if. A guess of that sort is an error here (layout.go); so are the statements of Python 2 that the
// grammar still accepts. And it takes "type(x).y = 1" for a type alias, which is put right (walk_def.go).
//
// The judge is CPython: its own symbol tables of its own library, file by file and scope by scope, in four versions.
//
// # What it cannot see
//
//   - Aliases. After "b = a", b.append(1) changes a as well. Only execution knows what is shared.
//   - Arguments and iteration: f(x) may change x, and "for y in x" drains it if it is a generator. Mutates lists what
//     the text shows: assignments to attributes and items, augmented assignments, and any method call.
//   - Modules' insides: what a call into a library reads from disk, environment or clock, unless it is in a table.
//   - Names made at run time. eval, exec, globals() and their kin carry a Dynamic mark; unpickling an instance of a class of
//     the program, or a debugger, does not.
//   - Names that are spelled in two ways: CPython normalises identifiers (NFKC), so that "ﬁ" is "fi". Here they differ, and
//     a name that may be concerned is marked Dynamic.
//   - Line numbers and the source itself as data: inspect.getsource, tracebacks. Equal Tokens may differ there.
package depgraph

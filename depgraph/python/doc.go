// Package python turns the source of Python and IPython blocks into the facts of package depgraph.
//
// The package is pure: it reads no files, clock or randomness, and starts no goroutines. It has five entry points:
//
//   - Analyze returns the facts of a block. Facts about names come from one walk over the syntax tree.
//   - Unfold finds the functions of a program whose statements are separate nodes.
//   - Outline returns what a text defines and asserts, for texts that refer to each other.
//   - Symbols returns the tokens of the statements that bind each name.
//   - Comments returns the comments that the tokens leave out.
//
// A block that does not parse has no facts, only a *depgraph.SyntaxError. The package never guesses about such a block.
//
// # Why the simple way fails
//
// Python's scopes make a list of the names in the text wrong in both directions:
//
//	class A:                The body of a class runs at once, in a scope that its methods do not see: m reads the
//	    x = x               module's x. The body also reads the module's x, because it has not bound its own x yet.
//	    def m(self): return x
//
//	[y := f(x) for x in s]  This binds y in the module. It does not bind x there.
//	g = (x for x in s)      This reads s here, and its other names wherever a node drains the generator.
//
//	f"{x = }"               This shows its own text. So a string is one token as written; other tokens ignore layout.
//
// The grammar causes the other half of the work. Tree-sitter recovers from errors and takes layout lightly. In
// "if a:\n        b\n    c" it puts c outside of the if. Here such a guess is an error (indentation.go), and so are the
// statements of Python 2 that the grammar still accepts. Tree-sitter also takes "type(x).y = 1" for a type alias;
// walk_def.go corrects that.
//
// The tests compare the facts with CPython: with its symbol tables for its own library, file by file and scope by
// scope, in four versions.
//
// # What it cannot see
//
//   - Names made at run time. eval, exec, globals() and similar calls carry a Dynamic mark. A debugger does not, and
//     neither does unpickling an instance of a class of the program.
//   - Names spelled in two ways. CPython normalises identifiers (NFKC), so that "ﬁ" is "fi". Here they differ, and a
//     name that normalisation may change is marked Dynamic.
//   - Line numbers and the source itself as data: inspect.getsource, tracebacks. Two texts with equal Tokens may differ
//     there.
package python

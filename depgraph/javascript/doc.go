// Package javascript turns the source of JavaScript and TypeScript blocks into the facts of package depgraph.
//
// The package is pure: it reads no files, clock or randomness, and starts no goroutines. It has five entry points:
//
//   - Analyze returns the facts of a block. Facts about names come from one walk over the syntax tree.
//   - Blank returns TypeScript without its types, each character in its place, or says why that is impossible.
//   - Statements returns the statements of a text, also of one that does not parse.
//   - Outline returns what a text defines and asserts, for texts that refer to each other.
//   - Comments returns the comments that the tokens leave out.
//
// A block that does not parse has no facts, only a *depgraph.SyntaxError. The parser accepts some programs that
// JavaScript does not; the compiler of a block has the last word.
//
// # Why the simple way fails
//
//	f(); function f() {}    A function is bound before the statements around it run. So the nodes of a block are in
//	                        the order of execution, not of the text: imports, functions, then the rest. Their
//	                        positions do not rise.
//
//	log(x); class A {}      The var exists, undefined, above itself. Code that sees that is one node with the var,
//	var x = 1               although the class alone would be a separate node.
//
//	if (a) { var x = 1 }    This binds x to undefined where x is not bound yet. So x is also a use.
//
//	function F() {          Called without new in a sloppy script, this is the global object: F may rebind b. In a
//	  this.b = 1            strict one it is not.
//	}
//
//	let x: T                A type ends at a line end. The parser's grammar is older than TypeScript and reads T[a].
//	[a] = b                 So texts with types may be parsed in a mended form with the same positions (parse.go).
//
// The tests compare the facts with eslint-scope and typescript-eslint, and blanked programs with what the TypeScript
// compiler makes of them, for every source of large packages.
//
// # What it cannot see
//
//   - Names made at run time: eval, Function, computed members of the global object. These carry a Dynamic mark. A name
//     read inside of with may be a member of its object instead.
//   - Calls that look like something else: getters, proxies, conversions, iterators. Evaluating a class without visible
//     calls counts as calling nothing.
//   - A var, or a function, of a later block. A block is to an earlier one what a later script is to a script.
//   - Sloppy functions that become members and are then called without an object: that they may see the global object
//     is followed for this.name, not for this alone.
//   - The source itself as data, such as the text of a function. Two texts with equal Tokens may differ there.
//   - Which imports of a TypeScript block are types, unless they say so.
package javascript

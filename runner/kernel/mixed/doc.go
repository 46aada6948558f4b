// Package mixed makes one kernel of several languages, so that the blocks of one program may be written in any of them.
//
// # Nouns
//
//   - Languages are the languages that a program may be written in. A language is looked for when the first of its
//     blocks is met.
//   - A space is the short name of a language in keys: "var:js:rows" is the rows of JavaScript. Python has none.
//   - A union is the kernel of a program: one interpreter for each language that executes something.
//   - A handover is the node that a comment makes: "# xstate: from py import rows" binds rows to a copy of Python's.
//
// # Contract
//
// The interpreters have nothing in common but the workspace. So a name, a class, a variable of the environment, a
// module and a generator of random numbers belong to one language, and union gives each the space of its language. The
// engine needs no rule for several languages: to it they are names that share nothing.
//
// A handover reads a value of one language and writes one of another. The value passes in its plain form, a document
// in JSON; docs/languages.md has the table. It reads the digest that the value has, and writes that of the copy: where
// an edit leaves the copy as it was, nothing that uses it runs. All handovers of a block come before its other nodes.
//
// # Why the simple way fails
//
// To give all languages one namespace would bind a name in each of them after every node, and what only one language
// has (a function, an open file) to none. To pass values as text leaves out what JSON has no form for: an integer and
// a float, a date, bytes, a table.
//
// # Failures
//
// A value without a plain form fails the handover, with the type NoPlainForm, and says which part has none. A language
// that is not installed is an error of its blocks. When one interpreter dies, the union has died.
package mixed

// Package syntax is what patch knows of a language without running it: where a statement begins and ends, and which
// names a text binds and uses. It is pure. Package depgraph, which patch may not import, knows more of each language,
// and only of text that parses. The packages below this one are the languages; each registers its syntax when the
// program starts, and patch imports them.
//
// # Nouns
//
//   - A dialect is the name of a language, or of a variant: [Python], [IPython], [Module]. See package lang. [Of] gives
//     its [Syntax].
//   - A [Text] is a file as lines, with its Syntax.
//   - A [Statement] is one at the top level of a text. One that is broken is a range that does not parse.
//   - [Bindings] are the names that a text binds, uses and changes.
//   - A [Scanner] follows strings, comments and brackets of Python text that need not parse.
//
// # Promise
//
// Statements are in order, do not overlap, and leave out comments alone. Bindings come from the syntax alone, so they
// are known of a text that does not parse, too, as far as its parser reads. Equal input gives equal output, and no text
// makes a parser fail or stall.
//
// # Why the simple ways fail
//
// To trust a parser's own recovery: after one open parenthesis it turns the rest of a file into loose tokens, after one
// open string it turns prose into statements. So [Recover] keeps what comes before the first error, makes the text up
// to where a new block may start one broken statement, and parses on from there. A file of nothing but errors would be
// parsed again for each; [Budget] bounds that.
//
// # Failures
//
// None: every text has statements and bindings. The parser of Python takes quadratic time for 1,000 lines of a
// backslash alone; such a text is one broken statement. So is a script of 2 GB.
//
// # What it cannot see
//
// The parser of Python accepts more than Python does (print statements of Python 2), and lacks some of Python 3.14.
// Names that code makes while it runs, as by exec or setattr, are not among its bindings.
package syntax

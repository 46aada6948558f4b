// Package term writes to terminals and pipes: results, remarks, tables, pictures and the one document.
//
// # Nouns
//
// A UI is where one verb writes. A result is what the verb was asked for. A remark is said in passing. A document is a
// result for a program, as JSON. The progress line is the last line of a terminal; anything else that is printed takes
// it away first.
//
// # The output rules
//
//   - Results go to stdout, talk goes to stderr, in lower case and prefixed "xstate: ". A hint is a separate line,
//     prefixed "hint: ".
//   - With --json exactly one document goes to stdout, versioned, and talk is silent: notices are in the document. An
//     error is {"version":1,"error":{"code","message","hint"}}, and is also written to stderr.
//   - Colour, progress, pictures and the streaming of output and errors are for terminals only. NO_COLOR is heeded.
//   - Tables fit the terminal: what is long is cut. Elsewhere nothing is cut.
//   - --quiet silences all talk but errors.
//   - Text of others is written so that a terminal does not act on it (Escape).
//   - The output of a program is shown as it is: nothing is cut, wrapped or coloured. Only the places in blocks that
//     tracebacks and warnings cite become places in the file. And a data frame that is wider than the terminal is cut
//     there, because a table that the terminal wraps cannot be read.
//   - Blocks are counted from 1 for people and from 0 in documents.
//   - Numbers of seconds are for people; documents carry seconds as numbers.
//
// # Failure
//
// Output that cannot be written is dropped, because its reader is gone. Document alone returns the error, because its
// exit code is all that a program gets.
package term

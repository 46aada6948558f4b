// Package output keeps what a node prints and displays as a terminal shows it at the end.
//
// # Nouns
//
//   - An [Output] is one text of a stream, or one display with a form for each media type.
//   - A [Screen] takes outputs as they come, and returns what stands when the node ends.
//   - A row is a line of a stream. The last 64 rows of a stream can be overwritten.
//
// # Promise
//
// What Screen returns does not depend on the pieces in which a text came: a program that writes one character at a time
// has the outputs of one that writes all at once. Text that was not overwritten is kept byte for byte, and so is the
// order of texts and displays. [Join] of the outputs of several nodes is what one screen would show after all of them.
//
// # Why the simple ways fail
//
// A progress bar that is drawn a thousand times would be a thousand lines, and two runs would differ by their timing.
// To keep only what follows the last carriage return of a line loses the rest of a longer line below a shorter one, and
// fails for bars that move the cursor up to redraw several lines.
//
// # Failures
//
// More than [Limit] bytes are not kept. [Output.Dropped] counts them, and [Output.Note] reports that in words. A
// sequence that ends with the text, before its last byte, is text. An unknown sequence is text, too, in a row that was
// not overwritten.
//
// # What it cannot see
//
// How wide the terminal is: a long row does not wrap. A row above the last 64 is final, and a sequence that moves the
// cursor above it stops at the first of them. Erasing the whole screen erases nothing.
package output

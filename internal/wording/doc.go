// Package wording words what can be done about an error for the one who reads it.
//
// # Nouns
//
// There are three. A hint is a sentence about what can be done. Its clauses are separated by "; " or ", or ". A way is
// one thing that the reader can do, with its values. A hint holds a way between backticks, as the command line writes
// it:
//
//	"`xstate log` lists the steps; `--keep-file` leaves the file as it is"
//
// A door is how the reader came to the engine: the command line, the tools of an agent, the API with its clients, or
// the program itself, whose exceptions carry hints, too.
//
// # The promise
//
// At the command line a hint loses its backticks, and can be pasted. In every other door no hint has a flag or a
// command: a way becomes the door's own verb and the door's own names of the values ("history lists the steps"). A
// clause with a way that the door does not have is left out if another clause is left. If none is, the hint stays and
// says that the way is one of the command line, so that an agent can pass it on to its user.
//
// A hint is worded once, when it leaves the engine: by the verb, which knows the door of its call, or where an error is
// handed to the program. A recorded hint, which may be read at another door, has the words of the program's door, which
// names verbs and values and no door.
//
// # Why not simply
//
// A door that rewords finished sentences has to guess where a command ends, and a table of sentences by code loses the
// values. Both were tried: what they did not know reached the reader with its flags.
//
// # What it cannot see
//
// Whether the reader may do it: a tool may be one that the host does not offer. Packages that write hints do not import
// this one. A test reads all of their texts and finds the flags and commands outside of backticks.
package wording

// Package rpc lets programs call verbs over HTTP: as methods of the Connect API (api/xstate/v1), and as the routes of
// the E2B code interpreter.
//
// # Nouns
//
// There are four. A command is what a request asks for, as the arguments of a verb. A method is one of the API: it
// turns a request into a command. A document is what the verb printed, and the method's answer. A failure is the
// document of a verb that failed, with a code, a sentence and a hint; it becomes the error of the method.
//
// # The promise
//
// A method answers with the bytes that the verb prints with --json, and a stream with the lines of --json-lines, each
// sent as soon as the verb prints it. Clients of binary protobuf get a message with the same fields. Unknown fields of
// a request are errors: to ignore one would be to do something else than was asked.
//
// The contents of a request cannot become a flag: values are written as --flag=value, arguments follow --, code is
// standard input. Bodies and answers have a largest size, and a client that stops reading is given up after a while, so
// that the memory which a client costs is bounded.
//
// # What it leaves to others
//
// It does not listen and does not ask for a token: the server does. It keeps no sessions and no runs: it calls a Doer.
package rpc

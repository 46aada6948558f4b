// Package rpc lets programs call verbs over HTTP: as methods of the Connect API (api/xstate/v1), and as the routes of
// the E2B code interpreter.
//
// # Nouns
//
// There are four. A call is what a request asks for: a request of package verb, with the folder and the environment
// that it names. A method is one of the API: it turns a request into a call. A document is the answer of the operation,
// and of the method. A failure is an operation that failed, with a code, a sentence and a hint; it becomes the error of
// the method.
//
// # The promise
//
// A method answers with the bytes that the verb prints with --json, and a stream with the lines of --json-lines, each
// sent as soon as it happens. Clients of binary protobuf get a message with the same fields. Unknown fields of
// a request are errors: to ignore one would be to do something else than was asked.
//
// A request is typed all the way, so none of its contents becomes a flag. Bodies and answers have a largest size, and a
// client that stops reading is given up after a while, so that the memory which a client costs is bounded.
//
// # What it leaves to others
//
// It does not listen and does not ask for a token: the server does. It keeps no sessions and no runs: the operations
// do.
package rpc

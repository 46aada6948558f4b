// Package verb has the operations of xstate as values: what each is asked, and who carries it out.
//
// # Nouns
//
// A request is what one operation is asked, with typed fields: Run, Exec, Query and so on. A call is a request with the
// folder, the environment and the door that it comes from. An answer is the document of the operation, a value of the
// package internal/api. Operations carry calls out.
//
// # The promise
//
// Every door asks in the same way: the tools of agents, the API and E2B's routes make a call and get an answer, or an
// error with a code, a class and a hint in the words of the door. No door makes a command line, and none parses what
// another part of the same process printed. While a call goes on, its events come as values, too.
//
// A request has no defaults of a door. A field with its zero value is not given, and where zero means something else
// the field is a pointer. So a call that crosses a socket is the same call on the other side.
//
// # Failure
//
// An operation either answers or fails. A program that fails is an answer: its document says so. After an error the
// answer is nil. A call whose context ends is interrupted, and its error has api.CodeInterrupted.
//
// # Across a socket
//
// Servers of a store carry out calls of other processes of the same build. Wire is a call there, and Line an event, the
// answer or the error of one. A document has the name of its type along, because some operations have several.
package verb

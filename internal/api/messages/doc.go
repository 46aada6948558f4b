// Command messages writes api/xstate/v1/documents.proto: the protobuf messages of the documents of package api. It also
// writes their types in Python and TypeScript, for the clients.
//
// There are three nouns. A document is a Go type that a verb prints as JSON. A message is its protobuf form: a type has
// one message, and an embedded type's fields are the message's own, as in JSON. A number is what protobuf knows a field
// by.
//
// The Go types are the one definition. The messages are read off their fields by reflection, so they cannot differ from
// what encoding/json writes. Numbers are read from the present file and kept; a new field gets the next number; the
// number of a field that is gone is reserved. So what was once encoded can always be decoded.
//
// # Types
//
//   - int becomes int32, because int64 is a string in protobuf's JSON and a number in the documents.
//   - int64 and numbers of bytes become double for the same reason: they are exact up to 2^53.
//   - A time becomes a string, as in the document, with its offset.
//   - An origin and a signed statement become a Struct: their fields are open, and the second's are in-toto's.
package main

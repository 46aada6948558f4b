// Package mcp serves the verbs to agents over the Model Context Protocol.
//
// # Nouns
//
// There are four. A tool is one verb with those of its options that an agent needs: a name, a description that
// suffices by itself, arguments, four annotations, and the documents that it answers with. A request is what the
// arguments of a call become: a request of package verb, and a way to word its answer. A reply is the answer for a
// model: plain text, pictures, and links to what was too long. A resource is one output of a block, whole.
//
// # The promise
//
// A tool does what its verb does, through verb.Operations, and adds nothing. The text of a reply suffices: some hosts
// never show a model the structured content. The structured content is the verb's document (package api). Both are
// bounded, because hosts cut what is longer than about 25,000 tokens: texts and lists of the document are cut, and what
// was cut is read as a resource. The output schema of a tool is made from the Go types of its documents, so a document
// that was cut still conforms.
//
// Failed code is an answer, not an error: it is recorded, and the text holds the traceback. An error of the engine is a
// result with isError, its stable code, its sentence, and a hint that names tools where the command line's names
// commands.
//
// # Transports
//
// Serve speaks over standard input and output. Handler speaks streamable HTTP in both generations of the protocol: from
// 2026-07-28 on without sessions, before that with them. It refuses foreign hosts and foreign origins. The server that
// mounts it checks the token.
package mcp

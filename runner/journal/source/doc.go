// Package source offers the tools and models that xstate.toml names: of MCP servers, of HTTP interfaces that an OpenAPI
// document describes, of language models.
//
// # Nouns
//
// There are five. A server speaks the Model Context Protocol: a child process, or an address. An api is an HTTP
// interface, and its operations are tools. A provider speaks the interface of models of one maker. A declared source is
// one whose tools have what the user says of them. A secret is the value of a variable that a header or a key needs.
//
// # What it promises
//
// Nothing starts or connects before a program needs it, and all ends with the session. A server that dies is started
// again for the next call; the call that it died in has no answer. Sources run with the rights of the user, outside
// the bounds of programs: a program reaches them by its calls alone, and rules decide about these.
//
// A call that surely did not reach its tool fails with journal.ErrNotSent: a server that does not start, a host that
// refuses the connection, an interface that says that there are too many requests. Everything else may have happened.
//
// Values of secrets are put into requests when these are sent. Errors have names of variables, and no values. The
// journal scrubs secrets that a tool echoes.
//
// # What it cannot see
//
// A server changes behind its version and the schemas of its tools, and a model behind its name. Recorded results stay
// as they are then; xstate run --refresh asks again.
package source

// Package serve is the server of a store: it keeps engines warm between calls and lets other programs in.
//
// # Nouns
//
// There are four. A Call is one call of a verb: arguments, folder, environment and streams. Everything that the server
// does for a client is a Call, whatever way it came in: as a command with the client's own descriptors, as a Connect
// request, as an MCP tool, or as a request of the E2B code interpreter. So each answers as the command line does, with
// the same documents (package api), codes and hints. A Doer carries calls out; the command line is one. A Pool holds
// the open store and its sessions with warm kernels. A Server listens, authenticates and hands calls to the Doer.
//
// # The invariant
//
// A call through a server prints and records exactly what the same call prints and records without one. A server adds
// speed, never state: what it acknowledges is in the store, so killing it loses nothing.
package serve

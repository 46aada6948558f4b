// Package serve is the server of a store: it keeps engines warm between calls and lets other programs in.
//
// # Nouns
//
// There are five. A Call is one call of the command line: arguments, folder, environment and the streams of the client
// itself. An operation (package verb) is what other doors ask: Connect requests, MCP tools, the routes of the E2B code
// interpreter, and other processes that have a typed request. All answer with the same documents (package api), codes
// and hints. A Doer carries both out. A Pool holds the open store and its sessions with warm kernels. A Server listens,
// authenticates and hands calls to the Doer.
//
// # The invariant
//
// A call through a server prints and records exactly what the same call prints and records without one. A server adds
// speed, never state: what it acknowledges is in the store, so killing it loses nothing.
//
// So a call has all that a command takes from its process. A server carries out the calls of processes that would pass
// the same on to a program (surroundings), and hands the program the environment of the call. The client's descriptors
// are shared with the client: the server neither changes them nor waits in them beyond the life of the client.
//
// # Locks
//
// The server of a store holds server.lock while it lives. A socket without that lock is left over. Sessions are not
// locked between calls, so commands without a server run them meanwhile, and a session looks at the store before each
// run. Three times a session closes its interpreter: when a call would start another one, when the program left files
// open, and when memory is short.
//
// # What it cannot see
//
// A library that reads the environment in native code keeps what it read. Threads of a program continue between calls.
package serve

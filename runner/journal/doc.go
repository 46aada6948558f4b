// Package journal makes the calls of programs and remembers them: calls of tools and of models, questions to people,
// and recorded steps. A call that happened is served from its record, and happens again only if it has to.
//
// # Nouns
//
// There are six. A Tool is what a program can call: a name, a version, schemas, and a Class that says what a call does
// to the world. A Source offers tools: an MCP server, an HTTP interface, functions of the harness, a model. A Call is
// one call that a program makes, with its Key. Its record is a state.Call, durable in the store. A Gate decides before
// a call happens whether it may: rules, budgets, a manifest. A call that waits for a decision is Suspended.
//
// # Keys
//
// A call is named by content, never by its position. The key digests the kind, the tool and its version, the canonical
// arguments and the sample. In them 1.0 is not 1, as in Python; in the key of a tool with effects they are one number.
// For a tool that reads, it also digests the effects that the program had on the tool's scope before: a program that
// lists files, makes one and lists again makes two calls. Equal calls of a program are numbered from 0 in program
// order, as far as they may differ:
//
//   - pure tools and models: all equal calls are one. To draw again from a model, ask for another sample.
//   - tools that read, and steps: each call is its own. A loop that polls sees what happens.
//   - tools with effects: each call is its own, within the family of forks of a session. Two sessions of unrelated
//     programs that order the same thing order it twice; a fork, a re-run, a replay do not.
//
// A tool with effects may declare its Identity: the arguments that alone enter its keys. Where arguments vary from run
// to run, the key of a call does not show whether it happened before. Then the engine infers that from the values that
// the node drew and from its place, or marks the call as in Doubt, and it waits for a person: see runner/same_call.go.
//
// # How the engine uses it
//
// The engine numbers calls and keeps three kinds of keys. count:KEY is how many equal calls the program made so far,
// effect:SCOPE/KEY is the same for a tool with effects, and scope:SCOPE is what those before leave, in order. These are
// state of the program, as variables are. call:KEY#N is the digest of the record's result, which is a key of the base,
// as a file of the workspace is. A node reads and writes them, so validity, early cutoff and invalidation need no extra
// rule: if a repeated call returns the same thing, nothing runs again.
//
// A further key, tool:KIND/NAME, is what the name of a tool means. So a node runs again under another model, and when a
// tool is there that was missing. A new version of a tool with effects does not change it.
//
// # A call's life
//
// Do looks for the record. One with an outcome is served. Otherwise the Gate decides; then the record is written as
// "sent", the call is made, and the record is written as "answered", or as "refused" if the tool said that it cannot.
// The engine sees the answer only after it is on disk. Where no answer came, or the engine died after "sent":
//
//   - pure, read: the call is made again. The lost attempt stays in the record.
//   - idempotent: it is made again with the same idempotency key, a digest of its place.
//   - reversible, irreversible: it is unknown whether it happened. The call waits for a person, who says: do it again,
//     it happened and returned this, or it failed. So it happens at most once unless a person says otherwise.
//
// A lost attempt does not use up its number. The retry of a program has the same key and number, and a later run is
// served the answer at once.
//
// # Waiting
//
// A call that waits ends its node with an error of type Waiting, as a result like any other: the node reads the key of
// the record, which has a new digest once the call is decided. No process has to live until then. The node runs again
// from its beginning, its earlier calls are served, and the call continues. An approval belongs to one record, and the
// recorded arguments are sent: a changed call needs a new one.
//
// # What it cannot see
//
// A tool that is declared pure and is not, or that changes what another scope reads, gives stale results; declare the
// scope. The result of a tool with effects is kept as long as the call is equal, even where earlier effects differ.
package journal

// Package page shows the sessions of a store in a browser: the program, its graph, its history, and why.
//
// # Nouns
//
// There are four. A view is one page: the program after a step, a block with what it read and wrote, the steps, one
// step, the dependencies, the values, the agents with their calls. A part is a block of a view that changes while a
// program runs; it has a hash, by which a browser knows whether it has it. An audit is a replay or a bisection that a
// browser began. An invitation lets one browser in.
//
// # The promise
//
// A view shows the documents of operations (package verb), which every other door has, too. It keeps no state of a
// session. Without scripts every view can be read, and every form sent; the script adds what changes while the page is
// open, and keys.
//
// A standalone page is the program after a step as one file: the same templates, whose links lead to other parts of it,
// with the styles and the script in it, named by their hashes in its policy.
//
// # What programs put out
//
// Outputs, names, errors and sources are of no trust. Text is escaped by html/template. HTML passes the same filter as
// in an exported page (package provenance), which keeps nothing that runs or loads. Pictures, SVG among them, are
// images, in which nothing runs. The content security policy forbids inline scripts, frames, and whatever does not come
// from this server, so that nothing leaves the machine should the filter fail.
//
// # Who may look
//
// The server listens on this machine alone. A request must name it as its host (DNS rebinding) and come from no other
// origin; package serve sees to both. It must have a cookie, which only an invitation gives: a path with a code that is
// good for one request, which `xstate ui` gets by the socket of the store. The token of the server is never in an
// address. The cookie of a browser that may only look does not let it change anything.
package page

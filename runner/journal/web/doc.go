// Package web makes journal calls of the requests that programs send over HTTP, whatever library they use.
//
// A proxy of the sandbox reads the requests; see packages sandbox and proxy. The Exchange of this package makes one
// call of each, of the tool "http". The journal serves it from the record, or asks the Source of this package, which
// sends the request on. The program gets the same in both cases.
//
// # What names a request
//
// The arguments of the call hold the method, the address, the headers that shape an answer, and the body. Headers that
// say who asks do not come into the record: a digest of them does, which is made with a key of the user, so that
// another identity is another call. So do all headers that are not known. Headers that vary from request to request
// and shape no answer are left out; see headers.go.
//
// # What a request does
//
// GET, HEAD and OPTIONS read. PUT and DELETE are idempotent. POST to the known paths of language models is pure. All
// else is irreversible, unless a table [tools."http METHOD HOST/PATH"] says otherwise. The scope is the host.
//
// # Answers
//
// An answer of any status below 500, but 429, is a result. After the others, and after a connection that broke, the
// call is lost: the program gets what came, and decides itself whether to try again. An answer that is streamed reaches
// the program as it comes, and the record as a whole.
//
// # What it cannot see
//
// A request over another protocol, or by a program that heeds neither the proxy nor its certificates.
package web

// Package checkers knows programs that read sources and report findings: linters and type checkers. It says how each is
// called, and reads what it prints.
//
// A check is one call of a checker, for files that it reads by themselves or together. It is the source of a block in
// Bash, so that the engine observes what the call reads: sources, what they import, the configuration, places that have
// none yet, and the checker itself. A check whose inputs are the same is not made again. So caches of checkers, which
// would be inputs that they change, are off. A finding is a place in a file and what is wrong there.
//
// What a checker prints is read by its own format for programs. A check that ends in another way, such as by a
// configuration that the checker cannot read, has an error in place of findings: it never looks like a check without
// findings.
package checkers

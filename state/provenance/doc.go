// Package provenance describes for others where a result comes from, and exports programs.
//
// There are four nouns. Evidence is all that a result depends on: executions, inputs, edits and checks. A Statement is
// evidence in the form of in-toto and SLSA, which Sign puts into a signed envelope. An export is the program after a
// step as a script, document, notebook, PROV graph or Agent Trace. An archive is a session with its whole history in
// one file.
//
// # What it promises
//
// Evidence is the slice back from a result: of a node that ran, what it was seen to read; of one that did not, and of
// what was edited since, what the text says. So an edit hides nothing. A check proves something of the version that it
// executed alone, and only if it passed. Nothing is stated of what was not run. Equal histories give equal bytes.
//
// An archive is taken in whole or not at all, with every hash verified. Its results serve only its session, unless the
// user trusts it or a key that has signed it. It chooses no interpreter, and no file outside of the workspace. The
// memory of an import is bounded, whatever the archive claims.
//
// # Why the simple way fails
//
// A signature over a document that is encoded again does not verify: so the bytes are signed, in an envelope. A copy of
// the store would hand on other sessions and paths of one machine.
//
// # What it cannot see
//
// A signature vouches that the holder of the key had this record. Whether the record is true, package replay finds out.
// A signature shows neither its time nor whether the key was stolen since.
package provenance

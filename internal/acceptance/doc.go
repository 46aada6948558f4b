// Package acceptance tests the product as a whole, through the root package: sessions and their edits, with judges that
// share no code with the engine.
//
// # Nouns
//
// A session is a program and its steps, in a txtar file below testdata. A judge says what a step must give: a run from
// scratch, or the interpreter alone. An outcome that a judge has confirmed is in testdata/confirmed.txt, and is judged
// live again when its session or the engine's semantics change.
//
// # The invariant
//
// After each step, the outputs and values equal those of the judges, and exactly the blocks that the session names were
// executed. Random tests draw programs and edits, and shrink a session that breaks this.
package acceptance

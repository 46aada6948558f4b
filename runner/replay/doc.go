// Package replay puts what is recorded to the test by executing it again.
//
// There are five nouns. A Report is the outcome of replaying recorded runs: Divergences, each with its Cause. A
// Difference is a place where a run from scratch and an incremental one differ. Stability is the outcome of executing a
// block several times. A Bisection names the first edit after which a block fails or produces something different.
// A Challenge is what a check did when faults were planted in what it checks.
//
// # What it promises
//
// Run and Bisect record nothing in the session and leave every file of the workspace unchanged. Run fires no effect
// that cannot be undone; tools without effects are called if Options.CallAgain says so. Run executes the program of
// each recorded run in a clean interpreter and a copy of the workspace made from the record, in a separate store that
// falls back to the session's. A run is the whole program at its step, so that its reused results are tested, too. The
// store of the replay makes a node execute once for each code and inputs, however many runs have it. That proves as
// much: equal inputs, observed again, name the same execution.
//
// # Why the simple way fails
//
// Comparing the last outputs of two runs finds consequences, not causes. So Run compares nodes by their traces. The
// first that differs has its cause in its code, in an input that differs though nothing before it did, in what was
// observed of it, or in none of these. Then it executes three times more: it is a race if these differ, and a false
// record if they agree. The replay serves the node its recorded result, and executes the program again from there: so a
// consequence never passes for a cause. The copy has another name than the workspace: outputs are compared with the
// original name restored, values by their text.
//
// # What it cannot see
//
// A result that happens to be the same each time. VerifyBlock finds code that varies though no observation shows it,
// but three equal results do not prove that it does not. A mark revokes nothing: a volatile result is reused while its
// inputs are unchanged, since executing it again would give a new sample, not a proof.
package replay

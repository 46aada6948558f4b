// Package replay puts what is recorded to the test by executing it again.
//
// There are four nouns. A Report is what replaying recorded runs found: Divergences, each with its Cause. A Difference
// is where a run from scratch and an incremental one differ. Stability is what executing a block several times gave. A
// Bisection names the edit since which a block fails or gives something else.
//
// # What it promises
//
// Nothing is recorded in the session by Run and Bisect, no file of the workspace stays changed, and no effect fires
// that cannot be taken back in Run. Run executes the program of each recorded run in a clean interpreter and a copy of
// the workspace made from the record, in a store of its own above the session's. A run is the whole program at its
// step, so that what it reused is tested, too. The store of the replay makes a node execute once for each code and
// inputs, however many runs have it. That is no less a proof: equal inputs, observed again, name the same execution.
//
// # Why the simple way fails
//
// Comparing the last outputs of two runs finds consequences, not causes. So nodes are compared by their traces. The
// first that differs has its cause in its code, in an input that differs though nothing before it did, in what was
// observed of it, or in nothing of these. Then it is executed three times more: it is a race if these differ, and a
// false record if they agree. The replay serves it its record, and executes the program again from there: so a
// consequence never passes for a cause. The copy has another name than the workspace: outputs are compared with the
// original name restored, values by their text.
//
// # What it cannot see
//
// A result that happens to be the same each time. VerifyBlock finds code that varies though nothing was observed that
// would say so, but three equal results are no proof. A mark takes nothing back: a volatile result is reused while its
// inputs hold, since executing it again would give a new sample, not a proof.
package replay

// Package diff compares texts: which lines two of them share, how three are merged, how similar two are. It is pure,
// and knows neither blocks nor languages.
//
// # Nouns
//
//   - A [Pair] is an item that two lists share. A [Change] is a range of lines and what replaces it.
//   - A [Hunk] is a run of changes that are shown together, as in a diff for people ([Unified]).
//   - A [Clash] is a place that two texts changed in different ways, when [Merge] merges both into one.
//   - [Traits] are what the [Likeness] of two texts is computed from: numbers of lines and words.
//
// # Promise
//
// The system's patch turns the old text into the new one by what Unified returns. In [Merge], changes of different
// lines all arrive, and changes of the same lines are clashes; then there is no result. [Carry] follows lines from one
// text to the next. Equal input gives equal output: no comparison ends by a clock.
//
// # Why the simple ways fail
//
// A shortest edit script takes time and memory by the square of the difference. So longer texts are first cut at lines
// that occur once on both sides (patience diff). A program of many equal lines has few of these; between them, lines
// are matched by their rank among their equals.
//
// Lines alone are too coarse for the likeness of a block of one line, since any edit changes it. So short blocks are
// also compared by words.
//
// # Failures
//
// None: every text has a diff to every other. A merge that fails returns its clashes.
//
// # What it cannot see
//
// Between texts of more than 8,000 lines, a diff is correct but need not be the shortest. A line that moved is removed
// at one place and added at another. Likeness is textual: two unrelated lines that share half of their words count as
// versions of each other.
package diff

// Package bench measures what xstate costs and what it saves, as ratios to something measured in the same run.
//
// The questions:
//
//   - Null run: how long does a run take in which nothing changed, against starting an interpreter that does nothing?
//   - Programs: how much slower is the first run of a program than the same program without xstate, and how much more
//     memory does its interpreter take? The programs of testdata/programs are such as people write: text, records, objects,
//     search, a database, frames, arrays, plots.
//   - Demo: what share of that time does a run take after one function was edited?
//   - Globals, Node, Head: what does xstate add to a loop over globals, a node that does nothing, a look at a gigabyte?
//   - Restart: of a gigabyte in thirty variables a new process needs one. How long until it has it, against loading that much?
//   - History: a million steps over ten thousand blocks. How long does a query at a random step take, against a command that
//     looks at nothing; an append, early and late; opening; a fork? What does a step take on the disk?
//
// The promise is that a machine's speed and load cancel out: the two sides are measured in turn, whole processes both, and
// compared by their medians. Why the simple way fails: two loops one after the other see different load, and a mean is
// that of the slowest. Head and Node have no other side, and are times.
//
// Analysis against the bare parse is measured where the parser is at hand: BenchmarkAnalyze in depgraph. Counts (which
// blocks run) are exact, and tested with the programs in testdata.
//
// What it cannot see: what the user's packages cost. Times gate nothing.
package bench

// Package bench measures what xstate costs and what it saves, as ratios to something measured in the same run.
//
// There are three questions. Null run: how long does a run take in which nothing changed, against starting an interpreter
// that does nothing? First run: how much slower is the first run of a program than the same program without xstate? Edit:
// what share of that time does a run take after one function was edited?
//
// The promise is that a machine's speed and load cancel out: the two sides are measured in turn, whole processes both, and
// compared by their medians. Why the simple way fails: two loops one after the other see different load, and a mean is
// that of the slowest.
//
// Analysis against the bare parse is measured where the parser is at hand: BenchmarkAnalyze in depgraph. Counts (which
// blocks run) are exact, and tested with the programs in testdata.
//
// What it cannot see: memory, and what the user's packages cost. Times gate nothing.
package bench

// Package house tests how the repository is built: which package may import which, how files refer to each other, how
// wide lines are, who may touch the workspace, and how comments are worded.
//
// The tests read the sources, and run nothing of them.
package house

// Package basestate says what keys have before the first node: in the workspace as it was before the program, in the
// environment, and in the installed packages.
//
// There is one noun, State. The runner walks a program from it, and package suite compares the reads of tests with it.
//
// # What it promises
//
// During a run the base does not change: a key that has been read has the same answer until Begin. If the program
// itself wrote a file, and nothing has changed it since, the file counts as what it was before the program.
//
// # Why the simple ways fail
//
// To hash every file at each run costs time in proportion to their size. To trust size and time misses a file that is
// written twice within a tick of the clock, and one whose old time an archive restores. So a digest is remembered by
// size, inode and the system's own time of change, and only when that time is more than two seconds ago.
//
// # What it cannot see
//
// Files that the kernel does not report. What other processes change during a run is for its caller, see Holds.
package basestate

// Package sandbox starts an interpreter so that everything its processes do is seen, and only what its bounds allow is
// done. It works at the level of system calls, so it needs no hooks in a language and no help from a child process.
//
// # Nouns
//
//   - A Box is one interpreter with all processes that it starts. The interpreter itself is the main process.
//   - The keeper is a small process between the engine and the interpreter: this program, started again. It puts the
//     bounds on, starts the interpreter, adopts every orphan, and ends them all when the engine goes away.
//   - The supervisor is a thread of the engine. The system stops each process of the box before a call that names a
//     file, a program or a socket, and asks the supervisor. The supervisor notes the call, and lets it through or fails
//     it.
//   - A Report is what a box did while one node ran.
//   - An Image is what was at a path before a node changed it.
//   - Bounds are what a box may do; a Denial is a call that they forbade.
//
// # The invariant
//
// A report of Level LevelCalls names every file that a process of the box opened, looked up, listed, wrote, renamed or
// removed between the two marks of its node, every program executed, and every socket connected or bound. For each path
// that was written it has the image from before the first intent to write. Actions that it could not follow are in
// Report.Unseen, so a report that has none is complete.
//
// # What could not be followed
//
// Report.Unseen has one word for each of these:
//
//   - "process left running": a child made calls between two nodes.
//   - "foreign": a call in the numbering of another processor, such as int 0x80.
//   - "shared memory": a segment, semaphore or queue that others may hold, or a file in /dev/shm that was there before.
//   - "hard link": a file was written that has other names, which change with it.
//   - "mount", "file handle": files may be elsewhere than their paths say.
//   - "removed folder": a path was relative to a folder without a name.
//   - "unreadable": the memory of a process could not be read.
//   - "image": what was at a path could not be saved.
//
// A folder counts as listed when its entries are read (getdents64), and not when it is opened: gzip opens its file's
// folder to put it on the disk. The supervisor sees two such calls for each listing, which doubles what the listing of
// a small folder costs. Of folders in /proc, the opening counts, because an open file has the number of a process.
//
// Three things are not seen, and not said. A stat of a path with no other flag than AT_EMPTY_PATH on an open folder
// passes the filter, because the same call without a path is the most frequent one. So does, in a box without bounds, a
// stat of an absolute path that names Unasked as its folder, which the system ignores: a driver looks so at the
// files of libraries. And a message that sendmsg sends to an address.
//
// # Marks
//
// The driver of a language brackets a node by two calls of access(2), on "/.xstate/begin/N" and "/.xstate/end/N". The
// supervisor sees them in order with all other calls of that thread, and answers that the file does not exist. So the
// calls of native code and of threads fall to the right node, and no clock is needed. Two more, on
// "/.xstate/import/begin" and "/.xstate/import/end", bracket an import in a thread: what is looked up and listed there
// serves to find modules, so it has no UseAsked. A driver that does so announces it first, by "/.xstate/import/told";
// if none does, nothing has UseAsked.
//
// # Why the simple ways fail
//
//   - LD_PRELOAD misses static programs, Go programs and direct calls of the system.
//   - To compare the folder before and after misses reads, absent files, and what lies elsewhere.
//   - Landlock alone bounds and does not report. It cannot take a folder out of another that is allowed.
//   - A supervisor that only reads the arguments and lets the call through can be deceived: another thread changes the
//     path meanwhile. So what must hold is enforced where no thread can interfere: by Landlock, by namespaces, by
//     filters on numbers, or by the supervisor, which makes the call itself. Reading arguments serves observation and
//     messages.
//
// # What holds the bounds
//
//   - Files: Landlock, whose rules the engine makes and the keeper puts on. In a mount namespace all that is not
//     written is mounted readable alone, for Landlock does not know permissions, owners and times. There, the store and
//     what is denied are covered, because Landlock cannot take a folder out of another one.
//   - Network: an empty network namespace. Without one, internet sockets are streams only, and the supervisor connects
//     them. The proxy alone reaches hosts.
//   - Sockets in files: the supervisor connects them, too, to what the box itself listens on. Landlock does not, before
//     version 9. So the box has no local datagram sockets, which name their target in each message.
//   - Processes: Landlock keeps signals and tracing inside of a box. Calls that it does not know, such as on priorities
//     and limits of others, are refused by number or asked about.
//   - The system: calls that change it are refused by their numbers, capabilities are given up, and programs cannot
//     raise privileges.
//   - Limits: of one process by the system, of all together by the supervisor, which counts, and by a watch that looks.
//
// A denial of the supervisor comes before that of the system, and says which line of a policy would allow the call. It
// is a message. The other mechanisms stop what it misses in a race, except as docs/limits.md says.
//
// # Failures
//
// Where the system does not offer the listener (an outer filter has one, an old system), ptrace does the same, slower.
// If it offers neither, the box is started without observation, and says so in its Level: the language's own hooks
// remain. If the engine is killed, the keeper ends the box. If the keeper is killed, the engine ends the box: it knows
// every process that made a call. If the supervisor stops, calls fail, and the box is ended.
//
// Sources: seccomp_unotify(2), landlock(7), ptrace(2), pid_namespaces(7).
package sandbox

// Package private gives a session a private copy of the folder that the program runs in.
//
// # Nouns
//
//   - The original is the folder that a session runs in which is not private.
//   - A View is the private folder of a session that was forked from it. It lies in the store, at private/NAME/, under
//     the path that the original has from the folder that holds the store.
//   - The base says what the original was when the view was made, and which files of the view are still that.
//   - A Change is a path where the view differs from its base and from the original as it is now. It is in conflict if
//     the original differs from the base there, too.
//
// # The promise
//
// Changes that a program makes below its folder stay in the view until Apply. Views of one original share nothing but
// the store, so their programs run at the same time. Apply changes every path that it is asked for, or none: at a
// conflict it does nothing. It replaces each file at once. A process that is killed leaves some files applied and
// others not; Apply carries on from there. A view that is only half made is never found.
//
// # Why the simple ways fail
//
//   - An overlay mount ends with its last process. The engine reads and restores the program's files by itself, before
//     and after that, so it would have to enter the mount for each of them. A copy needs no rights, is there as long as
//     the session, and any tool can look into it. Where the file system shares blocks (FICLONE), it takes no space.
//   - A copy alone cannot say who changed a file. So the base keeps a digest of each file.
//   - Links would lead out of the copy. A link that names the original leads into the view, and a relative link that
//     leaves the folder keeps its target. So does "..", as far as the folder that holds the store: the folders above
//     the view hold links to the neighbours of the original.
//   - A virtual environment cannot be moved: its programs name its path. The view links to that of the original, which
//     it shares.
//   - What the program wrote must not pass for an edit after Apply. So Apply hands the session in the original the
//     records of the files that it moved.
//
// # What it does not do
//
// A path that names the original, or a folder elsewhere, leads there: only bounds (package sandbox) keep the program
// from it. Owners, access lists and extended attributes are not copied, and sockets, pipes and devices are left out.
// Changes of .git and __pycache__ are not moved.
package private
